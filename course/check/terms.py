"""Check the marks of glossary terms, `[weights]{.term}`, against glossary.yml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from course.problems import Problem, unknown
from course.render.read.glossary import FILE, Glossary
from course.render.read.markdown import Prose, Span
from course.render.read.page_source import Page

_MARK = re.compile(r"\[([^\[\]]*)\]\{([^{}\n]*\.term(?![\w-])[^{}\n]*)\}")
_NAME = re.compile(r'(?<!\S)name="([^"]*)"')
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\([^)]*\)")
_BRACES = re.compile(r"\{[^{}\n]*\}")
_HEADING = re.compile(r"^#{1,6}[ \t].*$", re.M)
_CITATION = re.compile(r"@[\w:-]+")
FOLDED = {"box", "answer"}  # KINDS of _extensions/course/folds.lua; a test compares
CLOSED = FOLDED | {"summary-sheet", "course-map"}


class Mark(NamedTuple):
    name: str
    start: int
    end: int


def lost_lessons(glossary: Glossary, anchors: dict[str, set[str]]) -> Iterator[Problem]:
    """Report entries whose lesson is missing; ``anchors`` has the anchors of each page."""
    for term, entry in glossary.entries.items():
        if "lesson" not in entry:
            continue
        source, _, anchor = entry["lesson"].partition("#")
        line = glossary.lines[(term, "lesson")]
        if source not in anchors:
            yield Problem(FILE, line, unknown("page", source, anchors))
        elif anchor and anchor not in anchors[source]:
            message = unknown(
                f"place in {source}", f"#{anchor}", [f"#{a}" for a in anchors[source]]
            )
            yield Problem(FILE, line, message)


def unknown_terms(page: Page, glossary: Glossary) -> Iterator[Problem]:
    """Report marks of terms that the glossary doesn't have."""
    for prose in page.prose:
        for mark in _marks(prose):
            if not glossary.term_of(mark.name):
                location = prose.location(mark.start)
                yield Problem(*location, unknown("term of glossary.yml", mark.name, glossary.terms))


def uses_before_marks(page: Page, glossary: Glossary) -> Iterator[Problem]:
    """Report terms that the page's open text uses before, or without, their mark.

    Only pages with a mark are checked. Closed boxes, headings, code, formulas, links and terms
    with ``checked: false`` don't count.
    """
    seen: set[str | None] = set()
    uses: list[Span] = []
    closed: list[bool] = []
    has_mark = False
    for prose in page.prose:
        text, marks = open_text(prose, closed), list(_marks(prose))
        has_mark = has_mark or bool(marks)
        events = [(mark.start, True, mark.name) for mark in marks if text[mark.start] == "["]
        events += [
            (use.start(), False, " ".join(use[0].split()))
            for use in glossary.pattern.finditer(text)
            if not any(mark.start <= use.start() < mark.end for mark in marks)
        ]
        for start, is_mark, word in sorted(events):
            term = glossary.term_of(word)
            if not is_mark and term not in seen and glossary.is_checked(term):
                uses.append(Span(word, *prose.location(start)))
            if is_mark or glossary.is_checked(term):
                seen.add(term)
    for word, path, line in uses if has_mark else ():
        message = f'"{word}" is used before its mark on this page: write [{word}]{{.term}}'
        yield Problem(path, line, f"{message} at its first use")


def _marks(prose: Prose) -> Iterator[Mark]:
    for match in _MARK.finditer(prose.prose):
        name = _NAME.search(match[2])
        text = prose.text[match.start(1) : match.end(1)].strip("`*_")
        yield Mark(name[1] if name else " ".join(text.split()), *match.span())


def open_text(prose: Prose, closed: list[bool]) -> str:
    """Blank what isn't open text; ``closed`` holds the divs that are open, from block to block."""
    text = prose.prose
    for pattern in (_LINK, _BRACES, _HEADING, _CITATION):
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    lines = text.split("\n")
    fences = {fence[1:]: attributes for attributes, fence in prose.divs()}
    for index, line in enumerate(prose.lines):
        attributes = fences.get(line[1:])
        if attributes:
            closed.append(not CLOSED.isdisjoint(attributes.classes))
        elif line[1:] in fences and closed:
            closed.pop()
        if any(closed):
            lines[index] = " " * len(lines[index])
    return "\n".join(lines)
