"""Name a lesson's notebook, and write the link to it for the pages of both engines."""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath
from typing import Any

from course.render.read.page_source import Page
from course.render.read.project import Project
from course.serve import HOST, PORT

SITE = f"http://{HOST}:{PORT}/"  # where `preview` serves; a page replaces it by its own address


def has_notebook(project: Project, page: Page) -> bool:
    """True for a lesson, in a project whose `post-render` writes notebooks."""
    asked = project.get("project", "post-render") is not None
    return asked and PurePosixPath(page.name).name == "lesson"


def notebook_name(page: Page) -> str:
    """Return ``m03_scaled_dot_product.ipynb``, after the folder: every page is called lesson."""
    return PurePosixPath(page.name).parent.name + ".ipynb"


def link_html(project: Project, page: Page) -> str:
    if not has_notebook(project, page):
        return ""
    file = PurePosixPath(page.name).name + ".ipynb"
    name, root = notebook_name(page), page.root or "./"
    return template("link.html.j2").render(file=file, name=name, root=root, address=SITE)


@cache
def template(name: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("course.render", "notebook")
    return Environment(loader=loader, undefined=StrictUndefined).get_template(name)
