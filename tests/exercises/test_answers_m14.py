"""Answers that m14's checkers must refuse, and right ones in other styles that they must accept."""

import numpy as np
import pytest

from course.exercises.task import tasks_of
from exercises.solutions import m14
from tests.exercises.held import assert_accepted, assert_refused, pairs

TASKS = tasks_of("m14")


def hidden_by(score):
    """Hides later tokens by a score that isn't below all others."""

    def answer(index, kept):
        earlier = np.tril(np.ones(index.shape, dtype=bool))
        return m14.without_causal(np.where(earlier, index, score), kept) & earlier

    return answer


def least_without_min(index, kept):
    scores = np.where(np.tril(np.ones(index.shape, dtype=bool)), index, -np.inf)
    return (scores >= np.sort(scores, axis=1)[:, -kept][:, None]) & (scores > -np.inf)


def by_argpartition(index, kept):
    L = len(index)
    hidden = np.triu(np.ones((L, L), dtype=bool), 1)
    order = np.argsort(np.where(hidden, np.inf, -index), axis=1)[:, :kept]
    mask = np.zeros((L, L), dtype=bool)
    np.put_along_axis(mask, order, True, axis=1)
    return mask & ~hidden


def in_float32(index, kept):
    return m14.chosen_mask(np.asarray(index, dtype=np.float32), kept)


RIGHT = {
    "chosen_mask": [by_argpartition, m14.row_by_row, in_float32],
    "numbers_kept": [m14.layer_by_layer],
}
WRONG = {
    "chosen_mask": [
        lambda index, kept: np.tril(np.ones(index.shape, dtype=bool)),
        lambda index, kept: m14.row_by_row(index, kept + 1),
        lambda index, kept: m14.chosen_mask(index, kept).T,
        lambda index, kept: m14.chosen_mask(index, kept).astype(float),
        least_without_min,
        hidden_by(-5),
        hidden_by(-100),
        hidden_by(-1e4),
    ],
    "numbers_kept": [
        lambda layers, tokens, G, D, window: 2 * len(layers) * tokens * G * D,
        lambda layers, tokens, G, D, window: m14.counted(layers, tokens, G, D, window, table=G * D),
        lambda layers, *sizes: m14.numbers_kept(set(layers), *sizes),
        lambda layers, *sizes: m14.numbers_kept(layers, *sizes) if len(set(layers)) == 3 else 0,
        lambda layers, *sizes: m14.numbers_kept(layers, *sizes) if len(set(layers)) != 2 else 0,
    ],
}


@pytest.mark.parametrize(("name", "answer"), pairs(RIGHT))
def test_a_right_answer_is_accepted(name, answer):
    assert_accepted(TASKS[name], answer)


@pytest.mark.parametrize(("name", "answer"), pairs(WRONG))
def test_a_wrong_answer_is_refused(name, answer):
    assert_refused(TASKS[name], answer)


def test_every_task_is_in_the_tables():
    assert set(RIGHT) == set(WRONG) == set(TASKS)
