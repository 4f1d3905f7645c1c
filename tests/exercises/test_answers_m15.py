"""Right answers to m15 in other styles, and its inputs; test_answers.py has the edits."""

import numpy as np
import pytest
import torch

from course.exercises.task import tasks_of
from tests.exercises.held import SEEDS, assert_accepted

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


@pytest.mark.parametrize("answer", [by_topk_in_torch, by_argpartition])
def test_a_choice_in_another_style_is_accepted(answer):
    assert_accepted(TASKS["missed"], answer)


@pytest.mark.parametrize("seed", SEEDS)
def test_inputs_keep_what_the_task_says_of_them(seed):
    made = list(TASKS["missed"].cases(seed))
    assert 900 < max(scores.max() for scores, _, _ in made) <= 1000
    assert -1000 <= min(scores.min() for scores, _, _ in made) < -900
    assert all(len(np.unique(cheap)) == cheap.size for _, cheap, _ in made)
    assert any(kept > len(cheap) for _, cheap, kept in made)
