"""Masks and scores as functions, against explicit attention with the same as tensors."""

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask

import flex
from attention import create_document_mask, fused_attention, scaled_dot_product_attention
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


@torch.no_grad()
@pytest.mark.parametrize("chunk", [3, 256])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_sinks_and_log_sum_exp_are_those_of_fused_attention(monkeypatch, chunk, kv_heads):
    monkeypatch.setattr(flex, "QUERY_CHUNK", chunk)
    q, k, v = qkv(query_len=7, key_len=9, kv_heads=kv_heads)
    hidden = torch.arange(9) == torch.tensor([[2], [5]])  # one key of each sequence

    def shown(b, h, i, j):
        return ~hidden[b, j] & (i != 4)  # query 4 sees nothing

    mask = ~hidden[:, None, None] & (torch.arange(7) != 4)[:, None]
    options = {"is_causal": True, "scale": 0.4, "softcap": 2.0, "sinks": torch.randn(4)}
    got, lse = flex_attention(q, k, v, mask_mod=shown, return_lse=True, **options)
    want, want_lse = fused_attention(q, k, v, mask, return_lse=True, **options)
    near(got, want)
    near(lse, want_lse)
    near(flex_attention(q, k, v, mask_mod=shown, **options), want)
    del options["sinks"]
    _, lse = flex_attention(q, k, v, mask_mod=shown, return_lse=True, **options)
    near(lse, fused_attention(q, k, v, mask, return_lse=True, **options)[1])


@torch.no_grad()
def test_chunks_of_queries_are_told_where_they_stand(monkeypatch):
    monkeypatch.setattr(flex, "QUERY_CHUNK", 4)
    q, k, v = qkv(query_len=30, key_len=33)
    bias = alibi_bias(4, 30, 33)
    options = {"is_causal": True, "window": 9}
    got = flex_attention(
        q, k, v, score_mod=lambda s, b, h, i, j: s + bias[h, i, j],
        mask_mod=lambda b, h, i, j: (i + j) % 5 > 0, **options,
    )  # fmt: skip
    mask = (torch.arange(30)[:, None] + torch.arange(33)) % 5 > 0
    near(got, scaled_dot_product_attention(q, k, v, mask, bias=bias, **options)[0])


@torch.no_grad()
def test_no_mask_of_all_queries_is_made(monkeypatch):
    """On a CPU, where nothing is compiled, a block mask is made of a whole one: of some queries."""
    made = []

    def listen(mask_mod, B, H, L, S, **options):
        made.append(L * S)
        return create_block_mask(mask_mod, B, H, L, S, **options)

    monkeypatch.setattr(flex, "create_block_mask", listen)
    q, k, v = qkv(batch=(1,), heads=1, query_len=1000)
    flex_attention(q, k, v, is_causal=True)
    assert max(made) == 256 * 1000
    assert len(made) == 4


@pytest.mark.parametrize("case", [pytest.param("cuda", marks=GPU)])
def test_a_gpu_compiles_sinks_and_log_sum_exp_without_the_matrix(case):
    q, k, v = qkv(query_len=4096, head_dim=64, device=case, requires_grad=True)
    sinks = torch.randn(4, device=case, requires_grad=True)
    flex_attention(q, k, v, is_causal=True, sinks=sinks)  # the compiler tries kernels, with room
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    got, lse = flex_attention(q, k, v, is_causal=True, sinks=sinks, return_lse=True)
    assert torch.cuda.max_memory_allocated() - before < 4096 * 4096 * 4
    want, want_lse = fused_attention(q, k, v, is_causal=True, sinks=sinks, return_lse=True)
    torch.testing.assert_close(got, want, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(lse, want_lse, rtol=1e-2, atol=1e-2)
    leaves, up = (q, k, v, sinks), (torch.randn_like(got), torch.randn_like(lse))
    pairs = (torch.autograd.grad(out, leaves, up) for out in ((got, lse), (want, want_lse)))
    for g, w in zip(*pairs, strict=True):
        torch.testing.assert_close(g, w, rtol=2e-2, atol=2e-2)


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
    _, lse = flex_attention(q, k, v, sinks=torch.ones(H), return_lse=True)
    assert torch.equal(lse, torch.ones(q.shape[:-1]))


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
    with pytest.raises(NotImplementedError, match="no log-sum-exp compiled on a CPU"):
        flex_attention(*qkv(), sinks=torch.ones(4), compiled=True)
    with pytest.raises(ValueError, match=r"sinks must be one number, or .* = \(4,\); got \(3,\)"):
        flex_attention(*qkv(), sinks=torch.ones(3))
