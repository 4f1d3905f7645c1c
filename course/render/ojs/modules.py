"""Resolve the imports of a project's ES modules, and check the names that they import."""

import posixpath
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from tree_sitter import Query

from course.problems import Problem, nearest

from .javascript import LANGUAGE, NOT_JAVASCRIPT, Location, Script, bound_names, text

# Quarto copies what a module imports only if its older parser can read the module.
_REFUSED = Query(
    LANGUAGE,
    f"""{NOT_JAVASCRIPT} "??=" @refused "||=" @refused "&&=" @refused
    [(field_definition) (private_property_identifier) (class_static_block)] @refused""",
)
_IMPORTS = Query(
    LANGUAGE,
    """(import_statement source: (string) @from)
    (import_statement (import_clause (identifier) @default) source: (string) @from)
    (import_statement
      (import_clause (named_imports (import_specifier name: (_) @name))) source: (string) @from)
    (export_statement source: (string) @from)
    (export_statement (export_clause (export_specifier name: (_) @name)) source: (string) @from)""",
)
_EXPORTS = Query(
    LANGUAGE,
    """(export_statement ["default" "*"] @export)
    (export_statement "export" . declaration: (_ name: (identifier) @export))
    (export_statement declaration: (_ (variable_declarator name: (_) @export)))
    (export_statement (export_clause (export_specifier alias: (_) @export)))
    (export_statement (export_clause (export_specifier name: (_) @export !alias)))
    (export_statement (namespace_export (identifier) @export))""",
)


Names = list[tuple[str, Location]]
Imports = dict[tuple[str, Location], Names]  # by the module and the location of its import


class Modules:
    """The modules below ``root``, named by their posix path: ``widgets/lib/numbers.js``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._scans: dict[str, tuple[Imports, set[str]]] = {}  # pages share most modules

    def find(self, specifier: str, location: Location, names: Names, *, in_cell: bool) -> str:
        """Return the module that ``specifier`` names at ``location``, which exports ``names``.

        Raises: Problem.
        """
        path = posixpath.join(posixpath.dirname(location.path), specifier)
        if specifier.startswith("/") and in_cell:
            path = specifier.lstrip("/")
        elif not specifier.startswith(("./", "../")):
            ways = '"/" or "./"' if in_cell else '"./" or "../"'
            message = f'unknown import "{specifier}": write the path of an ES module, from {ways}'
            raise location.problem(message)
        path = posixpath.normpath(path)
        if path.startswith("..") or not (path.endswith(".js") and (self.root / path).is_file()):
            others = chain(*(self.root.glob(f"{top}/**/*.js") for top in ("widgets", "assets")))
            hint = nearest(path, (other.relative_to(self.root).as_posix() for other in others))
            raise location.problem(f'there is no ES module "{path}" to import{hint}')
        _, exports = self._scan(path)
        for name, at in names:
            if name not in exports and "*" not in exports:
                raise at.problem(f'{path} does not export "{name}"{nearest(name, exports)}')
        return path

    def closure(self, modules: Iterable[str]) -> list[str]:
        """List ``modules`` and all that they import, each once.

        Raises: Problem for an import, in any of them, that fails.
        """
        closure: dict[str, None] = {}
        queue = list(modules)
        while queue:
            module = queue.pop(0)
            if module not in closure:
                closure[module] = None
                queue = self._imports(module) + queue
        return list(closure)

    def _imports(self, module: str) -> list[str]:
        imports, _ = self._scan(module)
        return [self.find(*key, names, in_cell=False) for key, names in imports.items()]

    def _scan(self, module: str) -> tuple[Imports, set[str]]:
        if module not in self._scans:
            source = (self.root / module).read_text(encoding="utf-8")
            self._scans[module] = scan_module(source, module)
        return self._scans[module]


def scan_module(source: str, path: str) -> tuple[Imports, set[str]]:
    """Return the imports of a module, and the names that it exports. Raises: Problem."""
    try:
        script = Script(source, path, refused=_REFUSED)
    except Problem as problem:
        problem.message += " (in ES2020, the newest that Quarto reads)"
        raise
    imports: Imports = {}
    for captures in script.matches(_IMPORTS):
        [source_node] = captures["from"]
        key = text(source_node)[1:-1], script.location(source_node)
        names = imports.setdefault(key, [])
        names += [(text(node), script.location(node)) for node in captures.get("name", ())]
        names += [("default", script.location(node)) for node in captures.get("default", ())]
    exports = [node for captures in script.matches(_EXPORTS) for node in captures["export"]]
    return imports, {name for node in exports for name in [*bound_names(node)] or [text(node)]}
