"""Show the failing check of a bug hunt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def fails() -> Iterator[None]:
    """Print the exception that the block raises, and go on; raise AssertionError without one.

    So a page can't show a bug that has been repaired.
    """
    try:
        yield
    except Exception as error:
        print(f"{type(error).__name__}: {error}".strip())
    else:
        raise AssertionError("the check in `with fails()` passes: the page would show no bug")
