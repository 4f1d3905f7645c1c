"""Right answers to m14 in other styles, and its inputs; test_answers.py has the edits."""

import numpy as np
import pytest
import torch

from course.exercises.task import tasks_of
from tests.exercises.held import SEEDS, assert_accepted

TASKS = tasks_of("m14")


def by_overlaps(keys, values):
    overlaps = keys @ keys.T
    np.fill_diagonal(overlaps, 0)
    return overlaps @ values


def by_log_sum_exp(scores, values, sink):
    scores = torch.from_numpy(scores)
    total = torch.logaddexp(scores.logsumexp(0), torch.tensor(sink))
    return ((scores - total).exp() @ torch.from_numpy(values)).item()


def by_what_follows_the_last_payment(tokens, num_guests):
    unpaid = "".join(f" {token} " for token in tokens).split(" -1 ")[-1].split()
    counts = [unpaid.count(str(guest)) for guest in range(num_guests)]
    return [count / (count + 1) for count in counts]


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("others_add", by_overlaps),
        ("with_sink", by_log_sum_exp),
        ("two_layers_say", by_what_follows_the_last_payment),
    ],
)
def test_an_answer_in_another_style_is_accepted(task, answer):
    assert_accepted(TASKS[task], answer)


@pytest.mark.parametrize("seed", SEEDS)
def test_inputs_keep_what_the_tasks_say_of_them(seed):
    rows = list(TASKS["with_sink"].cases(seed))
    assert 900 < max(scores.max() for scores, _, _ in rows) <= 1000
    assert -1000 <= min(scores.min() for scores, _, _ in rows) < -900
    assert {-1000.0, 1000.0} <= {sink for *_, sink in rows}
    nights = list(TASKS["two_layers_say"].cases(seed))
    payments = [(tokens == -1).sum() for tokens, _ in nights]
    assert {0, 1, 2} <= set(payments)
    assert any(tokens[-1] == -1 for tokens, _ in nights)
    assert all(tokens.max() < num_guests for tokens, num_guests in nights)
