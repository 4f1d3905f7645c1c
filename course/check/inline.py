"""Check the text's `{python} expression`s: syntax, names and position on the page."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Iterator

from course.problems import Problem, nearest
from course.render.read.markdown import Prose, Span, automatic_id
from course.render.read.page_source import Cell, Page

_CODE = "`{python}"
_NOT_RUN = re.compile(r"(?<!`)`\{(?!python\}[ \t][^`\s][^`\n]*(?<![ \t])`)(?:python|ojs|r)\}")
_ALWAYS = {*dir(builtins), "__name__", "display", "get_ipython", "In", "Out", "_"}
# Code that can define names which no parser sees.
_HIDDEN = re.compile(r"import \*|(?<![.\w])(?:exec|eval|globals|locals|vars|setattr|get_ipython)\b")


def inline_mistakes(page: Page) -> Iterator[Problem]:
    defined: set[str] | None = _ALWAYS
    for block in page.blocks:
        if isinstance(block, Cell):
            yield from _in_options(block)
            new = _defined(block.source) if block.language == "python" else set()
            defined = None if defined is None or new is None else defined | new
        elif "`{" in block.source:
            yield from _misplaced(block)
            for expression in block.inline():
                yield from _mistakes(expression, defined, page)


def _in_options(cell: Cell) -> Iterator[Problem]:
    for option, value in cell.options.items():
        if _CODE in str(value):
            message = f"{option}: Quarto runs no code in options"
            if option == "fig-cap":
                message += "; write the caption below the cell, in ::: {.widget-caption}"
            yield Problem(cell.path, cell.line_of(option), message)


def _misplaced(block: Prose) -> Iterator[Problem]:
    for match in _NOT_RUN.finditer(block.source):
        message = "Quarto won't run this: write `{python} expression` on one line, with one blank"
        yield Problem(*block.location(match.start()), message)
    for name, heading in block.headings():
        if _CODE in heading.text and name == automatic_id(heading.text):
            message = "a heading with a value needs an id of its own: write {#sec-name} after it"
            yield Problem(heading.path, heading.line, message)


def _mistakes(expression: Span, defined: set[str] | None, page: Page) -> Iterator[Problem]:
    location, code = (expression.path, expression.line), f"`{{python}} {expression.text}`"
    try:
        ast.parse(expression.text.strip(), mode="eval")
    except SyntaxError as error:
        yield Problem(*location, f"{code}: {error.msg}")
        return
    if defined is None:
        return
    table = symtable.symtable(expression.text.strip(), expression.path, "eval")
    names = {s.get_name() for s in _symbols(table) if s.is_referenced()} - _bound(table)
    for name in sorted(names - defined):
        message = f'{code}: no cell of {page.source} above it defines "{name}"'
        yield Problem(*location, message + nearest(name, defined - _ALWAYS))


def _defined(cell: str) -> set[str] | None:
    """Return the names that a cell may define, in functions too; None if they are unknown."""
    try:
        return None if _HIDDEN.search(cell) else _bound(symtable.symtable(cell, "cell", "exec"))
    except SyntaxError:  # %magic and !commands, which IPython knows
        return None


def _bound(table: symtable.SymbolTable) -> set[str]:
    return {
        symbol.get_name()
        for symbol in _symbols(table)
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter()
    }


def _symbols(table: symtable.SymbolTable) -> Iterator[symtable.Symbol]:
    yield from table.get_symbols()
    for child in table.get_children():
        yield from _symbols(child)
