"""Render, serve, and render again on every change; a mistake leaves the old page standing."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from course.problems import Problem, Problems
from course.render.cache import OUTPUTS
from course.render.site import render_site
from course.serve import start_server

_MILLISECONDS_OF_CALM = 500
_ENGINE = ("course/", "requirements.txt")  # imported once, when the preview starts


def preview(root: Path, *, port: int, cell_timeout: float, browser: bool) -> int:
    render_site(root, cell_timeout=cell_timeout)
    server = start_server(root / "_site", port, live=True)
    print(f"\n{server.url}  (Ctrl-C ends)", flush=True)
    if browser and not os.environ.get("CI"):
        webbrowser.open(server.url)  # False without a browser; the address is printed above
    try:
        for changed in changes(root):
            if changed:
                print(f"\nchanged: {', '.join(changed)}", flush=True)
            if any(_is_engine(path) for path in changed):
                print("this preview runs the engine as it was: restart it", flush=True)
            states = _render_again(root, cell_timeout)
            if states and (changed or states != {"cached"}):
                server.reload()
    except KeyboardInterrupt:
        pass
    finally:
        server.shutdown()
        server.server_close()
    print("\nstopped")
    return 0


def changes(root: Path) -> Iterator[list[str]]:
    """Yield the edited files, batch after batch.

    The first batch of each watch is empty, to render edits from before the watch.
    """
    from watchfiles import watch

    while True:
        folders = source_folders(root)  # not recursively: .venv holds thousands
        caught_up = False
        for batch in watch(
            *folders, recursive=False, watch_filter=_is_source, raise_interrupt=True,
            yield_on_timeout=True, rust_timeout=_MILLISECONDS_OF_CALM,
        ):  # fmt: skip
            if batch or not caught_up:
                yield sorted({Path(path).relative_to(root).as_posix() for _, path in batch})
            caught_up = True
            if source_folders(root) != folders:
                break


def source_folders(root: Path) -> list[str]:
    paths = []
    for path, folders, _ in os.walk(root):
        folders[:] = [name for name in folders if _is_source(None, name)]
        paths.append(path)
    return paths


def _is_source(_: object, path: str) -> bool:
    name = Path(path).name
    return not name.startswith(".") and name not in OUTPUTS


def _is_engine(path: str) -> bool:
    return path.startswith(_ENGINE)


def _render_again(root: Path, cell_timeout: float) -> set[str]:
    """Return the work that was done for the pages; empty after a mistake."""

    def say_unless_cached(line: str) -> None:
        if not line.endswith("cached"):
            print(line, flush=True)

    try:
        done = render_site(root, cell_timeout=cell_timeout, say=say_unless_cached)
    except (Problem, Problems) as problem:
        print(f"{problem}\nthe page stays as it was", file=sys.stderr, flush=True)
        return set()
    except Exception as error:
        # A fault of the engine, or a file that another program holds: the next edit may mend it.
        reason = f"{type(error).__name__}: {error}"
        print(f"{reason}\nthe page stays as it was", file=sys.stderr, flush=True)
        return set()
    return set(done.values())
