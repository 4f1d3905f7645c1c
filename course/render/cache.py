"""Content-addressed cache of executed cells and finished pages; ignores mtimes."""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

ENGINE = Path(__file__).parent
_KEPT = 4  # executions of a page: undoing an edit, or changing a branch, runs nothing
_EXECUTING = (
    "cache.py", "execute/cells.py", "execute/inline.py", "execute/kernel.py", "read/page_source.py",
)  # fmt: skip


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def file_digest(path: Path) -> str | None:
    """Return None if the file is missing, so that creating it invalidates the entry."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
        return None


@cache
def executing_engine() -> str:
    return digest([file_digest(ENGINE / name) for name in _EXECUTING])


@cache
def whole_engine() -> str:
    files = [path for path in sorted(ENGINE.rglob("*")) if path.is_file()]
    return digest([file_digest(path) for path in files if "__pycache__" not in path.parts])


def meaning(root: Path, path: str) -> str:
    text = (root / path).read_text(encoding="utf-8", errors="surrogateescape")
    return remembered(root, meaning_of, text)


def meaning_of(source: str) -> str:
    """Digest code without its comments and line breaks; docstrings count."""
    try:
        return digest(ast.dump(ast.parse(source)))
    except (SyntaxError, ValueError):
        return digest(source)


def remembered(root: Path, answer: Callable[[str], Any], text: str) -> Any:
    """Return ``answer(text)``, as JSON, from .course/answers/ where it was asked before.

    An edit of the engine forgets all answers; what ``answer`` raises is not kept.
    """
    folder = root / ".course" / "answers"
    file = folder / f"{digest([answer.__name__, text, whole_engine()])[:32]}.json"
    found = _load(file)
    if found is None:
        found = answer(text)
        with suppress(OSError):  # `check` works in a folder that can't be written, too
            folder.mkdir(parents=True, exist_ok=True)
            _save(file, found)
    return found


def _load(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _save(file: Path, record: Any) -> None:
    scratch = file.with_name(f"{file.name}.{threading.get_ident()}.new")  # pages build in parallel
    scratch.write_text(json.dumps(record), encoding="utf-8")
    scratch.replace(file)


class PageCache:
    """The cache entry of one page in .course/pages/NAME/: its execution and its HTML."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.folder = root / ".course" / "pages" / name.replace("/", "--")

    def load_execution(self, key: str) -> dict[str, Any] | None:
        for path in self._executions():
            record = self._load(path.name)
            if (
                record
                and record["key"] == key
                and self._as_then(record["reads"], record["imports"])
            ):
                path.touch()
                return record
        return None

    def save_execution(
        self,
        key: str,
        reads: dict[str, str | None],
        outputs: list,
        imports: dict[str, str],
        values: list[str],
    ) -> dict[str, Any]:
        record = {"key": key, "reads": reads, "imports": imports}
        record |= {"outputs": outputs, "values": values}
        self._save(f"execution-{digest([key, reads])[:16]}.json", record)
        for old in self._executions()[_KEPT:]:
            old.unlink(missing_ok=True)
        return record

    def load_page(self, key: str) -> dict[str, Any] | None:
        record = self._load("page.json")
        if record is None or record["key"] != key:
            return None
        complete = all((self.figures / name).is_file() for name in record["figures"])
        return record if complete and self._as_then(record["modules"]) else None

    def save_page(self, key: str, html: str, notebook: str | None, modules: list[str]) -> None:
        figures = [path.name for path in self.figures.glob("*")]
        then = {name: file_digest(self.root / name) for name in modules}
        made = {"html": html, "notebook": notebook, "figures": figures}
        self._save("page.json", {"key": key, **made, "modules": then})

    @property
    def figures(self) -> Path:
        return self.folder / "figure-html"

    def forget_page(self) -> None:
        """Delete the page before its figures are rewritten, so that old and new never mix."""
        (self.folder / "page.json").unlink(missing_ok=True)
        shutil.rmtree(self.figures, ignore_errors=True)

    def _executions(self) -> list[Path]:
        """Return the files of the last executions, the latest first."""
        files = self.folder.glob("execution-*.json")
        return sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)

    def _as_then(self, digests: dict[str, str | None], imports: Mapping[str, str] = {}) -> bool:
        """True if the files are the same; of ``imports``, if their code means the same."""
        return all(
            file_digest(self.root / path) == then or self._means(path, imports.get(path))
            for path, then in digests.items()
        )

    def _means(self, path: str, then: str | None) -> bool:
        is_there = then is not None and (self.root / path).is_file()
        return is_there and meaning(self.root, path) == then

    def _load(self, name: str) -> dict[str, Any] | None:
        return _load(self.folder / name)

    def _save(self, name: str, record: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        _save(self.folder / name, record)
