import numpy as np
import pytest
import torch

from attention import (
    create_causal_mask,
    create_document_mask,
    create_padding_mask,
    create_window_mask,
    masked_softmax,
)
from variants import create_block_sparse_mask, create_strided_mask

from .inputs import on_devices, visible

SIZES = [(1, 1), (1, 6), (6, 1), (5, 5), (4, 7), (7, 4)]


def by_pairs(shape, sees):
    """The mask that a rule about each index gives, pair by pair."""
    mask = torch.zeros(shape, dtype=torch.bool)
    for at in np.ndindex(*shape):
        mask[at] = bool(sees(*at))
    return mask


def test_causal_mask_of_four_tokens():
    want = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert create_causal_mask(4).int().tolist() == want
    assert create_causal_mask(1, 4).int().tolist() == want[-1:]
    assert create_causal_mask(4, 2).int().tolist() == [[0, 0], [0, 0], [1, 0], [1, 1]]


@pytest.mark.parametrize(("L", "S"), SIZES)
def test_masks_align_the_ends(L, S):
    assert torch.equal(create_causal_mask(L, S), visible(L, S, is_causal=True))
    for size in range(1, 10):
        assert torch.equal(create_window_mask(L, S, window=size), visible(L, S, window=size))
        want = by_pairs((L, S), lambda i, j, stride=size: (i + S - L - j) % stride == 0)
        assert torch.equal(create_strided_mask(L, S, stride=size), want)


@pytest.mark.parametrize(
    "lengths",
    [[2, 0, 3], (2, 0, 3), np.array([2, 0, 3]), [np.int64(2), 0, 3],
     torch.tensor([2, 0, 3], dtype=torch.int16)],
    ids=lambda lengths: type(lengths).__name__,
)  # fmt: skip
def test_padding_mask_has_a_row_for_each_sequence(lengths):
    mask = create_padding_mask(lengths, 4)
    assert mask.shape == (3, 1, 1, 4)
    assert mask[:, 0, 0].int().tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]
    assert torch.equal(create_padding_mask(lengths), mask[..., :3])
    assert torch.equal(create_padding_mask(lengths, 4, padding_side="left"), mask.flip(-1))
    assert create_padding_mask([]).shape == (0, 1, 1, 0)


@on_devices
def test_masks_are_bool_on_the_device_asked_for(device):
    for mask in (
        create_causal_mask(3, device=device),
        create_window_mask(3, window=2, device=device),
        create_padding_mask(torch.tensor([1, 2], device=device)),
    ):
        assert (mask.dtype, mask.device.type) == (torch.bool, device)


def test_masked_softmax_leaves_hidden_keys_out():
    weights = masked_softmax(torch.tensor([[2.0, 1.0, 9.0]]), torch.tensor([True, True, False]))
    torch.testing.assert_close(weights, torch.tensor([[0.7311, 0.2689, 0.0]]), rtol=0, atol=1e-4)
    assert weights[0, 2] == 0


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_masked_softmax_of_a_hidden_row_is_zero_with_finite_gradients():
    scores = torch.randn(3, 4, requires_grad=True)
    mask = torch.tensor([[True] * 4, [False] * 4, [True, False, True, False]])
    with torch.autograd.detect_anomaly(check_nan=True):
        weights = masked_softmax(scores, mask)
        (weights * torch.randn(3, 4)).sum().backward()
    assert weights.sum(-1).tolist() == pytest.approx([1, 0, 1])
    assert scores.grad.isfinite().all()
    assert (scores.grad[1] == 0).all()


def test_document_and_block_sparse_masks_by_their_definitions():
    ids = torch.tensor([[0, 0, 1, 1, -1], [3, 3, 3, -1, -1]])
    want = by_pairs((2, 1, 5, 5), lambda b, _, i, j: ids[b, i] == ids[b, j] and ids[b, j] >= 0)
    assert torch.equal(create_document_mask(ids), want)
    blocks = torch.rand(3, 3, 2) > 0.5  # of three heads
    want = by_pairs((3, 10, 7), lambda h, i, j: blocks[h, i // 4, j // 4])
    assert torch.equal(create_block_sparse_mask(blocks, 4, 10, 7), want)


def test_strided_and_window_reach_all_earlier_keys_in_two_layers():
    sees = create_window_mask(20, window=4) | create_strided_mask(20, stride=4)
    sees = (sees & create_causal_mask(20)).double()
    assert torch.equal(sees @ sees > 0, create_causal_mask(20))
    assert (sees.sum(-1) < 9).all()
