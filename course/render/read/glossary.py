"""Read glossary.yml: the terms, each with its sentence, its forms and its lesson."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from course.problems import Problem, Problems

from .strict_yaml import Lines, mistakes, read_yaml

FILE = "glossary.yml"
ENTRY = {
    "sentence": str, "symbol": str, "forms": [str], "lesson": str, "checked": bool,
}  # fmt: skip


@dataclass(frozen=True)
class Glossary:
    entries: dict[str, dict[str, Any]]
    lines: Lines

    @cached_property
    def terms(self) -> dict[str, str]:
        """The term of each form: {"weights": "weight", …}."""
        forms = {term: term for term in self.entries}
        for term, entry in self.entries.items():
            forms |= dict.fromkeys(entry.get("forms", []), term)
        return forms

    def term_of(self, name: str) -> str | None:
        return self.terms.get(name) or self.terms.get(name.lower())

    def is_checked(self, term: str | None) -> bool:
        return self.entries.get(term or "", {}).get("checked", True)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Match each use of a term; the longest form counts: "language model" is no "model"."""
        words = [_pattern(form) for form in sorted(self.terms, key=len, reverse=True)]
        return re.compile(rf"(?<![\w-])(?:{'|'.join(words) or '(?!)'})(?![\w-])")


def _pattern(form: str) -> str:
    text = r"\s+".join(map(re.escape, form.split()))
    return text if form != form.lower() else f"(?i:{text})"


def slug(term: str) -> str:
    """Return the term's part of an anchor, as _extensions/course/terms.lua has it."""
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def read_glossary(root: Path) -> Glossary:
    """Read glossary.yml; an empty one if there is none. Raises Problems with its mistakes."""
    path = root / FILE
    value, lines = read_yaml(path.read_text(encoding="utf-8"), FILE) if path.is_file() else ({}, {})
    schema = dict.fromkeys(value or {}, ENTRY)
    problems = mistakes(value or {}, schema, lines, FILE, kind="key of a term")
    first: dict[str, str] = {}
    for term, entry in (value or {}).items() if not problems else ():
        if "sentence" not in entry:
            problems.append(Problem(FILE, lines[(term,)], f'"{term}" has no sentence'))
        for form in (term, *entry.get("forms", [])):
            if form in first:
                message = f'"{form}" is a form of "{first[form]}" too'
                problems.append(Problem(FILE, lines[(term,)], message))
            first.setdefault(form, term)
    if problems:
        raise Problems(problems)
    return Glossary(value or {}, lines)
