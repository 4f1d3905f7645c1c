"""m14's widgets: what layers keep by costs.py and by tensors, and what they say."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from attention import scaled_dot_product_attention
from course.page.costs import MODELS, cache_bytes
from tests.lessons.page_text import in_order, share
from tests.widgets.js import module
from variants import GatedDeltaNet

COFFEES, STACK = module("coffee-count.js"), module("stack-designer.js")


@pytest.mark.parametrize("coffees", [1, 3, 8])
@pytest.mark.parametrize("others", [0, 1, 8])
def test_softmax_says_the_mean_and_a_table_the_sum(coffees, others):
    model = COFFEES.call("counted", {"most": 8}, {"coffees": coffees, "others": others})
    for one, had in [(model, coffees), (model["next"], coffees + 1), (model["every"][7], 8)]:
        value = torch.cat([torch.ones(had, 1), torch.zeros(others, 1)]).double()
        output, weights = scaled_dot_product_attention(0 * value[:1], 0 * value, value)
        assert one["mean"] == pytest.approx(output.item(), abs=1e-12)
        assert one["weight"] == pytest.approx(weights[0, 0].item(), abs=1e-12)
        assert one["sum"] == had


LLAMA = replace(next(m for m in MODELS if m.name == "Llama 3 8B"), layers=1)
DATA = {"layers": 32, "kvHeads": 8, "size": 128, "window": 4096}
KINDS = ["softmax", "window", "table"]
TABLE = GatedDeltaNet(8 * 128, 8).new_state(torch.zeros(1, 1, 8 * 128, dtype=torch.bfloat16)).table


def kept_by(kind, tokens):
    if kind == "table":
        return TABLE.nbytes
    return cache_bytes(LLAMA, tokens, window=4096 if kind == "window" else None)


@pytest.mark.parametrize("block", [*product(KINDS, repeat=4)][::7])
def test_a_stack_is_the_sum_of_its_layers(block):
    slots = dict(zip(["first", "second", "third", "fourth"], block, strict=True))
    model = STACK.told("stackOf", DATA, slots)
    for row in model["rows"]:
        tokens = row["tokens"]
        kept = [8 * kept_by(kind, tokens) * block.count(kind) for kind in KINDS]
        plain = 32 * kept_by("softmax", tokens)
        assert (row["parts"], row["kept"], row["keptPlain"]) == (kept, sum(kept), plain)
    of_kept = share(max(0.01, sum(kept) / plain))
    assert in_order(model["says"], *(str(8 * block.count(kind)) for kind in KINDS), of_kept)
