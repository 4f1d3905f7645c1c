"""One call of Pandoc for a page: Markdown in, table of contents and body out."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .problems import Problem
from .project import Project
from .source import Page

FILTERS = Path(__file__).parent / "filters"
_BETWEEN = "<!--toc ends-->"
_READER = "markdown"


class Body(NamedTuple):
    toc: str
    html: str


def to_html(project: Project, page: Page, markdown: str) -> Body:
    command = [
        _pandoc(), f"--from={_READER}", "--to=html5", "--mathml", "--wrap=none", "--section-divs",
        "--standalone", f"--template={FILTERS / 'pieces.html'}",
        "--toc", f"--toc-depth={project.get('format', 'html', 'toc-depth', default=3)}",
        "--metadata=title:-", "--metadata=link-citations:true",
        f"--metadata=site-root:{page.root}",
        *_lua("links", "callouts", "crossref"), "--citeproc",
        *(f"--bibliography={project.root / name}" for name in project.listed("bibliography")),
        *(f"--lua-filter={project.root / name}" for name in project.filters),
        *_lua("appendix"),
    ]  # fmt: skip
    done = subprocess.run(
        command, input=markdown, capture_output=True, encoding="utf-8", cwd=project.root
    )
    complaints = [line for line in done.stderr.splitlines() if line.strip()]
    if done.returncode or complaints:
        raise Problem(*_place(page, complaints[0]), "Pandoc says: " + " ".join(complaints))
    toc, html = done.stdout.split(_BETWEEN)
    return Body(toc.strip(), html.strip())


def _place(page: Page, complaint: str) -> tuple[str, int | None]:
    """Pandoc names no line, but it quotes the formula that it can't read."""
    formula = complaint.partition("TeX math ")[2].partition(", rendering")[0]
    found = next((line for line in page.lines if formula and formula in line.text), None)
    return (found.path, found.number) if found else (page.source, None)


def _lua(*names: str) -> list[str]:
    return [f"--lua-filter={FILTERS / name}.lua" for name in names]


@cache
def _pandoc() -> str:
    import pypandoc

    return pypandoc.get_pandoc_path()
