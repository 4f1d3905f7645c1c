"""Mistakes in the sources as messages: file, line, word, and the nearest valid word."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST_NAMES_LISTED = 12


class Problem(Exception):  # noqa: N818 — the reader has a problem, not the program
    """A mistake and its location; lines and columns count from 1."""

    def __init__(
        self, path: object, line: int | None, message: str, column: int | None = None
    ) -> None:
        self.path, self.line, self.message, self.column = str(path), line, message, column
        super().__init__(path, line, message, column)

    def __str__(self) -> str:
        location = ":".join(str(part) for part in (self.path, self.line, self.column) if part)
        return f"{location}: {self.message}"


class Problems(Exception):  # noqa: N818
    """All mistakes of one pass, in the order of the sources."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


def unknown(kind: str, word: object, valid: Iterable[str]) -> str:
    """Write a message such as ``unknown cell option "lable"; did you mean "label"?``"""
    return f'unknown {kind} "{word}"{nearest(str(word), valid)}'


def nearest(word: str, valid: Iterable[str]) -> str:
    names = sorted(set(valid))
    close = difflib.get_close_matches(word, names, cutoff=0.65)
    if close:  # of names as close, the first: "m03" rather than "m13" for "m3"
        likeness = {name: difflib.SequenceMatcher(None, name, word).ratio() for name in close}
        return f'; did you mean "{max(sorted(close), key=likeness.__getitem__)}"?'
    if not names:
        return "; there is none to refer to"
    more = ", …" if len(names) > _MOST_NAMES_LISTED else ""
    return f"; valid: {', '.join(names[:_MOST_NAMES_LISTED])}{more}"
