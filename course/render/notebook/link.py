"""Name a lesson's notebook, and write the line under its title for the pages of both engines."""

from pathlib import PurePosixPath

from course import preview_address
from course.page.reading_time import minutes
from course.render.read.page_source import Page
from course.render.read.project import Project


def has_notebook(project: Project, page: Page) -> bool:
    """True for a lesson, in a project whose `post-render` writes notebooks."""
    has_post_render = project.get("project", "post-render") is not None
    return has_post_render and PurePosixPath(page.name).name == "lesson"


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
    script = f"{page.root}assets/frame/notebook-link.js"
    return (
        f'<span class="reading-time">About {minutes(project.root, page.source)} minutes</span>'
        f'<a class="notebook-link" href="{file}" download="{notebook_name(page)}">Notebook</a>'
        f'<script src="{script}" data-address="{site_address(project)}"></script>'
    )
