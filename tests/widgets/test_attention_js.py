"""widgets/lib/attention.js against attention.py in float64; the rest, through the widgets."""

import random

import torch

from attention import scaled_dot_product_attention
from tests.widgets.js import assert_near, module

JS = module("lib/attention.js")


def test_softmax_never_overflows_and_hides_exactly():
    draw, cases = random.Random(0), []
    for _ in range(100):
        row = [draw.uniform(-5, 5) + 1000 for _ in range(draw.randint(1, 8))]
        cases.append([row, [draw.random() < 0.6 for _ in row]])
    results = JS.run("x.map(([row, seen]) => m.softmax(row, (j) => !seen[j]))", cases)
    for (row, seen), got in zip(cases, results, strict=True):
        keys = torch.tensor(row, dtype=torch.float64)[:, None]
        one = torch.ones(1, 1).double()
        _, want = scaled_dot_product_attention(one, keys, keys, torch.tensor(seen)[None], scale=1)
        assert_near(got, want[0])
        assert not any(weight for weight, is_seen in zip(got, seen, strict=True) if not is_seen)
    assert JS.call("softmax", [5]) == [1]


def test_equal_scores_share_however_they_were_rounded():
    assert JS.call("atTemperature", [1, 3, 2], 0) == [0, 1, 0]
    assert JS.call("atTemperature", [0.1 + 0.2, 0.3, -1], 0) == [0.5, 0.5, 0], "equal on paper"


def test_random_matrices_are_one_decimal_between_minus_2_and_2():
    got = JS.run("m.randomMatrices({query: x, value: x}, Math.random)", [[0, 0, 0]] * 50)
    assert got.keys() == {"query", "value"}
    numbers = [number for rows in got.values() for row in rows for number in row]
    assert len(numbers) == 300
    assert len(set(numbers)) > 30
    assert all(-2 <= n <= 2 and n == round(n, 1) for n in numbers)
