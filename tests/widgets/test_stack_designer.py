"""m14's stack of layers: what it keeps and takes, by costs.py and by the tensors themselves."""

import itertools
from dataclasses import replace

import torch

from course.page.costs import MODELS, Product, cache_bytes, flops, pairs
from tests.lessons.page_text import in_order
from tests.widgets.js import module
from variants import GatedDeltaNet

JS = module("stack-designer.js")
LLAMA = replace(next(m for m in MODELS if m.name == "Llama 3 8B"), layers=1)
DATA = {"layers": 32, "heads": 32, "kvHeads": 8, "size": 128, "window": 4096}
KINDS, SLOTS = ["softmax", "window", "table"], ["first", "second", "third", "fourth"]


def size_of(kind, tokens):
    if kind == "table":
        return 4 * 8 * 128 * 128
    return cache_bytes(LLAMA, tokens, window=DATA["window"] if kind == "window" else None)


def flops_of(kind, tokens):
    if kind == "table":  # look and write with each key head, ask with each query head
        size, heads = DATA["size"], DATA["kvHeads"]
        look, write = Product(1, size, size, heads), Product(size, 1, size, heads)
        return flops([look, write, Product(1, size, size, DATA["heads"])])
    seen = min(tokens, DATA["window"]) if kind == "window" else tokens
    return flops(pairs(LLAMA, 1, seen))


def test_every_stack_is_the_sum_of_its_layers():
    blocks = [*itertools.product(KINDS, repeat=4)][::7]
    stacks = [dict(zip(SLOTS, block, strict=True)) for block in blocks]
    for block, model in zip(
        blocks, JS.run("x[1].map((stack) => m.stackOf(x[0], stack))", [DATA, stacks]), strict=True
    ):
        assert [row["tokens"] for row in model["rows"]] == JS.run("m.LENGTHS")
        for row in model["rows"]:
            tokens = row["tokens"]
            assert row["kept"] == 8 * sum(size_of(kind, tokens) for kind in block)
            assert row["parts"] == [8 * size_of(kind, tokens) * block.count(kind) for kind in KINDS]
            assert row["flops"] == 8 * sum(flops_of(kind, tokens) for kind in block)
            assert row["keptPlain"] == cache_bytes(replace(LLAMA, layers=32), tokens)
            assert row["flopsPlain"] == 32 * flops_of("softmax", tokens)
        counts = [str(8 * block.count(kind)) for kind in KINDS]
        assert in_order(JS.call("sentence", model), *counts)
        assert model["counts"] == {kind: 8 * block.count(kind) for kind in KINDS}


def test_a_table_is_the_layer_s_state():
    layer = GatedDeltaNet(64, 4, head_dim=16)
    table = layer.new_state(torch.zeros(1, 1, 64, dtype=torch.bfloat16)).table
    sizes = {"heads": 8, "kvHeads": 4, "size": 16, "window": 1}
    assert JS.call("keeps", "table", 1, sizes) == table.nbytes
