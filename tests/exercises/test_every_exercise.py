"""The tasks of every module: starter, solution, hints and usual mistakes."""

import ast

import numpy as np
import pytest
import torch

from course.exercises import learner
from course.exercises.examine import FAILED, NOT_STARTED, PASSED, examine
from course.exercises.run import check
from course.exercises.task import tasks_of
from tests.exercises.held import SLOW, assert_accepted, seeds_of

TASKS = {
    f"{module}.{name}": (module, task)
    for module in learner.modules()
    for name, task in tasks_of(module).items()
}
every_task = pytest.mark.parametrize(
    ("module", "task"),
    [
        pytest.param(module, task, marks=[pytest.mark.slow] * (task.name in SLOW))
        for module, task in TASKS.values()
    ],
    ids=TASKS,
)


@pytest.mark.parametrize("module", learner.modules())
def test_the_untouched_starter_is_not_started(module):
    outcomes = check(module, learner.file_of(module), seed=0)
    assert {outcome.status for outcome in outcomes.values()} == {NOT_STARTED}
    assert list(learner.read(learner.file_of(module))) == list(tasks_of(module))


@every_task
def test_the_starter_has_the_solution_s_signature_and_says_what_to_return(module, task):
    written = learner.read(learner.file_of(module))[task.name]
    arguments = ast.unparse(ast.parse(task.source).body[0].args)
    assert written.signature == f"def {task.name}({arguments}):"
    assert written.title
    assert "Return:" in written.text


@every_task
def test_the_solution_passes_and_is_short_and_explained(module, task):
    assert_accepted(task, task.solution)
    assert len(task.source.splitlines()) <= 15
    assert task.why
    assert len(set(task.hints)) == len(task.hints) >= 2


@every_task
def test_the_same_computed_another_way_passes(module, task):
    assert task.truth or task.judge  # a judge decides where many answers are right
    if task.truth:
        assert_accepted(task, task.truth)


FORMS = {
    "iterator": lambda part: iter(part) if np.ndim(part) else part,
    "lists": lambda part: part.tolist() if isinstance(part, np.ndarray) else part,
    "tensors": lambda part: (
        torch.tensor(part, requires_grad=np.asarray(part).dtype.kind == "f")
        if isinstance(part, np.ndarray | float) and np.asarray(part).dtype != object
        else part
    ),
    "NumPy's scalars": lambda part: (
        np.array([part])[0] if type(part) in (int, float, str) else part
    ),
}


def reshaped(value, form):
    """Return an answer, or each of its parts, in another form."""
    if isinstance(value, tuple):
        parts = (FORMS[form](part) for part in value)
        return parts if form == "iterator" else list(parts) if form == "lists" else tuple(parts)
    return FORMS[form](value)


@pytest.mark.parametrize("form", FORMS)
@every_task
def test_the_form_of_an_answer_does_not_count(module, task, form):
    assert_accepted(task, lambda *inputs: reshaped(task.solution(*inputs), form))


def in_float32(value):
    return value.astype(np.float32) if getattr(value, "dtype", None) == np.float64 else value


@every_task
def test_float32_is_enough(module, task):
    def answer(*inputs):
        return task.solution(*map(in_float32, inputs))

    passes = (examine(task, answer, seed).status == PASSED for seed in seeds_of(task))
    assert all(passes) == (task.name != "erasure")  # whose scores near 1,000 need more digits


@every_task
def test_each_usual_mistake_fails_under_its_own_name(module, task):
    assert len(task.mistakes) >= 3
    for seed in seeds_of(task):
        for message, wrong in task.mistakes.items():
            outcome = examine(task, wrong, seed)
            assert (outcome.status, outcome.message) == (FAILED, message)
            assert "got" in outcome.case


@pytest.mark.usefixtures("fresh_inputs")
@every_task
def test_inputs_are_fresh_and_a_seed_repeats_them(module, task):
    first, again, other = (list(map(repr, task.cases(seed))) for seed in (1, 1, 2))
    assert first == again != other
