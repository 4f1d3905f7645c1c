"""OJS cells, compiled to JavaScript at build time by Observable's own parser in QuickJS."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path, PurePosixPath
from typing import Any

import quickjs

RUNTIME = "assets/vendor/ojs-runtime.js"

# What course/vendor/ojs-runtime.mjs defines. The parser itself knows the browser's globals.
BUILTINS = {
    *("Generators", "Mutable", "Promises", "html", "svg", "now", "width"),
    *("invalidation", "visibility"),
}


class OjsError(Exception):
    def __init__(self, path: str, line: int, column: int, message: str) -> None:
        super().__init__(f"{path}:{line}:{column}: {message}")
        self.path, self.line, self.column, self.message = path, line, column, message


@dataclass(frozen=True)
class Placeholder:
    id: str
    nodetype: str


@dataclass(frozen=True)
class _Statement:
    id: str
    path: str
    line: int
    compiled: dict[str, Any]


@dataclass
class OjsPage:
    """The OJS of one page, cell after cell, and the script that runs it."""

    root: Path
    published: set[str] = field(default_factory=set)
    _statements: list[_Statement] = field(default_factory=list)
    _cells: int = 0
    _inlines: int = 0

    def add_cell(self, source: str, *, path: str, line: int) -> list[Placeholder]:
        """``line``: where in ``path`` the source starts. One placeholder a statement."""
        self._cells += 1
        found = _compile(source, path, line)
        several = len(found) > 1
        places = []
        for number, compiled in enumerate(found, start=1):
            name = f"ojs-cell-{self._cells}" + (f"-{number}" if several else "")
            at = line + compiled["line"] - 1
            if compiled["kind"] == "import":
                compiled["from"] = self._module(compiled["from"], path, at)
            self._statements.append(_Statement(name, path, at, compiled))
            shown = compiled["kind"] == "expression"
            places.append(Placeholder(name, "expression" if shown else "declaration"))
        return places

    def add_inline(self, expression: str, *, path: str, line: int) -> str:
        """``${expression}`` in the prose. Returns the id of the element that shows it."""
        self._inlines += 1
        compiled, *more = _compile(f"({expression}\n)", path, line)
        if more:
            raise OjsError(path, line, 1, f"one expression a ${{…}}, not {1 + len(more)}")
        name = f"ojs-element-id-{self._inlines}"
        self._statements.append(_Statement(name, path, line, {**compiled, "kind": "inline"}))
        return name

    def unresolved(self) -> Iterator[OjsError]:
        """The names that no cell, import, ``publish`` or built-in defines."""
        known = BUILTINS | self.published
        for statement in self._statements:
            known |= _defined(statement.compiled)
        for statement in self._statements:
            for name in statement.compiled.get("inputs", ()):
                if name not in known:
                    near = difflib.get_close_matches(name, known, n=1)
                    hint = f'; did you mean "{near[0]}"?' if near else ""
                    message = f'nothing defines "{name}"{hint}'
                    yield OjsError(statement.path, statement.line, 1, message)

    def script(self, *, root: str) -> str:
        """What goes after the page's content; ``root`` leads from the page to the site."""
        if not self._statements:
            return ""
        root = root or "./"  # a module's address may not begin with its folder's bare name
        imports, cells = self._imports(root), ",\n".join(self._cells_as_js())
        modules = [f"{root}{RUNTIME}", *imports]
        preload = [f'<link rel="modulepreload" href="{escape(module)}">' for module in modules]
        lines = [f'import {{run}} from "{root}{RUNTIME}";']
        lines += [f'import * as {name} from "{module}";' for module, name in imports.items()]
        code = "\n".join([*lines, f"run([\n{cells}\n]);"])
        # No string in a cell may end the script element.
        code = re.sub(r"</(script)", r"<\\/\1", code, flags=re.IGNORECASE)
        return "\n".join([*preload, f'<script type="module">\n{code}\n</script>'])

    def _imports(self, root: str) -> dict[str, str]:
        files = [s.compiled["from"] for s in self._statements if s.compiled["kind"] == "import"]
        return {f"{root}{file}": f"module{i}" for i, file in enumerate(dict.fromkeys(files))}

    def _cells_as_js(self) -> Iterator[str]:
        modules = {module: name for module, name in self._imports("").items()}
        for statement in self._statements:
            compiled = statement.compiled
            if compiled["kind"] == "import":
                for imported, local in compiled["bindings"]:
                    value = f"() => {modules[compiled['from']]}.{imported}"
                    yield f'{{kind: "import", name: "{local}", inputs: [], define: {value}}}'
                continue
            head = {key: compiled[key] for key in ("kind", "name", "inputs")}
            fields = json.dumps({"id": statement.id, **head}, ensure_ascii=False)
            yield f"{fields[:-1]}, define: {compiled['code']}}}"

    def _module(self, module: str, path: str, line: int) -> str:
        """The project's file that an import names, as a path from the root."""
        if module.startswith("/"):
            file = PurePosixPath(module.lstrip("/"))
        elif module.startswith("."):
            whole = (self.root / path).parent.joinpath(module).resolve()
            file = PurePosixPath(whole.relative_to(self.root.resolve()).as_posix())
        else:
            message = (
                f'can\'t import "{module}": give a file of the course, such as "/widgets/x.js"'
            )
            raise OjsError(path, line, 1, message)
        if (self.root / file).suffix != ".js" or not (self.root / file).is_file():
            raise OjsError(path, line, 1, self._no_module(module))
        return file.as_posix()

    def _no_module(self, module: str) -> str:
        folders = (self.root / "widgets", self.root / "assets")
        files = [
            f"/{file.relative_to(self.root).as_posix()}"
            for folder in folders
            for file in folder.rglob("*.js")
        ]
        near = difflib.get_close_matches(module, files, n=1)
        return f'there is no "{module}"' + (f'; did you mean "{near[0]}"?' if near else "")


def _defined(compiled: dict[str, Any]) -> set[str]:
    if compiled["kind"] == "import":
        return {local for _, local in compiled["bindings"]}
    name = compiled["name"]
    if name is None:
        return set()
    prefixes = {"viewof": ["", "viewof "], "mutable": ["", "mutable "]}
    return {prefix + name for prefix in prefixes.get(compiled["kind"], [""])}


def _compile(source: str, path: str, line: int) -> list[dict[str, Any]]:
    result = json.loads(_compiler()(source))
    if isinstance(result, dict):
        error = result["error"]
        raise OjsError(path, line + error["line"] - 1, error["column"], error["message"])
    return result


@cache
def _compiler() -> Any:
    context = quickjs.Context()
    context.eval(Path(__file__).with_name("ojs-compiler.js").read_text(encoding="utf-8"))
    return context.eval("ojs.compile")
