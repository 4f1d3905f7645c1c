"""Check answers in a notebook: ``from course import exercise``."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from course.problems import Problem

from . import learner
from .child import LIMIT
from .examine import FAILED, Outcome, describe_error, examine
from .report import print_outcome, report  # here, so that a notebook's archive has them
from .task import tasks_of


def exercise(
    module: str, answer: Callable[..., Any] | None = None, *, seed: int | None = None
) -> None:
    """Check exercises/mNN.py, or only the function ``answer``, which a cell defines."""
    try:
        if answer is None:
            report(module, seed=seed)
        else:
            print_outcome(answer.__name__, _examine(module, answer, seed))
    except Problem as problem:
        print(problem)


def _examine(module: str, answer: Callable[..., Any], seed: int | None) -> Outcome:
    learner.file_of(module)
    tasks = tasks_of(module)
    if answer.__name__ not in tasks:
        raise Problem(module, None, f"the tasks are {', '.join(tasks)}: name your function so")
    seed = random.randrange(100_000) if seed is None else seed
    file = getattr(getattr(answer, "__code__", None), "co_filename", "")
    try:
        with _limit(LIMIT):
            return examine(tasks[answer.__name__], answer, seed, file)
    except (TimeoutError, SystemExit) as error:
        return Outcome(FAILED, describe_error(error, file))


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after ``seconds``, on systems with SIGALRM; others have Jupyter's stop."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError(f"still running after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
