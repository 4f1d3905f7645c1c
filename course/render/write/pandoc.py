"""Call Pandoc: once for a page's HTML, once for its notebook."""

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

from course.problems import Problem
from course.render.read.page_source import Page
from course.render.read.project import Project

FILTERS = Path(__file__).parents[1] / "filters"
_BETWEEN = "<!--toc ends-->"
# Pandoc sets the summary as a paragraph of its own.
_SUMMARY = re.compile(r"<details>\s*<summary>\s*(.*?)\s*</summary>", re.S)


class Body(NamedTuple):
    toc: str
    html: str


def to_html(project: Project, page: Page, markdown: str) -> Body:
    arguments = [
        "--to=html5", "--mathml", "--section-divs",
        "--standalone", f"--template={FILTERS / 'pieces.html'}",
        "--toc", f"--toc-depth={project.get('format', 'html', 'toc-depth', default=3)}",
        "--metadata=title:-", "--metadata=link-citations:true",
        *_filters(project), *_lua("appendix"),
    ]  # fmt: skip
    toc, html = _pandoc_of(project, page, markdown, arguments).split(_BETWEEN)
    return Body(toc.strip(), html.strip())


def to_notebook_markdown(project: Project, page: Page, markdown: str, *, site: str) -> str:
    """Convert to the Markdown that Jupyter reads; links lead to pages at the address ``site``."""
    arguments = [
        "--to=gfm-tex_math_gfm", f"--metadata=page-address:{site}{page.html}",
        *_filters(project), *_lua("notebook"),
    ]  # fmt: skip
    text = _pandoc_of(project, page, markdown, arguments)
    return _SUMMARY.sub(r"<details><summary>\1</summary>", text)


def _filters(project: Project) -> list[str]:
    """List the filters that page and notebook share: those for references, and the project's."""
    bibliography = (f"--bibliography={project.root / n}" for n in project.listed("bibliography"))
    filters = (f"--lua-filter={project.root / name}" for name in project.filters)
    return [*_lua("links"), "--citeproc", *bibliography, *filters]


def _pandoc_of(project: Project, page: Page, markdown: str, arguments: list[str]) -> str:
    memory = ["+RTS", "-M2G", "-RTS"]  # a filter which never ends fails before the machine does
    common = ["--from=markdown", "--wrap=none", f"--metadata=site-root:{page.root}"]
    result = subprocess.run(
        [_pandoc(), *memory, *common, *arguments],
        input=markdown, capture_output=True, encoding="utf-8", cwd=project.root,
    )  # fmt: skip
    complaints = [line for line in result.stderr.splitlines() if line.strip()]
    if result.returncode or complaints:
        raise Problem(*_location(page, complaints[0]), "Pandoc says: " + " ".join(complaints))
    return result.stdout


def _location(page: Page, complaint: str) -> tuple[str, int | None]:
    """Find the line of a complaint by the formula in it, as Pandoc names no line."""
    formula = complaint.partition("TeX math ")[2].partition(", rendering")[0]
    line = next((line for line in page.lines if formula and formula in line.text), None)
    return (line.path, line.number) if line else (page.source, None)


def _lua(*names: str) -> list[str]:
    return [f"--lua-filter={FILTERS / name}.lua" for name in names]


@cache
def _pandoc() -> str:
    import pypandoc

    return pypandoc.get_pandoc_path()
