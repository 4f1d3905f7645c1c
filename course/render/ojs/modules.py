"""Resolve the imports of a project's ES modules, and list their exports and dependencies."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from course.problems import nearest
from course.render.cache import remembered

from .compiler import OjsError, scan_module

# Built files end in their one export statement, and are too long to parse at every check.
_BUILT = "assets/vendor/"
_BUILT_EXPORTS = re.compile(r"\bexport\s*\{([^{}]*)\};?\s*$")
_SKIPPED = re.compile(r"[._]|node_modules$")


class Modules:
    """The modules below ``root``, named by their posix path: ``widgets/lib/numbers.js``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._checked: set[str] = set()  # pages share most imports

    def resolve(self, importing: str, specifier: str, *, from_cell: bool = False) -> str:
        """Return the module that ``specifier`` names in the file ``importing``.

        Raises: LookupError with the message for the reader.
        """
        if specifier.startswith(("./", "../")):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(importing), specifier))
        elif specifier.startswith("/") and from_cell:
            path = posixpath.normpath(specifier.lstrip("/"))
        else:
            ways = '"/" or "./"' if from_cell else '"./" or "../"'
            raise LookupError(
                f'unknown import "{specifier}": write the path of an ES module, from {ways}'
            )
        if path.endswith(".js") and self._is_file(path):
            return path
        hint = nearest(path, self._all())
        raise LookupError(f'there is no ES module "{path}" to import{hint}')

    def exports(self, module: str) -> frozenset[str] | None:
        """Return the exported names; None where it exports all names of another module (``*``)."""
        scanned = self._scan(module)
        return None if scanned["all"] else frozenset(scanned["exports"])

    def closure(self, modules: Iterable[str]) -> list[str]:
        """List ``modules`` and all that they import, each once."""
        found: dict[str, None] = {}
        waiting = list(modules)[::-1]
        while waiting:
            module = waiting.pop()
            if module not in found:
                found[module] = None
                waiting += [imported for imported, _ in self._imports(module)][::-1]
        return list(found)

    def check(self, module: str) -> None:
        """Raises: OjsError for the first import that fails, in ``module`` or in its imports."""
        for importing in () if module in self._checked else self.closure([module]):
            for imported, entry in self._imports(importing):
                exports = self.exports(imported)
                for name in entry["names"]:
                    if exports is not None and name not in exports:
                        raise _missing_export(importing, entry, imported, name, exports)
            self._checked.add(importing)

    def _imports(self, module: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for entry in self._scan(module)["imports"]:
            try:
                yield self.resolve(module, entry["module"]), entry
            except LookupError as error:
                raise OjsError(module, entry["line"], entry["column"], str(error)) from None

    def _scan(self, module: str) -> dict[str, Any]:
        file = self.root / module
        try:
            return _scanned(self.root, file, file.stat().st_mtime_ns)
        except OjsError as error:
            message = f"{error.message} (in ES2020, the newest that Quarto reads)"
            raise OjsError(module, error.line, error.column, message) from None

    def _is_file(self, path: str) -> bool:
        return not path.startswith("..") and (self.root / path).is_file()

    def _all(self) -> list[str]:
        folders = [self.root]
        found = []
        while folders:
            for entry in folders.pop().iterdir():
                if entry.is_dir() and not _SKIPPED.match(entry.name):
                    folders.append(entry)
                elif entry.suffix == ".js":
                    found.append(entry.relative_to(self.root).as_posix())
        return found


@lru_cache(maxsize=256)
def _scanned(root: Path, file: Path, _changed: int) -> dict[str, Any]:
    source = file.read_text(encoding="utf-8")
    built = file.relative_to(root).as_posix().startswith(_BUILT)
    match = _BUILT_EXPORTS.search(source) if built else None
    if not match:
        return remembered(root, scan_module, source)
    names = [name.split(" as ")[-1].strip() for name in match[1].split(",")]
    return {"imports": [], "exports": names, "all": False}


def _missing_export(
    importing: str, entry: dict[str, Any], imported: str, name: str, exports: frozenset[str]
) -> OjsError:
    hint = nearest(name, exports)
    message = f'{imported} does not export "{name}"{hint}'
    return OjsError(importing, entry["line"], entry["column"], message)
