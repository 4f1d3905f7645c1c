"""Find mistakes in a page's OJS cells, and the names that its Python cells publish."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from course.problems import Problem
from course.render.ojs.cells import QuartoOnly
from course.render.ojs.modules import Modules
from course.render.ojs.page_script import OjsPage
from course.render.read.page_source import Page


def ojs_mistakes(page: Page, modules: Modules) -> Iterator[Problem]:
    """Report refused forms, syntax errors, imports of missing files or names, undefined names."""
    ojs = OjsPage(modules, published=published_names(page))
    for cell in page.cells("ojs"):
        try:
            ojs.add_cell(cell.source, path=cell.path, line=cell.line)
        except Problem as error:
            yield error
    yield from ojs.mistakes()
    for expression in (expression for prose in page.prose for expression in prose.expressions()):
        message = f"${{{expression.text}}} in the text: only `--engine quarto` computes it"
        yield QuartoOnly(expression.path, expression.line, message)


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
