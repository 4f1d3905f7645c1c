"""Put the frame around a page's body: head, sidebar, contents, appendix, previous and next."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from course.render.notebook import link_html
from course.render.read.page_source import Page
from course.render.read.project import NavItem, Project

from .pandoc import Body
from .web import POLICY, place

FRAME = Path(__file__).parent / "frame"
MATH_FONT = "assets/fonts/math.woff2"  # asked for with the page, so that formulas come at once
LIBRARY = "site_libs/course"  # the site's folder for the frame's style and script
_CODE = re.compile(
    r'<div class="sourceCode" id="(?P<id>cb\d+)"[^>]*>'
    r'<pre class="sourceCode (?P<language>[\w-]+)(?P<classes>[^"]*)">(?P<code>.*?)</pre></div>',
    re.S,
)
_FOOTNOTES = re.compile(r'(<section id="footnotes"[^>]*>)\s*<hr />')
_HEADING = re.compile(r"<h([2-6])(?: class=\"([^\"]*)\")?([^>]*)>")


@dataclass(frozen=True)
class Link:
    """A line of the sidebar, or the previous or next page, for the template."""

    text: str
    href: str | None = None
    active: bool = False
    children: tuple[Link, ...] = ()


def whole_page(project: Project, pages: dict[str, Page], page: Page, body: Body, ojs: str) -> str:
    text, appendix = body.html.split("<!--appendix-->")
    site_title = project.get("website", "title", default="")
    previous, following = _neighbours(project, pages, page)
    return _template().render(
        site_title=site_title,
        favicon=project.get("website", "favicon"),
        page_title=page.meta.get("pagetitle", _page_title(page.title, site_title)),
        title=page.title,
        subtitle=page.meta.get("subtitle"),
        abstract=page.meta.get("description"),
        lang=project.get("lang", default="en"),
        root=page.root,
        library=page.root + LIBRARY,
        math_font=MATH_FONT if _needs_math_font(project, text) else None,
        styles=[page.root + name for name in _styles(project, page)],
        description=page.meta.get("description", project.get("website", "description")),
        search=project.has_search,
        sidebar=_links(project.sidebar, pages, page),
        notebook_link=link_html(project, page),
        toc=_toc(body.toc) if _has_toc(project, page) else "",
        toc_title=project.get("format", "html", "toc-title", default="On this page"),
        body=_code_blocks(_headings(text)),
        appendix=_appendix(appendix),
        previous=previous,
        following=following,
        ojs=ojs,
        place=place(project, page),
        policy=POLICY,
    )


def _styles(project: Project, page: Page) -> list[str]:
    return [*project.listed("format", "html", "css"), *map(page.resolve, page.styles)]


def _needs_math_font(project: Project, text: str) -> bool:
    return "<math" in text and (project.root / MATH_FONT).is_file()


def _page_title(title: str, site_title: str) -> str:
    return " – ".join(dict.fromkeys(part for part in (title, site_title) if part))


def _has_toc(project: Project, page: Page) -> bool:
    return page.meta.get("toc", project.get("format", "html", "toc", default=False))


def _links(items: Iterable[NavItem], pages: dict[str, Page], here: Page) -> tuple[Link, ...]:
    return tuple(_link(item, pages, here) for item in items)


def _link(item: NavItem, pages: dict[str, Page], here: Page) -> Link:
    children = _links(item.children, pages, here)
    if item.source is None:
        return Link(item.text, children=children)
    page = pages[item.source]
    return Link(item.text or page.title, here.root + page.html, page is here, children)


def _neighbours(
    project: Project, pages: dict[str, Page], here: Page
) -> tuple[Link | None, Link | None]:
    if not project.get("website", "page-navigation", default=False):
        return None, None
    links = [link for link in _flat(_links(project.sidebar, pages, here)) if link.href]
    place = next((index for index, link in enumerate(links) if link.active), None)
    if place is None:
        return None, None
    return (links[place - 1] if place else None), next(iter(links[place + 1 :]), None)


def _flat(links: Iterable[Link]) -> list[Link]:
    return [each for link in links for each in (link, *_flat(link.children))]


def _toc(toc: str) -> str:
    return toc.replace('<a href="', '<a class="nav-link" href="')


def _headings(html: str) -> str:
    def anchored(match: re.Match[str]) -> str:
        level, classes, attributes = match.groups()
        return f'<h{level} class="{f"{classes} " if classes else ""}anchored"{attributes}>'

    return _HEADING.sub(anchored, html)


def _code_blocks(html: str) -> str:
    return _CODE.sub(_code_block, html)


def _code_block(match: re.Match[str]) -> str:
    """Nest code as Quarto does, add a copy button, and drop Pandoc's empty link on every line."""
    code = re.sub(r'<a href="#cb[\d-]+"[^>]*></a>', "", match["code"])
    return (
        '<div class="code-copy-outer-scaffold">'
        f'<div class="sourceCode{match["classes"]}" id="{match["id"]}">'
        f'<pre class="sourceCode {match["language"]} code-with-copy">{code}</pre></div>'
        '<button type="button" class="code-copy-button" title="Copy to clipboard" '
        'aria-label="Copy to clipboard"><i class="bi" aria-hidden="true"></i></button></div>'
    )


def _appendix(html: str) -> str:
    heading = '<h2 class="anchored quarto-appendix-heading">{}</h2>'
    references, footnotes = html, ""
    if match := _FOOTNOTES.search(html):
        references = html[: match.start()]
        footnotes = match[1] + heading.format("Footnotes") + html[match.end() :]
    if references.strip():
        references = (
            '<section id="quarto-bibliography" class="quarto-appendix-contents" '
            'role="doc-bibliography">' + heading.format("References") + references + "</section>"
        )
    return (references + footnotes).strip()


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FRAME), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("page.html.j2")
