"""Write the script of a page with OJS cells, and find mistaken names in its cells.

The cells are compiled while the site is built, so that readers load no parser. ``web/runtime.js``
runs them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from course.problems import Problem, nearest

from .cells import BROWSER_NAMES, Definition, Import, compile_cell
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
        self._statements: dict[str, Import | Definition] = {}  # by the id of their element
        self._cells = 0
        self._all_read = True

    def add_cell(self, source: str, *, path: str, line: int) -> list[Placeholder]:
        """Compile a cell, and return the elements that it fills, one for each statement.

        ``line`` is where ``source`` starts in the file ``path``. Raises: Problem.
        """
        self._cells += 1
        try:
            statements = compile_cell(source, path, line)
        except Problem:
            self._all_read = False  # an unread cell may define any name
            raise
        if not statements:
            raise Problem(path, line, "the OJS cell is empty: it needs a statement")
        places = []
        for number, one in enumerate(statements, 1):
            element = f"ojs-cell-{self._cells}" + (f"-{number}" if len(statements) > 1 else "")
            self._statements[element] = one
            places.append(Placeholder(element, "declaration" if one.defines else "expression"))
        for one in statements:
            if isinstance(one, Import):
                names = [(one.exported[name], place) for name, place in one.defines.items()]
                one.module = self.modules.find(one.module, one.module_at, names, in_cell=True)
                self.modules.closure([one.module])
        return places

    def mistakes(self) -> Iterator[Problem]:
        """Find names that are undefined, defined twice or defined by themselves on the page."""
        by_name: dict[str, str] = {}
        for element, statement in self._statements.items():
            for name, place in statement.defines.items():
                if name in self.published:
                    yield place.problem(f'"{name}" is already defined by publish({name}=…)')
                elif name in BROWSER_NAMES:
                    yield place.problem(f'"{name}" is a name of the browser: take another')
                elif name in by_name:
                    path, line, _ = self._statements[by_name[name]].at
                    yield place.problem(f'"{name}" is already defined at {path}:{line}')
                else:
                    by_name[name] = element
        known = by_name.keys() | self.published
        used = [entry for one in self._definitions.values() for entry in one.inputs.items()]
        for name, place in used if self._all_read else ():
            if name not in known:
                yield place.problem(f'"{name}" is not defined{nearest(name, known)}')
        yield from self._circle(by_name)

    @property
    def _definitions(self) -> dict[str, Definition]:
        return {id: one for id, one in self._statements.items() if isinstance(one, Definition)}

    def _circle(self, by_name: dict[str, str]) -> Iterator[Problem]:
        definitions = self._definitions
        uses = {
            element: [by_name[name] for name in one.inputs if name in by_name]
            for element, one in definitions.items()
        }
        try:
            TopologicalSorter(uses).prepare()
        except CycleError as error:
            circle = [definitions[element] for element in error.args[1][::-1]]
            names = " → ".join(next(iter(one.defines)) for one in circle)
            yield circle[0].at.problem(f"a circular definition: {names}")

    def files(self) -> list[str]:
        """List the modules that the page loads, imports of imports included; [] without cells."""
        if not self._statements:
            return []
        imports = (one.module for one in self._statements.values() if isinstance(one, Import))
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
        code += [_call(element, one, root) for element, one in self._statements.items()]
        # The comment ends what a "<!--" in a cell begins.
        return "\n".join([*preloads, '<script type="module">', *code, "// -->", "</script>"])


def _call(element: str, statement: Import | Definition, root: str) -> str:
    """Write the call of ``define`` or ``load`` in web/runtime.js for one statement."""
    about: dict[str, Any] = {"place": element, "at": f"{statement.at.path}:{statement.at.line}"}
    if isinstance(statement, Import):
        about |= {"module": statement.module, "names": statement.exported}
        file = json.dumps(f"{root or './'}{statement.module}")
        return f"load({json.dumps(about)}, () => import({file}));"
    about |= {"kind": statement.kind, "inputs": list(statement.inputs)}
    if statement.defines:
        about["name"] = next(iter(statement.defines))
    return f"define({json.dumps(about)}, {statement.function});"
