"""Publish a notebook with an archive of the project files that it needs, found by its reads."""

from __future__ import annotations

import ast
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from course.render.cache import remembered
from course.render.read.page_source import Page

_KERNEL = "course/render/execute/kernel.py"  # in the record because they ran the lesson
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed date gives the same archive for the same files


def archive_name(page: Page) -> str:
    return page.name + ".zip"


def needs(root: Path, reads: Iterable[str]) -> list[str]:
    """List the project files in ``reads`` that the notebook can't run without."""
    return sorted(name for name in reads if name != _KERNEL and (root / name).is_file())


def write_notebook(root: Path, site: Path, page: Page, text: str, reads: Iterable[str]) -> None:
    """Write the notebook and the archive of its files beside the page."""
    (site / f"{page.name}.ipynb").write_text(text, encoding="utf-8")
    read = needs(root, reads)
    with zipfile.ZipFile(site / archive_name(page), "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted({*read, *_imported(root, read)}):
            entry = zipfile.ZipInfo(name, _EPOCH)
            archive.writestr(entry, (root / name).read_bytes(), zipfile.ZIP_DEFLATED)


def _imported(root: Path, names: Iterable[str]) -> set[str]:
    """List the project's modules that ``names`` import, imports in functions included."""
    found: set[str] = set()
    waiting = [name for name in names if name.endswith(".py")]
    while waiting:
        name = waiting.pop()
        new = _imports(root, name, (root / name).stat().st_mtime_ns) - found
        found |= new
        waiting += new
    return found


@cache
def _imports(root: Path, name: str, _changed: int) -> frozenset[str]:
    """Return the project's files that the module in file ``name`` imports itself."""
    modules: set[str] = set()
    text = (root / name).read_text(encoding="utf-8")
    for level, module, names in remembered(root, import_statements, text):
        above = name.split("/")[:-level] if level else []
        base = ".".join([*above, *filter(None, [module])])
        modules |= {base, *(f"{base}.{imported}" for imported in names)}
    return frozenset(file for module in modules for file in _files(root, module))


def import_statements(source: str) -> list[tuple[int, str | None, list[str]]]:
    """List (level, module, names) of each import; ``import a, b`` is one of each, without names."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # read as text, never imported
        return []
    found: list[tuple[int, str | None, list[str]]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(0, alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module, [alias.name for alias in node.names]))
    return found


def _files(root: Path, module: str) -> Iterator[str]:
    """Yield the files that importing ``module`` runs: its packages' and its own."""
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        place = "/".join(parts[:end])
        for file in (f"{place}/__init__.py", f"{place}.py"):
            if (root / file).is_file():
                yield file
