"""Documents laid end to end: each is attended as it would be alone, with no mask of them all."""

import itertools

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import attention
from attention import scaled_dot_product_attention, varlen_attention

from .inputs import assert_same_gradients, on_a_gpu, on_devices

LENGTHS = [5, 0, 1, 9, 3]


def bounds(lengths, device="cpu"):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32, device=device)


def packed(tokens, heads=4, device="cpu", dtype=torch.float32, head_dim=8):
    return torch.randn(tokens, heads, head_dim, device=device, dtype=dtype, requires_grad=True)


def one_by_one(q, k, v, q_lengths, k_lengths, **options):
    """Explicit attention for each document, with heads in front."""
    parts = (t.transpose(0, 1)[None].split(n, -2) for t, n in zip(
        (q, k, v), (q_lengths, k_lengths, k_lengths), strict=True
    ))  # fmt: skip
    each = zip(*parts, strict=True)
    outputs = [scaled_dot_product_attention(*one, **options)[0] for one in each]
    return torch.cat(outputs, -2)[0].transpose(0, 1)


OPTIONS = {
    "plain": {},
    "causal": {"is_causal": True},
    "window": {"window": 3},
    "causal window": {"is_causal": True, "window": 3, "scale": 0.3},
    "capped, with sinks": {"is_causal": True, "softcap": 2.0, "sinks": torch.tensor([0.5] * 4)},
}


@on_devices
@pytest.mark.parametrize("case", OPTIONS)
@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("k_lengths", [LENGTHS, [7, 2, 0, 9, 5]], ids=str)
def test_each_document_is_attended_alone(device, case, kv_heads, k_lengths):
    options = {n: o.to(device) if n == "sinks" else o for n, o in OPTIONS[case].items()}
    q = packed(sum(LENGTHS), device=device)
    k, v = (packed(sum(k_lengths), kv_heads, device) for _ in "kv")
    ends = None if k_lengths is LENGTHS else bounds(k_lengths, device)
    got = varlen_attention(q, k, v, bounds(LENGTHS, device), ends, **options)
    want = one_by_one(q, k, v, LENGTHS, k_lengths, **options)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    assert_same_gradients(got, want, (q, k, v), rtol=1e-4, atol=1e-5)


def test_dropout_hides_some_of_each_document():
    q, k = packed(2000, 1), packed(2000, 1)
    values = torch.eye(20).repeat(100, 1)[:, None]  # so that the output is the dropped weights
    got = varlen_attention(q, k, values, bounds([20] * 100), dropout_p=0.25)
    assert (got == 0).float().mean() == pytest.approx(0.25, abs=0.01)


@torch.no_grad()
def test_nothing_is_made_that_is_as_large_as_all_scores():
    class Largest(TorchDispatchMode):
        size = 0

        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            out = op(*args, **(kwargs or {}))
            flat = [t for t in torch.utils._pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
            self.size = max(self.size, *(t.numel() for t in flat), 0)
            return out

    q, k, v = (packed(1000, heads=1) for _ in "qkv")
    with Largest() as seen:
        varlen_attention(q, k, v, bounds([100] * 10), is_causal=True, window=30)
    assert seen.size <= 100 * 100


@pytest.mark.parametrize("lengths", [[], [0, 0]], ids=str)
def test_no_document_and_no_token(lengths):
    q, k, v = packed(0), packed(0, 2), packed(0, 2, head_dim=6)
    assert varlen_attention(q, k, v, bounds(lengths)).shape == (0, 4, 6)


@on_a_gpu
@pytest.mark.parametrize("name", ["plain", "causal", "window", "causal window"])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_a_gpu_has_one_kernel_for_all_documents(device, name, kv_heads):
    if attention._varlen_attn() is None:
        pytest.skip("needs PyTorch 2.12, whose kernel knows windows and shared heads")
    lengths, options = [100, 1, 300, 64], OPTIONS[name]
    q = packed(sum(lengths), device=device, dtype=torch.bfloat16, head_dim=64)
    k, v = (packed(sum(lengths), kv_heads, device, torch.bfloat16, 64) for _ in "kv")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        got = varlen_attention(q, k, v, bounds(lengths, device), **options)
    assert sum(e.count for e in seen.key_averages() if e.key == "torch_attn::_varlen_attn") == 1
    wide = [t.detach().double().requires_grad_() for t in (q, k, v)]
    want = one_by_one(*wide, lengths, lengths, **options)
    torch.testing.assert_close(got.double(), want, rtol=2e-2, atol=2e-2)
    assert_same_gradients(got, want, (q, k, v), wide, rtol=0.1, atol=0.1)
