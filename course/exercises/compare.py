"""Compare an answer with the expected value, and describe the difference."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

RELATIVE, ABSOLUTE = 1e-4, 1e-5  # so that float32 passes
_MOST_ITEMS = 10_000  # of an iterator, which may have no end


def plain(value: Any) -> Any:
    """Copy an answer into arrays and lists: tensors without their graph, iterators read to the end.

    A copy, because an answer may return the same memory at every call.
    """
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple | list | Iterator):
        items = [plain(item) for item in islice(value, _MOST_ITEMS)]
        return tuple(items) if isinstance(value, tuple) else items
    if hasattr(value, "detach"):
        array = as_array(value)
        return value if array is None else array.copy()
    return value


def same(expected: Any, got: Any) -> bool:
    return difference(expected, got) is None


def difference(expected: Any, got: Any, absolute: float = ABSOLUTE) -> str | None:
    """Return None if the two are equal, "" if only numbers differ, else a sentence."""
    if isinstance(expected, tuple | list):
        if isinstance(got, np.ndarray) and (got.ndim > 1 or _are_numbers(expected, got)):
            got = list(got)  # it unpacks like a list of its rows, or of its numbers
        if not isinstance(got, tuple | list) or len(got) != len(expected):
            return f"return {len(expected)} values, not {kind(got)}"
        pairs = zip(expected, got, strict=True)
        differences = (difference(e, g, absolute) for e, g in pairs)
        return next((d for d in differences if d is not None), None)
    if expected is None or isinstance(expected, str | bool):
        if not isinstance(got, str | bool | None):
            return f"return {expected!r} or its like, not {kind(got)}"
        return None if isinstance(got, type(expected)) and got == expected else ""
    return _difference_of_arrays(np.asarray(expected), got, absolute)


def _are_numbers(expected: tuple | list, got: np.ndarray) -> bool:
    return got.shape == (len(expected),) and all(isinstance(e, int | float) for e in expected)


def _difference_of_arrays(expected: np.ndarray, got: Any, absolute: float) -> str | None:
    array = as_array(got)
    form = f"an array {expected.shape}" if expected.shape else "a number"
    if array is None:
        return f"return {form}, not {kind(got)}"
    if array.shape != expected.shape:
        return f"the shape must be {expected.shape}, not {array.shape}"
    if (expected.dtype == bool) != (array.dtype == bool):
        return f"return {'bool' if expected.dtype == bool else 'numbers'}, not {array.dtype}"
    is_equal = (expected == array).all()  # most are, and allclose takes ten times as long
    if is_equal or expected.dtype.kind in "biu":  # a count that is off by one is wrong
        return None if is_equal else ""
    # NaN equals NaN, so that a usual mistake that gives NaN is recognised.
    alike = np.allclose(array, expected, rtol=RELATIVE, atol=absolute, equal_nan=True)
    return None if alike else ""


def as_array(value: Any) -> np.ndarray | None:
    """Convert an array, a tensor, a number or a list of numbers; None for anything else."""
    try:
        detached = value.detach().cpu() if hasattr(value, "detach") else value
        array = np.asarray(detached)
        if array.dtype == object and all(hasattr(item, "__float__") for item in array.flat):
            array = array.astype(float)  # of fractions, say
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
    return array if array.dtype.kind in "biuf" else None


def kind(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    array = as_array(value)
    if array is not None and array.shape:
        return f"one array {array.shape}"
    return f"the {type(value).__name__} {_short(value)}"


def show(value: Any, digits: int = 3) -> str:
    """Write a value on few lines, rounded and truncated."""
    if isinstance(value, tuple | list) and not all(isinstance(v, int | float) for v in value):
        return "\n".join(show(item, digits) for item in value)
    array = as_array(value)
    if array is None or isinstance(value, bool | int):
        return _short(value)
    small = digits <= 3  # with many digits a small number is what matters
    return np.array2string(array, precision=digits, suppress_small=small, threshold=24, edgeitems=2)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:99] + "…"
