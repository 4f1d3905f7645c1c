"""Render _site/: build every page or take it from the cache, then replace the old site at once."""

import base64
import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from course.check.links import dangling, linked_files
from course.check.pages import check_site
from course.problems import Problem, Problems
from course.render import cache
from course.render.read.page_source import Page
from course.render.read.project import Project, load_project
from course.render.write.mentions import with_mentions
from course.render.write.page_frame import FRAME
from course.render.write.search import write_search
from course.render.write.strip_sources import strip_source
from course.render.write.web import NOT_FOUND, for_the_web, write_web_files

from .build import Builder, BuiltPage
from .notebook.archive import write_notebook

Say = Callable[[str], None]
_COURSE = Path(__file__).parents[2]
_RECORD = Path(".course", "rendered.json")
_SECONDS_BEFORE_A_BAR = 2
_DAY = 24 * 60 * 60


def render_site(root: Path, *, cell_timeout: float, say: Say = print) -> dict[str, str]:
    """Return the work done for each page: "executed", "assembled" or "cached"."""
    state = cache.state(root)  # digested first, so that an edit during the render starts another
    record = cache.load(root / _RECORD) or {}
    if (record.get("sources"), record.get("site")) == (state, cache.state_of_site(root)):
        return dict.fromkeys(record["pages"], "cached")
    project = load_project(root)
    pages = check_site(project)
    built = _build_all(Builder(project, pages, cell_timeout), say)
    _replace_site(project, pages, built)
    done = {"sources": state, "site": cache.state_of_site(root), "pages": list(built)}
    cache.save(root / _RECORD, done)
    return {source: page.state for source, page in built.items()}


def _build_all(builder: Builder, say: Say) -> dict[str, BuiltPage]:
    """Take cached pages first, then build the others in parallel; a failure stops none of them."""
    built: dict[str, BuiltPage] = {}
    for page in builder.pages.values():
        if cached := builder.cached(page):
            built[page.source] = cached
            _report(say, cached)
    to_build = [page for page in builder.pages.values() if page.source not in built]
    if to_build:
        built |= _build_in_parallel(builder, to_build, say)
    return {source: built[source] for source in builder.pages}


def _build_in_parallel(builder: Builder, pages: list[Page], say: Say) -> dict[str, BuiltPage]:
    from course.render.execute.cells import kill_kernels

    built: dict[str, BuiltPage] = {}
    problems: list[Problem] = []
    with ThreadPoolExecutor(max_workers=min(len(pages), os.cpu_count() or 1)) as pool:
        jobs = [pool.submit(builder.build, page) for page in pages]
        try:
            for job in _with_progress(jobs):
                try:
                    done = job.result()
                except Problem as problem:
                    problems.append(problem)
                    continue
                built[done.page.source] = done
                _report(say, done)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            kill_kernels()
            raise
    if problems:
        raise Problems(sorted(problems, key=str))
    return built


def _with_progress(jobs: list[Future[BuiltPage]]) -> Iterator[Future[BuiltPage]]:
    """Yield the jobs as they end; after two seconds show a progress bar on a terminal."""
    from tqdm import tqdm

    delay = _SECONDS_BEFORE_A_BAR
    pending = set(jobs)
    with tqdm(total=len(jobs), unit="page", leave=False, disable=None, delay=delay) as bar:
        while pending:
            # With a timeout, because Windows hears Ctrl-C only between two waits.
            done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
            bar.update(len(done))
            with tqdm.external_write_mode():
                yield from done


def _report(say: Say, built: BuiltPage) -> None:
    say(f"  {built.page.source:<50} {built.seconds:6.1f} s  {built.state}")


def _replace_site(project: Project, pages: dict[str, Page], built: dict[str, BuiltPage]) -> None:
    """Write the site to a scratch folder; move it into place once all its links work."""
    scratch = project.root / ".course"
    scratch.mkdir(exist_ok=True)
    _sweep(scratch)
    with TemporaryDirectory(dir=scratch, prefix="site-", ignore_cleanup_errors=True) as folder:
        new, site = Path(folder) / "new", (project.root / "_site").resolve()  # it may be a link
        new.mkdir()
        _copy_resources(project, pages, new)
        html = {result.page.html: result.html for result in built.values()}
        html |= with_mentions(html)
        for result in built.values():
            _write_page(result, for_the_web(project, result.page, html[result.page.html]), new)
            if result.notebook is not None:
                write_notebook(project.root, new, result.page, result.notebook, result.reads)
        if project.get("website", "sidebar", "search"):
            parts = {result.page.html: result.parts for result in built.values()}
            parts.pop(NOT_FOUND, None)
            write_search(project.root, new, parts)
        write_web_files(project, new, pages.values())
        dangling_links = [
            problem
            for result in built.values()
            for problem in dangling(new, result.page, html[result.page.html])
        ]
        if dangling_links:
            raise Problems(dangling_links)
        _put_in_place(new, site, aside=Path(folder) / "old")


def _sweep(scratch: Path) -> None:
    """Delete scratch folders of renders and kernels that were killed more than a day ago."""
    for folder in [*scratch.glob("tmp*"), *scratch.glob("site-*")]:
        if time.time() - folder.stat().st_mtime > _DAY:
            shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(new: Path, site: Path, *, aside: Path) -> None:
    try:
        if site.exists():
            site.rename(aside)
        new.rename(site)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise
        # A mounted folder, as in a container, can't be moved: fill it in place.
        for old in site.iterdir():
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
        shutil.copytree(new, site, dirs_exist_ok=True)


def _write_page(result: BuiltPage, html: str, site: Path) -> None:
    target = site / result.page.html
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(html, encoding="utf-8")
    for address, image in result.figures.items():
        figure = target.parent / address
        figure.parent.mkdir(parents=True, exist_ok=True)
        is_text = figure.suffix == ".svg"
        figure.write_bytes(image.encode() if is_text else base64.b64decode(image))


def _copy_resources(project: Project, pages: dict[str, Page], site: Path) -> None:
    names = [*project.listed("project", "resources"), *project.listed("format", "html", "css")]
    names += filter(None, [project.get("website", key) for key in ("favicon", "image")])
    for page in pages.values():
        names += [*linked_files(project, page), *map(page.resolve, page.styles)]
    for path in dict.fromkeys(path for name in names for path in project.matching(name)):
        target = site / path.relative_to(project.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target, ignore=_hidden, copy_function=_copy, dirs_exist_ok=True)
        else:
            _copy(path, target)
    frame = _COURSE / FRAME  # in any project
    shutil.copytree(frame, site / FRAME, copy_function=_copy, dirs_exist_ok=True)


def _copy(source: str | Path, target: str | Path) -> None:
    Path(target).write_bytes(strip_source(Path(source)))


def _hidden(_: Any, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(".") or name == "__pycache__"]
