"""Run JavaScript in V8, without a browser."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from py_mini_racer import MiniRacer


def new_context() -> MiniRacer:
    """Return an empty context, which any thread may use.

    It is made in a thread of its own: where an event loop runs, as under Playwright, a context
    would take that loop, and could only be awaited.
    """
    with ThreadPoolExecutor(1) as maker:
        return maker.submit(MiniRacer).result()
