"""What the tests of exercises share."""

import pytest

from course.exercises.task import Task

_make, _made = Task.cases, {}


def _once(task, seed):
    key = task.inputs, seed
    if key not in _made:
        _made[key] = tuple(_make(task, seed))
    return iter(_made[key])


@pytest.fixture
def fresh_inputs():
    """Makes cases anew, for a test that doesn't leave the copying to ``examine``."""


@pytest.fixture(autouse=True)
def cases_made_once(request, monkeypatch):
    """Making a task's cases can take longer than checking an answer, and many answers share them.

    ``examine`` hands out copies alone, so what an answer does to its input reaches no other.
    """
    if "fresh_inputs" not in request.fixturenames:
        monkeypatch.setattr(Task, "cases", _once)
