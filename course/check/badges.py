"""Check the badge that every map of attention carries: trained, random or constructed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from course.problems import Problem, unknown
from course.render.read.markdown import Found, Prose
from course.render.read.page_source import Cell, Page

_BADGE = re.compile(r"\[([^\[\]\n]*)\]\{\.source\}")
BADGES = ("trained", "random", "constructed")


def badge_mistakes(page: Page) -> Iterator[Problem]:
    """Report unknown badges, and widgets without a badge."""
    badges = [Found(m[1], *at) for prose in page.prose for m, *at in prose.each(_BADGE)]
    for badge in [*badges, *_in_captions(page)]:
        if badge.word not in BADGES:
            yield Problem(badge.path, badge.line, unknown("badge", badge.word, BADGES))
    for opened, closed in widgets(page.prose):
        inside = range(opened.line, closed.line)
        if not any(badge.path == opened.path and badge.line in inside for badge in badges):
            message = "the widget doesn't say where its numbers come from: add a badge, such as "
            yield Problem(opened.path, opened.line, message + "[constructed]{.source}")


def _in_captions(page: Page) -> Iterator[Found]:
    for cell in page.blocks:
        if isinstance(cell, Cell):
            for word in _BADGE.findall(str(cell.options.get("fig-cap", ""))):
                yield Found(word, cell.path, cell.line_of("fig-cap"))


def widgets(blocks: Iterable[Prose]) -> Iterator[tuple[Found, Found]]:
    """Yield the opening and the closing fence of each ``::: {.widget}``."""
    opened: list[tuple[bool, Found]] = []
    for attributes, found in (div for prose in blocks for div in prose.divs()):
        if attributes:
            opened.append(("widget" in attributes.classes, found))
        elif opened:
            is_widget, start = opened.pop()
            if is_widget:
                yield start, found
