"""A check that must fail, shown on the page: for bug hunts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def fails() -> Iterator[None]:
    """Print what the block raises, and go on; raise where it raises nothing.

    So a bug hunt can't go on showing a bug that is no longer there.
    """
    try:
        yield
    except Exception as error:
        print(f"{type(error).__name__}: {error}".strip())
    else:
        raise AssertionError("this was to fail, and didn't")
