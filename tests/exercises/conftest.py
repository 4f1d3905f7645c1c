"""What the tests of exercises share."""

import copy

import pytest
from torch import nn

from course.exercises import examine
from course.exercises.task import Task

_make, _made = Task.cases, {}
_return, _returned = examine._call, {}


def _once(task, seed):
    key = task.inputs, seed
    if key not in _made:
        _made[key] = tuple(_make(task, seed))
    return iter(_made[key])


def _returned_once(formula, inputs):
    key = formula, id(inputs)
    if key not in _returned:
        _returned[key] = _return(formula, inputs), inputs  # kept, so that no other has its id
    return _returned[key][0]


def _copied(module, memo):
    """As by itself, but the dozen empty dictionaries of hooks of each layer take no call."""
    memo[id(module)] = twin = object.__new__(type(module))
    for name, value in vars(module).items():
        is_empty = isinstance(value, dict) and not value
        vars(twin)[name] = type(value)() if is_empty else copy.deepcopy(value, memo)
    return twin


@pytest.fixture(autouse=True)
def models_copied_fast(monkeypatch):
    """Each answer is given a copy, which takes as long as writing a short story."""
    monkeypatch.setattr(nn.Module, "__deepcopy__", _copied, raising=False)


@pytest.fixture
def written_cases():
    """Writes the numbers of a case that fails, for a test that reads them."""


@pytest.fixture(autouse=True)
def cases_not_written(request, monkeypatch):
    """To write a case's numbers takes longer than to find that they are wrong."""
    if "written_cases" not in request.fixturenames:
        monkeypatch.setattr(examine, "show", lambda value, digits=3: type(value).__name__)


@pytest.fixture
def fresh_inputs():
    """Makes cases anew, for a test that doesn't leave the copying to ``examine``."""


@pytest.fixture(autouse=True)
def cases_made_once(request, monkeypatch):
    """Making a task's cases, and what its solution and the usual mistakes return of them, can take
    longer than checking an answer, and many answers share them.

    ``examine`` hands out copies alone, so what an answer does to its input reaches no other.
    """
    if "fresh_inputs" not in request.fixturenames:
        monkeypatch.setattr(Task, "cases", _once)
        monkeypatch.setattr(examine, "_call", _returned_once)
