"""What attention weights say, and what an answer depends on.

Of weights: how spread out a row is, and what flows through several layers. Of any model, as a
function from the vectors of its words to one number: gradient × input and integrated gradients.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def entropy(weights: Tensor, unit: str = "nats") -> Tensor:
    """Measure how spread out each row is: −Σ w log w.  weights (..., L, S) -> (..., L).

    0 if one key has all the weight, log S if all have the same. ``unit``: "nats" (natural
    logarithm) or "bits" (base 2: nats / 0.693). An empty row gives 0. Weights below the dtype's
    smallest normal number count for too little: in float16, 0.00006, those of an even row of more
    than 16,384 keys. Pass float32 there.
    """
    if unit not in ("nats", "bits"):
        raise ValueError(f"unit must be 'nats' or 'bits', got {unit!r}")
    if not weights.is_floating_point():
        raise TypeError(f"weights must be of a floating dtype, got {weights.dtype}")
    # 0 log 0 is 0; the smallest number instead of 0 keeps the gradient finite there too.
    nats = -(weights * weights.clamp_min(torch.finfo(weights.dtype).tiny).log()).sum(-1)
    return nats / math.log(2) if unit == "bits" else nats


def rollout(layers: Sequence[Tensor], residual: float = 0.5) -> Tensor:
    """Follow attention through all layers, the residual stream included.

    R = A_N … A_1 with A = residual · I + (1 − residual) · mean over heads, each row scaled to
    sum to 1 (Abnar and Zuidema 2020, §4). It ignores what values do to the flow.

    Shapes: each layer's weights (..., H, L, L), the first layer first. Returns (..., L, L):
        row i says how much each input adds to position i's last state.
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


def gradient_times_input(answer: Callable[[Tensor], Tensor], vectors: Tensor) -> Tensor:
    """Measure how fast the answer grows as a word's vector gets longer: Σ_e x_e ∂y/∂x_e.

    For an answer that is linear in the vectors these sum to the answer less its constant; for
    others they may sum to anything. An answer that isn't computed from the vectors has no gradient:
    PyTorch raises RuntimeError.

    Shapes: vectors (..., L, E); ``answer`` maps them to numbers (...), each only by its
        own vectors. Returns (..., L).
    """
    return integrated_gradients(answer, vectors, torch.zeros_like(vectors), steps=None)


def integrated_gradients(
    answer: Callable[[Tensor], Tensor], vectors: Tensor, baseline: Tensor, steps: int | None = 64
) -> Tensor:
    """Attribute the answer to words, along a straight line from ``baseline`` to ``vectors``.

    (x − x′) · the mean of ∂y/∂x at ``steps`` points of the way, the midpoints of as many equal
    pieces (Sundararajan et al. 2017, eq. 1). The sum over words is, up to the error of so many
    steps, the answer less that at the baseline. It depends on the baseline that is chosen.

    Shapes: vectors and baseline (..., L, E); ``answer`` maps them to (...). ``steps=None`` takes
        only the gradient at ``vectors``. Returns (..., L).
    """
    if vectors.shape != baseline.shape:
        shapes = f"{tuple(vectors.shape)}, baseline {tuple(baseline.shape)}"
        raise ValueError(f"vectors and baseline differ: vectors {shapes}")
    if steps is not None and steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    vectors, baseline = vectors.detach(), baseline.detach()
    shares = [1.0] if steps is None else [(step + 0.5) / steps for step in range(steps)]
    total = torch.zeros_like(vectors)
    for share in shares:
        here = (baseline + share * (vectors - baseline)).requires_grad_()
        with torch.enable_grad():
            total += torch.autograd.grad(answer(here).sum(), here)[0]
    return ((vectors - baseline) * total / len(shares)).sum(-1)
