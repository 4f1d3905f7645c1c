"""Render with Quarto: run the same checks first, and raise the errors that it only prints."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from course.check.pages import read_site
from course.ended import status_of
from course.problems import Problem, Problems
from course.render.build import Builder
from course.render.notebook.archive import write_notebook
from course.render.notebook.link import has_notebook, link_html
from course.render.ojs.cells import QuartoOnly
from course.render.read.page_source import Page
from course.render.read.project import Project, load_project
from course.render.write.mentions import with_mentions

# Quarto prints these and exits with 0.
_QUIET_ERRORS = re.compile(r"ERROR: OJS parsing failed")
_MISSING = """there is no `quarto` on this machine. Either
  install Quarto 1.10 from quarto.org, or
  run `.venv/bin/python -m pip install -r requirements-quarto.txt`, which downloads it, or
  leave out `--engine quarto`: the embedded engine renders the same pages."""

_LEFT_OUT = (
    "  notebooks left out, as their lessons would have to run a second time: {}; "
    "`python3 -m course render --engine quarto` makes them"
)


def render_with_quarto(root: Path, *, cell_timeout: float) -> int:
    """Render; ``cell_timeout`` is for the notebooks' cells, as Quarto has no limit for its own."""
    _check(load_project(root))
    quarto = shutil.which("quarto") or shutil.which("quarto", path=str(Path(sys.executable).parent))
    if quarto is None:
        print(_MISSING, file=sys.stderr)
        return 1
    # Quarto looks for no .venv.
    ours = {"QUARTO_PYTHON": sys.executable, "COURSE_CELL_TIMEOUT": str(cell_timeout)}
    environment = {**ours, **os.environ}
    quiet = []
    with subprocess.Popen(
        [quarto, "render"], cwd=root, env=environment, text=True, encoding="utf-8",
        errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        for line in process.stdout or ():
            print(line, end="", flush=True)
            if _QUIET_ERRORS.search(line):
                quiet.append(line.strip())
    if quiet:
        raise Problems(Problem("quarto", None, line) for line in dict.fromkeys(quiet))
    return status_of("quarto", process.returncode)


def _check(project: Project) -> dict[str, Page]:
    """Read the pages. Raises: Problems with every mistake that is one for Quarto too."""
    pages, problems = read_site(project)
    problems = [problem for problem in problems if not isinstance(problem, QuartoOnly)]
    if problems:
        raise Problems(problems)
    return pages


def add_notebooks(root: Path, files: list[str], *, cell_timeout: float | None) -> None:
    """Write a notebook beside each lesson in ``files``, Quarto's pages, and link to it.

    Quarto keeps no outputs, so they come from the embedded engine, from its cache if possible.
    Without a ``cell_timeout`` a lesson that isn't in the cache isn't run, and gets no notebook.
    """
    project = load_project(root)
    pages = _check(project)
    site = root / "_site"
    rendered = {(root / name).resolve() for name in files}
    builder = Builder(project, pages, cell_timeout or 0)
    left_out = []
    for page in pages.values():
        target = site / page.html
        if target.resolve() in rendered and has_notebook(project, page):
            notebook = builder.notebook(page, execute=cell_timeout is not None)
            if notebook is None:
                left_out.append(page.name)
                continue
            write_notebook(root, site, page, *notebook)
            _add_link(target, link_html(project, page))
            print(f"  {page.name}.ipynb", flush=True)
    if left_out:
        print(_LEFT_OUT.format(len(left_out)), flush=True)


def add_mentions(root: Path) -> None:
    """Add the lessons that use each function to Quarto's pages of the source."""
    site = root / "_site"
    pages = [page.html for page in read_site(load_project(root))[0].values()]  # in their order
    html = {at: (site / at).read_text(encoding="utf-8") for at in pages if (site / at).is_file()}
    for page, text in with_mentions(html).items():
        (site / page).write_text(text, encoding="utf-8")


def _add_link(target: Path, link: str) -> None:
    html = target.read_text(encoding="utf-8")
    if link not in html:
        before, mark, after = html.partition('<div class="quarto-title-meta">')
        if not mark:
            raise Problem(target, None, "has no quarto-title-meta to put the notebook's link in")
        target.write_text(before + mark + link + after, encoding="utf-8")
