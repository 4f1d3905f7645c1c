"""Write the script of a page with OJS cells, and find mistaken names in its cells.

The cells are compiled while the site is built, so that readers load no parser. ``web/runtime.js``
runs them.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from course.problems import Problem, nearest

from .cells import BROWSER_NAMES, Statement, compile_cell
from .javascript import Location
from .modules import Modules

RUNTIME = "assets/vendor/ojs-runtime.js"


class Placeholder(NamedTuple):
    """The element that one statement of a cell fills."""

    id: str
    nodetype: str  # "declaration" or "expression": Quarto's words


class OjsPage:
    """The OJS cells of one page; its Python cells define the names ``published``."""

    def __init__(self, modules: Modules, *, published: Iterable[str] = ()) -> None:
        self.modules = modules
        self.published = frozenset(published)
        self._statements: dict[str, Statement] = {}  # by the id of their element
        self._cells = 0
        self._all_read = True

    def add_cell(self, source: str, *, path: str, line: int) -> list[Placeholder]:
        """Compile a cell, and return the elements that it fills, one for each statement.

        ``source`` starts at ``line`` of the file ``path``. Raises: Problem.
        """
        self._cells += 1
        try:
            statements = compile_cell(source, path, line)
            for statement in statements:
                if statement.kind == "import":
                    names = [(statement.exported[n], at) for n, at in statement.defines.items()]
                    statement.module = self.modules.find(
                        statement.module, statement.module_location, names, in_cell=True
                    )
                    self.modules.closure([statement.module])
        except Problem:
            self._all_read = False  # this cell may define any name
            raise
        if not statements:
            raise Problem(path, line, "the OJS cell is empty: it needs a statement")
        placeholders = []
        for number, statement in enumerate(statements, 1):
            element = f"ojs-cell-{self._cells}" + (f"-{number}" if len(statements) > 1 else "")
            self._statements[element] = statement
            kind = "declaration" if statement.defines else "expression"
            placeholders.append(Placeholder(element, kind))
        return placeholders

    def mistakes(self) -> Iterator[Problem]:
        """Find names that are undefined on the page, or defined twice."""
        definitions: dict[str, Location] = {}
        for statement in self._statements.values():
            for name, location in statement.defines.items():
                if name in self.published:
                    yield location.problem(f'"{name}" is already defined by publish({name}=…)')
                elif name in BROWSER_NAMES:
                    yield location.problem(f'"{name}" is a name of the browser: take another')
                elif name in definitions:
                    path, line, _ = definitions[name]
                    yield location.problem(f'"{name}" is already defined at {path}:{line}')
                else:
                    definitions[name] = location
        names = definitions.keys() | self.published
        for statement in self._statements.values() if self._all_read else ():
            for name, location in statement.inputs.items():
                if name not in names:
                    yield location.problem(f'"{name}" is not defined{nearest(name, names)}')

    def files(self) -> list[str]:
        """List the modules that the page loads, imports of imports included; [] without cells."""
        if not self._statements:
            return []
        imports = (each.module for each in self._statements.values() if each.kind == "import")
        return list(dict.fromkeys([RUNTIME, *self.modules.closure(imports)]))

    def script(self, *, root: str) -> str:
        """Return the script to put after ``</main>``; "" without cells.

        ``root`` is the path from the page to the site's root, such as "../".
        """
        for mistake in self.mistakes():
            raise mistake
        if not self._statements:
            return ""
        preloads = [f'<link rel="modulepreload" href="{root}{file}">' for file in self.files()]
        code = [f'import {{define, load}} from "{root or "./"}{RUNTIME}";']
        code += [_call(element, statement, root) for element, statement in self._statements.items()]
        # The comment ends what a "<!--" in a cell begins.
        return "\n".join([*preloads, '<script type="module">', *code, "// -->", "</script>"])


def _call(element: str, statement: Statement, root: str) -> str:
    """Write the call of ``define`` or ``load`` in web/runtime.js for one statement."""
    path, line, _ = statement.location
    about: dict[str, Any] = {"place": element, "at": f"{path}:{line}"}
    if statement.kind == "import":
        about |= {"module": statement.module, "names": statement.exported}
        file = json.dumps(f"{root or './'}{statement.module}")
        return f"load({json.dumps(about)}, () => import({file}));"
    about |= {"kind": statement.kind, "inputs": list(statement.inputs)}
    if statement.defines:
        about["name"] = next(iter(statement.defines))
    return f"define({json.dumps(about)}, {statement.function});"
