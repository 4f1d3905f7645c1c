"""Find mistakes in a page's OJS cells, and the names that its Python cells publish."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from course.problems import Problem
from course.render.ojs.modules import Modules
from course.render.ojs.page_script import OjsError, OjsPage
from course.render.read.markdown import Prose
from course.render.read.page_source import Page


def ojs_mistakes(page: Page, modules: Modules) -> Iterator[Problem]:
    """Report syntax errors, imports of missing files or names, and undefined names."""
    ojs = OjsPage(modules, published=published_names(page))
    for block in page.blocks:
        try:
            if isinstance(block, Prose):
                for found in block.expressions():
                    ojs.add_inline(found.expression, path=found.path, line=found.line)
            elif block.language == "ojs":
                ojs.add_cell(block.source, path=block.path, line=block.line)
        except OjsError as error:
            yield Problem(error.path, error.line, error.message)
    for error in ojs.mistakes():
        yield Problem(error.path, error.line, error.message)


def published_names(page: Page) -> set[str]:
    """Collect the names in calls of ``publish(name=…)``, which OJS cells may use."""
    names: set[str] = set()
    for cell in page.cells("python"):
        if "publish" not in cell.source:
            continue
        try:
            tree = ast.parse(cell.source)
        except SyntaxError:
            continue  # IPython may accept it (``%matplotlib``), or else tells the error itself
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            function = call.func
            called = getattr(function, "id", None) or getattr(function, "attr", None)
            if called == "publish":
                names |= {keyword.arg for keyword in call.keywords if keyword.arg}
    return names
