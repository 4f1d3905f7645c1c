import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention import (
    create_causal_mask,
    create_document_mask,
    create_padding_mask,
    create_window_mask,
    masked_softmax,
)
from variants import create_block_sparse_mask, create_strided_mask

from .inputs import DEVICES, visible

lengths = st.integers(1, 9)


def test_causal_mask_of_four_tokens():
    assert create_causal_mask(4).int().tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 1, 1, 1],
    ]


def test_one_new_query_sees_the_whole_cache():
    assert create_causal_mask(1, 4).tolist() == [[True] * 4]


def test_queries_before_the_first_key_see_nothing():
    assert create_causal_mask(4, 2).int().tolist() == [[0, 0], [0, 0], [1, 0], [1, 1]]


@given(lengths, lengths)
def test_causal_mask_aligns_the_ends(query_len, key_len):
    want = visible(query_len, key_len, is_causal=True)
    assert torch.equal(create_causal_mask(query_len, key_len), want)


@given(lengths, lengths, st.integers(1, 12))
def test_window_mask_reaches_both_ways(query_len, key_len, window):
    want = visible(query_len, key_len, window=window)
    assert torch.equal(create_window_mask(query_len, key_len, window=window), want)


def test_causal_and_window_leave_the_last_keys():
    mask = create_causal_mask(6) & create_window_mask(6, window=3)
    assert mask.sum(-1).tolist() == [1, 2, 3, 3, 3, 3]


@pytest.mark.parametrize("lengths", [[2, 0, 3], torch.tensor([2, 0, 3], dtype=torch.int32)])
def test_padding_mask_has_a_row_for_each_sequence(lengths):
    mask = create_padding_mask(lengths, 4)
    assert mask.shape == (3, 1, 1, 4)
    assert mask[:, 0, 0].int().tolist() == [[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]]
    assert create_padding_mask(lengths).shape[-1] == 3
    left = create_padding_mask(lengths, 4, padding_side="left")
    assert torch.equal(left, mask.flip(-1))


@pytest.mark.parametrize(
    "lengths",
    [[2, 3], (2, 3), np.array([2, 3]), [np.int64(2), 3], torch.tensor([2, 3], dtype=torch.int16)],
)
def test_lengths_may_be_any_integers(lengths):
    assert create_padding_mask(lengths).tolist() == [[[[True, True, False]]], [[[True] * 3]]]
    assert create_padding_mask([]).shape == (0, 1, 1, 0)


@pytest.mark.parametrize("device", DEVICES)
def test_masks_are_bool_on_the_device_asked_for(device):
    for mask in (
        create_causal_mask(3, device=device),
        create_window_mask(3, window=2, device=device),
        create_padding_mask(torch.tensor([1, 2], device=device)),
    ):
        assert mask.dtype == torch.bool
        assert mask.device.type == device


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


def test_document_mask_by_its_definition():
    documents = torch.tensor([[0, 0, 1, 1, -1], [3, 3, 3, -1, -1]])
    mask = create_document_mask(documents)
    assert mask.shape == (2, 1, 5, 5)
    for b in range(2):
        for i in range(5):
            for j in range(5):
                mine, its = documents[b, i].item(), documents[b, j].item()
                assert mask[b, 0, i, j].item() == (mine == its and its >= 0)


@given(lengths, lengths, st.integers(1, 5))
def test_strided_mask_counts_from_the_query_s_own_position(query_len, key_len, stride):
    mask = create_strided_mask(query_len, key_len, stride=stride)
    for i in range(query_len):
        for j in range(key_len):
            assert mask[i, j].item() == ((i + key_len - query_len - j) % stride == 0)


def test_strided_and_window_reach_all_earlier_keys_in_two_layers():
    sees = create_window_mask(20, window=4) | create_strided_mask(20, stride=4)
    sees = (sees & create_causal_mask(20)).double()
    assert torch.equal(sees @ sees > 0, create_causal_mask(20))
    assert (sees.sum(-1) < 9).all()


def test_block_sparse_mask_by_blocks():
    blocks = torch.rand(3, 3, 2) > 0.5  # of three heads
    mask = create_block_sparse_mask(blocks, 4, 10, 7)
    assert mask.shape == (3, 10, 7)
    for h in range(3):
        for i in range(10):
            for j in range(7):
                assert mask[h, i, j] == blocks[h, i // 4, j // 4]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: create_strided_mask(4, stride=0), ValueError, "stride must be at least 1, got 0"),
        (
            lambda: create_block_sparse_mask(torch.ones(2, 2).bool(), 4, 9),
            ValueError,
            r"blocks must be \(..., 3, 3\), got \(2, 2\)",
        ),
        (lambda: create_block_sparse_mask(torch.ones(2, 2), 4, 8), TypeError, "got torch.float32"),
    ],
)
def test_errors_of_sparse_masks(call, error, words):
    with pytest.raises(error, match=words):
        call()
