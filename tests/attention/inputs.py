"""What the attention tests share: inputs, an independent reference, devices, tolerances."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
DEVICES = ["cpu", pytest.param("cuda", marks=GPU)]

# Relative and absolute, against float64 from the same rounded inputs; measured, then doubled.
TOLERANCE = {
    torch.float64: (1e-10, 1e-12),
    torch.float32: (1e-5, 2e-6),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (2e-2, 2e-2),
}


def qkv(
    batch=(2,), heads=4, kv_heads=None, query_len=5, key_len=None, head_dim=8, value_dim=None,
    dtype=torch.float32, device="cpu", seed=0, requires_grad=False,
):  # fmt: skip
    """Query, key and value; with ``heads=None`` they have no dimension for heads."""
    key_len = query_len if key_len is None else key_len
    lead = (*batch, heads) if heads else batch
    kv_lead = (*batch, kv_heads or heads) if heads else batch
    shapes = (
        (*lead, query_len, head_dim),
        (*kv_lead, key_len, head_dim),
        (*kv_lead, key_len, value_dim or head_dim),
    )
    generator = torch.Generator().manual_seed(seed)
    made = [torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes]
    return [t.to(dtype).to(device).requires_grad_(requires_grad) for t in made]


def visible(query_len, key_len, *, is_causal=False, window=None) -> Tensor:
    """The mask contract in words: query i stands at key i + key_len − query_len."""
    mask = torch.zeros(query_len, key_len, dtype=torch.bool)
    for i in range(query_len):
        for j in range(key_len):
            distance = j - (i + key_len - query_len)
            seen = not (is_causal and distance > 0)
            mask[i, j] = seen and (window is None or abs(distance) < window)
    return mask


def reference(query, key, value, mask=None, *, bias=None, is_causal=False, window=None, scale=None):
    """Attention in float64 NumPy, one row at a time. Returns output and weights as tensors."""
    q, k, v = (t.detach().double().cpu().numpy() for t in (query, key, value))
    L, S = q.shape[-2], k.shape[-2]
    groups = q.shape[-3] // k.shape[-3] if q.ndim >= 4 else 1
    scores_shape = (*q.shape[:-1], S)
    seen = visible(L, S, is_causal=is_causal, window=window).numpy()
    seen = np.broadcast_to(seen, scores_shape)
    if mask is not None:
        seen = seen & np.broadcast_to(mask.cpu().numpy(), scores_shape)
    added = np.zeros(scores_shape)
    if bias is not None:
        added = added + bias.detach().double().cpu().numpy()
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    output, weights = np.zeros((*q.shape[:-1], v.shape[-1])), np.zeros(scores_shape)
    for at in np.ndindex(*q.shape[:-1]):
        lead = at[:-1]
        shared = (*lead[:-1], lead[-1] // groups) if q.ndim >= 4 else lead
        scores = np.array([scale * float(q[at] @ k[(*shared, j)]) for j in range(S)]) + added[at]
        keys = [j for j in range(S) if seen[at][j] and scores[j] > -np.inf]
        if not keys:
            continue
        e = np.exp(scores[keys] - max(scores[keys]))
        weights[at][keys] = e / e.sum()
        output[at] = sum(weights[at][j] * v[(*shared, j)] for j in keys)
    return torch.from_numpy(output), torch.from_numpy(weights)


def assert_near(got, want, dtype=None):
    rtol, atol = TOLERANCE[dtype or got.dtype]
    torch.testing.assert_close(got.detach().double().cpu(), want.double(), rtol=rtol, atol=atol)
