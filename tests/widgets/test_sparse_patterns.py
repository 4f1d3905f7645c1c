"""m12's patterns: the masks of attention.py and variants.py, and their costs counted anew."""

import pytest
import torch

from attention import create_causal_mask, create_window_mask
from tests.widgets.js import module
from variants import create_block_sparse_mask, create_strided_mask

JS = module("sparse-patterns.js")
N = 64
PATTERNS = ["full", "causal", "window", "strided", "blocks"]


def block_mask(n, size):
    rows = torch.arange(-(-n // size))
    seen = (rows == 0) | (rows[:, None] - rows < 2)
    return create_block_sparse_mask(seen, size, n)


def masked(pattern, n, size):
    causal = create_causal_mask(n)
    return {
        "full": causal | True,
        "causal": causal,
        "window": causal & create_window_mask(n, window=size),
        "strided": causal
        & (create_window_mask(n, window=size) | create_strided_mask(n, stride=size)),
        "blocks": causal & block_mask(n, size),
    }[pattern]


def layers_to_first(mask):
    seen = torch.eye(len(mask))
    for layers in range(len(mask) + 1):
        if seen[-1, 0] > 0:
            return layers
        seen = (seen @ mask.float()).clamp(max=1)
    return None


def test_these_are_all_patterns():
    assert JS.run("m.PATTERNS") == PATTERNS


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 12, 31, 32])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_map_and_its_costs(pattern, size):
    found = JS.call("patternOf", {"tokens": N}, {"pattern": pattern, "size": size})
    mask = masked(pattern, N, size)
    assert torch.equal(torch.tensor(found["mask"]).bool(), mask)
    assert found["pairs"] == int(mask.sum())
    tiles = torch.nn.functional.max_pool2d(mask[None].float(), 8)
    assert (found["tiles"], found["tilesInAll"]) == (int(tiles.sum()), 64)
    assert found["layers"] == layers_to_first(mask)
    if pattern == "full":
        assert found["kept"] is None
    else:
        later = masked(pattern, 3 * N, size)[N:, :N]
        assert found["kept"] == int(later.any(0).sum())


@pytest.mark.parametrize(
    ("size", "word"), [(1, "one"), (2, "2nd"), (3, "3rd"), (8, "8th"), (11, "11th"), (12, "12th"),
                       (13, "13th"), (21, "21st"), (22, "22nd"), (31, "31st")]
)  # fmt: skip
def test_the_sentence_counts_in_words(size, word):
    found = JS.call("patternOf", {"tokens": N}, {"pattern": "strided", "size": size})
    assert f"every {word}:" in JS.call("sentence", found)
