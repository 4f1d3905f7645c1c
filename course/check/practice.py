"""Check that each prediction and bug hunt has its choices, reasons, answer and cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from course.problems import Problem
from course.render.read.markdown import Attributes, Prose, Span
from course.render.read.page_source import Cell, Page

KINDS = {"prediction": "predict-word", "bug-hunt": "bug-word"}
_NUMBERED = re.compile(r"^(\d+)[.)][ \t]", re.M)
_RIGHT = re.compile(r'data-right="(\d+)"')


@dataclass
class _Question:
    """A ``::: {.prediction}`` or ``::: {.bug-hunt}``, filled while its lines are parsed."""

    kind: str
    fence: Span
    ids: list[str]
    depth: int
    answer_depth: int | None = None
    answers: int = 0
    lists: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    cells: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))

    @property
    def part(self) -> int:
        """0 in the question, 1 in its folded answer."""
        return int(self.answer_depth is not None)

    def mistakes(self) -> Iterator[str]:
        choices, reasons = map(len, self.lists)
        right = _RIGHT.search(self.fence.text)
        if not self.ids:
            yield f"needs a name to keep its answer under, such as #{KINDS[self.kind]}"
        if not right:
            yield 'needs the number of the right choice, such as data-right="2"'
        if choices < 2 or self.lists[0].count("1") != 1:
            yield "needs one numbered list, of two choices or more"
        elif right and not 1 <= int(right[1]) <= choices:
            yield f"has {choices} choices, so {right[0]} is none of them"
        if self.answers != 1:
            yield "needs one folded answer: ::: {.answer}"
        elif choices != reasons:
            yield f"has {choices} choices and {reasons} reasons: number a reason for each"
        if self.kind == "bug-hunt":
            if not any("fails()" in cell for cell in self.cells[0]):
                yield "shows no failing check: put one in a Python cell, in `with fails():`"
            if not self.cells[1]:
                yield "shows no repair: put it in a Python cell, in the folded answer"


def practice_mistakes(page: Page) -> Iterator[Problem]:
    for question in _questions(page):
        for message in question.mistakes():
            name = question.kind.replace("-", " ")
            yield Problem(question.fence.path, question.fence.line, f"the {name} {message}")


def _questions(page: Page) -> Iterator[_Question]:
    depth, question = 0, None
    for block in page.blocks:
        if isinstance(block, Cell):
            if question and block.language == "python":
                question.cells[question.part].append(block.source)
            continue
        for item, span in _outline(block):
            if isinstance(item, str):
                if question and depth <= question.depth + 1:
                    question.lists[question.part].append(item)
            elif item:
                depth += 1
                question = _open(question, item, span, depth)
            else:
                depth -= 1
                if question and depth < question.depth:
                    yield question
                    question = None
                elif question and question.answer_depth and depth < question.answer_depth:
                    question.answer_depth = None


def _outline(block: Prose) -> list[tuple[Attributes | str | None, Span]]:
    """List the fences of divs and the numbers of top-level lists, in the page's order."""
    numbers = ((match[1], Span(match[0], *location)) for match, *location in block.each(_NUMBERED))
    order = {line[1:]: index for index, line in enumerate(block.lines)}
    return sorted([*block.divs(), *numbers], key=lambda pair: order[pair[1][1:]])


def _open(
    question: _Question | None, attributes: Attributes, fence: Span, depth: int
) -> _Question | None:
    if question is None:
        kind = next((name for name in attributes.classes if name in KINDS), None)
        return _Question(kind, fence, attributes.ids, depth) if kind else None
    if "answer" in attributes.classes and depth == question.depth + 1:
        question.answers += 1
        question.answer_depth = depth
    return question
