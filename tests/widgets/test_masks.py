"""The models of m05's widgets, and what attention.py and PyTorch say of the same masks."""

import random
import re

import pytest
import torch
import torch.nn.functional as F

import attention
from attention import scaled_dot_product_attention
from tests.lessons.m05_numbers import W_K, W_Q, W_V, X
from tests.widgets.js import module

BUILDER, LEAK, WAYS = (
    module(f"{name}.js") for name in ("mask-builder", "leak-test", "mask-conventions")
)
SENTENCE = {
    "tokens": ["The", "cat", "sat", "on", "my", "mat"],
    "x": X,
    "query": W_Q,
    "key": W_K,
    "value": W_V,
}
DEFAULT = {"causal": True, "window": 6, "prefix": 0, "padding": 0, "painted": [], "row": 2}


def random_state(draw):
    painted = {}
    for _ in range(draw.randint(0, 6)):
        painted[draw.randrange(6), draw.randrange(6)] = draw.random() < 0.5
    return {
        "causal": draw.random() < 0.5, "window": draw.randint(1, 6), "prefix": draw.randint(0, 5),
        "padding": draw.randint(0, 5), "row": draw.randrange(6),
        "painted": [{"row": r, "col": c, "isOn": on} for (r, c), on in painted.items()],
    }  # fmt: skip


STATES = [DEFAULT, *(random_state(random.Random(seed)) for seed in range(60))]


def attend(x, mask):
    return scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, mask)


@pytest.mark.parametrize("state", STATES, ids=range(len(STATES)))
def test_the_mask_is_its_code_s_and_the_weights_are_attention_py_s(state):
    model = BUILDER.call("masked", SENTENCE, state)
    names = {"torch": torch, **{name: getattr(attention, name) for name in dir(attention)}}
    exec("\n".join(model["code"]), names)
    mask = torch.tensor(model["mask"])
    assert torch.equal(mask, names["mask"])
    for name, want in zip(("output", "weights"), attend(X, mask), strict=True):
        got = torch.tensor(model[name], dtype=torch.float64)
        torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)
    assert model["tokens"][6 - state["padding"] :] == ["pad"] * state["padding"]


def test_some_of_these_masks_have_empty_rows():
    masks = [torch.tensor(BUILDER.call("buildMask", state, 6)) for state in STATES]
    assert any((~mask.any(-1)).any() for mask in masks)


def test_a_cell_painted_as_a_rule_has_it_anyway_is_no_longer_painted():
    on = BUILDER.call("paint", DEFAULT, {"row": 0, "col": 3, "isOn": True}, 6)
    assert on == [{"row": 0, "col": 3, "isOn": True}]
    assert (
        BUILDER.call("paint", {**DEFAULT, "painted": on}, {"row": 0, "col": 3, "isOn": False}, 6)
        == []
    )


@pytest.mark.parametrize("seed", range(30))
def test_a_leak_is_an_earlier_output_that_moves_by_one_bit(seed):
    draw = random.Random(seed)
    mask = torch.tensor(BUILDER.call("buildMask", random_state(draw), 6))
    word, change = draw.randrange(6), draw.choice([0, 1e-9, 0.1, -2, 1.5])
    followed = {"mask": mask.tolist(), "tokens": SENTENCE["tokens"]}
    model = LEAK.call("leakTest", SENTENCE, {"word": word, "change": change}, followed)
    changed = X.clone()
    changed[word] += change
    before, after = attend(X, mask)[0], attend(changed, mask)[0]
    want = (after - before).abs().amax(-1)
    torch.testing.assert_close(torch.tensor(model["moved"]).double(), want, rtol=1e-5, atol=1e-7)
    still = [i for i in range(6) if not mask[i, word] and i != word]
    assert all(model["moved"][i] == 0 for i in still), "hidden words move nothing, not one bit"
    assert model["leaks"] == [i for i in range(word) if model["moved"][i]]


@pytest.mark.parametrize("seed", range(20))
def test_each_convention_gives_pytorch_this_course_s_weights(seed):
    mask = torch.rand(6, 6, generator=torch.Generator().manual_seed(seed)) < 0.5
    mask |= torch.eye(6).bool()
    want = attend(X, mask)[1]
    for row in range(6):
        ours, booleans, floats, inverted = (
            [cell["text"] for cell in way["cells"]] for way in WAYS.call("translate", mask[row])
        )
        assert [text == "True" for text in ours] == mask[row].tolist()
        for attn_mask in (
            torch.tensor([text == "True" for text in booleans]),
            torch.tensor([float(text.replace("−", "-")) for text in floats]).double(),
            ~torch.tensor(
                [text == "True" for text in inverted]
            ),  # as nn.MultiheadAttention reads it
        ):
            q, k = (X @ W_Q)[None, row : row + 1], (X @ W_K)[None]
            got = F.scaled_dot_product_attention(
                q, k, torch.eye(6).double()[None], attn_mask[None, None]
            )
            torch.testing.assert_close(got[0, 0], want[row])


@pytest.mark.parametrize(
    ("state", "word", "change", "says"),
    [
        ({}, 5, 1, r"No leak\b.*\bmat\b"),
        ({"causal": False}, 5, 1, "Leak: The, cat, sat, on, my moved"),
        ({"painted": [{"row": 0, "col": 5, "isOn": True}]}, 5, 1, "Leak: The moved"),
        ({}, 0, 1, r"The\b.*\bfirst"),
        ({}, 5, 0, "No output moved"),
    ],
)
def test_the_verdict(state, word, change, says):
    followed = BUILDER.call("masked", SENTENCE, {**DEFAULT, **state})
    found = LEAK.call("leakTest", SENTENCE, {"word": word, "change": change}, followed)
    assert re.match(says, LEAK.call("verdict", found))
