"""Draw the cases of a task once for all answers: for some tasks that takes longer than trying one."""

import copy
from functools import cache

import pytest

from course.exercises.task import Task

_drawn = cache(lambda task, seed, draw=Task.cases: list(draw(_TASKS[task], seed)))
_TASKS = {}


@pytest.fixture(autouse=True)
def cases_drawn_once(monkeypatch):
    def cases(task, seed):
        _TASKS[id(task)] = task
        return copy.deepcopy(_drawn(id(task), seed))  # an answer may change what it is given

    monkeypatch.setattr(Task, "cases", cases)
