"""Name a lesson's notebook, and write the line under its title for the pages of both engines."""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath
from typing import Any

from course import preview_address
from course.render.read.page_source import Page
from course.render.read.project import Project
from course.render.read.reading_time import minutes


def has_notebook(project: Project, page: Page) -> bool:
    """True for a lesson, in a project whose `post-render` writes notebooks."""
    asked = project.get("project", "post-render") is not None
    return asked and PurePosixPath(page.name).name == "lesson"


def site_address(project: Project) -> str:
    """Return the address in the notebook; the link on the page replaces it by the page's own."""
    return project.site_url or preview_address.URL


def notebook_name(page: Page) -> str:
    """Return ``m03_scaled_dot_product.ipynb``, after the folder: every page is called lesson."""
    return PurePosixPath(page.name).parent.name + ".ipynb"


def link_html(project: Project, page: Page) -> str:
    """Return how long the lesson takes, and the link to its notebook."""
    if not has_notebook(project, page):
        return ""
    file = PurePosixPath(page.name).name + ".ipynb"
    name, root = notebook_name(page), page.root or "./"
    return template("link.html.j2").render(
        file=file,
        name=name,
        root=root,
        address=site_address(project),
        minutes=minutes(project.root, page.source),
    )


@cache
def template(name: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("course.render", "notebook")
    return Environment(loader=loader, undefined=StrictUndefined).get_template(name)
