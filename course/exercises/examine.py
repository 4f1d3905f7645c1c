"""Try an answer on all cases of its task; report the smallest that fails, and the mistake."""

from __future__ import annotations

import copy
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from course.problems import Problem

from .compare import as_array, difference, plain, same, show
from .learner import shown
from .memory import held_by
from .task import Task

PASSED, FAILED, NOT_STARTED = "passed", "failed", "not started"


@dataclass
class Outcome:
    status: str
    message: str = ""
    case: dict[str, str] = field(default_factory=dict)  # the smallest that fails, as text
    printed: str = ""

    as_dict = asdict


def examine(task: Task, answer: Callable[..., Any], seed: int, path: str = "") -> Outcome:
    """Try ``answer`` on every case. ``path``, the learner's file, locates the line that raised."""
    import numpy as np

    cases = list(task.cases(seed))
    got: list[Any] = []
    warned: list[list[warnings.WarningMessage]] = []
    for inputs in cases:
        given = copy.deepcopy(inputs)
        _spoil_freed_memory(given)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                got.append(plain(answer(*given)))
            warned.append(caught)
        except Exception as error:
            return Outcome(FAILED, describe_error(error, path), _case(task, inputs))
        if (name := _overwritten(task, given, inputs)) is not None:
            message = f"it changes `{name}`, which the caller still needs: compute into a new array"
            return Outcome(FAILED, message, _case(task, inputs, got[-1]))
    with np.errstate(all="ignore"):
        for inputs, value, caught in zip(cases, got, warned, strict=True):
            if (complaint := _complaint(task, inputs, value)) is not None:
                message = _named_mistake(task, cases, got) or complaint
                if caught and not message:
                    message = _warning("it warns", caught[0], path)
                return Outcome(FAILED, message, _case(task, inputs, value))
        for inputs, value, caught in zip(cases, got, warned, strict=True):
            if task.silent and caught:
                message = _warning("right, but it warns", caught[0], path)
                return Outcome(FAILED, message, _case(task, inputs, value))
    if task.judge_memory:
        inputs = copy.deepcopy(cases[-1])
        held = held_by(lambda: plain(answer(*inputs)))
        if (complaint := task.judge_memory(held, *cases[-1])) is not None:
            return Outcome(FAILED, complaint, _case(task, cases[-1], got[-1]))
    return Outcome(PASSED)


def _spoil_freed_memory(given: tuple) -> None:
    """Fill freed memory with NaN, so that numbers that an answer leaves unset aren't 0 by luck.

    NumPy hands freed memory of the same size out again: `np.log2(w, where=w > 0)` without `out`.
    """
    import numpy as np

    for value in given:
        if isinstance(value, np.ndarray):
            spoiled = [np.full(value.shape, np.nan) for _ in range(8)]
            del spoiled


def _overwritten(task: Task, given: tuple, inputs: tuple) -> str | None:
    """Return the first argument of numbers that the answer has changed in place, or None."""
    for name, now, before in zip(task.arguments, given, inputs, strict=True):
        if as_array(before) is not None and difference(plain(before), now, absolute=0) is not None:
            return name
    return None


def _complaint(task: Task, inputs: tuple, got: Any) -> str | None:
    expected = _returned(task.solution, inputs)
    found = difference(expected, got, task.absolute)
    if found or not task.judge:  # a judge is asked for numbers alone, in the solution's form
        return found
    return task.judge(as_array(got), *copy.deepcopy(inputs))


def _returned(formula: Callable[..., Any], inputs: tuple) -> Any:
    return formula(*copy.deepcopy(inputs))


def _named_mistake(task: Task, cases: list[tuple], got: list[Any]) -> str | None:
    """Return the usual mistake whose formula gives the same answers in every case, or None."""
    for message, wrong in task.mistakes.items():
        try:
            pairs = zip(cases, got, strict=True)
            if all(same(_returned(wrong, inputs), value) for inputs, value in pairs):
                return message
        except Exception:  # a wrong formula may fail on some inputs
            continue
    return None


def describe_error(error: BaseException, path: str) -> str:
    """Describe an exception, with the last line of the learner's file in its traceback."""
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SystemExit):
        what = "it called exit"
    own = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    return str(Problem(shown(Path(path)), own[-1].lineno, what)) if own else what


def _warning(what: str, said: warnings.WarningMessage, path: str) -> str:
    what = f"{what}: {said.message}"
    return str(Problem(shown(Path(path)), said.lineno, what)) if said.filename == path else what


def _case(task: Task, inputs: tuple, *got: Any) -> dict[str, str]:
    parts = {name: show(value) for name, value in zip(task.arguments, inputs, strict=True)}
    if not got:
        return parts
    if task.judge:
        return parts | {"got": show(got[0])}
    expected = _returned(task.solution, inputs)
    same_text = show(expected) == show(got[0])  # a difference that is smaller than what is shown
    digits = 12 if same_text else 3
    return parts | {"expected": show(expected, digits), "got": show(got[0], digits)}
