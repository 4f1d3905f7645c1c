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
on_devices = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=GPU)])
on_a_gpu = pytest.mark.parametrize("device", [pytest.param("cuda", marks=GPU)])
half_precision = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)

# Relative and absolute, against float64 from the same rounded inputs; measured, then doubled.
TOLERANCE = {
    torch.float64: (1e-10, 1e-12),
    torch.float32: (1e-5, 2e-6),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (2e-2, 2e-2),
}
NEAR = {"rtol": 1e-5, "atol": 1e-6}  # of a layer in float32, whose sums come in another order


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
    parts = [torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes]
    return [t.to(dtype).to(device).requires_grad_(requires_grad) for t in parts]


def visible(query_len, key_len, *, is_causal=False, window=None) -> Tensor:
    """The mask contract in words: query i stands at key i + key_len − query_len."""
    mask = torch.zeros(query_len, key_len, dtype=torch.bool)
    for i in range(query_len):
        for j in range(key_len):
            distance = j - (i + key_len - query_len)
            seen = not (is_causal and distance > 0)
            mask[i, j] = seen and (window is None or abs(distance) < window)
    return mask


def reference(
    query, key, value, mask=None, *, bias=None, is_causal=False, window=None, scale=None,
    softcap=None, sinks=None,
):  # fmt: skip
    """Attention in float64 NumPy, one row at a time: output, weights and log-sum-exp."""
    q, k, v = (wide(t) for t in (query, key, value))
    has_heads, S = q.ndim >= 4, k.shape[-2]
    groups = q.shape[-3] // k.shape[-3] if has_heads else 1
    scores_shape = (*q.shape[:-1], S)
    seen = visible(q.shape[-2], S, is_causal=is_causal, window=window).numpy()
    seen = np.broadcast_to(seen, scores_shape)
    if mask is not None:
        seen = seen & np.broadcast_to(mask.cpu().numpy(), scores_shape)
    added = np.broadcast_to(0.0 if bias is None else wide(bias), scores_shape)
    scale = scale.item() if torch.is_tensor(scale) else scale
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    output, weights = np.zeros((*q.shape[:-1], v.shape[-1])), np.zeros(scores_shape)
    lse = np.full(q.shape[:-1], -np.inf)
    for at in np.ndindex(*q.shape[:-1]):
        *lead, head, _ = at if has_heads else (*at[:-1], 0, 0)
        shared = (*lead, head // groups) if has_heads else at[:-1]
        scores = k[shared] @ q[at] * scale  # (S,)
        if softcap is not None:
            scores = softcap * np.tanh(scores / softcap)
        scores = np.where(seen[at], scores + added[at], -np.inf)
        sink = -np.inf if sinks is None else np.broadcast_to(wide(sinks), q.shape[-3])[head]
        highest = max(scores.max(initial=-np.inf), sink)
        if highest > -np.inf:
            e = np.exp(scores - highest)
            total = e.sum() + np.exp(sink - highest)
            weights[at], lse[at] = e / total, highest + np.log(total)
            output[at] = weights[at] @ v[shared]
    return tuple(map(torch.from_numpy, (output, weights, lse)))


def wide(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().cpu().numpy()


def assert_near(got, want, dtype=None):
    rtol, atol = TOLERANCE[dtype or got.dtype]
    torch.testing.assert_close(got.detach().double().cpu(), want.double(), rtol=rtol, atol=atol)


def assert_same_gradients(got, want, leaves, wanted_leaves=None, **tolerances):
    """Hand both outputs back the same random slopes; every leaf gets the same, finite gradient."""
    up = torch.randn_like(got)
    grads = torch.autograd.grad(got, leaves, up, retain_graph=True)
    back = up.to(want.dtype)
    wanted = torch.autograd.grad(want, wanted_leaves or leaves, back, retain_graph=True)
    for one, other in zip(grads, wanted, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one.to(other.dtype), other, **tolerances)


def assert_refused(call, error, says):
    """A wrong input is refused by type, and the message names ``says``: "argument; value; …"."""
    with pytest.raises(error) as caught:
        call()
    missing = [part for part in says.split("; ") if part not in str(caught.value)]
    assert not missing, f"{caught.value!r} doesn't name {missing}"
