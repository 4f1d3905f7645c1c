"""Publish a notebook with an archive of the project files that its cells read."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

from course.render.read.page_source import Page

_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed date gives the same archive for the same files


def archive_name(page: Page) -> str:
    return page.name + ".zip"


def needs(root: Path, reads: Iterable[str]) -> list[str]:
    """List the project files in ``reads`` that the notebook can't run without."""
    return sorted(name for name in reads if (root / name).is_file())


def write_notebook(root: Path, site: Path, page: Page, text: str, reads: Iterable[str]) -> None:
    """Write the notebook and the archive of its files beside the page."""
    (site / f"{page.name}.ipynb").write_text(text, encoding="utf-8")
    with zipfile.ZipFile(site / archive_name(page), "w", zipfile.ZIP_DEFLATED) as archive:
        for name in needs(root, reads):
            entry = zipfile.ZipInfo(name, _EPOCH)
            archive.writestr(entry, (root / name).read_bytes(), zipfile.ZIP_DEFLATED)
