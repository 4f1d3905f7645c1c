"""m14's coffees: a mean and a sum, by attention.py and by a table that adds."""

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.widgets.js import module

JS = module("coffee-count.js")


@pytest.mark.parametrize("coffees", [1, 3, 8])
@pytest.mark.parametrize("others", [0, 1, 5, 8])
def test_softmax_says_the_mean_and_a_table_the_sum(coffees, others):
    model = JS.call("counted", {"most": 8}, {"coffees": coffees, "others": others})
    for one, had in [(model, coffees), (model["next"], coffees + 1)]:
        value = torch.cat([torch.ones(had, 1), torch.zeros(others, 1)]).double()
        key = torch.ones(len(value), 4, dtype=torch.float64)
        output, weights = scaled_dot_product_attention(key[:1], key, value)
        assert one["mean"] == pytest.approx(output.item(), abs=1e-12)
        assert one["weight"] == pytest.approx(weights[0, 0].item(), abs=1e-12)
        assert one["sum"] == value.sum().item()
    assert [one["coffees"] for one in model["every"]] == list(range(1, 9))
