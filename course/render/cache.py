"""Content-addressed cache in .course/ of executed cells and finished pages; ignores mtimes."""

import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

ENGINE = Path(__file__).parent
_MOST_EXECUTIONS = 4  # executions of a page: undoing an edit, or changing a branch, runs nothing
OUTPUTS = {"_site", "node_modules", "__pycache__", "notebooks"}
Record = dict[str, Any]


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def file_digest(path: Path) -> str | None:
    """Return None if the file is missing, so that creating it invalidates the entry."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
        return None


@cache
def engine(folder: Path = ENGINE) -> str:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return digest([file_digest(path) for path in files if "__pycache__" not in path.parts])


def state(root: Path) -> str:
    """Digest path, size and time of all sources, and the address and Python that pages show.

    A render of the same state makes the same site.
    """
    return digest([list(_files(root, OUTPUTS)), os.environ.get("COURSE_SITE_URL"), sys.version])


def state_of_site(root: Path) -> str:
    return digest(list(_files(root / "_site")))


def _files(folder: Path, without: set[str] = frozenset()) -> Iterator[tuple[str, int, int]]:
    for parent, folders, files in os.walk(folder, followlinks=True):
        folders[:] = sorted(n for n in folders if not n.startswith(".") and n not in without)
        for path in (os.path.join(parent, name) for name in sorted(files)):
            with suppress(OSError):  # deleted meanwhile, or a link to nothing
                stat = os.stat(path)
                yield os.path.relpath(path, folder), stat.st_size, stat.st_mtime_ns


def load(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def save(file: Path, record: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_name(f"{file.name}.{threading.get_ident()}.new")  # pages build in parallel
    scratch.write_text(json.dumps(record), encoding="utf-8")
    scratch.replace(file)


class PageCache:
    """The cache of one page in .course/pages/NAME/: its last executions and its HTML.

    A record holds its key and, under "files", the digests of all files that it depends on.
    """

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.folder = root / ".course" / "pages" / name.replace("/", "--")

    def load_execution(self, key: str) -> Record | None:
        for path in self._executions():
            if record := self._load(path, key):
                path.touch()
                return record
        return None

    def save_execution(self, key: str, files: dict[str, str | None], **parts: Any) -> Record:
        record = {"key": key, "files": files, **parts}
        save(self.folder / f"execution-{digest([key, files])[:16]}.json", record)
        for old in self._executions()[_MOST_EXECUTIONS:]:
            old.unlink(missing_ok=True)
        return record

    def load_page(self, key: str) -> Record | None:
        return self._load(self.folder / "page.json", key)

    def save_page(self, key: str, files: list[str], **parts: Any) -> Record:
        digests = {name: file_digest(self.root / name) for name in files}
        record = {"key": key, "files": digests, **parts}
        save(self.folder / "page.json", record)
        return record

    def _executions(self) -> list[Path]:
        """Return the files of the last executions, the latest first."""
        files = self.folder.glob("execution-*.json")
        return sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)

    def _load(self, path: Path, key: str) -> Record | None:
        record = load(path)
        if record is None or record["key"] != key:
            return None
        then = record["files"].items()
        return record if all(file_digest(self.root / name) == was for name, was in then) else None
