"""Refuse by name what Quarto would render and this engine would not, or would render otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

from course.problems import Problem
from course.render.read.markdown import (
    FENCE,
    Attributes,
    Found,
    Prose,
    fence_after,
    parse_attributes,
)
from course.render.read.page_source import Cell, Page

# (what it looks like in prose, what to say)
_IN_PROSE = [
    (
        r"(?m)^[ \t]*[-*+][ \t]+\[[ xX]\][ \t]",
        "lists of tasks aren't supported",
    ),
    (r"(?m)^\(@[\w-]*\)", "numbered examples aren't supported"),
    (
        r"(?s)\$\$(?:.*?\$\$)?",
        'the formula that begins with "$$" is never closed, or only after a blank line',
    ),
    (
        r"\[[^\[\]@]*\w[^\[\]@]*@(?:fig|tbl|eq|sec)-[\w-]+[^\[\]]*\](?![({])",
        "a reference in brackets says its kind twice: write @fig-name alone",
    ),
]
# These stand in code or in brackets, which Prose.prose blanks.
_IN_TEXT = [
    (
        r"(?<!`)`\{(?:python|ojs|r)\}[^`\n]*`(?!`)",
        "code in the text isn't run: print it in a cell, or write the number's sentence there",
    ),
]
_ANNOTATION = re.compile(r"(?:#|//)\s*<\d+>\s*$")
_KINDS = "thm lem cor prp cnj def exm exr sol rem alg lst nte tip wrn imp cau".split()
OTHER_REFERENCE = re.compile(rf"(?:{'|'.join(_KINDS)})-|(?:Fig|Tbl|Eq|Sec)-")


def unsupported(page: Page) -> Iterator[Problem]:
    for key in ("title", "subtitle", "description"):
        if re.search(r"\*\S[^*]*\*|`|\$\S|\]\(", str(page.meta.get(key, ""))):
            message = f'"{key}" takes plain text, without Markdown'
            yield Problem(page.source, page.meta_lines.get((key,)), message)
    for block in page.blocks:
        if isinstance(block, Cell):
            yield from _annotations(block)
        else:
            yield from _constructs(block)
            yield from _fence_attributes(block)


def _annotations(cell: Cell) -> Iterator[Problem]:
    for number, text in enumerate(cell.source.splitlines(), cell.line):
        if _ANNOTATION.search(text):
            message = "annotations of code, # <1>, aren't supported: write a comment"
            yield Problem(cell.path, number, message)


def _constructs(block: Prose) -> Iterator[Problem]:
    for text, patterns in ((block.prose, _IN_PROSE), (block.text, _IN_TEXT)):
        for pattern, message in patterns:
            for match in re.finditer(pattern, text):
                yield Problem(*block.place(match.start()), message)
    for attributes, found in [*block.attributes(), *block.opening_divs()]:
        yield from _ids(attributes.ids, found)
        yield from _callout_ids(attributes, found)


def _ids(names: list[str], found: Found) -> Iterator[Problem]:
    for name in names:
        if OTHER_REFERENCE.match(name):
            message = f"#{name}: only figures, tables, equations and sections are numbered"
            yield Problem(found.path, found.line, message)
        if name == "refs":
            message = "#refs: the references always stand at the page's end"
            yield Problem(found.path, found.line, message)


def _callout_ids(attributes: Attributes, found: Found) -> Iterator[Problem]:
    """Quarto stops at a callout whose id is a reference of another kind."""
    is_callout = any(name.startswith("callout-") for name in attributes.classes)
    for name in attributes.ids if is_callout else ():
        if re.match(r"(?:fig|tbl|eq|sec)-", name):
            message = f"#{name}: a callout isn't numbered, so its id takes no such prefix"
            yield Problem(found.path, found.line, message)


def _fence_attributes(block: Prose) -> Iterator[Problem]:
    """Code that isn't run takes its language alone; annotations are refused there too."""
    fence = ""
    for line in block.lines:
        before, fence = fence, fence_after(line.text, fence)
        if not before and fence:
            inside = re.search(r"\{(.*)\}", FENCE.match(line.text)[3])  # type: ignore[index]
            given = parse_attributes(inside[1]) if inside else None
            for key in given.keys if given else ():
                yield Problem(*line[1:], f'unknown attribute "{key}" of a block of code')
            yield from _ids(given.ids if given else [], Found("", *line[1:]))
        elif before and fence and _ANNOTATION.search(line.text):
            message = "annotations of code, # <1>, aren't supported: write a comment"
            yield Problem(*line[1:], message)
