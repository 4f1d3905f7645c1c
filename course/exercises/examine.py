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
from .learner import display_path
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
    warned_by_case: list[list[warnings.WarningMessage]] = []
    for inputs in cases:
        arguments = copy.deepcopy(inputs)
        _spoil_freed_memory(arguments)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                got.append(plain(answer(*arguments)))
            warned_by_case.append(caught)
        except Exception as error:
            return Outcome(FAILED, describe_error(error, path), _case(task, inputs))
        if (name := _overwritten_argument(task, arguments, inputs)) is not None:
            message = f"it changes `{name}`, which the caller still needs: compute into a new one"
            return Outcome(FAILED, message, _case(task, inputs, got[-1]))
    with np.errstate(all="ignore"):
        for inputs, value, caught in zip(cases, got, warned_by_case, strict=True):
            if (complaint := _complaint(task, inputs, value)) is not None:
                message = _named_mistake(task, cases, got) or complaint
                if caught and not message:
                    message = _warning("it warns", caught[0], path)
                return Outcome(FAILED, message, _case(task, inputs, value))
        for inputs, value, caught in zip(cases, got, warned_by_case, strict=True):
            if task.silent and caught:
                message = _warning("right, but it warns", caught[0], path)
                return Outcome(FAILED, message, _case(task, inputs, value))
    if task.judge_memory:
        inputs = copy.deepcopy(cases[-1])
        held = held_by(lambda: plain(answer(*inputs)))
        if (complaint := task.judge_memory(held, *cases[-1])) is not None:
            return Outcome(FAILED, complaint, _case(task, cases[-1], got[-1]))
    return Outcome(PASSED)


def _spoil_freed_memory(arguments: tuple) -> None:
    """Fill freed memory with NaN, so that numbers that an answer leaves unset aren't 0 by luck.

    NumPy reuses freed memory of the same size: `np.log2(w, where=w > 0)` without `out`.
    """
    import numpy as np

    for value in arguments:
        if isinstance(value, np.ndarray):
            spoiled = [np.empty(value.shape) for _ in range(8)]
            for array in spoiled:
                array.fill(np.nan)  # np.full is slower
            del spoiled, array


def _overwritten_argument(task: Task, arguments: tuple, inputs: tuple) -> str | None:
    """Return the name of the first numeric argument that the answer changed in place, or None."""
    for name, now, before in zip(task.arguments, arguments, inputs, strict=True):
        if as_array(before) is not None and difference(plain(before), now, absolute=0) is not None:
            return name
    return None


def _complaint(task: Task, inputs: tuple, got: Any) -> str | None:
    expected = _call(task.solution, inputs)
    complaint = difference(expected, got, task.absolute)
    if complaint or not task.judge:  # a judge compares only numbers, in the solution's form
        return complaint
    return task.judge(as_array(got), *copy.deepcopy(inputs))


def _call(formula: Callable[..., Any], inputs: tuple) -> Any:
    return formula(*copy.deepcopy(inputs))


def _named_mistake(task: Task, cases: list[tuple], got: list[Any]) -> str | None:
    """Return the usual mistake whose formula gives the same answers in every case, or None."""
    for message, wrong in task.mistakes.items():
        try:
            pairs = zip(cases, got, strict=True)
            if all(same(_call(wrong, inputs), value) for inputs, value in pairs):
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
    return str(Problem(display_path(Path(path)), own[-1].lineno, what)) if own else what


def _warning(what: str, warning: warnings.WarningMessage, path: str) -> str:
    what = f"{what}: {warning.message}"
    return (
        str(Problem(display_path(Path(path)), warning.lineno, what))
        if warning.filename == path
        else what
    )


def _case(task: Task, inputs: tuple, *got: Any) -> dict[str, str]:
    parts = {name: show(value) for name, value in zip(task.arguments, inputs, strict=True)}
    if not got:
        return parts
    if task.judge:
        return parts | {"got": show(got[0])}
    expected = _call(task.solution, inputs)
    same_text = show(expected) == show(got[0])  # a difference that is smaller than what is shown
    digits = 12 if same_text else 3
    return parts | {"expected": show(expected, digits), "got": show(got[0], digits)}
