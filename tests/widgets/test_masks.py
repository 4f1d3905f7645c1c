"""The models of m05's widgets, and what attention.py and PyTorch say of the same masks."""

import random
from itertools import product

import pytest
import torch
import torch.nn.functional as F

import attention
from attention import scaled_dot_product_attention
from tests.lessons.m05_numbers import HUNTED, W_K, W_Q, W_V, X, moves, opened
from tests.widgets.js import assert_near, module

BUILDER, LEAK, WAYS, ROWS = (
    module(f"{name}.js")
    for name in ("mask-builder", "leak-test", "mask-conventions", "translator-rows")
)
TOKENS = ["The", "cat", "sat", "on", "my", "mat"]
ALL = [0, 1, 2, 3, 4, 5]


def attend(x, mask):
    return scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, mask)


@pytest.mark.parametrize("seed", range(30))
def test_the_mask_is_its_code_s_and_the_weights_are_attention_py_s(seed):
    draw = random.Random(seed)
    painted = {(draw.randrange(6), draw.randrange(6)): draw.random() < 0.5 for _ in range(seed % 7)}
    state = {
        "causal": draw.random() < 0.5, "window": draw.randint(1, 6), "prefix": draw.randint(0, 5),
        "padding": draw.randint(0, 5), "row": draw.randrange(6),
        "painted": [{"row": r, "col": c, "isOn": on} for (r, c), on in painted.items()],
    }  # fmt: skip
    data = {"tokens": TOKENS, "x": X, "query": W_Q, "key": W_K, "value": W_V}
    model = BUILDER.call("masked", data, state)
    names = {"torch": torch, **vars(attention)}
    exec("\n".join(model["code"]), names)
    assert model["mask"] == names["mask"].tolist()
    for name, want in zip(("output", "weights"), attend(X, names["mask"]), strict=True):
        assert_near(model[name], want)
    assert model["tokens"][6 - state["padding"] :] == ["pad"] * state["padding"]


HUNT = [
    {"rule": "", "should": should, "leak": leak, "moved": moves(opened(should, leak))}
    for should, leak in HUNTED
]


def hunted(number, changed, cell, is_named=True):
    state = {"mask": number, "changed": changed, "cell": cell, "isNamed": is_named}
    return LEAK.call("huntLeak", {"tokens": TOKENS, "masks": HUNT}, state)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_only_the_leak_is_right_and_only_with_its_word_changed(number):
    should, leak = HUNTED[number - 1]
    for row, col, changed in product(ALL, ALL, ([5], [leak[1]], ALL)):
        model = hunted(number, changed, [row, col])
        is_found = (row, col) == leak and col in changed
        assert model["isFound"] == is_found
        assert model["verdict"].startswith("Yes" if is_found else "No")
        assert model["shown"] == [is_found or word in changed for word in ALL]
        hidden = (~opened(should, leak)).tolist() if is_found else None
        assert model["hidden"] == hidden, "the mask is shown once it is found"
        if not is_found and col in changed:
            elsewhere = "another word" in model["verdict"]
            assert elsewhere == (leak[1] not in changed), "where to look"
    assert hunted(number, [5], None, is_named=False)["verdict"] is None


@pytest.mark.parametrize(
    ("number", "cell", "why"),
    [(1, [2, 2], "under any mask"), (1, [4, 3], "back"), (1, [0, 3], "can’t see"),
     (3, [5, 0], "can’t see"), (4, [0, 1], "question"), (4, [1, 4], "can’t see")],
)  # fmt: skip
def test_why_a_cell_is_no_leak(number, cell, why):
    assert why in hunted(number, ALL, cell)["verdict"]


ENGLISH = [["our", "slow", "cats", "[end]"], ["our", "cats", "[end]"]]
FRENCH = [["nos", "chats", "lents", "[end]"], ["nos", "chats", "[end]"]]


@pytest.mark.parametrize(("phrase", "row"), [*product([1, 2], range(4))])
def test_a_row_says_whose_query_looks_at_which_words(phrase, row):
    english, french = ENGLISH[phrase - 1], FRENCH[phrase - 1]
    draw = torch.Generator().manual_seed(10 * phrase + row)
    weights = (4 * torch.randn(len(french), len(english), generator=draw)).softmax(-1)
    both = [torch.eye(4), torch.eye(3)]
    both[phrase - 1] = weights
    phrases = [
        {"name": str(i), "english": ENGLISH[i], "french": FRENCH[i], "weights": both[i]}
        for i in (0, 1)
    ]
    state = {"phrase": phrase, "row": row}
    model = ROWS.told("rowOf", {"phrases": phrases, "opening": 2}, state)
    row = min(row, len(french) - 1)
    assert (model["asks"], model["writes"]) == (["[start]", *french][row], french[row])
    weighed = zip(weights[row].tolist(), english, strict=True)
    want = sorted((pair for pair in weighed if pair[0] >= 0.05), reverse=True)
    assert [one["word"] for one in model["most"]] == [word for _, word in want]
    assert_near([one["weight"] for one in model["most"]], [weight for weight, _ in want])
    looks = " and ".join(f"“{word}” ({weight:.2f})" for weight, word in want)
    assert (
        f"To write “{model['writes']}”, the query of “{model['asks']}” looks at {looks}."
        == model["says"]
    )


@pytest.mark.parametrize("seed", range(10))
def test_each_convention_gives_pytorch_this_course_s_weights(seed):
    mask = torch.rand(6, 6, generator=torch.Generator().manual_seed(seed)) < 0.5
    mask |= torch.eye(6).bool()
    ways = WAYS.run("x.map((row) => m.translate(row).map((way) => way.cells))", mask)
    ours, booleans, floats, inverted = (
        [[cell["text"] for cell in row[way]] for row in ways] for way in range(4)
    )

    def true(rows):
        return torch.tensor([[text == "True" for text in row] for row in rows])

    assert torch.equal(true(ours), mask)
    added = torch.tensor([[float(text.replace("−", "-")) for text in row] for row in floats])
    q, k, one_hot = (X @ W_Q)[None], (X @ W_K)[None], torch.eye(6).double()[None]
    # The last as nn.MultiheadAttention reads it.
    for attn_mask in (true(booleans), added.double(), ~true(inverted)):
        got = F.scaled_dot_product_attention(q, k, one_hot, attn_mask[None])
        torch.testing.assert_close(got[0], attend(X, mask)[1])
