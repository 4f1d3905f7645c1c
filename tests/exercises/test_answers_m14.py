"""Answers that m14's checkers must refuse, and right ones in other styles that they must accept."""

import numpy as np
import pytest
import torch

from course.exercises.task import tasks_of
from tests.exercises.edits import cases
from tests.exercises.held import SEEDS, assert_accepted, assert_refused

TASKS = tasks_of("m14")

WRONG = """
m14.missed
return missed(scores, cheap, kept + 1)
return missed(scores, cheap, max(kept - 1, 1))
return missed(scores.T, cheap, kept)
return missed(scores, cheap.T, kept)
return missed(np.clip(scores, -700, 700), cheap, kept)
return missed(scores / np.abs(scores).max(), cheap, kept)
return missed(scores, cheap, kept)[:, None]
return missed(scores, cheap, kept)[-1]
return missed(scores, cheap, kept).max()
return missed(scores, cheap, kept).round(2)
return missed(scores, cheap, kept) > 0
return np.nan_to_num(measured(scores, cheap, kept, largest=0))
return measured(scores, cheap, kept, largest=largest_chosen(scores, cheap, kept))
min(kept, L) -> kept % L
(L, L), dtype=bool) -> (L, L), dtype=bool), -1
hidden < least -> hidden <= least
.sum(axis=1) / -> .max(axis=1) /
.sum(axis=1) / -> .mean(axis=1) /
cheap, -np.inf -> cheap, 0
cheap, -np.inf -> cheap, -5
cheap, -np.inf -> cheap, -100
cheap, -np.inf -> cheap, -1e4
scores, -np.inf -> scores, 0
scores, -np.inf -> scores, -5
scores, -np.inf -> scores, -100
scores, -np.inf -> scores, -1e3
visible.max(axis=1, keepdims=True) -> visible.max()
visible.max(axis=1, keepdims=True) -> visible[:, :1]
visible.max(axis=1, keepdims=True) -> np.diag(visible)[:, None]
visible.max(axis=1, keepdims=True) -> scores.mean(axis=1, keepdims=True)
m14.numbers_kept
return 2 * len(layers) * tokens * num_kv_heads * head_dim
num_kv_heads * head_dim * head_dim -> num_kv_heads * head_dim
in layers -> in set(layers)
return numbers_kept(layers, tokens, num_kv_heads, head_dim, window) * (len(set(layers)) == 3)
return numbers_kept(layers, tokens, num_kv_heads, head_dim, window) * (len(set(layers)) != 2)
"""
RIGHT = """
m14.missed
return 1 - measured(scores, cheap, kept, wanted=lambda chosen, earlier: chosen)
cheap, -np.inf -> cheap, -1e9
scores, -np.inf -> scores, -1e4
hidden < least -> np.argsort(np.argsort(-hidden, axis=1), axis=1) >= kept
return missed(scores.astype(np.float32), cheap.astype(np.float32), kept)
hidden < least -> cheap < least
"""


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


@pytest.mark.parametrize(("task", "answer"), cases(WRONG))
def test_a_wrong_answer_is_refused(task, answer):
    assert_refused(task, answer, returns=True)


@pytest.mark.parametrize(("task", "answer"), cases(RIGHT))
def test_a_right_answer_is_accepted(task, answer):
    assert_accepted(task, answer)


@pytest.mark.parametrize("answer", [by_topk_in_torch, by_argpartition])
def test_a_choice_in_another_style_is_accepted(answer):
    assert_accepted(TASKS["missed"], answer)


def test_every_task_has_wrong_answers():
    assert {case.values[0].name for case in cases(WRONG)} == set(TASKS)


@pytest.mark.parametrize("seed", SEEDS)
def test_inputs_keep_what_the_task_says_of_them(seed):
    made = list(TASKS["missed"].cases(seed))
    assert 900 < max(scores.max() for scores, _, _ in made) <= 1000
    assert -1000 <= min(scores.min() for scores, _, _ in made) < -900
    assert all(len(np.unique(cheap)) == cheap.size for _, cheap, _ in made)
    assert any(kept > len(cheap) for _, cheap, kept in made)
