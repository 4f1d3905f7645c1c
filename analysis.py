"""What attention weights say: how spread out a row is, and what flows through several layers."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def entropy(weights: Tensor, unit: str = "nats") -> Tensor:
    """How spread out each row is: −Σ w log w.  weights (..., L, S) -> (..., L).

    0 where one key has all the weight, log S where all have the same. ``unit``: "nats" (natural
    logarithm) or "bits" (base 2: nats / 0.693). An empty row gives 0.
    """
    if unit not in ("nats", "bits"):
        raise ValueError(f"unit must be 'nats' or 'bits', got {unit!r}")
    if not weights.is_floating_point():
        raise TypeError(f"weights must be of a floating dtype, got {weights.dtype}")
    # 0 log 0 is 0; the smallest number in place of 0 keeps the gradient finite there too.
    nats = -(weights * weights.clamp_min(torch.finfo(weights.dtype).tiny).log()).sum(-1)
    return nats / math.log(2) if unit == "bits" else nats


def rollout(layers: Sequence[Tensor], residual: float = 0.5) -> Tensor:
    """Follow attention through all layers, the residual stream included.

    R = A_N … A_1 with A = residual · I + (1 − residual) · mean over heads, each row scaled to
    sum to 1 (Abnar and Zuidema 2020, §4). It takes what flows through values as given.

    Shapes: each layer's weights (..., H, L, L), the first layer first. Returns (..., L, L):
        row i says where position i's last state comes from in the input.
    """
    if not layers:
        raise ValueError("layers must hold the weights of at least one layer, got none")
    if not 0.0 <= residual <= 1.0:
        raise ValueError(f"residual must lie in [0, 1], got {residual}")
    shapes = [tuple(weights.shape) for weights in layers]
    square = all(len(shape) >= 3 and shape[-1] == shape[-2] for shape in shapes)
    if not square or len({shape[:-3] + shape[-2:] for shape in shapes}) > 1:
        raise ValueError(f"layers must be (..., heads, length, length) alike, got {shapes}")
    eye = torch.eye(shapes[0][-1], dtype=layers[0].dtype, device=layers[0].device)
    flow = eye
    for weights in layers:
        mixed = residual * eye + (1 - residual) * weights.mean(-3)
        total = mixed.sum(-1, keepdim=True)
        flow = mixed / total.masked_fill(total == 0, 1.0) @ flow
    return flow
