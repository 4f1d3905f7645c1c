"""Names that pages may refer to: labels, classes, citations and headings of other pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from course.render.ojs.modules import Modules
from course.render.read.glossary import Glossary, read_glossary
from course.render.read.markdown import Span
from course.render.read.page_source import Cell, Page
from course.render.read.project import Project


@dataclass(frozen=True)
class SiteIndex:
    project: Project
    pages: dict[str, Page]

    @cached_property
    def anchors(self) -> dict[str, set[str]]:
        """The targets of "#" and "@", by page."""
        return {source: anchors(page) for source, page in self.pages.items()}

    @cached_property
    def glossary(self) -> Glossary:
        return read_glossary(self.project.root)

    @cached_property
    def modules(self) -> Modules:
        return Modules(self.project.root)

    @cached_property
    def classes(self) -> set[str]:
        """The classes that a page may use: all that a stylesheet has a selector for."""
        css = "\n".join([self._text("format", "html", "css"), *self._page_styles()])
        selectors = re.findall(r"([^{}]*)\{", re.sub(r"/\*.*?\*/", "", css, flags=re.S))
        return set(re.findall(r"\.([A-Za-z_][\w-]*)", " ".join(selectors)))

    def _page_styles(self) -> Iterator[str]:
        names = {page.resolve(name) for page in self.pages.values() for name in page.styles}
        files = [self.project.root / name for name in names if name]
        return (file.read_text(encoding="utf-8") for file in files if file.is_file())

    @cached_property
    def citations(self) -> set[str]:
        pattern = re.compile(r"^[ \t]*@\w+\s*\{\s*([^\s,]+)\s*,", re.M)
        return set(pattern.findall(self._text("bibliography")))

    def _text(self, *key_path: str) -> str:
        files = (self.project.root / name for name in self.project.listed(*key_path))
        return "\n".join(file.read_text(encoding="utf-8") for file in files)


def anchors(page: Page) -> set[str]:
    headings = {name for block in page.prose for name, _ in block.headings()}
    return headings | {label.text for label in labels(page)}


def labels(page: Page) -> Iterator[Span]:
    """Yield the labels and ids that the author wrote, in the order of the page."""
    for block in page.blocks:
        if isinstance(block, Cell):
            if block.label:
                yield Span(block.label, block.path, block.line_of("label"))
            continue
        for attributes, span in [*block.attributes(), *block.opening_divs()]:
            yield from (Span(name, *span[1:]) for name in attributes.ids)
