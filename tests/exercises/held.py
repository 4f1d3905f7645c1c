"""What every answer in a lesson's tables of right and wrong ones is held to."""

import pytest

from course.exercises.examine import FAILED, PASSED, examine

SEEDS = range(30)  # a wrong answer must not pass now and then
SLOW = {"write_story"}  # runs eight models for each answer and seed


def seeds_of(task):
    """Fewer for a slow task, whose wrong answers fail with every seed of 30, most in all cases."""
    return range(5) if task.name in SLOW else SEEDS


def pairs(table):
    """Each answer with its task's name, as parameters."""
    return [
        pytest.param(name, answer, marks=[pytest.mark.slow] * (name in SLOW))
        for name, answers in table.items()
        for answer in answers
    ]


def assert_accepted(task, answer):
    for seed in seeds_of(task):
        outcome = examine(task, answer, seed)
        assert outcome.status == PASSED, (seed, outcome)


def assert_refused(task, answer, *, returns=False):
    """``returns``: whether it must return something, so that it isn't refused for a slip."""
    for seed in seeds_of(task):
        outcome = examine(task, answer, seed)
        assert outcome.status == FAILED, f"passes with seed {seed}"
        assert "got" in outcome.case or not returns, outcome.message
