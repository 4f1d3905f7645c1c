"""Publish a notebook with an archive of the project files that it needs, found by its reads."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from course.render.read.page_source import Page

_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed date gives the same archive for the same files
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+)?import\b(?:[ \t]*\(([^)]*)|([^\n(]*))", re.M
)


def archive_name(page: Page) -> str:
    return page.name + ".zip"


def needs(root: Path, reads: Iterable[str]) -> list[str]:
    """List the project files in ``reads`` that the notebook can't run without."""
    return sorted(name for name in reads if (root / name).is_file())


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
    """Return the project's files that the module in file ``name`` imports itself.

    A word that names no module, such as a function or "as", finds no file.
    """
    modules: set[str] = set()
    for dots, base, *words in _IMPORT.findall((root / name).read_text(encoding="utf-8")):
        above = name.split("/")[: -len(dots)] if dots else []
        start = ".".join([*above, *filter(None, [base])])
        names = re.findall(r"[\w.]+", " ".join(words))
        modules |= {start, *(f"{start}.{word}".strip(".") for word in names)}
    return frozenset(file for module in modules for file in _files(root, module))


def _files(root: Path, module: str) -> Iterator[str]:
    """Yield the files that importing ``module`` runs: its packages' and its own."""
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        place = "/".join(parts[:end])
        for file in (f"{place}/__init__.py", f"{place}.py"):
            if (root / file).is_file():
                yield file
