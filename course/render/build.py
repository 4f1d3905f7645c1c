"""Build one page: execute its cells, write Markdown, convert it with Pandoc, add the frame."""

import sys
import time
from dataclasses import dataclass

from course import preview_address
from course.check.ojs_cells import published_names
from course.render import cache
from course.render.ojs.modules import Modules
from course.render.ojs.page_script import OjsPage
from course.render.read.glossary import FILE as GLOSSARY
from course.render.read.names import FILE as NAMES
from course.render.read.names import write_names
from course.render.read.page_source import Cell, Page
from course.render.read.project import Project
from course.render.write.search import Part, parts_of

from .cache import PageCache
from .notebook.link import has_notebook, link_html
from .notebook.writer import notebook_of


@dataclass(frozen=True)
class BuiltPage:
    page: Page
    html: str
    figures: dict[str, str]  # SVG as text, PNG in base64
    parts: list[Part]  # for the search
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
            project.text, project.site_url, preview_address.URL, titles, cache.engine(),
            [cache.file_digest(project.root / name) for name in files],
        ])  # fmt: skip

    def cached(self, page: Page) -> BuiltPage | None:
        """Return the page from the cache; None if something that it depends on has changed."""
        started = time.perf_counter()
        store = PageCache(self.project.root, page.name)
        execution = store.load_execution(self._execution_key(page))
        record = execution and store.load_page(self._page_key(page, execution))
        return self._built_page(page, execution, record, "cached", started) if record else None

    def build(self, page: Page) -> BuiltPage:
        started = time.perf_counter()
        store = PageCache(self.project.root, page.name)
        execution, state = store.load_execution(self._execution_key(page)), "assembled"
        if execution is None:
            execution, state = self._execute(page, store), "executed"
        record = self._assemble(page, store, execution)
        return self._built_page(page, execution, record, state, started)

    def notebook(self, page: Page, *, execute: bool) -> tuple[str, list[str]] | None:
        """Return a lesson's notebook, and the files that its cells read.

        None if its outputs aren't in the cache, and ``execute`` is false.
        """
        store = PageCache(self.project.root, page.name)
        execution = store.load_execution(self._execution_key(page))
        if execution is None and execute:
            execution = self._execute(page, store)
        return execution and (self._notebook(page, execution), list(execution["files"]))

    def _built_page(
        self, page: Page, execution: cache.Record, record: cache.Record, state: str, started: float
    ) -> BuiltPage:
        parts = {name: record[name] for name in ("html", "figures", "parts", "notebook")}
        seconds, reads = time.perf_counter() - started, list(execution["files"])
        return BuiltPage(page, **parts, reads=reads, state=state, seconds=seconds)

    def _execution_key(self, page: Page) -> str:
        runs = [
            run.source if isinstance(run, Cell) else [expression.text for expression in run]
            for run in page.runs
        ]
        pins = cache.file_digest(self.project.root / "requirements.txt")
        engine = cache.engine(cache.ENGINE / "execute")
        return cache.digest([runs, pins, sys.version, engine])

    def _page_key(self, page: Page, execution: cache.Record) -> str:
        text = [line.text for line in page.lines]
        results = execution["outputs"], execution["values"]
        return cache.digest([text, page.meta, results, self._site_key])

    def _execute(self, page: Page, store: PageCache) -> cache.Record:
        key = self._execution_key(page)  # before its cells run: they may take a while
        if not page.runs:
            return store.save_execution(key, {}, outputs=[], values=[])
        from course.render.execute.cells import execute

        result = execute(self.project, page, cell_timeout=self.cell_timeout)
        return store.save_execution(key, result.reads, outputs=result.outputs, values=result.values)

    def _assemble(self, page: Page, store: PageCache, execution: cache.Record) -> cache.Record:
        from course.render.write.page_frame import whole_page
        from course.render.write.pandoc import to_html
        from course.render.write.pandoc_input import page_markdown

        ojs = OjsPage(self._modules, published=published_names(page))
        with_values = page.with_values(execution["values"])
        markdown, figures = page_markdown(with_values, execution["outputs"], ojs)
        body = to_html(self.project, page, markdown)
        html = whole_page(
            self.project, self.pages, page, body,
            notebook_link=link_html(self.project, page), ojs=ojs.script(root=page.root),
        )  # fmt: skip
        return store.save_page(
            self._page_key(page, execution), ojs.files(),
            html=html, figures=figures, parts=parts_of(html),
            notebook=self._notebook(page, execution) if has_notebook(self.project, page) else None,
        )  # fmt: skip

    def _notebook(self, page: Page, execution: cache.Record) -> str:
        with_values = page.with_values(execution["values"])
        files = list(execution["files"])
        return notebook_of(self.project, with_values, execution["outputs"], files)
