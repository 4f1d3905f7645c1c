import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention import create_causal_mask, create_padding_mask, create_window_mask, masked_softmax

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
