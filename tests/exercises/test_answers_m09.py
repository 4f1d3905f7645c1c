"""Answers that m09's checkers must refuse, and right ones in other styles."""

import numpy as np
import pytest
import torch

from course.exercises.task import tasks_of
from exercises.solutions import m09
from tests.exercises.held import SEEDS, assert_accepted, assert_refused

TASKS = tasks_of("m09")


def two_heads_alone(layers):
    return m09.rolled((layers[:, :1] + layers[:, -1:]) / 2)


def one_number_hidden(number):
    return lambda x, query, readout: m09.scored_low(x, query, readout, number)


WRONG = {
    "the first and the last head": ("rollout", two_heads_alone),
    "three layers at most": ("rollout", lambda layers: m09.rolled(layers[:3])),
    "one layer": ("rollout", lambda layers: m09.rolled(layers[-1:])),
    "a score of -100 in place of hiding": ("erasure", one_number_hidden(-100.0)),
    "softmax without its maximum": ("erasure", m09.without_the_largest),
    "every word with the same vector": ("erasure", m09.every_such_word),
    "patches without softmax's maximum": ("patching", m09.patched_without_the_largest),
    "equal weights and the largest": ("other_weights", m09.mixed_with_the_largest),
    "equal weights and the smallest": (
        "other_weights",
        lambda weights, adds: m09.mixed_with_the_largest(weights, -adds),
    ),
}


@pytest.mark.parametrize("how", WRONG)
def test_wrong_answers_are_refused(how):
    task, answer = WRONG[how]
    assert_refused(TASKS[task], answer)


def patching_in_torch(x, other, query, readout):
    x, other, query, readout = map(torch.from_numpy, (x, other, query, readout))

    def answer(words):
        return (words @ query).softmax(0) @ words @ readout

    here = torch.eye(len(x), dtype=torch.bool)[..., None]
    moved = torch.stack([answer(torch.where(one, other, x)) for one in here]) - answer(x)
    return moved / (answer(other) - answer(x))


def erasure_in_torch(x, query, readout):
    x, query, readout = map(torch.from_numpy, (x, query, readout))

    def answer(words):
        return (words @ query).softmax(0) @ words @ readout

    places = torch.arange(len(x))
    return torch.stack([answer(x) - answer(x[places != j]) for j in places])


def first_pair_around(weights, adds):
    wanted = weights @ adds
    for low in range(1, len(adds)):
        for high in range(1, len(adds)):
            if adds[low] <= wanted <= adds[high] and adds[low] < adds[high]:
                found = np.zeros(len(adds))
                found[high] = (wanted - adds[low]) / (adds[high] - adds[low])
                found[low] = 1 - found[high]
                return found
    return None


RIGHT = {
    "rollout in PyTorch": ("rollout", m09.rollout_by_analysis_py),
    "a score of -1e9": ("erasure", one_number_hidden(-1e9)),
    "erasure by PyTorch's softmax": ("erasure", erasure_in_torch),
    "patches in PyTorch": ("patching", patching_in_torch),
    "patches in float32": (
        "patching",
        lambda *texts: m09.patching(*(part.astype(np.float32) for part in texts)),
    ),
    "any pair of words around the answer": ("other_weights", first_pair_around),
    "0 where the two texts are the same": (
        "patching",
        lambda x, other, *rest: np.where(
            (x == other).all(1), 0, m09.patching(x, other, *rest)
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", RIGHT)
def test_right_answers_are_accepted(how):
    task, answer = RIGHT[how]
    assert_accepted(TASKS[task], answer)


@pytest.mark.parametrize("seed", SEEDS)
def test_inputs_keep_what_the_tasks_say_of_them(seed):
    for weights, adds in TASKS["other_weights"].cases(seed):
        assert adds[1:].min() < adds[1:].max()
        assert adds[1:].min() <= weights @ adds <= adds[1:].max()
    for x, other, *rest in TASKS["patching"].cases(seed):
        assert abs(m09.answer_of(x, *rest) - m09.answer_of(other, *rest)) > 0.5
    scores = np.concatenate([x @ query for x, query, _ in TASKS["erasure"].cases(seed)])
    assert scores.max() > 900
    assert scores.min() < -900
    heads = {layers.shape[1] for (layers,) in TASKS["rollout"].cases(seed)}
    layers = {len(layers) for (layers,) in TASKS["rollout"].cases(seed)}
    assert (max(heads), max(layers)) == (4, 5)
