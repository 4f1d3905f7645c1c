"""The models of m05's widgets, and what attention.py and PyTorch say of the same masks."""

import itertools
import random

import pytest
import torch
import torch.nn.functional as F

import attention
from attention import scaled_dot_product_attention
from tests.lessons.m05_numbers import HUNTED, W_K, W_Q, W_V, X, moves, opened
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


HUNT = {
    "tokens": TOKENS,
    "masks": [
        {"rule": f"rule {i}", "should": should, "leak": leak, "moved": moves(opened(should, leak))}
        for i, (should, leak) in enumerate(HUNTED)
    ],
}
FRESH = {"mask": 1, "changed": [5], "cell": None, "isNamed": False}


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_only_the_leak_is_right_and_only_with_its_word_changed(number):
    should, leak = HUNTED[number - 1]
    draw = random.Random(number)
    for row, col in itertools.product(range(6), range(6)):
        for changed in ([5], draw.sample(range(6), 3), [0, 1, 2, 3, 4, 5]):
            state = {"mask": number, "changed": changed, "cell": [row, col], "isNamed": True}
            model = LEAK.call("huntLeak", HUNT, state)
            is_found = (row, col) == leak and col in changed
            assert model["isFound"] == is_found
            assert model["verdict"].startswith("Yes" if is_found else "No")
            assert model["shown"] == [is_found or word in changed for word in range(6)]
            if is_found:
                assert model["hidden"] == (~opened(should, leak)).tolist()
                assert in_order(model["verdict"], str(len(changed)), "6")
            else:
                assert model["hidden"] is None
                if col in changed:  # where to look: elsewhere, or again
                    assert ("another word" in model["verdict"]) == (leak[1] not in changed)
    assert LEAK.call("huntLeak", HUNT, FRESH | {"mask": number})["verdict"] is None


@pytest.mark.parametrize(
    ("number", "cell", "says"),
    [
        (1, [2, 2], "under any mask"),
        (1, [4, 3], "may look back"),
        (1, [0, 3], "can’t see"),
        (3, [5, 0], "can’t see"),  # outside the window
        (4, [0, 1], "question"),
        (4, [1, 4], "can’t see"),
    ],
)
def test_why_a_cell_is_no_leak(number, cell, says):
    state = {"mask": number, "changed": [0, 1, 2, 3, 4, 5], "cell": cell, "isNamed": True}
    assert says in LEAK.call("huntLeak", HUNT, state)["verdict"]


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
