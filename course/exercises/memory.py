"""Measure how much memory an answer holds at once."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any


def held_by(action: Callable[[], Any]) -> int:
    """Return the most bytes that ``action`` holds at a time.

    tracemalloc sees Python's objects and NumPy's arrays, but not PyTorch's tensors: of those the
    largest counts.
    """
    is_traced = tracemalloc.is_tracing()  # by whoever runs a notebook
    if not is_traced:
        tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        largest = _largest_tensor(action)
        return max(tracemalloc.get_traced_memory()[1] - before, largest)
    finally:
        if not is_traced:
            tracemalloc.stop()


def _largest_tensor(action: Callable[[], Any]) -> int:
    if "torch" not in sys.modules:
        action()
        return 0
    from torch import Tensor
    from torch.overrides import TorchFunctionMode  # a TorchDispatchMode imports for seconds

    class Largest(TorchFunctionMode):
        bytes = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **kwargs or {})
            for tensor in result if isinstance(result, tuple | list) else (result,):
                if isinstance(tensor, Tensor):
                    self.bytes = max(self.bytes, tensor.untyped_storage().nbytes())
            return result

    with Largest() as mode:
        action()
    return mode.bytes
