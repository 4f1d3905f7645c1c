"""Answers that m07's checkers must refuse, and right ones in other styles."""

import numpy as np
import pytest
import torch

from course.exercises.task import tasks_of
from exercises.solutions import m07
from tests.exercises.held import assert_accepted, assert_refused

TASKS = tasks_of("m07")


def only_long_texts(table, length):
    """Lay the table out between its two ends, repeated: there is nothing to repeat in short texts.

    Raises: ValueError for texts of m words or fewer.
    """
    more = length - 1 - len(table) // 2
    line = np.concatenate([np.full(more, table[0]), table, np.full(more, table[-1])])
    return np.stack([line[length - 1 - i : 2 * length - 1 - i] for i in range(length)])


def bias_of_near_words(table, length):
    bias, at = m07.relative_bias(table, length), np.arange(length)
    return np.where(np.abs(at[:, None] - at) > len(table) // 2 + 3, 0, bias)


def penalties_up_to_10(num_heads, length):
    slopes = 2.0 ** (-8 * m07.exponents(num_heads))
    return m07.penalties(num_heads, length, slopes, lambda d: np.abs(d).clip(max=10))


def rounded(x, positions, base):
    return m07.rotate(x, positions.round(), base)


def only_by_halves(x, positions, base):
    return m07.rotate(x, (2 * positions).round() / 2, base)


def bias_by_diagonals(table, length):
    most = len(table) // 2
    bias = np.zeros((length, length))
    for distance in range(1 - length, length):
        number = table[min(max(distance, -most), most) + most]
        bias += np.diag(np.full(length - abs(distance), number), distance)
    return bias


def rotated_in_torch(x, positions, base):
    pairs = torch.view_as_complex(torch.tensor(x).unflatten(1, (-1, 2)))
    speeds = base ** (-torch.arange(0, x.shape[1], 2) / x.shape[1])
    angles = torch.tensor(positions)[:, None] * speeds.double()
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(1)


WRONG = {
    "a bias for long texts alone": ("relative_bias", only_long_texts),
    "short texts at the table's beginning": ("relative_bias", m07.from_the_first),
    "no bias for words far away": ("relative_bias", bias_of_near_words),
    "penalties that stop at a distance of 10": ("alibi", penalties_up_to_10),
    "positions cut to whole numbers": ("rotate", lambda x, p, base: m07.rotate(x, p // 1, base)),
    "positions rounded": ("rotate", rounded),
    "positions rounded to halves": ("rotate", only_by_halves),
}
RIGHT = {
    "a bias by diagonals": ("relative_bias", bias_by_diagonals),
    "a bias pair by pair": ("relative_bias", m07.pair_by_pair),
    "turned as complex numbers": ("rotate", m07.by_complex_numbers),
    "turned in PyTorch": ("rotate", rotated_in_torch),
    "turned in float32": (
        "rotate",
        lambda x, *where: m07.rotate(x.astype(np.float32), *where).astype(np.float32),
    ),
}


@pytest.mark.parametrize("how", WRONG)
def test_wrong_answers_are_refused(how):
    task, answer = WRONG[how]
    assert_refused(TASKS[task], answer)


@pytest.mark.parametrize("how", RIGHT)
def test_right_answers_are_accepted(how):
    task, answer = RIGHT[how]
    assert_accepted(TASKS[task], answer)
