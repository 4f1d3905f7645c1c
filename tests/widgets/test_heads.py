"""m06's widgets: a layer's shapes and code, where numbers go, and two heads of a trained model."""

import re
from itertools import product

import pytest
import torch

from course.payloads import two_heads
from models.grammar.words import VOCABULARY
from tests.lessons.page_text import in_order, share
from tests.numbers import numbers
from tests.widgets.js import assert_near, module
from tests.widgets.truth_heads import grammar_model, layer_of, real, real_shapes, shares_in

LAYER, TRACER, MAPS = (
    module(f"{name}.js") for name in ("head-architecture", "reshape-tracer", "head-maps")
)


def size(*parts):
    return sum(p.numel() for part in parts for p in part.parameters())


@pytest.mark.parametrize("heads", [1, 2, 4, 8, 16])
@pytest.mark.parametrize(("length", "width"), [(10, 64), (5, 96)])
def test_shapes_counts_and_code_are_those_of_the_real_layer(heads, length, width):
    """The lines of steps 1 to 5, run one after another, give what the layer gives."""
    layer, x = layer_of(heads, width), torch.randn(2, length, width)
    sizes = {"batch": 2, "length": length, "width": width}
    model = LAYER.call("architecture", {**sizes, "heads": heads, "step": 0})
    assert model["shapes"] == real_shapes(layer, **sizes)
    steps = [LAYER.call("describe", {**model, "step": step}) for step in range(6)]
    counts = [numbers(step["count"]) for step in steps]
    assert counts[0] == [*x.shape, x.numel()]
    assert counts[1][-1] == size(layer.qkv_proj)
    assert counts[2] == [width, heads, layer.head_dim]
    assert counts[3][-1] == layer(x, return_attention=True)[1].numel()
    assert counts[5] == [size(layer.out_proj), size(layer)]

    lines = [re.sub(r"√(\d+)", r"\1 ** 0.5", step["code"]) for step in steps]
    names = {"x": x, "W_QKV": layer.qkv_proj.weight.T, "b": layer.qkv_proj.bias}
    names |= {"W_O": layer.out_proj.weight.T, "softmax": lambda scores: scores.softmax(-1)}
    assert eval(lines[0], names)
    exec(lines[1], names)
    for name, part in zip("qkv", names["qkv"].chunk(3, dim=-1), strict=True):
        names[name] = part
        exec(lines[2].replace("q", name), names)
    exec("\n".join(lines[3:5]), names)
    names["b"] = layer.out_proj.bias
    exec(lines[5], names)
    torch.testing.assert_close(names["y"], layer(x))


@pytest.mark.parametrize("state", [*product([2, 4], [False, True], [False, True])], ids=str)
def test_every_number_goes_where_pytorch_puts_it_and_strays_are_counted(state):
    """The sentences give the indices at which PyTorch's tensors hold the number."""
    tokens, (Q, heads, merged) = ["The", "cat", "sat"], real(*state)
    chosen = dict(zip(("heads", "splitBlind", "mergeBlind"), state, strict=True))
    for number in range(24):
        got = TRACER.told("trace", {"tokens": tokens}, chosen | {"number": number})
        split, verdict, back = TRACER.call("explain", got)
        came, went, merged_at = ((t == number).nonzero()[0].tolist() for t in (Q, heads, merged))
        assert f"heads{went}" in split
        assert ("belongs" in verdict) == (went[2] != came[1])
        assert tokens[came[1]] in verdict
        assert str(merged_at) in back
        assert ("another" in back) == (merged_at != came)
    assert [got["Q"], got["heads"], got["merged"]] == [t[0].tolist() for t in (Q, heads, merged)]
    owner = torch.arange(3)[:, None]
    astray = [int((t // 8 != owner).sum()) for t in (heads, merged)]
    assert [got["astray"], got["astrayAfter"]] == astray
    assert got["restored"] == torch.equal(merged, Q)
    assert in_order(got["says"], *(str(count) for count in astray if count))


@pytest.mark.parametrize(
    ("sentence", "way"), [*product(range(3), ["on", "off-1", "off-2", "mean"])]
)
def test_two_heads_and_what_is_answered_are_the_trained_model_s(sentence, way):
    data, model, row = two_heads.payload(), grammar_model("masked"), 5
    got = MAPS.told("compareHeads", data, {"sentence": sentence, "row": row, "way": way})
    words, right = data["sentences"][sentence]["tokens"], data["sentences"][sentence]["right"]
    hidden = ["[mask]" if word == "▢" else word for word in words]
    maps = model(model.encode(hidden)).weights[1][0].detach().double()
    want = maps.mean(0).expand_as(maps) if way == "mean" else maps.clone()
    for i, head in enumerate(got["heads"]):
        assert head["isOff"] == (way == f"off-{i + 1}")
        if head["isOff"]:
            want[i] = 0
        else:
            assert in_order(got["says"], *map(share, want[i, row]))
        assert_near([look["weight"] for look in head["looks"]], want[i, row], atol=2e-6)
    assert_near([head["weights"] for head in got["heads"]], want, atol=2e-6)
    shares = shares_in(model, words, words.index("▢"), way)
    best = shares.topk(len(got["guesses"]))
    answers = [VOCABULARY[i] for i in best.indices]
    assert [guess["token"] for guess in got["guesses"]] == answers
    assert_near([guess["weight"] for guess in got["guesses"]], best.values, atol=2e-6)
    assert got["isRight"] == (answers[0] == right)
    assert in_order(got["says"], *answers, answers[0])
