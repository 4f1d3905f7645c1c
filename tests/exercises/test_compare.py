"""Equal answers, and the message for each kind of difference."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from course.exercises import Task
from course.exercises.compare import difference, same
from course.exercises.examine import FAILED, PASSED, examine

ROW = np.array([0.25, 0.75])
MASK = np.array([True, False])


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (ROW, ROW + 1e-7),
        (ROW, torch.tensor([0.25, 0.75], requires_grad=True)),
        (ROW, [0.25, 0.75]),
        ((ROW, 1.0), [ROW, 1]),
        (None, None),
        ("scaled", "scaled"),
        ("scaled", np.str_("scaled")),
        ((ROW, ROW), np.stack([ROW, ROW])),
        ((1.0, 3.0), np.array([1.0, 3.0])),
        ([4, 9], np.array([4, 9])),
        (70_000, 70_000.0),
        (0.75, Fraction(3, 4)),
        (ROW, [Fraction(1, 4), Fraction(3, 4)]),
        (MASK, torch.tensor([True, False])),
    ],
)
def test_the_same(expected, got):
    assert same(expected, got)


@pytest.mark.parametrize(
    ("expected", "got", "message"),
    [
        (ROW, ROW + 0.01, ""),
        (ROW, np.array([0.25, np.nan]), ""),
        (ROW, ROW[None], "the shape must be (2,), not (1, 2)"),
        (ROW, None, "return an array (2,), not None"),
        (ROW, object, "return an array (2,), not the type"),
        (1.5, "1.5", "return a number, not the str"),
        (70_000, 70_001, ""),
        ((ROW, ROW), ROW, "return 2 values, not one array (2,)"),
        ((ROW, ROW), (ROW, ROW, ROW), "return 2 values, not a tuple of 3"),
        ((1.0, 3.0), np.array([1.0, 2.0, 3.0]), "return 2 values, not one array (3,)"),
        ((1.0, 3.0), np.array([3.0, 1.0]), ""),
        ("scaled", None, ""),
        (None, "scaled", ""),
        (True, 1, "return True or its like, not the int 1"),
        (MASK, MASK * 1.0, "return bool, not float64"),
        (ROW > 1, MASK, ""),
    ],
)
def test_not_the_same(expected, got, message):
    text = difference(expected, got)
    assert text is not None
    assert text.startswith(message)
    assert bool(text) == bool(message)


def positive(x):
    return abs(x) + 1


JUDGED = Task(
    positive,
    inputs=lambda rng, size: (float(rng.normal()),),
    hints=[],
    why="",
    mistakes={"zero is not positive": lambda x: 0.0},
    judge=lambda got, x: None if got > 0 else f"{got} is not positive",
)


def test_where_many_answers_are_right_a_judge_decides():
    assert examine(JUDGED, positive, 1).status == PASSED
    assert examine(JUDGED, lambda x: 7.0, 1).status == PASSED
    assert examine(JUDGED, lambda x: -1.0, 1).message == "-1.0 is not positive"
    assert examine(JUDGED, lambda x: 0.0, 1).message == "zero is not positive"
    for useless, kind in (
        (None, "None"),
        (np.ones((2, 1)), "one array (2, 1)"),
        ("x", "the str 'x'"),
    ):
        outcome = examine(JUDGED, lambda x, useless=useless: useless, 1)
        assert outcome.status == FAILED
        assert outcome.message in (
            f"return a number, not {kind}",
            "the shape must be (), not (2, 1)",
        )


@pytest.mark.usefixtures("written_cases")
def test_the_smallest_failing_case_is_shown():
    def wrong_from_three(x):
        return x if len(x) < 3 else -x

    task = Task(
        lambda x: x, inputs=lambda rng, size: (np.arange(size),), hints=[], why="", mistakes={}
    )
    assert examine(task, wrong_from_three, 0).case == {
        "x": "[0 1 2]", "expected": "[0 1 2]", "got": "[ 0 -1 -2]",
    }  # fmt: skip
