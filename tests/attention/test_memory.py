"""No attention matrix in memory: fused grows linearly, explicit with the square."""

import pytest

from benchmarks.memory import RESET, peak_mb

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not RESET.exists(), reason="the peak is read from /proc (Linux)"),
]


# Four heads of 4096 x 4096 scores are 256 MB, and one mask of bools is 16 MB.
@pytest.mark.parametrize("case", ["causal", "ends", "window", "padded", "padded causal"])
def test_fused_attention_takes_little(case):
    assert peak_mb("fused", case, 4096, heads=4) < 16


def test_shared_heads_take_no_more():
    """32 query heads to 4 key heads: copies for each query head would be 64 MB."""
    assert peak_mb("fused", "shared heads", 4096, heads=32) < 16


# Two heads of 4096 x 4096 scores are 128 MB, and one mask of floats is 64 MB.
@pytest.mark.parametrize(("case", "most"), [("ends", 30), ("padded causal", 30), ("dropout", 90)])
def test_training_keeps_neither_weights_nor_masks(case, most):
    assert peak_mb("fused", case, 4096, heads=2, backward=True) < most


def test_explicit_memory_grows_with_the_square():
    short, long = (peak_mb("explicit", "causal", n, heads=1) for n in (2048, 4096))
    assert long > 3 * short


def test_a_measurement_that_fails_is_told_and_the_next_one_runs():
    with pytest.raises(RuntimeError, match="fused, nothing, 64: failed: KeyError"):
        peak_mb("fused", "nothing", 64)
    assert peak_mb("explicit", "full", 1024, heads=1) > 4
