"""Answers that m13's checkers must refuse, and right ones in other styles that they must accept."""

import numpy as np
import pytest
import torch

from course.exercises.task import tasks_of
from exercises.solutions import m13
from tests.exercises.held import assert_accepted, assert_refused, pairs

TASKS = tasks_of("m13")


def in_torch(q, k, v, alpha, beta):
    q, k, v = map(torch.from_numpy, (q, k, v))
    table, rows = torch.zeros(k.shape[1], v.shape[1], dtype=k.dtype), []
    for t in range(len(k)):
        table = table * alpha[t]
        table = table - beta[t] * torch.outer(k[t], k[t] @ table - v[t])
        rows.append(q[t] @ table)
    return torch.stack(rows), table


def hidden_by(score):
    """Hides later tokens by a score that isn't below all others."""

    def answer(index, kept):
        earlier = np.tril(np.ones(index.shape, dtype=bool))
        return m13.without_causal(np.where(earlier, index, score), kept) & earlier

    return answer


def least_without_min(index, kept):
    scores = np.where(np.tril(np.ones(index.shape, dtype=bool)), index, -np.inf)
    return (scores >= np.sort(scores, axis=1)[:, -kept][:, None]) & (scores > -np.inf)


def by_products_of_alpha(q, k, v, alpha, beta):
    """Divides by what is left of each token's note, which may be nothing."""
    with np.errstate(all="ignore"):
        left = np.cumprod(alpha)
        table, found = np.zeros((k.shape[1], v.shape[1])), []
        for t in range(len(k)):
            note = v[t] / left[t] - k[t] @ table
            table = table + beta[t] * np.outer(k[t], note)
            found.append(left[t] * (q[t] @ table))
        return np.array(found), left[-1] * table


def by_argpartition(index, kept):
    L = len(index)
    hidden = np.triu(np.ones((L, L), dtype=bool), 1)
    order = np.argsort(np.where(hidden, np.inf, -index), axis=1)[:, :kept]
    mask = np.zeros((L, L), dtype=bool)
    np.put_along_axis(mask, order, True, axis=1)
    return mask & ~hidden


def in_float32(index, kept):
    return m13.chosen_mask(np.asarray(index, dtype=np.float32), kept)


RIGHT = {
    "beta_for": [m13.by_halving, lambda *note: float(m13.beta_for(*note))],
    "gated_delta": [in_torch, m13.by_variants],
    "chosen_mask": [by_argpartition, m13.row_by_row, in_float32],
    "numbers_kept": [m13.layer_by_layer],
}
WRONG = {
    "beta_for": [
        lambda table, key, value, wanted: 0.5,
        lambda table, key, value, wanted: np.sign(wanted - key @ table),
        lambda table, key, value, wanted: abs(wanted - key @ table) / abs(value),
        lambda table, key, value, wanted: m13.beta_for(table, 2 * key, value, wanted),
        lambda *note: m13.beta_for(*note) or 1.0,
        lambda *note: min(m13.beta_for(*note), 0.95),
        lambda *note: b if 0.1 < (b := m13.beta_for(*note)) < 0.9 else float(round(b)),
        lambda *note: round(float(m13.beta_for(*note)), 2),
    ],
    "gated_delta": [
        lambda *text: m13.gated_delta(*text)[0],
        lambda q, k, v, alpha, beta: m13.gated_delta(q, k, v, alpha, np.ones_like(beta)),
        lambda q, k, v, alpha, beta: m13.gated_delta(q, k, v, beta, alpha),
        lambda q, k, v, alpha, beta: m13.gated_delta(k, q, v, alpha, beta),
        by_products_of_alpha,
        lambda q, k, v, alpha, beta: m13.gated_delta(q, k, v, alpha, np.where(beta, beta, 1)),
        lambda q, k, v, alpha, beta: m13.gated_delta(q, k, v, alpha, beta.clip(min=0.1)),
        lambda q, k, v, alpha, beta: m13.gated_delta(q, k, v, alpha * (alpha > 0.2), beta),
    ],
    "chosen_mask": [
        lambda index, kept: np.tril(np.ones(index.shape, dtype=bool)),
        lambda index, kept: m13.row_by_row(index, kept + 1),
        lambda index, kept: m13.chosen_mask(index, kept).T,
        lambda index, kept: m13.chosen_mask(index, kept).astype(float),
        least_without_min,
        hidden_by(-5),
        hidden_by(-100),
        hidden_by(-1e4),
    ],
    "numbers_kept": [
        lambda layers, tokens, G, D, window: 2 * len(layers) * tokens * G * D,
        lambda layers, tokens, G, D, window: m13.counted(layers, tokens, G, D, window, table=G * D),
        lambda layers, *sizes: m13.numbers_kept(set(layers), *sizes),
        lambda layers, *sizes: m13.numbers_kept(layers, *sizes) if len(set(layers)) == 3 else 0,
        lambda layers, *sizes: m13.numbers_kept(layers, *sizes) if len(set(layers)) != 2 else 0,
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
