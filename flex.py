"""Masks and scores as functions of positions, through PyTorch's FlexAttention.

    def same(b, h, i, j):
        return documents[b, i] == documents[b, j]

    output = flex_attention(query, key, value, mask_mod=same, is_causal=True)

Which one when, fastest first, where it can say what you need:

- ``fused_attention(is_causal=True)``, or with no mask: hand-written kernels, on any device.
- ``fused_attention(mask, bias=...)``: any mask or bias, as a tensor that has to be made and read.
- ``flex_attention``: what depends on positions by a rule. On a GPU it is compiled into a kernel
  that skips blocks which are hidden. On a CPU it is for trying out: all scores are in memory.
- ``scaled_dot_product_attention``: anything, with every weight to look at.

PyTorch's ``causal_lower_right`` (torch.nn.attention.bias) says no more than ``is_causal=True`` does
here: both align the ends of query and key.
"""

import functools
import importlib.util
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask
from torch.nn.attention.flex_attention import flex_attention as torch_flex_attention

from attention import check_attention, check_softcap

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask_mod: MaskMod | None = None,
    score_mod: ScoreMod | None = None,
    is_causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    compiled: bool | None = None,
) -> Tensor:
    """Attention whose mask and scores are functions; the contract is attention.py's.

    Shapes: query (B, H, L, D), key (B, Hkv, S, D), value (B, Hkv, S, Dv) -> (B, H, L, Dv).
    Options: ``mask_mod(b, h, i, j)`` is True where query i of head h in sequence b may attend to
        key j; ``score_mod(score, b, h, i, j)`` gives the score to use, after ``softcap``.
        ``is_causal`` and ``window`` align the ends. A row that sees nothing gives 0.
        ``compiled``: None compiles on a GPU where Triton is there. On a CPU True needs a C++
        compiler, and a minute at the first call.
    Raises: NotImplementedError for gradients on a CPU, which PyTorch hasn't; otherwise as
        ``scaled_dot_product_attention``.
    """
    check_attention(query, key, value, None, None, is_causal, window, 0.0)
    if query.ndim != 4:
        raise ValueError(f"query must be (B, H, L, D), got {tuple(query.shape)}")
    check_softcap(softcap)
    on_cpu = query.device.type == "cpu"
    learns = any(t.requires_grad for t in (query, key, value)) and torch.is_grad_enabled()
    if on_cpu and learns:
        raise NotImplementedError("FlexAttention has no gradients on a CPU: use fused_attention")
    if key.shape[-2] == 0 or query.numel() == 0:  # PyTorch can't: nothing to average is 0
        return query.new_zeros(*query.shape[:-1], value.shape[-1])
    if compiled is None:
        compiled = not on_cpu and importlib.util.find_spec("triton") is not None
    offset = key.shape[-2] - query.shape[-2]  # query i stands at key offset + i
    visible = _mask_mod(mask_mod, offset, is_causal, window)
    block_mask = None
    if visible is not None:
        B, H = (None, None) if mask_mod is None else query.shape[:2]  # None: one mask for all
        L, S, device = query.shape[-2], key.shape[-2], query.device
        block_mask = create_block_mask(visible, B, H, L, S, device=device, _compile=compiled)
    attend = _compiled() if compiled else torch_flex_attention
    return attend(
        query,
        key,
        value,
        score_mod=_score_mod(score_mod, softcap),
        block_mask=block_mask,
        scale=scale,
        enable_gqa=query.shape[1] != key.shape[1],
    )


@functools.cache
def _compiled() -> Callable[..., Tensor]:
    return torch.compile(torch_flex_attention, dynamic=False)


def _mask_mod(
    mask_mod: MaskMod | None, offset: int, is_causal: bool, window: int | None
) -> MaskMod | None:
    """All conditions in one function; None where there is none."""
    if mask_mod is None and not is_causal and window is None:
        return None

    def visible(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        distance = j - (i + offset)
        seen = distance == distance
        if is_causal:
            seen = seen & (distance <= 0)
        if window is not None:
            seen = seen & (distance < window) & (-distance < window)
        return seen if mask_mod is None else seen & mask_mod(b, h, i, j)

    return visible


def _score_mod(score_mod: ScoreMod | None, softcap: float | None) -> ScoreMod | None:
    if softcap is None:
        return score_mod

    def capped(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        score = softcap * (score / softcap).tanh()
        return score if score_mod is None else score_mod(score, b, h, i, j)

    return capped
