"""Define a task: worked solution, inputs, hints and usual mistakes."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from course.problems import Problem

from .compare import ABSOLUTE

SIZES = range(1, 9)


@dataclass(frozen=True)
class Task:
    """A task; ``solution`` has the name and the arguments of the function in exercises/mNN.py.

    An answer is right if it returns the same as ``solution``. If several answers are right,
    ``judge(got, *inputs)`` decides on an array of the solution's shape: it returns the mistake as
    a sentence, or None.
    """

    solution: Callable[..., Any]
    inputs: Callable[[Any, int], tuple]  # (NumPy Generator, size from 1) -> arguments
    hints: Sequence[str]  # Markdown, each more telling than the last
    why: str  # Markdown, shown with the solution
    mistakes: Mapping[str, Callable[..., Any]]  # message for the learner -> wrong formula
    truth: Callable[..., Any] | None = None  # the solution computed another way, for the tests
    judge: Callable[..., str | None] | None = None
    judge_memory: Callable[..., str | None] | None = None  # (bytes held, *last inputs), as judge
    absolute: float = ABSOLUTE  # the difference that passes, beside 1e-4 of the number
    silent: bool = False  # whether an answer that warns fails

    @property
    def name(self) -> str:
        return self.solution.__name__

    @cached_property
    def arguments(self) -> list[str]:
        return list(inspect.signature(self.solution).parameters)

    @property
    def source(self) -> str:
        return inspect.getsource(self.solution).rstrip()

    def cases(self, seed: int) -> Iterator[tuple]:
        """Yield arguments, the smallest first; the same seed gives the same."""
        import numpy as np

        for size in SIZES:
            yield self.inputs(np.random.default_rng([seed, size]), size)


def tasks_of(module: str) -> dict[str, Task]:
    """Return the tasks by name. Raises: Problem if the module has no solutions."""
    name = f"exercises.solutions.{module}"
    try:
        tasks = importlib.import_module(name).TASKS
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        file = f"{name.replace('.', '/')}.py"
        raise Problem(file, None, "is missing: it holds the tasks of the module") from None
    return {task.name: task for task in tasks}
