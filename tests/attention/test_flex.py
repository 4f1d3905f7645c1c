"""Masks and scores as functions, against explicit attention with the same as tensors."""

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask

import flex
from attention import fused_attention, scaled_dot_product_attention
from flex import flex_attention
from positions import alibi_bias

from .inputs import assert_near, assert_same_gradients, on_a_gpu, on_devices, qkv, reference

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
BANDS = [{"is_causal": True}, {"window": 3}, {"is_causal": True, "window": 3}, {}]


@on_devices
@pytest.mark.parametrize("lengths", [(9, 9), (1, 12), (5, 12), (12, 5)], ids=str)
@pytest.mark.parametrize("options", BANDS, ids=lambda options: "+".join(options) or "all")
@torch.no_grad()
def test_bands_align_the_ends(device, lengths, options):
    L, S = lengths
    q, k, v = qkv(query_len=L, key_len=S, kv_heads=2, device=device)
    got = flex_attention(q, k, v, compiled=False, **options)
    want, _ = scaled_dot_product_attention(q, k, v, **options)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize(
    ("chunk", "kv_heads", "sinks"),
    [(3, 2, torch.tensor([0.3, -1.0, 2.0, -torch.inf])), (256, 4, None)],
)
def test_sinks_and_log_sum_exp_by_the_reference(monkeypatch, chunk, kv_heads, sinks):
    monkeypatch.setattr(flex, "QUERY_CHUNK", chunk)
    q, k, v = qkv(query_len=7, key_len=9, kv_heads=kv_heads)
    hidden = torch.arange(9) == torch.tensor([[2], [5]])  # a key of each sequence
    mask = ~hidden[:, None, None] & (torch.arange(7) != 4)[:, None]  # and all keys of query 4
    options = {"is_causal": True, "scale": 0.4, "softcap": 2.0, "sinks": sinks}
    output, _, lse = reference(q, k, v, mask, **options)
    options["mask_mod"] = lambda b, h, i, j: ~hidden[b, j] & (i != 4)
    got, sums = flex_attention(q, k, v, return_lse=True, **options)
    assert_near(got, output)
    assert_near(sums, lse)
    assert_near(flex_attention(q, k, v, **options), output)


@torch.no_grad()
def test_functions_come_after_the_cap_in_every_chunk(monkeypatch):
    monkeypatch.setattr(flex, "QUERY_CHUNK", 4)
    q, k, v = qkv(query_len=30, key_len=33)
    bias = alibi_bias(4, 30, 33)
    options = {"is_causal": True, "window": 9, "softcap": 0.5, "scale": 0.7}
    got = flex_attention(
        q, k, v, score_mod=lambda s, b, h, i, j: s + bias[h, i, j],
        mask_mod=lambda b, h, i, j: (i + j) % 5 > 0, **options,
    )  # fmt: skip
    mask = (torch.arange(30)[:, None] + torch.arange(33)) % 5 > 0
    want, _ = scaled_dot_product_attention(q, k, v, mask, bias=bias, **options)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_no_mask_of_all_queries_is_made(monkeypatch):
    """On a CPU, where nothing is compiled, a block mask is made of a whole one: of some queries."""
    sizes = []

    def listen(mask_mod, B, H, L, S, **options):
        sizes.append(L * S)
        return create_block_mask(mask_mod, B, H, L, S, **options)

    monkeypatch.setattr(flex, "create_block_mask", listen)
    q, k, v = qkv(batch=(1,), heads=1, query_len=1000)
    flex_attention(q, k, v, is_causal=True)
    assert max(sizes) == 256 * 1000


@on_a_gpu
def test_a_gpu_compiles_sinks_and_log_sum_exp_without_the_matrix(device):
    q, k, v = qkv(query_len=4096, head_dim=64, device=device, requires_grad=True)
    sinks = torch.randn(4, device=device, requires_grad=True)
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


@on_a_gpu
def test_a_gpu_compiles_it_with_gradients(device):
    q, k, v = qkv(query_len=256, kv_heads=2, head_dim=64, device=device, requires_grad=True)
    options = {"is_causal": True, "window": 100, "softcap": 5.0}
    got = flex_attention(q, k, v, **options)
    want, _ = scaled_dot_product_attention(q, k, v, **options)
    torch.testing.assert_close(got, want, rtol=1e-2, atol=1e-2)
    assert_same_gradients(got, want, (q, k, v), rtol=2e-2, atol=2e-2)


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
