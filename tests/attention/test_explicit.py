import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

import attention
from attention import fused_attention, scaled_dot_product_attention

from .inputs import DEVICES, TOLERANCE, assert_near, qkv, reference

LENGTHS = [(5, 5), (1, 6), (3, 6), (6, 3)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
def test_matches_pytorch_in_float64(device, dtype, is_causal):
    q, k, v = qkv(dtype=dtype, device=device)
    got, _ = scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    want = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=is_causal)
    assert got.dtype == dtype
    assert_near(got, want.cpu())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_matches_the_reference(device, dtype, lengths, is_causal, kv_heads):
    L, S = lengths
    q, k, v = qkv(
        query_len=L, key_len=S, kv_heads=kv_heads, value_dim=6, dtype=dtype, device=device
    )
    mask = torch.rand(2, 1, L, S) > 0.3
    got = scaled_dot_product_attention(q, k, v, mask.to(device), is_causal=is_causal)
    want = reference(q, k, v, mask, is_causal=is_causal)
    for g, w in zip(got, want, strict=True):
        assert_near(g, w, dtype)


shapes = st.tuples(
    st.lists(st.integers(1, 3), min_size=0, max_size=3), st.integers(1, 6), st.integers(1, 6),
)  # fmt: skip


@given(
    shapes, st.booleans(), st.none() | st.integers(1, 7), st.sampled_from([0.2, 0.6, 1.0]),
    st.booleans(), st.integers(0, 9),
)  # fmt: skip
def test_any_shape_and_mask(shape, is_causal, window, density, with_bias, seed):
    batch, L, S = shape
    q, k, v = qkv(
        batch=tuple(batch), heads=None, query_len=L, key_len=S, dtype=torch.float64, seed=seed
    )
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(*batch, L, S, generator=generator) < density
    bias = torch.randn(L, S, generator=generator, dtype=torch.float64) if with_bias else None
    options = {"bias": bias, "is_causal": is_causal, "window": window}
    output, weights = scaled_dot_product_attention(q, k, v, mask, **options)
    want, want_weights = reference(q, k, v, mask, **options)
    assert_near(output, want)
    assert_near(weights, want_weights)
    totals = weights.sum(-1)
    assert (((totals - 1).abs() < 1e-9) | (totals == 0)).all()


def test_scale_replaces_the_root_of_the_head_size():
    q, k, v = qkv(dtype=torch.float64)
    got = scaled_dot_product_attention(q, k, v, scale=0.7)
    for g, w in zip(got, reference(q, k, v, scale=0.7), strict=True):
        assert_near(g, w)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_a_hidden_row_gives_zeros_and_finite_gradients(device, dtype):
    q, k, v = qkv(dtype=dtype, device=device, requires_grad=True)
    mask = torch.ones(5, 5, dtype=torch.bool, device=device)
    mask[2] = False
    with torch.autograd.detect_anomaly(check_nan=True):
        output, weights = scaled_dot_product_attention(q, k, v, mask)
        (output * torch.randn_like(output)).sum().backward()
    assert (output[..., 2, :] == 0).all()
    assert (weights[..., 2, :] == 0).all()
    for t in (q, k, v):
        assert t.grad.isfinite().all()
    assert (q.grad[..., 2, :] == 0).all()


def test_a_bias_of_minus_infinity_hides():
    q, k, v = qkv(dtype=torch.float64, requires_grad=True)
    mask = torch.rand(5, 5) > 0.4
    mask[1] = False
    bias = torch.zeros(5, 5, dtype=torch.float64).masked_fill(~mask, -torch.inf)
    want = scaled_dot_product_attention(q, k, v, mask)
    got = scaled_dot_product_attention(q, k, v, bias=bias)
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w)
    assert torch.autograd.grad(got[0].sum(), k)[0].isfinite().all()


def test_a_changed_future_leaves_the_past_bit_identical():
    q, k, v = qkv(query_len=6)
    before, _ = scaled_dot_product_attention(q, k, v, is_causal=True)
    k[..., -1, :], v[..., -1, :] = 9.0, -9.0
    after, _ = scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.equal(before[..., :-1, :], after[..., :-1, :])
    assert not torch.allclose(before[..., -1, :], after[..., -1, :])


def test_permuting_the_tokens_permutes_the_outputs():
    q, k, v = qkv(dtype=torch.float64)
    order = torch.randperm(5)
    output, weights = scaled_dot_product_attention(q, k, v)
    mixed, mixed_weights = scaled_dot_product_attention(*(t[..., order, :] for t in (q, k, v)))
    torch.testing.assert_close(mixed, output[..., order, :])
    torch.testing.assert_close(mixed_weights, weights[..., order, :][..., order])


def test_returned_weights_are_those_before_dropout():
    q, k, v = qkv(query_len=40)
    _, plain = scaled_dot_product_attention(q, k, v)
    output, weights = scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    assert torch.equal(weights, plain)
    assert not torch.allclose(output, weights @ v)


def test_dropout_hides_once_and_keeps_the_mean():
    q, k, _ = qkv(batch=(50,), query_len=20)
    value = torch.eye(20).expand(50, 4, 20, 20)  # so that the output is the dropped weights
    dropped, weights = scaled_dot_product_attention(q, k, value, dropout_p=0.25)
    hidden = dropped == 0
    assert hidden.float().mean() == pytest.approx(0.25, abs=0.01)
    torch.testing.assert_close(dropped[~hidden], (weights / 0.75)[~hidden])


