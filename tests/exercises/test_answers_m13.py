"""Answers that m13's checkers must refuse, and right ones in other styles that they must accept."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course.exercises.task import tasks_of
from exercises.solutions import m13
from tests.exercises.held import assert_accepted, assert_refused, pairs

TASKS = tasks_of("m13")


def by_cumsum(q, k, v):
    """Every token's table at once."""
    q, k = (np.maximum(x, 0) + np.exp(np.minimum(x, 0)) for x in (q, k))
    tables = np.cumsum(np.einsum("td,te->tde", k, v), axis=0)
    weights = (q * np.cumsum(k, axis=0)).sum(1)
    return np.einsum("td,tde->te", q, tables) / weights[:, None], tables[-1]


def table_in_torch(q, k, v):
    """The table has a column of ones beside the values, which sums the keys."""
    q, k, v = map(torch.from_numpy, (q, k, v))
    q, k, v = F.elu(q) + 1, F.elu(k) + 1, F.pad(v, (0, 1), value=1.0)
    table, rows = torch.zeros(k.shape[1], v.shape[1], dtype=k.dtype), []
    for t in range(len(k)):
        table = table + torch.outer(k[t], v[t])
        sums = q[t] @ table
        rows.append(sums[:-1] / sums[-1])
    return torch.stack(rows), table[:, :-1]


def in_plain_loops(q, k, v):
    """In place, number by number, as a list of rows; no NumPy but the exponential."""
    phi = [[[x + 1 if x > 0 else np.exp(x) for x in row] for row in rows] for rows in (q, k)]
    (L, D), Dv, output = q.shape, v.shape[1], []
    table, total = [[0.0] * Dv for _ in range(D)], [0.0] * D
    for t in range(L):
        for d in range(D):
            total[d] += phi[1][t][d]
            for e in range(Dv):
                table[d][e] += phi[1][t][d] * v[t, e]
        weight = sum(phi[0][t][d] * total[d] for d in range(D))
        output.append(
            [sum(phi[0][t][d] * table[d][e] for d in range(D)) / weight for e in range(Dv)]
        )
    return output, table


def with_phi(phi):
    return lambda q, k, v: m13.tabled(q, k, v, of_q=phi, of_k=phi)


def by_where(x):
    """Computes e^x of the large numbers, too, and leaves it: NumPy warns, and phi is right."""
    return np.where(x > 0, x + 1, np.exp(x))


def with_epsilon(epsilon):
    def answer(q, k, v):
        return m13.tabled(q, k, v, divisor=lambda q, total, t: q @ total + epsilon)

    return answer


def with_window(window):
    def answer(q, k, v):
        first = [max(0, t + 1 - window) for t in range(len(q))]
        rows = [
            m13.linear_attention(*(x[i : t + 1] for x in (q, k, v))) for t, i in enumerate(first)
        ]
        return np.array([output[-1] for output, _ in rows]), m13.linear_attention(q, k, v)[1]

    return answer


def by_softmax(q, k, v):
    scores = np.where(np.tril(np.ones((len(q), len(q)))), q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True) @ v, m13.linear_attention(q, k, v)[1]


def in_torch(q, k, v, alpha, beta):
    q, k, v = map(torch.from_numpy, (q, k, v))
    table, rows = torch.zeros(k.shape[1], v.shape[1], dtype=k.dtype), []
    for t in range(len(k)):
        table = table * alpha[t]
        table = table - beta[t] * torch.outer(k[t], k[t] @ table - v[t])
        rows.append(q[t] @ table)
    return torch.stack(rows), table


def by_products_of_alpha(q, k, v, alpha, beta):
    """Divides by what is left of each token's note, which may be nothing."""
    with np.errstate(all="ignore"):
        left = np.cumprod(alpha)
        table, outputs = np.zeros((k.shape[1], v.shape[1])), []
        for t in range(len(k)):
            note = v[t] / left[t] - k[t] @ table
            table = table + beta[t] * np.outer(k[t], note)
            outputs.append(left[t] * (q[t] @ table))
        return np.array(outputs), left[-1] * table


PHIS = [  # none of them negative, and none of them elu + 1
    np.exp,
    np.abs,
    np.square,
    lambda x: np.maximum(x, 0) + 1,
    lambda x: np.maximum(x, 0) + 1e-6,
    lambda x: np.logaddexp(x, 0),
    lambda x: np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)) + 1),
    lambda x: np.where(x > 0, x + 1, np.exp(-np.abs(x)) / 2),
    lambda x: np.where(x > 0, x, np.exp(np.minimum(x, 0))),
    lambda x: np.where(x < -30, 1, m13.phi(x)),
]


RIGHT = {
    "linear_attention": [
        by_cumsum,
        table_in_torch,
        in_plain_loops,
        with_epsilon(1e-6),
        with_phi(by_where),
        with_phi(lambda x: np.where(x >= 0, x, np.expm1(x)) + 1),
    ],
    "beta_for": [lambda *note: float(m13.beta_for(*note))],
    "gated_delta": [in_torch],
}
WRONG = {
    "linear_attention": [
        lambda q, k, v: m13.linear_attention(q, k, v)[0],
        lambda q, k, v: m13.linear_attention(q, k, v)[::-1],
        lambda q, k, v: m13.linear_attention(k, q, v),
        lambda q, k, v: m13.linear_attention(-q, -k, v),
        lambda q, k, v: (m13.linear_attention(q, k, v)[0], m13.linear_attention(q, k, v)[1].T),
        lambda q, k, v: (m13.linear_attention(q, k, v)[0], m13.tabled(q, k, v, of_k=np.asarray)[1]),
        lambda q, k, v: (m13.linear_attention(q, k, v)[0], m13.phi(k)[-1:].T @ v[-1:]),
        lambda q, k, v: (m13.linear_attention(q, k, v)[0], m13.phi(k)[:-1].T @ v[:-1]),
        lambda q, k, v: (m13.linear_attention(q, k, v)[0], m13.phi(k).T @ v / len(k)),
        lambda q, k, v: m13.tabled(q, k, v, divisor=lambda q, total, t: total.sum()),
        lambda q, k, v: m13.tabled(q, k, v, divisor=lambda q, total, t: np.sqrt(len(q))),
        lambda q, k, v: m13.tabled(q, k, m13.phi(v)),
        lambda q, k, v: m13.linear_attention(np.clip(q, -100, 100), np.clip(k, -100, 100), v),
        *map(with_phi, PHIS),
        *map(with_epsilon, (1e-1, 1)),
        *map(with_window, (1, 2, 4, 8)),
        by_softmax,
    ],
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
}


@pytest.mark.parametrize(("name", "answer"), pairs(RIGHT))
def test_a_right_answer_is_accepted(name, answer):
    assert_accepted(TASKS[name], answer)


@pytest.mark.parametrize(("name", "answer"), pairs(WRONG))
def test_a_wrong_answer_is_refused(name, answer):
    assert_refused(TASKS[name], answer)


def test_every_task_is_in_the_tables():
    assert set(RIGHT) == set(WRONG) == set(TASKS)
