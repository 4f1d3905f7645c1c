"""Build one page: execute its cells, write Markdown, convert it with Pandoc, add the frame."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course import preview_address
from course.render import cache
from course.render.check.ojs_cells import published_names
from course.render.ojs.modules import Modules
from course.render.ojs.page_script import OjsPage
from course.render.read.glossary import FILE as GLOSSARY
from course.render.read.names import FILE as NAMES
from course.render.read.names import write_names
from course.render.read.page_source import Cell, Page
from course.render.read.project import Project

from .cache import PageCache


@dataclass(frozen=True)
class Built:
    page: Page
    html: str
    figures: Path
    notebook: str | None  # as JSON; None for a page that is not a lesson
    reads: list[str]  # the files that its cells read
    state: str  # "executed", "assembled" (from cached outputs) or "cached"
    seconds: float


class Builder:
    def __init__(self, project: Project, pages: dict[str, Page], cell_timeout: float) -> None:
        self.project, self.pages, self.cell_timeout = project, pages, cell_timeout
        self._modules = Modules(project.root)
        titles = {source: page.title for source, page in pages.items()}
        write_names(project.root)
        files = [*project.listed("bibliography"), *project.filters, GLOSSARY, NAMES]
        self._site_key = cache.digest([
            project.text, project.site_url, preview_address.URL, titles, cache.whole_engine(),
            [cache.file_digest(project.root / name) for name in files],
        ])  # fmt: skip

    def has_run(self, page: Page) -> bool:
        """True where the outputs of the page's cells are in the cache."""
        store = PageCache(self.project.root, page.name)
        return store.load_execution(self._execution_key(page)) is not None

    def cached(self, page: Page) -> Built | None:
        """Return the page from the cache; None where something that it depends on has changed."""
        started = time.perf_counter()
        store = PageCache(self.project.root, page.name)
        execution = store.load_execution(self._execution_key(page))
        if execution is None:
            return None
        record = store.load_page(self._page_key(page, execution))
        if record is None:
            return None
        seconds = time.perf_counter() - started
        return Built(
            page, record["html"], store.figures, record["notebook"], list(execution["reads"]),
            "cached", seconds,
        )  # fmt: skip

    def build(self, page: Page) -> Built:
        started = time.perf_counter()
        store = PageCache(self.project.root, page.name)
        execution, state = self._execution(page, store)
        ojs = OjsPage(self._modules, published=published_names(page))
        html = self._assemble(page, store, execution, ojs)
        notebook = self._notebook(page, execution)
        store.save_page(self._page_key(page, execution), html, notebook, ojs.files())
        seconds, reads = time.perf_counter() - started, list(execution["reads"])
        return Built(page, html, store.figures, notebook, reads, state, seconds)

    def notebook(self, page: Page) -> tuple[str | None, list[str]]:
        """Return the page's notebook, and the files that its cells read."""
        execution, _ = self._execution(page, PageCache(self.project.root, page.name))
        return self._notebook(page, execution), list(execution["reads"])

    def _execution(self, page: Page, store: PageCache) -> tuple[dict[str, Any], str]:
        key = self._execution_key(page)
        if execution := store.load_execution(key):
            return execution, "assembled"
        return self._execute(page, store, key), "executed"

    def _execution_key(self, page: Page) -> str:
        runs = [
            run.source if isinstance(run, Cell) else [found.word for found in run]
            for run in page.runs
        ]
        pins = cache.file_digest(self.project.root / "requirements.txt")
        parts = [runs, pins, self.project.kernel_settings, sys.version, cache.executing_engine()]
        return cache.digest(parts)

    def _page_key(self, page: Page, execution: dict[str, Any]) -> str:
        text = [line.text for line in page.lines]
        results = execution["outputs"], execution["values"]
        return cache.digest([text, page.meta, results, self._site_key])

    def _execute(self, page: Page, store: PageCache, key: str) -> dict[str, Any]:
        if not page.runs:
            return store.save_execution(key, {}, [], {}, [])
        from course.render.execute.cells import execute

        done = execute(self.project, page, cell_timeout=self.cell_timeout)
        return store.save_execution(key, done.reads, done.outputs, done.imports, done.values)

    def _assemble(
        self, page: Page, store: PageCache, execution: dict[str, Any], ojs: OjsPage
    ) -> str:
        from course.render.write.page_frame import whole_page
        from course.render.write.pandoc import to_html
        from course.render.write.pandoc_input import page_markdown

        store.forget_page()
        shown = page.with_values(execution["values"])
        markdown = page_markdown(shown, execution["outputs"], ojs, store.figures)
        body = to_html(self.project, page, markdown)
        return whole_page(self.project, self.pages, page, body, ojs.script(root=page.root))

    def _notebook(self, page: Page, execution: dict[str, Any]) -> str | None:
        from .notebook import has_notebook, notebook_of

        if not has_notebook(self.project, page):
            return None
        shown = page.with_values(execution["values"])
        return notebook_of(self.project, shown, execution["outputs"], list(execution["reads"]))
