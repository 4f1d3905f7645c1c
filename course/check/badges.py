"""Check the badge that every map of attention carries: trained, random or constructed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from course.problems import Problem, unknown
from course.render.read.markdown import Prose, Span
from course.render.read.page_source import Cell, Page

_BADGE = re.compile(r"\[([^\[\]\n]*)\]\{\.source\}")
BADGES = ("trained", "random", "constructed")


def badge_mistakes(page: Page) -> Iterator[Problem]:
    """Report unknown badges, and widgets without a badge."""
    badges = [Span(m[1], *location) for prose in page.prose for m, *location in prose.each(_BADGE)]
    for badge in [*badges, *_in_captions(page)]:
        if badge.text not in BADGES:
            yield Problem(badge.path, badge.line, unknown("badge", badge.text, BADGES))
    for opened, closed in widgets(page.prose):
        lines = range(opened.line, closed.line)
        if not any(badge.path == opened.path and badge.line in lines for badge in badges):
            message = "the widget doesn't say where its numbers come from: add a badge, such as "
            yield Problem(opened.path, opened.line, message + "[constructed]{.source}")


def _in_captions(page: Page) -> Iterator[Span]:
    for cell in page.blocks:
        if isinstance(cell, Cell):
            for text in _BADGE.findall(str(cell.options.get("fig-cap", ""))):
                yield Span(text, cell.path, cell.line_of("fig-cap"))


def widgets(blocks: Iterable[Prose]) -> Iterator[tuple[Span, Span]]:
    """Yield the opening and the closing fence of each ``::: {.widget}``."""
    open_fences: list[tuple[bool, Span]] = []
    for attributes, fence in (div for prose in blocks for div in prose.divs()):
        if attributes:
            open_fences.append(("widget" in attributes.classes, fence))
        elif open_fences:
            is_widget, opening = open_fences.pop()
            if is_widget:
                yield opening, fence
