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
    (
        r"\[[^\[\]]*@(?:fig|tbl|eq|sec)-[\w-]+\s*[^;\]\s\w-][^\[\]]*\](?![({])",
        "what follows a reference in brackets is lost: write it after them",
    ),
    (
        r"\{#eq-[\w-]+\}(?=[^\s\]])",
        "a formula's label must have a blank after it",
    ),
]
# These stand in code or in brackets, which Prose.prose blanks.
_IN_TEXT = [
    (
        r"(?<!`)`\{(?:ojs|r)\}[^`\n]*`(?!`)",
        "of code in the text only `{python} expression` and ${expression} are run",
    ),
]
_MARKDOWN = re.compile(r"\*\S[^*]*\*|`|\$\S|\]\(")
_PLAIN = '"{}" takes plain text, without Markdown'
_ANNOTATION = re.compile(r"(?:#|//)\s*<\d+>\s*$")
_KINDS = "thm lem cor prp cnj def exm exr sol rem alg lst nte tip wrn imp cau".split()
OTHER_REFERENCE = re.compile(rf"(?:{'|'.join(_KINDS)})-|(?:Fig|Tbl|Eq|Sec)-")


def unsupported(page: Page) -> Iterator[Problem]:
    for key in ("title", "subtitle", "description"):
        if _MARKDOWN.search(str(page.meta.get(key, ""))):
            yield Problem(page.source, page.meta_lines.get((key,)), _PLAIN.format(key))
    for block in page.blocks:
        if isinstance(block, Cell):
            yield from _annotations(block)
            if _MARKDOWN.search(str(block.options.get("code-summary", ""))):
                yield Problem(
                    block.path, block.line_of("code-summary"), _PLAIN.format("code-summary")
                )
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
    sections = {name for name, _ in block.headings()}
    for attributes, found in [*block.attributes(), *block.opening_divs()]:
        yield from _ids(attributes.ids, found)
        yield from _callout_ids(attributes, found)
        for name in attributes.ids:
            if name.startswith("sec-") and name not in sections and not _is_callout(attributes):
                message = f"#{name}: only a heading is numbered as a section"
                yield Problem(found.path, found.line, message)


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
    for name in attributes.ids if _is_callout(attributes) else ():
        if re.match(r"(?:fig|tbl|eq|sec)-", name):
            message = f"#{name}: a callout isn't numbered, so its id takes no such prefix"
            yield Problem(found.path, found.line, message)


def _is_callout(attributes: Attributes) -> bool:
    return any(name.startswith("callout-") for name in attributes.classes)


def _fence_attributes(block: Prose) -> Iterator[Problem]:
    """Code that isn't run takes its language alone; annotations are refused there too."""
    fence = ""
    for line in block.lines:
        text = line.text.lstrip(" \t>")  # in lists and quotations too
        before, fence = fence, fence_after(text, fence)
        if not before and fence:
            inside = re.search(r"\{(.*)\}", FENCE.match(text)[3])  # type: ignore[index]
            given = parse_attributes(inside[1]) if inside else None
            for key in given.keys if given else ():
                yield Problem(*line[1:], f'unknown attribute "{key}" of a block of code')
            yield from _ids(given.ids if given else [], Found("", *line[1:]))
        elif before and fence and _ANNOTATION.search(line.text):
            message = "annotations of code, # <1>, aren't supported: write a comment"
            yield Problem(*line[1:], message)
