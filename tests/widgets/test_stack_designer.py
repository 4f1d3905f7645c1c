"""m14's stack of layers: what it keeps and takes, by costs.py and by the tensors themselves."""

import itertools
from dataclasses import replace

import pytest
import torch

from course.page.costs import MODELS, Product, cache_bytes, flops, pairs
from tests.widgets.js import module
from variants import GatedDeltaNet

JS = module("stack-designer.js")
LLAMA = replace(next(m for m in MODELS if m.name == "Llama 3 8B"), layers=1)
DATA = {"layers": 32, "heads": 32, "kvHeads": 8, "size": 128, "window": 4096}
SLOTS = ["first", "second", "third", "fourth"]
LENGTHS = JS.run("m.LENGTHS")


def kept(kind, tokens):
    if kind == "table":
        return 4 * 8 * 128 * 128
    return cache_bytes(LLAMA, tokens, window=DATA["window"] if kind == "window" else None)


def taken(kind, tokens):
    if kind == "table":  # look and write with each key head, ask with each query head
        size, heads = DATA["size"], DATA["kvHeads"]
        look, write = Product(1, size, size, heads), Product(size, 1, size, heads)
        return flops([look, write, Product(1, size, size, DATA["heads"])])
    seen = min(tokens, DATA["window"]) if kind == "window" else tokens
    return flops(pairs(LLAMA, 1, seen))


@pytest.mark.parametrize("kind", ["softmax", "window", "table"])
def test_one_layer(kind):
    for tokens in LENGTHS:
        assert JS.call("keeps", kind, tokens, DATA) == kept(kind, tokens)
        assert JS.call("takes", kind, tokens, DATA) == taken(kind, tokens)


def test_a_table_is_the_layer_s_state():
    layer = GatedDeltaNet(64, 4, head_dim=16)
    table = layer.new_state(torch.zeros(1, 1, 64, dtype=torch.bfloat16)).table
    sizes = {"heads": 8, "kvHeads": 4, "size": 16, "window": 1}
    assert JS.call("keeps", "table", 1, sizes) == table.nbytes


def test_every_stack_is_the_sum_of_its_layers():
    blocks = itertools.product(["softmax", "window", "table"], repeat=4)
    for block in itertools.islice(blocks, 0, None, 7):
        found = JS.call("stackOf", DATA, dict(zip(SLOTS, block, strict=True)))
        for row in found["rows"]:
            each = [JS.call("keeps", kind, row["tokens"], DATA) for kind in block]
            assert row["kept"] == 8 * sum(each) == sum(row["parts"])
            assert row["keptPlain"] == cache_bytes(replace(LLAMA, layers=32), row["tokens"])
        assert sum(found["counts"].values()) == 32


def test_the_sentence():
    found = JS.call("stackOf", DATA, dict(zip(SLOTS, ["table"] * 3 + ["softmax"], strict=True)))
    said = JS.call("sentence", found)
    assert "8 layers of softmax, 0 with a window, 24 with tables" in said
    assert "25\N{NARROW NO-BREAK SPACE}% of what softmax in all layers keeps" in said
