"""What every answer in a lesson's tables of right and wrong ones is held to."""

import pytest

from course.exercises.examine import FAILED, PASSED, examine

SEEDS = range(30)  # a wrong answer must not pass now and then


def pairs(table, slow=()):
    """Each answer with its task's name, as parameters; the tasks in ``slow`` are marked so."""
    return [
        pytest.param(name, answer, marks=[pytest.mark.slow] * (name in slow))
        for name, answers in table.items()
        for answer in answers
    ]


def assert_accepted(task, answer):
    for seed in SEEDS:
        outcome = examine(task, answer, seed)
        assert outcome.status == PASSED, (seed, outcome)


def assert_refused(task, answer, seeds=SEEDS, *, returns=False):
    """``returns``: whether it must return something, so that it isn't refused for a slip."""
    for seed in seeds:
        outcome = examine(task, answer, seed)
        assert outcome.status == FAILED, f"passes with seed {seed}"
        assert "got" in outcome.case or not returns, outcome.message
