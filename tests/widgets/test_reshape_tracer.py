"""m06's reshape tracer: every number where PyTorch puts it."""

from itertools import product

import pytest
import torch

from tests.widgets.js import module

JS = module("reshape-tracer.js")
TOKENS = ["The", "cat", "sat"]
STATES = list(product([2, 4], [False, True], [False, True]))


def real(heads, split_blind, merge_blind):
    """Q, heads and merged, by PyTorch's own view, transpose and reshape."""
    Q = torch.arange(24).view(1, 3, 8)
    size = 8 // heads
    right = Q.view(1, 3, heads, size).transpose(1, 2)
    split = Q.view(1, heads, 3, size) if split_blind else right
    merged = split.reshape(1, 3, 8) if merge_blind else split.transpose(1, 2).reshape(1, 3, 8)
    return Q, split, merged


def trace(heads, split_blind, merge_blind, number=13):
    chosen = {"heads": heads, "splitBlind": split_blind, "mergeBlind": merge_blind}
    return JS.call("trace", {"tokens": TOKENS}, chosen | {"number": number})


@pytest.mark.parametrize("state", STATES, ids=str)
def test_every_number_stands_where_pytorch_puts_it_and_strays_are_counted(state):
    Q, heads, merged = real(*state)
    got = trace(*state)
    assert [got[name] for name in ("Q", "heads", "merged")] == [
        t[0].tolist() for t in (Q, heads, merged)
    ]
    row = torch.arange(3)[:, None]
    astray, after = int((heads // 8 != row).sum()), int((merged // 8 != row).sum())
    assert (got["astray"], got["astrayAfter"]) == (astray, after)
    assert got["restored"] == torch.equal(merged, Q)
    said = JS.call("summarize", got)
    assert (f"{astray} of 24 numbers" in said) == (astray > 0)
    assert (f"Merged, {after} of 24" in said) == (after > 0)
    assert ("all are back" in said) == got["restored"]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_the_path_of_every_number(state):
    """The sentences give the indices at which PyTorch's tensors hold the number."""
    Q, heads, merged = real(*state)
    for number in range(24):
        split, verdict, back = JS.call("explain", trace(*state, number))
        came, went, merged_at = ((t == number).nonzero()[0].tolist() for t in (Q, heads, merged))
        assert f"heads{went}" in split
        assert (f"Q{came}" in split) == (not state[1])
        assert ("as it should be" in verdict) == (went[2] == came[1])
        assert TOKENS[came[1]] in verdict
        assert back.startswith(f"Merged: {merged_at}, ")
        assert ("back where it was" in back) == (merged_at == came)
