"""m06's layer in six steps: shapes, counts and code are those of the real layer."""

import re

import pytest
import torch

from tests.numbers import numbers
from tests.widgets.js import module
from tests.widgets.truth_heads import layer_of, real_shapes

JS = module("head-architecture.js")
HEADS = [1, 2, 4, 8, 16]
SIZES = {"batch": 2, "length": 10, "width": 64}


def model(heads, step=0, **sizes):
    return JS.call("architecture", SIZES | sizes | {"heads": heads, "step": step})


@pytest.mark.parametrize("heads", HEADS)
def test_every_shape_and_count_is_that_of_the_real_layer(heads):
    for sizes in (SIZES, {"batch": 3, "length": 5, "width": 96}):
        layer, got = layer_of(heads, sizes["width"]), model(heads, **sizes)
        want = real_shapes(layer, **sizes)
        assert {name: got["shapes"][name] for name in want} == want
        assert got["size"] == layer.head_dim
        assert got["total"] == sum(p.numel() for p in layer.parameters())


@pytest.mark.parametrize("heads", HEADS)
def test_the_counts_and_the_code_of_each_step_are_the_layer_s(heads):
    """The lines of steps 1 to 5, run one after another, give what the layer gives."""
    layer, x = layer_of(heads), torch.randn(2, 10, 64)
    steps = [JS.call("describe", model(heads, step)) for step in range(6)]
    project, output = (
        sum(p.numel() for p in part.parameters()) for part in (layer.qkv_proj, layer.out_proj)
    )
    counts = [numbers(step["count"]) for step in steps]
    assert counts[0] == [2, 10, 64, 2 * 10 * 64]
    assert counts[1][-1] == project
    assert counts[2] == [64, heads, layer.head_dim]
    assert counts[3][-1] == layer(x, return_attention=True)[1].numel()
    assert counts[5] == [output, project + output]

    lines = [step["code"] for step in steps]
    assert lines[0] == f"x.shape == {tuple(x.shape)}"
    names = {"x": x, "W_QKV": layer.qkv_proj.weight.T, "b": layer.qkv_proj.bias}
    exec(lines[1], names)
    names["q"], names["k"], names["v"] = names["qkv"].chunk(3, dim=-1)
    for name in "qkv":
        exec(lines[2].replace("q", name), names)
    names["softmax"] = lambda scores: scores.softmax(-1)
    exec(re.sub(r"√(\d+)", r"\1 ** 0.5", lines[3]), names)
    exec(lines[4], names)
    names |= {"W_O": layer.out_proj.weight.T, "b": layer.out_proj.bias}
    exec(lines[5], names)
    torch.testing.assert_close(names["y"], layer(x))
