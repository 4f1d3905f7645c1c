"""widgets/lib/attention.js against attention.py in float64."""

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.widgets.js import assert_near, module

JS = module("lib/attention.js")


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_four_steps_are_attention_pys(columns):
    query, key, value = (5 * torch.randn(4, columns).double() for _ in range(3))
    got = JS.call("attentionSteps", {"query": query, "key": key, "value": value})
    output, weights = scaled_dot_product_attention(query, key, value)
    scores = query @ key.T
    want = {"scores": scores, "scaled": scores / columns**0.5, "weights": weights, "output": output}
    for name, exact in want.items():
        assert_near(got[name], exact)


def test_softmax_never_overflows_and_hides_exactly():
    rows, seen = 5 * torch.randn(100, 6).double() + 1000, torch.rand(100, 6) < 0.6
    seen[0] = False
    got = JS.run("x[0].map((row, i) => m.softmax(row, (j) => !x[1][i][j]))", [rows, seen])
    one, keys = torch.ones(100, 1, 1).double(), rows[..., None]
    _, want = scaled_dot_product_attention(one, keys, keys, seen[:, None], scale=1)
    assert_near(got, want[:, 0])
    assert not torch.tensor(got)[~seen].any()


def test_scores_that_are_equal_on_paper_share_the_weight():
    assert JS.call("atTemperature", [0.1 + 0.2, 0.3, -1], 0) == [0.5, 0.5, 0]


def test_random_matrices_are_one_decimal_between_minus_2_and_2():
    numbers = JS.run("m.randomMatrices({query: x}, Math.random).query.flat()", [[0, 0, 0]] * 99)
    assert len(set(numbers)) > 30
    assert all(-2 <= n <= 2 and n == round(n, 1) for n in numbers)
