"""m14's widgets: what layers keep and take by costs.py and by tensors, and what they say."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from attention import scaled_dot_product_attention
from course.page.costs import MODELS, Product, cache_bytes, flops, pairs
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
DATA = {"layers": 32, "heads": 32, "kvHeads": 8, "size": 128, "window": 4096}
KINDS = ["softmax", "window", "table"]
TABLE = GatedDeltaNet(8 * 128, 8).new_state(torch.zeros(1, 1, 8 * 128, dtype=torch.bfloat16)).table


def kept_by(kind, tokens):
    if kind == "table":
        return TABLE.nbytes
    return cache_bytes(LLAMA, tokens, window=4096 if kind == "window" else None)


def flops_of(kind, tokens):
    if kind == "table":  # look and write with each of 8 key heads, ask with each of 32 query heads
        return flops([Product(1, 128, 128, 8), Product(128, 1, 128, 8), Product(1, 128, 128, 32)])
    return flops(pairs(LLAMA, 1, min(tokens, 4096) if kind == "window" else tokens))


@pytest.mark.parametrize("block", [*product(KINDS, repeat=4)][::7])
def test_a_stack_is_the_sum_of_its_layers(block):
    slots = dict(zip(["first", "second", "third", "fourth"], block, strict=True))
    model = STACK.told("stackOf", DATA, slots)
    for row in model["rows"]:
        tokens = row["tokens"]
        kept = [8 * kept_by(kind, tokens) * block.count(kind) for kind in KINDS]
        taken = sum(8 * flops_of(kind, tokens) for kind in block)
        plain = [32 * kept_by("softmax", tokens), 32 * flops_of("softmax", tokens)]
        assert (row["parts"], row["kept"], row["flops"]) == (kept, sum(kept), taken)
        assert [row["keptPlain"], row["flopsPlain"]] == plain
    of_kept, of_flops = sum(kept) / plain[0], max(0.01, taken / plain[1])
    told = [share(max(0.01, of_kept)), f"{of_flops:.2f}"]
    assert in_order(model["says"], *(str(8 * block.count(kind)) for kind in KINDS), *told)
