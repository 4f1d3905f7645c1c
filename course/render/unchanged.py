"""Tell at once that a render would change nothing: no file was touched since the last one."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Set
from contextlib import suppress
from pathlib import Path

from course.render import cache

_RECORD = Path(".course", "rendered.json")
_OUTPUTS = {"_site", "node_modules", "__pycache__", "notebooks"}
File = tuple[str, int, int, int]
_TICK = 50_000_000  # nanoseconds in which two edits may get the same time


def pages_if_unchanged(root: Path) -> list[str] | None:
    """Return the pages of the last render where nothing that it read or wrote has changed."""
    try:
        record = json.loads((root / _RECORD).read_text(encoding="utf-8"))
        is_same = record["key"] == _key(root, _files(root))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record["pages"] if is_same else None


class Watch:
    """Notes what a render starts from, so that an edit made meanwhile isn't taken for rendered."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.began = time.time_ns()
        self.files = _files(root)
        (root / _RECORD).unlink(missing_ok=True)

    def ended(self, pages: list[str]) -> None:
        newest = max((file[1] for file in self.files), default=0)
        if newest < self.began - _TICK:
            record = {"key": _key(self.root, self.files), "pages": pages}
            (self.root / _RECORD).write_text(json.dumps(record), encoding="utf-8")


def _key(root: Path, files: list[File]) -> str:
    made = [*_below(root / "_site"), *_below(root / ".course" / "pages")]
    address = os.environ.get("COURSE_SITE_URL")
    engine = [cache.executing_engine(), cache.whole_engine()]
    return cache.digest([files, made, address, sys.version, engine])


def _files(root: Path) -> list[File]:
    return list(_below(root, without=_OUTPUTS))


def _below(folder: Path, without: Set[str] = frozenset()) -> Iterator[File]:
    """Yield path, times and size of each file."""
    for place, folders, files in os.walk(folder.resolve()):
        folders[:] = sorted(n for n in folders if not n.startswith(".") and n not in without)
        for path in (os.path.join(place, name) for name in folders):
            if os.path.islink(path):
                yield path, time.time_ns(), 0, 0  # what is in it can change unseen
        for path in (os.path.join(place, name) for name in sorted(files)):
            with suppress(OSError):  # deleted meanwhile, or a link to nothing
                found = os.stat(path)
                yield path, found.st_mtime_ns, found.st_ctime_ns, found.st_size
