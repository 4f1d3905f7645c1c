"""Put the frame around a page's body: head, sidebar, contents, appendix, previous and next."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from course.render.read.page_source import Page
from course.render.read.project import NavItem, Project

from .pandoc import Body
from .web import POLICY, canonical

MATH_FONT = "assets/fonts/math.woff2"  # asked for with the page, so that formulas come at once
TEXT_FONT = "assets/fonts/text.woff2"
FRAME = "assets/frame"  # the frame's style and script, here and in the site
_NOTE = re.compile(r'<div id="note-[^"]*" class="term-note".*?</div>', re.S)  # hidden at first
_CODE = re.compile(
    r'<div class="sourceCode" id="(?P<id>cb\d+)"[^>]*>'
    r'<pre class="sourceCode (?P<language>[\w-]+)(?P<classes>[^"]*)">(?P<code>.*?)</pre></div>',
    re.S,
)


def whole_page(
    project: Project,
    pages: dict[str, Page],
    page: Page,
    body: Body,
    *,
    notebook_link: str,
    ojs: str,
) -> str:
    text, appendix = body.html.split("<!--appendix-->")
    needs_font = "<math" in _NOTE.sub("", text) and (project.root / MATH_FONT).is_file()
    site_title = project.get("website", "title", default="")
    previous, following = _neighbours(project, page)
    return _template().render(
        site_title=site_title,
        favicon=project.get("website", "favicon"),
        page_title=" – ".join(dict.fromkeys(filter(None, [page.title, site_title]))),
        page=page,
        abstract=page.meta.get("description"),
        frame=page.root + FRAME,
        text_font=TEXT_FONT if (project.root / TEXT_FONT).is_file() else None,
        math_font=MATH_FONT if needs_font else None,
        styles=[page.root + name for name in _styles(project, page)],
        description=page.meta.get("description", project.get("website", "description")),
        search=project.get("website", "sidebar", "search"),
        sidebar=project.sidebar,
        pages=pages,
        notebook_link=notebook_link,
        toc=body.toc if _has_toc(project, page) else "",
        body=_CODE.sub(_code_block, text),
        appendix=_appendix(appendix),
        previous=previous,
        following=following,
        ojs=ojs,
        canonical=canonical(project, page),
        policy=POLICY,
    )


def _styles(project: Project, page: Page) -> list[str]:
    return [*project.listed("format", "html", "css"), *map(page.resolve, page.styles)]


def _has_toc(project: Project, page: Page) -> bool:
    return page.meta.get("toc", project.get("format", "html", "toc", default=False))


def _neighbours(project: Project, here: Page) -> tuple[NavItem | None, NavItem | None]:
    """Return the pages before and after this one in the sidebar."""
    items = project.sidebar_pages
    index = next((i for i, item in enumerate(items) if item.source == here.source), None)
    if index is None or not project.get("website", "page-navigation", default=False):
        return None, None
    return (items[index - 1] if index else None), next(iter(items[index + 1 :]), None)


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


def _appendix(references: str) -> str:
    return references.strip() and (
        '<section id="quarto-bibliography" class="quarto-appendix-contents" '
        'role="doc-bibliography"><h2 class="quarto-appendix-heading">References</h2>'
        f"{references}</section>"
    )


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("page.html.j2")
