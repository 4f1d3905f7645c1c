"""m06's reshape tracer: every number where PyTorch puts it."""

from itertools import product

import pytest
import torch

from tests.lessons.page_text import in_order
from tests.widgets.js import module
from tests.widgets.truth_heads import real

JS = module("reshape-tracer.js")
TOKENS = ["The", "cat", "sat"]


def trace(heads, split_blind, merge_blind, number):
    chosen = {"heads": heads, "splitBlind": split_blind, "mergeBlind": merge_blind}
    return JS.call("trace", {"tokens": TOKENS}, chosen | {"number": number})


@pytest.mark.parametrize("state", [*product([2, 4], [False, True], [False, True])], ids=str)
def test_every_number_and_its_path_are_pytorch_s_and_strays_are_counted(state):
    """The sentences give the indices at which PyTorch's tensors hold the number."""
    Q, heads, merged = real(*state)
    for number in range(24):
        got = trace(*state, number)
        split, verdict, back = JS.call("explain", got)
        came, went, merged_at = ((t == number).nonzero()[0].tolist() for t in (Q, heads, merged))
        assert f"heads{went}" in split
        assert (f"Q{came}" in split) == (not state[1])
        assert ("belongs" in verdict) == (went[2] != came[1])
        assert TOKENS[came[1]] in verdict
        assert str(merged_at) in back
        assert ("another" in back) == (merged_at != came)
    for name, want in (("Q", Q), ("heads", heads), ("merged", merged)):
        assert got[name] == want[0].tolist()
    row = torch.arange(3)[:, None]
    astray, after = int((heads // 8 != row).sum()), int((merged // 8 != row).sum())
    assert (got["astray"], got["astrayAfter"]) == (astray, after)
    assert got["restored"] == torch.equal(merged, Q)
    counts = [str(count) for count in (astray, after) if count]
    assert in_order(JS.call("summarize", got), *counts)
