"""m12's patterns: the masks of attention.py and variants.py, and their costs counted anew."""

import pytest
import torch

from tests.widgets.js import module
from tests.widgets.truth_sparse_patterns import layers_to_first, masked

JS = module("sparse-patterns.js")
N = 64
PATTERNS = ["full", "causal", "window", "strided", "blocks"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_map_and_its_costs(pattern):
    assert JS.run("m.PATTERNS") == PATTERNS, "these are all"
    for size in (1, 2, 3, 7, 8, 12, 31, 32):
        model = JS.call("patternOf", {"tokens": N}, {"pattern": pattern, "size": size})
        mask = masked(pattern, N, size)
        assert torch.equal(torch.tensor(model["mask"]).bool(), mask), size
        assert model["pairs"] == int(mask.sum())
        tiles = torch.nn.functional.max_pool2d(mask[None].float(), 8)
        assert (model["tiles"], model["tilesInAll"]) == (int(tiles.sum()), 64)
        assert model["layers"] == layers_to_first(mask)
        later = masked(pattern, 3 * N, size)[N:, :N]
        assert model["kept"] == (None if pattern == "full" else int(later.any(0).sum()))


def test_the_sentence_counts_in_words():
    for size, word in {1: "one", 2: "2nd", 3: "3rd", 11: "11th", 12: "12th", 21: "21st"}.items():
        model = JS.call("patternOf", {"tokens": N}, {"pattern": "strided", "size": size})
        assert f" {word}:" in JS.call("sentence", model)
