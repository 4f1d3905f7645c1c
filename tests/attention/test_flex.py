"""Masks and scores as functions, against explicit attention with the same as tensors."""

import pytest
import torch

from attention import create_document_mask, scaled_dot_product_attention
from flex import flex_attention
from positions import alibi_bias

from .inputs import DEVICES, GPU, qkv

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
LENGTHS = [(9, 9), (1, 12), (5, 12), (12, 5)]


def near(got, want):
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("kv_heads", [4, 2])
@torch.no_grad()
def test_bands_align_the_ends(device, lengths, is_causal, window, kv_heads):
    L, S = lengths
    q, k, v = qkv(query_len=L, key_len=S, kv_heads=kv_heads, value_dim=8, device=device)
    options = {"is_causal": is_causal, "window": window}
    got = flex_attention(q, k, v, compiled=False, **options)
    near(got, scaled_dot_product_attention(q, k, v, **options)[0])


@torch.no_grad()
def test_a_mask_function_and_rows_that_see_nothing():
    q, k, v = qkv(query_len=6)
    documents = torch.tensor([[0, 0, 1, 1, 1, -1], [0, 1, 1, 1, -1, -1]])

    def same(b, h, i, j):
        return (documents[b, i] == documents[b, j]) & (documents[b, j] >= 0)

    got = flex_attention(q, k, v, mask_mod=same, is_causal=True)
    mask = create_document_mask(documents)
    near(got, scaled_dot_product_attention(q, k, v, mask, is_causal=True)[0])
    assert (got[1, :, 4:] == 0).all()


@torch.no_grad()
def test_a_score_function_comes_after_the_cap():
    q, k, v = qkv(query_len=5, key_len=7)
    bias = alibi_bias(4, 5, 7)

    def alibi(score, b, h, i, j):
        return score + bias[h, i, j]

    got = flex_attention(q, k, v, score_mod=alibi, softcap=0.5, scale=0.7)
    near(got, scaled_dot_product_attention(q, k, v, bias=bias, softcap=0.5, scale=0.7)[0])
    capped = flex_attention(q, k, v, softcap=0.5)
    near(capped, scaled_dot_product_attention(q, k, v, softcap=0.5)[0])


@pytest.mark.parametrize("case", [pytest.param("cuda", marks=GPU)])
def test_a_gpu_compiles_it_with_gradients(case):
    q, k, v = qkv(query_len=256, kv_heads=2, head_dim=64, device=case, requires_grad=True)
    got = flex_attention(q, k, v, is_causal=True, window=100, softcap=5.0)
    want, _ = scaled_dot_product_attention(q, k, v, is_causal=True, window=100, softcap=5.0)
    torch.testing.assert_close(got, want, rtol=1e-2, atol=1e-2)
    up = torch.randn_like(got)
    pairs = (torch.autograd.grad(out, (q, k, v), up) for out in (got, want))
    for g, w in zip(*pairs, strict=True):
        torch.testing.assert_close(g, w, rtol=2e-2, atol=2e-2)


@torch.no_grad()
@pytest.mark.parametrize("sizes", [(0, 4, 3, 5), (2, 0, 3, 5), (2, 4, 0, 5), (2, 4, 3, 0)], ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
def test_empty_sizes(sizes, is_causal):
    B, H, L, S = sizes
    q, k, v = torch.randn(B, H, L, 8), torch.randn(B, H, S, 8), torch.randn(B, H, S, 6)
    got = flex_attention(q, k, v, is_causal=is_causal)
    assert torch.equal(got, torch.zeros(*q.shape[:-1], 6))


def test_errors():
    q, k, v = qkv()
    with pytest.raises(ValueError, match=r"query must be \(B, H, L, D\), got \(4, 5, 8\)"):
        flex_attention(q[0], k[0], v[0])
    with pytest.raises(ValueError, match="softcap must be above 0 and finite, got -1"):
        flex_attention(q, k, v, softcap=-1)
    with pytest.raises(ValueError, match="head_dim differs"):
        flex_attention(q, k[..., :4], v)
    with pytest.raises(NotImplementedError, match="no gradients on a CPU: use fused_attention"):
        flex_attention(q.requires_grad_(), k, v)
