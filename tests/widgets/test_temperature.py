"""widgets/temperature.js: every stop of its slider against attention.py."""

import math
import random

import pytest
import torch

from analysis import entropy
from attention import scaled_dot_product_attention
from tests.site.reading import numbers
from tests.widgets.js import module

JS = module("temperature.js")
STOPS = [0, *(i / 10 for i in range(1, 31)), math.inf]
TOKENS = ["The", "cat", "sat", "on", "the", "mat"]
KEY = [[2, 0, 0, 0], [0, 2, 0, 1], [0, 0, 2, 0], [0, 0, 0.5, -1], [2, 0, 0, 0], [0, 2, 0, -1]]
QUERY = [
    [0, 2, 0, 1], [2, 0, 1.5, 0], [0, 1.5, 0, 2], [0, 1.5, 0, -1.5], [0, 2, 0, 1], [1.5, 0, 0, -1]
]  # fmt: skip
CONSTRUCTED = {"tokens": TOKENS, "query": QUERY, "key": KEY}


def state(temperature=1, cell=(2, 1), query=QUERY, key=KEY):
    return {"stop": STOPS.index(temperature), "cell": cell, "query": query, "key": key}


def heat(*args, **changes):
    return JS.call("heat", CONSTRUCTED, state(*args, **changes))


def sentence(*args, **changes):
    return JS.run("m.sentence(m.heat(x[0], x[1]))", [CONSTRUCTED, state(*args, **changes)])


def expected(query, key, temperature):
    """By attention.py; the limits by a temperature too small to matter, and by a scale of 0."""
    q, k = (torch.tensor(m, dtype=torch.float64) for m in (query, key))
    scale = 0.0 if temperature == math.inf else k.shape[-1] ** -0.5 / (temperature or 1e-9)
    return scaled_dot_product_attention(q, k, k, scale=scale)[1]


def assert_is_attention_pys(got, query, key, temperature):
    want = expected(query, key, temperature)
    have = torch.tensor(got["weights"], dtype=torch.float64)
    torch.testing.assert_close(have, want, rtol=1e-11, atol=1e-13)
    have = torch.tensor(got["entropies"], dtype=torch.float64)
    torch.testing.assert_close(have, entropy(want), rtol=1e-9, atol=1e-12)
    assert got["T"] == temperature
    assert got["keys"] == pytest.approx(entropy(want)[2].exp().item())


def test_the_stops_are_tenths_between_the_limits():
    assert JS.run("m.STOPS") == STOPS
    assert {0.5, 1, 2} < set(STOPS), "they have a button each"


def test_numbers_at_every_temperature():
    for temperature in STOPS:
        assert_is_attention_pys(heat(temperature), QUERY, KEY, temperature)


def test_numbers_drawn_at_random_are_called_random():
    draw = random.Random(0)
    for temperature in STOPS:
        query, key = ([[draw.uniform(-9, 9) for _ in range(4)] for _ in range(6)] for _ in "qk")
        got = heat(temperature or 1, query=query, key=key)
        assert_is_attention_pys(got, query, key, temperature or 1)
        assert got["source"] == "random"
    assert heat()["source"] == "constructed"


def test_the_limits_are_exact_and_ties_share():
    scores = torch.tensor(QUERY).double() @ torch.tensor(KEY).double().T
    largest = scores == scores.max(dim=-1, keepdim=True).values
    assert heat(0)["weights"] == (largest / largest.sum(dim=-1, keepdim=True)).tolist()
    assert heat(0)["weights"][1] == [0.5, 0, 0, 0, 0.5, 0]
    assert heat(math.inf)["weights"] == [[1 / 6] * 6] * 6


def test_the_sentence_tells_the_temperature_the_row_and_its_count():
    for temperature in (0.5, 1, 0, math.inf):
        row = expected(QUERY, KEY, temperature)[2]
        *_, first, a, b, c, d, last, count, of = numbers(sentence(temperature))
        told = [first, a, b, c, d, last, count]
        assert told == pytest.approx([*row.tolist(), entropy(row).exp().item()], abs=0.0051)
        assert of == 6
    assert numbers(sentence(0.5))[0] == 0.5
    assert "random" not in sentence()
