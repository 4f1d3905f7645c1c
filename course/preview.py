"""Render, serve, and render again on every change; a mistake leaves the old page standing."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Iterable
from pathlib import Path

from course.render.problems import Problem, Problems
from course.render.site import render_site
from course.serve import start_server

_OUTPUTS = {"_site", "node_modules", "__pycache__", "notebooks"}


def preview(root: Path, *, port: int, cell_timeout: float, browser: bool) -> int:
    render_site(root, cell_timeout=cell_timeout)
    server = start_server(root / "_site", port, live=True)
    print(f"\n{server.url}  (Ctrl-C ends)", flush=True)
    if browser and not os.environ.get("CI"):
        webbrowser.open(server.url)  # where there is none it returns False, and the URL stands
    try:
        for changed in changes(root):
            print(f"\nchanged: {', '.join(changed)}", flush=True)
            if _render_again(root, cell_timeout):
                server.reload()
    except KeyboardInterrupt:
        pass
    finally:
        server.shutdown()
        server.server_close()
    print("\nstopped")
    return 0


def changes(root: Path) -> Iterable[list[str]]:
    from watchfiles import watch

    def is_source(_: object, path: str) -> bool:
        parts = Path(path).relative_to(root).parts
        return not any(part in _OUTPUTS or part.startswith(".") for part in parts)

    for batch in watch(root, watch_filter=is_source, raise_interrupt=True):
        yield sorted({Path(path).relative_to(root).as_posix() for _, path in batch})


def _render_again(root: Path, cell_timeout: float) -> bool:
    def say_unless_cached(line: str) -> None:
        if not line.endswith("cached"):
            print(line, flush=True)

    try:
        render_site(root, cell_timeout=cell_timeout, say=say_unless_cached)
    except (Problem, Problems) as found:
        print(f"{found}\nthe page stays as it was", file=sys.stderr, flush=True)
        return False
    return True
