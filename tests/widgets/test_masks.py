"""The models of m05's widgets, and what attention.py and PyTorch say of the same masks."""

import random

import pytest
import torch
import torch.nn.functional as F

import attention
from attention import scaled_dot_product_attention
from tests.lessons.m05_numbers import W_K, W_Q, W_V, X
from tests.lessons.page_text import in_order
from tests.widgets.js import assert_near, module

BUILDER, LEAK, WAYS = (
    module(f"{name}.js") for name in ("mask-builder", "leak-test", "mask-conventions")
)
TOKENS = ["The", "cat", "sat", "on", "my", "mat"]
SENTENCE = {"tokens": TOKENS, "x": X, "query": W_Q, "key": W_K, "value": W_V}
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


def attend(x, mask):
    return scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, mask)


def test_the_mask_is_its_code_s_and_the_weights_are_attention_py_s():
    empty = 0
    for state in [DEFAULT, *(random_state(random.Random(seed)) for seed in range(60))]:
        model = BUILDER.call("masked", SENTENCE, state)
        names = {"torch": torch, **{name: getattr(attention, name) for name in dir(attention)}}
        exec("\n".join(model["code"]), names)
        mask = torch.tensor(model["mask"])
        assert torch.equal(mask, names["mask"]), state
        for name, want in zip(("output", "weights"), attend(X, mask), strict=True):
            assert_near(model[name], want)
        assert model["tokens"][6 - state["padding"] :] == ["pad"] * state["padding"]
        empty += int((~mask.any(-1)).sum())
    assert empty, "rows that see nothing occur"


def test_a_cell_painted_as_a_rule_has_it_anyway_is_no_longer_painted():
    on = BUILDER.call("paint", DEFAULT, {"row": 0, "col": 3, "isOn": True}, 6)
    assert on == [{"row": 0, "col": 3, "isOn": True}]
    off = {"row": 0, "col": 3, "isOn": False}
    assert BUILDER.call("paint", DEFAULT | {"painted": on}, off, 6) == []


def test_a_leak_is_an_earlier_output_that_moves_by_one_bit():
    for seed in range(30):
        draw = random.Random(seed)
        mask = torch.tensor(BUILDER.call("buildMask", random_state(draw), 6))
        word, change = draw.randrange(6), draw.choice([0, 1e-9, 0.1, -2, 1.5])
        followed = {"mask": mask.tolist(), "tokens": TOKENS}
        model = LEAK.call("leakTest", SENTENCE, {"word": word, "change": change}, followed)
        changed = X.clone()
        changed[word] += change
        before, after = attend(X, mask)[0], attend(changed, mask)[0]
        assert_near(model["moved"], (after - before).abs().amax(-1), atol=1e-7, rtol=1e-5)
        still = [i for i in range(6) if not mask[i, word] and i != word]
        assert all(model["moved"][i] == 0 for i in still), "hidden words move nothing, not one bit"
        assert model["leaks"] == [i for i in range(word) if model["moved"][i]]


def test_each_convention_gives_pytorch_this_course_s_weights():
    q, k, one_hot = (X @ W_Q)[None], (X @ W_K)[None], torch.eye(6).double()[None]
    for seed in range(20):
        mask = torch.rand(6, 6, generator=torch.Generator().manual_seed(seed)) < 0.5
        mask |= torch.eye(6).bool()
        ways = WAYS.run("x.map((row) => m.translate(row).map((way) => way.cells))", mask)
        texts = [[[cell["text"] for cell in cells] for cells in row] for row in ways]
        ours, booleans, floats, inverted = zip(*texts, strict=True)

        def true(rows):
            return torch.tensor([[text == "True" for text in row] for row in rows])

        assert torch.equal(true(ours), mask)
        added = [[float(text.replace("−", "-")) for text in row] for row in floats]
        # The last as nn.MultiheadAttention reads it.
        for attn_mask in (true(booleans), torch.tensor(added).double(), ~true(inverted)):
            got = F.scaled_dot_product_attention(q, k, one_hot, attn_mask[None])
            torch.testing.assert_close(got[0], attend(X, mask)[1])


@pytest.mark.parametrize(
    ("state", "word", "change", "begins", "names"),
    [
        ({}, 5, 1, "No leak", ["mat"]),
        ({"causal": False}, 5, 1, "Leak", TOKENS),
        ({"painted": [{"row": 0, "col": 5, "isOn": True}]}, 5, 1, "Leak", ["The", "mat"]),
        ({}, 0, 1, "The", ["first"]),
        ({}, 5, 0, "No output", ["mat"]),
    ],
)
def test_the_verdict(state, word, change, begins, names):
    followed = BUILDER.call("masked", SENTENCE, DEFAULT | state)
    model = LEAK.call("leakTest", SENTENCE, {"word": word, "change": change}, followed)
    verdict = LEAK.call("verdict", model)
    assert verdict.startswith(begins)
    assert in_order(verdict, *names)
