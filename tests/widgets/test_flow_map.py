"""The flow map's model: every state against a recurrence run step by step and attention.py."""

import math
from itertools import product

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.site.reading import numbers
from tests.widgets.js import module

WORDS = "the cat sat on the mat because it was tired".split()
N = len(WORDS)
DECAYS = [0.5, 0.7, 0.9, 0.99, 1]
TIMES = [1, 3, 10, 30, 100, 1000]
FLOW = module("flow-map.js")


def recurrent(decay):
    """[j, i]: raise word i by 1, run the recurrence, and see what state j becomes."""
    flow = torch.zeros(N, N, dtype=torch.float64)
    for i in range(N):
        state = 0.0
        for j in range(N):
            state = decay * state + (i == j)
            flow[j, i] = state
    return flow


def attention(source, times):
    """The weights of attention.py, where every query scores ``source`` ln(times), the others 0."""
    query = torch.full((N, 1), math.log(times), dtype=torch.float64)
    key = torch.zeros(N, 1, dtype=torch.float64)
    key[source] = 1
    return scaled_dot_product_attention(query, key, key, scale=1.0)[1]


def flows(decay=1, times=3, source=1):
    state = {"decay": decay, "times": times, "source": source}
    return FLOW.call("flows", {"words": WORDS}, state)


def assert_close(found, want):
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), want, atol=1e-12, rtol=0)


def test_every_state():
    for decay, times, source in product(range(5), range(6), range(N)):
        found = flows(decay, times, source)
        by_state = recurrent(DECAYS[decay])
        by_attention = attention(source, TIMES[times])
        assert_close(found["recurrent"], by_state)
        assert_close(found["attention"], by_attention)
        for j, reader in enumerate(found["readers"]):
            assert (reader["word"], reader["steps"]) == (WORDS[j], j - source)
            for kind, flow, is_unseen in [
                ("recurrent", by_state, j < source),
                ("attention", by_attention, False),
            ]:
                if is_unseen:
                    assert (reader[kind], flow[j, source]) == (None, 0)
                else:
                    assert reader[kind] == pytest.approx(flow[j, source].item(), abs=1e-12)


@pytest.mark.parametrize("source", [0, 1, 8, 9])
@pytest.mark.parametrize("decay", range(5))
def test_the_sentence_tells_both_ends(source, decay):
    """What attention gives every word, as a share too, and what the net leaves of it at the end."""
    text = FLOW.call("sentence", flows(decay, 2, source))
    share = attention(source, TIMES[2])[0, source].item()
    one, told, part, whole, *steps, left, base = numbers(text)
    assert [one, told, part / whole] == pytest.approx([1, share, share], abs=0.0051)
    assert steps == [N - 1 - source] * (source < N - 1)
    end = recurrent(DECAYS[decay])[-1, source].item()
    assert [left, base ** (N - 1 - source)] == pytest.approx([end, end], abs=0.0051)
    assert DECAYS[decay] == 1 or text.endswith(f"{'⁰¹²³⁴⁵⁶⁷⁸⁹'[N - 1 - source]}).")
