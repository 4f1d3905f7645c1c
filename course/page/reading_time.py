"""Estimate how long a page takes from what stands open on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from course.check.terms import CLOSED, open_text
from course.render.read.markdown import Prose
from course.render.read.page_source import read_page

WORDS_A_MINUTE = 120  # fewer than in a novel: numbers and formulas are read twice
CODE = 0.5  # minutes for a shown cell
EACH = {"widget": 2, "challenges": 2, "prediction": 1, "bug-hunt": 2}  # minutes, by a div's class
STEP = 5


def minutes(root: Path, source: str) -> int:
    """Count words, shown cells, widgets and questions outside closed boxes, to five minutes.

    Exercises don't count, as nobody knows how long they take.
    """
    page, _ = read_page(root, source)
    closed: list[bool] = []
    time = 0.0
    for block in page.blocks:
        if isinstance(block, Prose):
            time += sum(EACH.get(name, 0) for name in _open_divs(block, closed))
            time += len(re.findall(r"[^\W_][\w'’-]*", open_text(block, closed))) / WORDS_A_MINUTE
        elif block.language == "python" and block.options.get("echo", True) and not any(closed):
            time += CODE
    return STEP * max(1, round(time / STEP))


def _open_divs(prose: Prose, closed: list[bool]) -> Iterator[str]:
    """Yield the classes of each div that opens outside closed boxes."""
    closed = closed.copy()
    for attributes, _ in prose.divs():
        if attributes:
            if not any(closed):
                yield from attributes.classes
            closed.append(not CLOSED.isdisjoint(attributes.classes))
        elif closed:
            closed.pop()
