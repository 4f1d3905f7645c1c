"""Compile OJS cells to JavaScript while the site is built, so that readers load no parser.

Observable's parser runs in V8 (``js/compile.js``); ``js/runtime.js`` runs its output.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from course.problems import nearest
from course.render.cache import remembered

from .compiler import OjsError, browser_names, compile_cell
from .modules import Modules

__all__ = ["BUILTINS", "OjsError", "OjsPage", "Placeholder"]

RUNTIME = "assets/vendor/ojs-runtime.js"
# The runtime defines the last two, js/stdlib.js the others.
BUILTINS = frozenset({
    "Generators", "Mutable", "Promises", "html", "svg", "now", "width",
    "invalidation", "visibility",
})  # fmt: skip
_PREFIXES = {"view": "viewof", "mutable": "mutable"}
_INSTEAD = {
    "FileAttachment": ": publish the data from a Python cell, or fetch it in an ES module",
    "require": ": import an ES module of this project",
}


class Placeholder(NamedTuple):
    """The element that one statement of a cell fills."""

    id: str
    nodetype: str  # "declaration" or "expression": Quarto's words


@dataclass
class _Statement:
    """One statement of a cell, compiled, with its place in the source."""

    place: str  # id of its element
    kind: str
    compiled: dict[str, Any]
    path: str
    first_line: int

    @property
    def nodetype(self) -> str:
        return "expression" if self.kind == "expression" else "declaration"

    def line(self, at: dict[str, Any] | None = None) -> int:
        return self.first_line + (at or self.compiled)["line"] - 1

    def error(self, message: str, at: dict[str, Any] | None = None) -> OjsError:
        """Make an error that points to ``at``, a place in the cell."""
        # The column of an inline expression counts from "${", not from the start of the line.
        column = None if self.kind == "inline" else (at or self.compiled)["column"]
        return OjsError(self.path, self.line(at), column, message)

    def defines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each name that the statement defines, with its place."""
        if self.kind == "import":
            yield from ((entry["name"], entry) for entry in self.compiled["names"])
        elif name := self.compiled["name"]:
            yield name, self.compiled
            if self.kind in _PREFIXES:
                yield f"{_PREFIXES[self.kind]} {name}", self.compiled

    def uses(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from ((entry["name"], entry) for entry in self.compiled.get("inputs", ()))

    def javascript(self, root: str) -> str:
        about: dict[str, Any] = {"place": self.place, "at": f"{self.path}:{self.line()}"}
        if self.kind == "import":
            module = self.compiled["module"]
            about["module"] = module
            about["names"] = {name: entry["exported"] for name, entry in self.defines()}
            start = f"() => import({json.dumps(_from_page(root, module))})"
            return f"load({json.dumps(about)}, {start});"
        about |= {"kind": self.kind, "inputs": [name for name, _ in self.uses()]}
        if self.compiled["name"]:
            about["name"] = self.compiled["name"]
        return f"define({json.dumps(about)}, {self.compiled['code']});"


class OjsPage:
    """The OJS cells of one page; its Python cells define the names ``published``."""

    def __init__(self, modules: Modules, *, published: Iterable[str] = ()) -> None:
        self.modules = modules
        self.published = frozenset(published)
        self._statements: list[_Statement] = []
        self._cells = self._inlines = 0
        self._all_read = True

    def add_cell(self, source: str, *, path: str, line: int) -> list[Placeholder]:
        """Compile a cell, and return the elements that it fills, one for each statement.

        ``line`` is where ``source`` starts in the file ``path``. Raises: OjsError.
        """
        self._cells += 1
        compiled = self._compile(source, path, line, inline=False)
        if not compiled:
            raise OjsError(path, line, None, "the OJS cell is empty: it needs a statement")
        statements = []
        for number, entry in enumerate(compiled, 1):
            place = f"ojs-cell-{self._cells}" + (f"-{number}" if len(compiled) > 1 else "")
            statements.append(_Statement(place, entry["kind"], entry, path, line))
        self._statements += statements
        for statement in statements:
            if statement.kind == "import":
                self._resolve(statement)
        return [Placeholder(entry.place, entry.nodetype) for entry in statements]

    def add_inline(self, expression: str, *, path: str, line: int) -> str:
        """Compile ``${expression}`` and return the id of the element that it fills."""
        self._inlines += 1
        compiled = self._compile(expression, path, line, inline=True)
        if len(compiled) != 1 or compiled[0]["kind"] != "expression" or compiled[0]["isBlock"]:
            raise OjsError(path, line, None, f"${{{expression}}} must hold one expression")
        place = f"ojs-element-id-{self._inlines}"
        self._statements.append(_Statement(place, "inline", compiled[0], path, line))
        return place

    def mistakes(self) -> Iterator[OjsError]:
        """Find names that are undefined, defined twice or defined by themselves on the page."""
        by_name: dict[str, _Statement] = {}
        for statement in self._statements:
            for name, at in statement.defines():
                if name in self.published:
                    yield statement.error(f'"{name}" is already defined by publish({name}=…)', at)
                elif name in by_name:
                    first = f"{by_name[name].path}:{by_name[name].line()}"
                    yield statement.error(f'"{name}" is already defined at {first}', at)
                else:
                    by_name[name] = statement
        known = by_name.keys() | self.published | BUILTINS
        for statement in self._statements:
            for name, at in statement.uses():
                if self._all_read and name not in known and name not in browser_names():
                    hint = _INSTEAD.get(name) or nearest(name, known)
                    yield statement.error(f'"{name}" is not defined{hint}', at)
        yield from _circles(self._statements, by_name)

    def files(self) -> list[str]:
        """List the modules that the page loads, imports of imports included; [] without cells."""
        if not self._statements:
            return []
        imports = (entry for entry in self._statements if entry.kind == "import")
        closure = self.modules.closure([entry.compiled["module"] for entry in imports])
        return list(dict.fromkeys([RUNTIME, *closure]))

    def script(self, *, root: str) -> str:
        """Return the script to put after ``</main>``; "" without cells.

        ``root`` is the path from the page to the site's root, such as "../".
        """
        for mistake in self.mistakes():
            raise mistake
        if not self._statements:
            return ""
        preloads = [f'<link rel="modulepreload" href="{root}{file}">' for file in self.files()]
        code = [f'import {{define, load}} from "{_from_page(root, RUNTIME)}";']
        code += [statement.javascript(root) for statement in self._statements]
        # A string or a comment may hold "</script" or "<!--", which would end or hide this script.
        # An escaped "s" means the same in strings, templates, expressions and names.
        text = re.sub(r"(?<=</)(s)(?=cript)", _as_escape, "\n".join(code), flags=re.I)
        return "\n".join([*preloads, '<script type="module">', text, "// -->", "</script>"])

    def _compile(self, source: str, path: str, line: int, *, inline: bool) -> list[dict[str, Any]]:
        try:
            return remembered(self.modules.root, compile_cell, source)
        except OjsError as error:
            self._all_read = False  # an unread cell may define any name
            column = None if inline else error.column
            raise OjsError(path, line + error.line - 1, column, error.message) from None

    def _resolve(self, statement: _Statement) -> None:
        compiled = statement.compiled
        try:
            module = self.modules.resolve(statement.path, compiled["module"], from_cell=True)
        except LookupError as error:
            raise statement.error(str(error), compiled["moduleAt"]) from None
        compiled["module"] = module
        exports = self.modules.exports(module)
        for entry in compiled["names"]:
            if exports is not None and entry["exported"] not in exports:
                hint = nearest(entry["exported"], exports)
                message = f'{module} does not export "{entry["exported"]}"{hint}'
                raise statement.error(message, entry)
        self.modules.check(module)


def _as_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _from_page(root: str, file: str) -> str:
    return f"{root or './'}{file}"


def _circles(statements: list[_Statement], by_name: dict[str, _Statement]) -> Iterator[OjsError]:
    """Report each statement whose value depends on itself."""
    done: set[str] = set()

    def walk(statement: _Statement, above: list[_Statement]) -> Iterator[OjsError]:
        if statement in above:
            names = [entry.compiled["name"] for entry in above[above.index(statement) :]]
            yield statement.error(f"a circular definition: {' → '.join([*names, names[0]])}")
        elif statement.place not in done:
            for name, _ in statement.uses():
                if name in by_name:
                    yield from walk(by_name[name], [*above, statement])
            done.add(statement.place)

    for statement in statements:
        yield from walk(statement, [])
