"""widgets/lib/attention.js against attention.py in float64."""

import math
import random

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.lessons.m05_numbers import W_K, W_Q, W_V, X
from tests.widgets.js import module

JS = module("lib/attention.js")
PROJECTIONS = {"query": W_Q, "key": W_K, "value": W_V}


def assert_equal(got, want, **tolerance):
    tolerance = {"rtol": 1e-12, "atol": 1e-12} | tolerance
    torch.testing.assert_close(torch.tensor(got, dtype=torch.float64), want, **tolerance)


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_steps(is_causal):
    generator = torch.Generator().manual_seed(0)
    for n, d, dv in [(3, 2, 2), (1, 4, 1), (6, 3, 5)] * 10:
        sizes = {"query": d, "key": d, "value": dv}
        matrices = {
            name: torch.rand(n, size, generator=generator, dtype=torch.float64) * 18 - 9
            for name, size in sizes.items()
        }
        got = JS.call("attentionSteps", matrices, {"causal": is_causal})
        scores = matrices["query"] @ matrices["key"].T
        assert_equal(got["scores"], scores)
        assert_equal(got["scaled"], scores / math.sqrt(d))
        output, weights = scaled_dot_product_attention(**matrices, is_causal=is_causal)
        assert_equal(got["weights"], weights)
        assert_equal(got["output"], output)


def test_self_attention_under_random_masks_with_empty_rows():
    masks = torch.rand(60, 6, 6, generator=torch.Generator().manual_seed(0)) < 0.4
    assert (~masks.any(-1)).any()
    body = """x.masks.map((mask) =>
      m.selfAttention(x.x, x.projections, {hidden: (i, j) => !mask[i][j]}))"""
    models = JS.run(body, {"masks": masks, "x": X, "projections": PROJECTIONS})
    for mask, got in zip(masks, models, strict=True):
        output, weights = scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V, mask)
        assert_equal(got["weights"], weights)
        assert_equal(got["output"], output)


def test_softmax_never_overflows_and_hides_exactly():
    draw = random.Random(0)
    for _ in range(100):
        row = [draw.uniform(-5, 5) + 1000 for _ in range(draw.randint(1, 8))]
        seen = [draw.random() < 0.6 for _ in row]
        got = JS.run("m.softmax(x.row, (j) => !x.seen[j])", {"row": row, "seen": seen})
        _, want = scaled_dot_product_attention(
            torch.ones(1, 1).double(), torch.tensor(row, dtype=torch.float64)[:, None],
            torch.ones(len(row), 1).double(), torch.tensor(seen)[None], scale=1,
        )  # fmt: skip
        assert_equal(got, want[0])
        assert all(share == 0 for share, is_seen in zip(got, seen, strict=True) if not is_seen)
    assert JS.call("softmax", [5]) == [1]


def test_temperature_and_its_limits():
    draw = random.Random(0)
    for _ in range(100):
        row, temperature = [draw.uniform(-9, 9) for _ in range(6)], draw.uniform(0.05, 20)
        want = (torch.tensor(row, dtype=torch.float64) / temperature).softmax(-1)
        assert_equal(JS.call("atTemperature", row, temperature), want, rtol=1e-11, atol=1e-13)
    assert JS.call("atTemperature", [1, 3, 2], math.inf) == [1 / 3] * 3
    assert JS.call("atTemperature", [1, 3, 2], 0) == [0, 1, 0]
    assert JS.call("atTemperature", [0.1 + 0.2, 0.3, -1], 0) == [0.5, 0.5, 0], "equal on paper"


def test_random_matrices_are_one_decimal_between_minus_2_and_2():
    body = "m.randomMatrices({query: x, value: x}, Math.random)"
    got = JS.run(body, [[0, 0, 0]] * 50)
    assert got.keys() == {"query", "value"}
    numbers = [number for rows in got.values() for row in rows for number in row]
    assert len(numbers) == 300
    assert len(set(numbers)) > 30
    assert all(-2 <= n <= 2 and n == round(n, 1) for n in numbers)
