"""Find the mistakes in the sources, with file, line and nearest valid word, for both engines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from course.problems import Problem, Problems, unknown
from course.render.read.markdown import Attributes, Prose, Span
from course.render.read.page_source import Cell, Page, read_page
from course.render.read.project import Project
from course.render.read.strict_yaml import mistakes

from .badges import badge_mistakes
from .inline import inline_mistakes
from .links import broken_links, missing_styles
from .ojs_cells import ojs_mistakes
from .practice import practice_mistakes
from .site_index import SiteIndex, labels
from .terms import FOLDED, lost_lessons, unknown_terms

FRONT_MATTER = {
    "title": str, "description": str,
    "jupyter": "python3", "toc": bool, "css": (str, [str]),
}  # fmt: skip
CELL_OPTIONS: dict[str, dict[str, Any]] = {
    "python": {
        "label": str, "echo": bool, "fig-cap": str, "fig-alt": str, "code-fold": True,
        "code-summary": str,
    },
    "ojs": {"echo": bool, "output": bool},
}  # fmt: skip
_ATTRIBUTE_KEYS = {"alt", "download", "for", "lang", "name", "style"}
_MARKDOWN = re.compile(r"\*\S[^*]*\*|`|\$\S|\]\(")
_SHORTCODE = re.compile(r"\{\{<\s*(/?[\w-]*)[^\n]*?>\}\}")
_NOTE = re.compile(r"\[\^[^\]\s]+\]|\^\[")
_OPEN_FORMULA = re.compile(r"\$\$(?:.*?\$\$)?", re.S)  # those that end are blanked in `prose`
_NUMBERED = re.compile(r"(?:fig|tbl|eq|lst|thm)-")
_CROSS_REFERENCE = re.compile(r"(?:sec|fig|tbl|eq|lst|thm)-", re.I)


def check_site(project: Project) -> dict[str, Page]:
    """Read the pages, ready to render. Raises Problems with every mistake in any of them."""
    pages, problems = read_site(project)
    if problems:
        raise Problems(problems)
    return pages


def read_site(project: Project) -> tuple[dict[str, Page], list[Problem]]:
    """Read the pages, and find the mistakes in them, in the order of the sources."""
    pages: dict[str, Page] = {}
    problems: list[Problem] = []
    for source in project.sources:
        pages[source], page_problems = read_page(project.root, source)
        problems += page_problems
    index = SiteIndex(project, pages)
    for page in pages.values():
        problems += check_page(page, index)
    problems += lost_lessons(index.glossary, index.anchors)
    # Every page that includes a file reports the mistakes in it.
    once = {str(problem): problem for problem in problems}.values()
    return pages, sorted(once, key=lambda problem: (problem.path, problem.line or 0))


def check_page(page: Page, index: SiteIndex) -> Iterator[Problem]:
    yield from mistakes(
        page.meta, FRONT_MATTER, page.meta_lines, page.source, kind="front-matter key"
    )
    yield from missing_styles(page, index)
    yield from inline_mistakes(page)
    yield from _plain_text(page)
    for block in page.blocks:
        if isinstance(block, Cell):
            yield from _cell_mistakes(block)
    yield from _duplicates(page)
    yield from _div_mistakes(page)
    yield from badge_mistakes(page)
    yield from practice_mistakes(page)
    yield from unknown_terms(page, index.glossary)
    for prose in page.prose:
        yield from _shortcodes(prose)
        yield from _footnotes(prose)
        for attributes, span in [*prose.attributes(), *prose.opening_divs()]:
            yield from _attribute_mistakes(attributes, span, index)
        yield from _untitled(prose)
        yield from _swallowed(prose)
        yield from _open_formulas(prose)
        yield from _unresolved(prose, index)
        yield from broken_links(prose, page, index)
    yield from ojs_mistakes(page, index.modules)


def _plain_text(page: Page) -> Iterator[Problem]:
    """Report Markdown in the title, which this engine shows as it stands."""
    for key in ("title", "description"):
        if _MARKDOWN.search(str(page.meta.get(key, ""))):
            message = f'"{key}" takes plain text, without Markdown'
            yield Problem(page.source, page.meta_lines.get((key,)), message)


def _cell_mistakes(cell: Cell) -> Iterator[Problem]:
    options = CELL_OPTIONS[cell.language]
    yield from mistakes(cell.options, options, cell.option_lines, cell.path, kind="cell option")
    label = cell.label
    if isinstance(label, str) and not re.fullmatch(r"[A-Za-z][\w-]*", label):
        message = f'the label "{label}" may hold letters, digits, "-" and "_" only'
        yield Problem(cell.path, cell.line_of("label"), message)


def _duplicates(page: Page) -> Iterator[Problem]:
    first: dict[str, Span] = {}
    for label in dict.fromkeys(labels(page)):
        if label.text in first:
            before = first[label.text]
            message = f'duplicate label "{label.text}": also at {before.path}:{before.line}'
            yield Problem(label.path, label.line, message)
        first.setdefault(label.text, label)
        if _NUMBERED.match(label.text):
            message = f'"{label.text}": Quarto would number it, so call it otherwise: figure-…'
            yield Problem(label.path, label.line, message)
    for block in page.prose:
        for name, heading in block.headings():
            label = first.get(name)
            if label and label[1:] != heading[1:]:
                message = f'the label "{name}" is also the id of a heading, at line {heading.line}'
                yield Problem(label.path, label.line, message)


def _shortcodes(prose: Prose) -> Iterator[Problem]:
    for match, path, line in prose.each(_SHORTCODE):
        word = match[1]
        if word == "include":
            yield Problem(path, line, "an include must stand alone on its line")
        else:
            yield Problem(path, line, unknown("shortcode", word, ["include"]))


def _footnotes(prose: Prose) -> Iterator[Problem]:
    for match, path, line in prose.each(_NOTE):
        message = "no page shows footnotes: put it into the text or a ::: {.box}"
        yield Problem(path, line, f'"{match[0]}": {message}')


def _div_mistakes(page: Page) -> Iterator[Problem]:
    """Match the divs over the whole page, as cells may stand between their fences."""
    open_fences: list[Span] = []
    divs = (div for block in page.prose for div in block.divs())
    for attributes, fence in divs:
        if attributes:
            open_fences.append(fence)
        elif open_fences:
            open_fences.pop()
        else:
            yield Problem(fence.path, fence.line, f'"{fence.text}" closes no div')
    for fence in open_fences:
        yield Problem(fence.path, fence.line, f'the div "{fence.text}" is never closed')


def _attribute_mistakes(attributes: Attributes, span: Span, index: SiteIndex) -> Iterator[Problem]:
    for name in attributes.classes:
        if name not in index.classes:
            yield Problem(span.path, span.line, unknown("class", name, index.classes))
    for key in attributes.keys:
        if key not in _ATTRIBUTE_KEYS and not key.startswith(("data-", "aria-")):
            yield Problem(span.path, span.line, unknown("attribute", key, _ATTRIBUTE_KEYS))


def _untitled(prose: Prose) -> Iterator[Problem]:
    """Report boxes and answers that don't begin with a heading, on which a reader opens them."""
    lines = {line[1:]: number for number, line in enumerate(prose.lines, 1)}
    for attributes, fence in prose.opening_divs():
        if FOLDED.isdisjoint(attributes.classes):
            continue
        after = (line.text for line in prose.lines[lines[fence[1:]] :] if line.text.strip())
        if not next(after, "").startswith("#"):
            message = f'"{fence.text}" begins with its title, such as ## Answer'
            yield Problem(fence.path, fence.line, message)


def _swallowed(prose: Prose) -> Iterator[Problem]:
    """Report divs that open right below a paragraph, as Pandoc reads their fence as its text."""
    above = {line[1:]: before.text.strip() for before, line in pairwise(prose.lines)}
    for _, fence in prose.opening_divs():
        text = above.get(fence[1:], "")
        if text and not text.startswith((":::", "#", "<!--")):
            yield Problem(fence.path, fence.line, f'"{fence.text}" needs a blank line above it')


def _open_formulas(prose: Prose) -> Iterator[Problem]:
    for match in _OPEN_FORMULA.finditer(prose.prose):
        message = 'the formula that begins with "$$" is never closed, or only after a blank line'
        yield Problem(*prose.location(match.start()), message)


def _unresolved(prose: Prose, index: SiteIndex) -> Iterator[Problem]:
    for word, path, line in prose.references():
        if _CROSS_REFERENCE.match(word):
            message = f"@{word}: nothing is numbered here; write a link, [its name](#{word})"
            yield Problem(path, line, message)
        elif word not in index.citations:
            keys = [f"@{name}" for name in index.citations]
            yield Problem(path, line, unknown("bibliography key", f"@{word}", keys))
