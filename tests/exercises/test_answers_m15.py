"""Right answers to m15 in other styles, and its inputs; test_answers.py has the edits."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course.exercises.task import tasks_of
from tests.exercises.held import SEEDS, assert_accepted, pairs

TASKS = tasks_of("m15")


def by_masked_softmax_in_torch(weights, chosen, value):
    """Logarithms are scores, too, whose softmax is the weights."""
    weights, chosen, value = (torch.from_numpy(part) for part in (weights, chosen, value))
    scores = weights.log().masked_fill(~chosen, -torch.inf)
    return scores.softmax(1) @ value - weights @ value


def query_by_query(weights, chosen, value):
    return [
        np.average(value[is_in], axis=0, weights=row[is_in]) - row @ value
        for row, is_in in zip(weights, chosen, strict=True)
    ]


def by_torch_in_float32(query, key, value, cheap, kept):
    query, key, value, cheap = (
        torch.from_numpy(part).float() for part in (query, key, value, cheap)
    )
    causal = torch.ones_like(cheap).bool().tril()
    best = cheap.masked_fill(~causal, -torch.inf).topk(min(kept, len(cheap))).indices
    chosen = torch.zeros_like(causal).scatter(1, best, True) & causal
    heads = (part[None] for part in (query, key, value))
    return F.scaled_dot_product_attention(*heads, attn_mask=chosen[None])[0]


def by_numpy_in_float32(query, key, value, cheap, kept):
    """Hide by adding a very low number."""
    query, key, value = (part.astype(np.float32) for part in (query, key, value))
    causal = np.tril(np.ones(cheap.shape, dtype=bool))
    hidden = np.where(causal, cheap, -np.inf)
    least = np.sort(hidden, axis=1)[:, -min(kept, len(cheap))][:, None]
    hide = np.where(causal & (hidden >= least), 0, -1e9).astype(np.float32)
    scores = query @ key.T / np.float32(query.shape[1]) ** 0.5 + hide
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) @ value


RIGHT = {
    "chosen_attention": [by_torch_in_float32, by_numpy_in_float32],
    "moved": [by_masked_softmax_in_torch, query_by_query],
}


@pytest.mark.parametrize(("task", "answer"), pairs(RIGHT))
def test_an_answer_in_another_style_is_accepted(task, answer):
    assert_accepted(TASKS[task], answer)


@pytest.mark.parametrize("seed", SEEDS)
def test_inputs_keep_what_the_tasks_say_of_them(seed):
    for weights, chosen, _ in TASKS["moved"].cases(seed):
        np.testing.assert_allclose(weights.sum(1), 1)
        assert not np.triu(weights, 1).any()
        assert not np.triu(chosen, 1).any()
        assert (weights * chosen).sum(1).min() > 0
    *_, cheaps, kepts = zip(*TASKS["chosen_attention"].cases(seed), strict=True)
    assert all(len(np.unique(cheap)) == cheap.size for cheap in cheaps)
    assert any(kept > len(cheap) for cheap, kept in zip(cheaps, kepts, strict=True))
    heads = TASKS["chosen_attention"].cases(seed)
    products = [query @ key.T / query.shape[1] ** 0.5 for query, key, *_ in heads]
    assert 700 < max(each.max() for each in products) <= 1000
    assert -1000 <= min(each.min() for each in products) < -700
