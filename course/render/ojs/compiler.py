"""Run Observable's parser (``js/ojs-compiler.js``) in V8."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from py_mini_racer import MiniRacer

from course.javascript import new_context
from course.problems import Problem

_BUNDLE = Path(__file__).parents[1] / "js" / "ojs-compiler.js"


class OjsError(Problem):
    """A mistake in a cell, or in a module that a cell imports. ``column`` counts from 1."""

    def __init__(self, path: object, line: int, column: int | None, message: str) -> None:
        super().__init__(path, line, message)
        self.column = column
        self.args = (path, line, column, message)

    def __str__(self) -> str:
        column = f":{self.column}" if self.column else ""
        return f"{self.path}:{self.line}{column}: {self.message}"


def compile_cell(source: str) -> list[dict[str, Any]]:
    """Compile a cell to a list of statements, whose fields are documented in js/compile.js.

    Raises: OjsError with no path, and the line and column in ``source``.
    """
    return _ask("compileCell", source)


def scan_module(source: str) -> dict[str, Any]:
    """List the imports and exports of an ES module. Raises: OjsError, as ``compile_cell``."""
    return _ask("scanModule", source)


@cache
def browser_names() -> frozenset[str]:
    """Return the names of the globals that every browser defines."""
    return frozenset(json.loads(_parser().eval("browserNames()")))


def _ask(function: str, source: str) -> Any:
    answer = json.loads(_parser().eval(f"{function}({json.dumps(source)})"))
    if "error" in answer:
        error = answer["error"]
        raise OjsError("", error["line"], error["column"], error["message"])
    return answer["value"]


@cache
def _parser() -> MiniRacer:
    context = new_context()
    context.eval(_BUNDLE.read_text(encoding="utf-8"))
    return context
