"""The lookup in the plane: weights and answer are attention.py's, hard and soft."""

import random

import pytest

from tests.lessons.page_text import in_order, share
from tests.widgets.js import assert_near, module
from tests.widgets.truth_query_plane import HEIGHTS, KEYS, expected

JS = module("query-plane.js")
NAMES = ["Ash", "Bow", "Cam", "Dun", "Eye"]


def ask(query, temperature=None, keys=KEYS, values=HEIGHTS):
    """At no temperature, what the front page's query gets, which asks for no height."""
    named = zip(NAMES, keys, values, strict=True)
    data = {"keys": [{"token": n, "key": k, "value": v} for n, k, v in named]}
    state = {"across": query[0], "up": query[1]}
    if temperature is None:
        return JS.call("lookup", data, state)
    return JS.call("ask", data, state | {"heat": temperature})


def weights(model):
    return [one["weight"] for one in model["found"]]


def test_it_is_attention_from_hard_to_soft():
    draw = random.Random(0)
    for _ in range(100):
        query = [draw.uniform(-2, 2), draw.uniform(-2, 2)]
        temperature = draw.choice([0, 0.05, 0.5, 1, draw.uniform(0.05, 3), 3])
        keys = [[draw.uniform(-2, 2), draw.uniform(-2, 2)] for _ in NAMES]
        values = [draw.uniform(-5, 5) for _ in NAMES]
        got = ask(query, temperature, keys, values)
        shares, answer = expected(query, temperature, keys, values)
        assert_near(weights(got), shares)
        assert got["answer"] == pytest.approx(answer, abs=1e-11)
        assert bool(got["note"]) == (temperature == 0)
        assert in_order(JS.call("summarize", got), *map(share, shares), f"{answer:.2f}")
    for query in ([1.5, 0.4], [-2, 2], [0, 0]):
        assert_near(weights(ask(query)), expected(query, 2**0.5)[0])
        assert "answer" not in ask(query)


def test_at_0_it_says_from_how_many_keys_the_answer_is():
    alone, tie = ask([2, 0.5], 0), ask([0, 0], 0)
    assert "alone" in alone["note"]
    assert str(len(NAMES)) in tie["note"]
    assert tie["answer"] == pytest.approx(sum(HEIGHTS) / len(HEIGHTS))


def test_a_longer_query_gives_the_largest_share_more():
    """As the front page says; only between equal scores nothing changes."""
    draw = random.Random(1)
    for _ in range(100):
        query = [draw.uniform(-1, 1), draw.uniform(-1, 1)]
        shorter, own, longer = (max(weights(ask([c * x for x in query]))) for c in (0.5, 1, 2))
        assert shorter < own < longer
