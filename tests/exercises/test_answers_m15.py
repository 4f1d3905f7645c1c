"""Right answers to m15 in other styles, and its inputs; test_answers.py has the edits."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from course.exercises.task import tasks_of
from tests.exercises.held import SEEDS, assert_accepted, pairs

TASKS = tasks_of("m15")


def by_topk_in_torch(scores, cheap, kept):
    scores, cheap = torch.from_numpy(scores), torch.from_numpy(cheap)
    later = torch.ones_like(cheap).bool().triu(1)
    best = cheap.masked_fill(later, -torch.inf).topk(min(kept, len(cheap))).indices
    return scores.masked_fill(later, -torch.inf).softmax(1).scatter(1, best, 0.0).sum(1)


def by_argpartition(scores, cheap, kept):
    """Choose in one row after another, and take the kept weight from 1."""
    shares = []
    for i, row in enumerate(scores):
        e = np.exp(row[: i + 1] - row[: i + 1].max())
        best = np.argpartition(-cheap[i, : i + 1], kept - 1)[:kept] if kept <= i else slice(None)
        shares.append(1 - e[best].sum() / e.sum())
    return shares


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
    "missed": [by_topk_in_torch, by_argpartition],
}


@pytest.mark.parametrize(("task", "answer"), pairs(RIGHT))
def test_an_answer_in_another_style_is_accepted(task, answer):
    assert_accepted(TASKS[task], answer)


@pytest.mark.parametrize("seed", SEEDS)
def test_inputs_keep_what_the_tasks_say_of_them(seed):
    cases = list(TASKS["missed"].cases(seed))
    assert 900 < max(scores.max() for scores, _, _ in cases) <= 1000
    assert -1000 <= min(scores.min() for scores, _, _ in cases) < -900
    assert all(len(np.unique(cheap)) == cheap.size for _, cheap, _ in cases)
    assert any(kept > len(cheap) for _, cheap, kept in cases)
    heads = TASKS["chosen_attention"].cases(seed)
    products = [query @ key.T / query.shape[1] ** 0.5 for query, key, *_ in heads]
    assert 700 < max(each.max() for each in products) <= 1000
    assert -1000 <= min(each.min() for each in products) < -700
