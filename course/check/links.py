"""Check links and images, and list the linked files that are copied into _site/."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote

from course.problems import Problem, unknown
from course.render.read.markdown import Prose
from course.render.read.page_source import Page
from course.render.read.project import Project

from .site_index import SiteIndex

_OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.I)
_ADDRESS = re.compile(r"""<[a-z][^>]*?\s(?:href|src)=["']([^"']+)["']""")
_IMAGES = {".png", ".svg", ".jpg", ".jpeg", ".webp", ".gif"}


def broken_links(prose: Prose, page: Page, index: SiteIndex) -> Iterator[Problem]:
    root = index.project.root
    for link, is_image in prose.links():
        target, _, anchor = link.text.partition("#")
        target = target.partition("?")[0]  # behind it a widget's state
        if _OUTSIDE.match(target):
            continue
        source = page.resolve(target)
        if source is None or not (root / source).exists():
            kind = "image" if is_image else "link target"
            message = unknown(kind, target, _neighbours(index.project, page, is_image))
            yield Problem(link.path, link.line, message)
        elif anchor and source in index.anchors and anchor not in index.anchors[source]:
            names = [f"#{name}" for name in index.anchors[source]]
            message = unknown(f"place in {source}", f"#{anchor}", names)
            yield Problem(link.path, link.line, message)


def missing_styles(page: Page, index: SiteIndex) -> Iterator[Problem]:
    root = index.project.root
    for name in page.styles:
        source = page.resolve(name)
        if source is None or not (root / source).is_file():
            styles = sorted(path.name for path in (root / "widgets").glob("*.css"))
            message = unknown("stylesheet", name, styles)
            yield Problem(page.source, page.meta_lines.get(("css",)), message)


def linked_files(project: Project, page: Page) -> Iterator[str]:
    """Yield the files that the page links to or shows, other pages excepted."""
    for prose in page.prose:
        for link, _ in prose.links():
            target = link.text.partition("#")[0]
            source = None if _OUTSIDE.match(target) else page.resolve(target)
            if source and source not in project.sources:
                yield source


def _neighbours(project: Project, page: Page, is_image: bool) -> list[str]:
    """List the files that a mistaken link may have meant, relative to this page."""
    here = (project.root / page.source).parent
    if is_image:
        return [name for name in _files_below(here) if Path(name).suffix in _IMAGES]
    pages = [Path(os.path.relpath(project.root / name, here)) for name in project.sources]
    return [*_files_below(here), *(path.as_posix() for path in pages)]


def dangling(site: Path, page: Page, html: str) -> Iterator[Problem]:
    """Report addresses in the finished page, raw HTML and outputs included, without a file."""
    folder = (site / page.html).parent
    for address in dict.fromkeys(_ADDRESS.findall(html)):
        target = unquote(unescape(address).partition("#")[0].partition("?")[0])
        if target and not _OUTSIDE.match(target) and not (folder / target).exists():
            line = next((line for line in page.lines if address in line.text), None)
            location = line[1:] if line else (page.source, None)
            yield Problem(*location, f'"{address}" leads nowhere in the site')


def _files_below(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        yield from ((Path(parent) / name).relative_to(folder).as_posix() for name in files)
