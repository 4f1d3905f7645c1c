"""The flow map's model: every state against a recurrence run step by step and attention.py."""

from itertools import product

import pytest

from tests.numbers import numbers
from tests.widgets.js import assert_near, module
from tests.widgets.truth_flow_map import DECAYS, TIMES, WORDS, N, attention, recurrent

FLOW = module("flow-map.js")


def test_every_state_and_its_sentence():
    """It tells what attention gives every word, as a share too, and the last word's rest."""
    states = [*product(range(5), range(6), range(N))]
    models = FLOW.run(
        """x.states.map(([decay, times, source]) => {
          const model = m.flows({words: x.words}, {decay, times, source});
          return {...model, sentence: m.sentence(model)};
        })""",
        {"words": WORDS, "states": states},
    )
    by_state = [recurrent(decay) for decay in DECAYS]
    for (decay, times, source), got in zip(states, models, strict=True):
        by_attention = attention(source, TIMES[times])
        assert_near(got["recurrent"], by_state[decay])
        assert_near(got["attention"], by_attention)
        column, share = by_state[decay][:, source], by_attention[0, source].item()
        assert [one["word"] for one in got["readers"]] == WORDS
        assert [one["steps"] for one in got["readers"]] == [j - source for j in range(N)]
        assert not column[:source].any()
        assert all(one["recurrent"] is None for one in got["readers"][:source])
        assert_near([one["recurrent"] for one in got["readers"][source:]], column[source:])
        assert_near([one["attention"] for one in got["readers"]], by_attention[:, source])

        one, decimal, part, whole, *steps, left, base = numbers(got["sentence"])
        assert [one, decimal, part / whole] == pytest.approx([1, share, share], abs=0.0051)
        assert steps == [N - 1 - source] * (source < N - 1)
        end = column[-1].item()
        assert [left, base ** (N - 1 - source)] == pytest.approx([end, end], abs=0.0051)
        assert DECAYS[decay] == 1 or got["sentence"].endswith(f"{'⁰¹²³⁴⁵⁶⁷⁸⁹'[N - 1 - source]}).")
