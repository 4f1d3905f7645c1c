"""Publish a notebook with an archive of the project files that it needs, found by its reads."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from contextlib import suppress
from modulefinder import ModuleFinder
from pathlib import Path

from ..source import Page

_KERNEL = "course/render/kernel.py"  # in the record because they ran the lesson
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


def _imported(root: Path, names: Iterable[str]) -> list[str]:
    """List the project's modules that ``names`` import, imports in functions included."""
    finder = _Finder(path=[str(root)])
    for name in names:
        if name.endswith(".py"):
            module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            with suppress(ImportError, SyntaxError):  # read as text, never imported
                finder.import_hook(module)
    files = (Path(module.__file__) for module in finder.modules.values() if module.__file__)
    return [file.relative_to(root).as_posix() for file in files]


class _Finder(ModuleFinder):
    def find_module(self, name: str, path: object, parent: object = None) -> object:
        try:
            return super().find_module(name, path, parent)
        except AttributeError:  # the loader of a folder without __init__.py
            raise ImportError(name) from None