def test_autograd_agrees_with_finite_differences():
    inputs = qkv(
        batch=(1,), heads=2, kv_heads=1, query_len=3, head_dim=2, dtype=torch.float64,
        requires_grad=True,
    )  # fmt: skip
    bias = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)

    def call(q, k, v, b):
        return scaled_dot_product_attention(q, k, v, bias=b, is_causal=True)

    assert torch.autograd.gradcheck(call, (*inputs, bias))


@pytest.mark.parametrize(("L", "S"), [(0, 3), (3, 0), (0, 0)])
def test_empty_lengths(L, S):
    q, k, v = qkv(query_len=L, key_len=S)
    mask = torch.ones(L, S, dtype=torch.bool)
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    assert output.shape == (2, 4, L, 8)
    assert weights.shape == (2, 4, L, S)
    assert (output == 0).all()


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention])
@pytest.mark.parametrize("device", DEVICES)
def test_scores_beyond_half_precision(attend, device):
    q, k, v = qkv(head_dim=64, dtype=torch.float16, device=device)
    q, k = q * 0 + 100, k.sign() * 100  # q·k reaches 640,000, float16 ends at 65,504
    got = attend(q, k, v)
    got = got if attend is fused_attention else got[0]
    assert_near(got, reference(q, k, v)[0])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast_narrows_nothing(device, dtype):
    q, k, v = qkv(query_len=64, head_dim=64, device=device)
    want = scaled_dot_product_attention(q, k, v)
    half = [t.to(dtype) for t in (q, k, v)]
    with torch.autocast(device, dtype):
        got = scaled_dot_product_attention(q, k, v)
        of_half = scaled_dot_product_attention(*half)
    for g, w in zip(got, want, strict=True):
        assert torch.equal(g, w)  # inputs of float32 keep all their digits
    for g, w in zip(of_half, scaled_dot_product_attention(*half), strict=True):
        assert torch.equal(g, w)


def by_hand(q, k, v, mask, bias, softcap, sinks):
    """One row at a time in float64: cap, add, hide, and let the sink take its share."""
    output = torch.zeros(*q.shape[:-1], v.shape[-1]).double()
    weights = torch.zeros(*q.shape[:-1], k.shape[-2]).double()
    for b, h, i in np.ndindex(*q.shape[:-1]):
        scores = (k[b, h // 2].double() @ q[b, h, i].double()) / math.sqrt(q.shape[-1])
        if softcap is not None:
            scores = softcap * torch.tanh(scores / softcap)
        e = torch.where(mask[i], (scores + bias[h, i]).exp(), 0.0)
        total = e.sum() + (0.0 if sinks is None else sinks[h].double().exp())
        if total > 0:
            weights[b, h, i] = e / total
        output[b, h, i] = weights[b, h, i] @ v[b, h // 2].double()
    return output, weights


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("softcap", [None, 0.5, 30.0])
@pytest.mark.parametrize("with_sinks", [False, True])
def test_softcap_and_sinks_by_hand(device, softcap, with_sinks):
    q, k, v = qkv(kv_heads=2, query_len=4, key_len=6)
    mask, bias = torch.rand(4, 6) > 0.3, torch.randn(4, 4, 6)
    mask[2] = False
    sinks = torch.tensor([0.0, -2.0, 3.0, 1.0]) if with_sinks else None
    moved = [t.to(device) for t in (q, k, v, mask)]
    options = {"softcap": softcap, "bias": bias.to(device)}
    options["sinks"] = None if sinks is None else sinks.to(device)
    got = scaled_dot_product_attention(*moved, **options)
    for g, w in zip(got, by_hand(q, k, v, mask, bias, softcap, sinks), strict=True):
        assert_near(g, w)
    assert (got[0][:, :, 2] == 0).all()


def test_a_sink_of_minus_infinity_is_none():
    q, k, v = qkv(requires_grad=True)
    mask = torch.rand(5, 5) > 0.3
    mask[1] = False
    got = scaled_dot_product_attention(q, k, v, mask, sinks=torch.full((4,), -torch.inf))
    for g, w in zip(got, scaled_dot_product_attention(q, k, v, mask), strict=True):
        torch.testing.assert_close(g, w)
    assert all(g.isfinite().all() for g in torch.autograd.grad(got[0].sum(), (q, k, v)))


def test_sinks_and_softcap_have_gradients():
    q, k, v = qkv(dtype=torch.float64, query_len=3, head_dim=4, batch=(1,), requires_grad=True)
    sinks = torch.randn(4, dtype=torch.float64, requires_grad=True)

    def call(q, k, v, s):
        return scaled_dot_product_attention(q, k, v, softcap=2.0, sinks=s, is_causal=True)

    assert torch.autograd.gradcheck(call, (q, k, v, sinks))


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention])
def test_a_hidden_infinity_reaches_outputs_as_the_contract_says(attend):
    q, k, v = qkv(query_len=3)
    v[..., 2, :] = torch.inf
    out = attend(q, k, v, torch.tensor([True, True, False]))
    out = out if attend is fused_attention else out[0]
    assert out.isnan().any()
    contract = " ".join(attention.__doc__.split())
    assert "an infinite or NaN key or value can reach outputs even where it is hidden" in contract
    assert "0 · ∞ is NaN" in scaled_dot_product_attention.__doc__
