"""Masks and scores as functions of positions, through PyTorch's FlexAttention.

    def same(b, h, i, j):
        return documents[b, i] == documents[b, j]

    output = flex_attention(query, key, value, mask_mod=same, is_causal=True)

Which one when, fastest first, if it can express what you need:

- ``fused_attention(is_causal=True)``, or with no mask: hand-written kernels, on any device.
- ``fused_attention(mask, bias=...)``: any mask or bias, as a tensor that has to be built and read.
- ``flex_attention``: what depends on positions by a rule. On a GPU it is compiled into a kernel
  that skips blocks which are hidden. On a CPU it is for trying out: some queries at a time.
- ``scaled_dot_product_attention``: anything, with every weight to look at.

PyTorch's ``causal_lower_right`` (torch.nn.attention.bias) says no more than ``is_causal=True`` does
here: both align the ends of query and key.
"""

import functools
import importlib.util
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask

from attention import QUERY_CHUNK, check_attention

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
    sinks: Tensor | None = None,
    return_lse: bool = False,
    compiled: bool | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention whose mask and scores are functions; the contract is attention.py's.

    Shapes: query (B, H, L, D), key (B, Hkv, S, D), value (B, Hkv, S, Dv) -> (B, H, L, Dv).
    Options: ``mask_mod(b, h, i, j)`` is True if query i of head h in sequence b may attend to
        key j; ``score_mod(score, b, h, i, j)`` gives the score to use, after ``softcap``.
        ``is_causal`` and ``window`` align the ends. A row that sees nothing gives 0.
        ``sinks`` and ``return_lse``, which adds the log-sum-exp (B, H, L), as ``fused_attention``.
        ``compiled``: None compiles on a GPU if Triton is installed. On a CPU True needs a C++
        compiler, and a minute at the first call.
    Raises: NotImplementedError on a CPU for what PyTorch hasn't there: gradients, and a
        log-sum-exp, which sinks need, when compiled; otherwise as ``scaled_dot_product_attention``.
    """
    hiding = (None, None, is_causal, window)
    check_attention(query, key, value, *hiding, 0.0, softcap, sinks)
    if query.ndim != 4:
        raise ValueError(f"query must be (B, H, L, D), got {tuple(query.shape)}")
    on_cpu, with_lse = query.device.type == "cpu", return_lse or sinks is not None
    learns = any(t is not None and t.requires_grad for t in (query, key, value, sinks))
    if on_cpu and learns and torch.is_grad_enabled():
        raise NotImplementedError("FlexAttention has no gradients on a CPU: use fused_attention")
    if compiled is None:
        compiled = not on_cpu and importlib.util.find_spec("triton") is not None
    if on_cpu and compiled and with_lse:
        raise NotImplementedError("no log-sum-exp compiled on a CPU: compiled=False for sinks, too")
    L, S = query.shape[-2], key.shape[-2]
    if S == 0 or query.numel() == 0:  # PyTorch can't: nothing to average is 0
        output = query.new_zeros(*query.shape[:-1], value.shape[-1])
        wide = torch.promote_types(query.dtype, torch.float32)
        lse = query.new_full(query.shape[:-1], -torch.inf, dtype=wide)
    else:
        # Compiled, no scores are stored. Otherwise those of some queries are, not of all.
        step, outputs, lses = L if compiled else QUERY_CHUNK, [], []
        for first in range(0, L, step):
            # A tensor, for a number would be compiled anew for each chunk.
            start = None if compiled else torch.tensor(first, device=query.device)
            visible = _mask_mod(mask_mod, start, S - L, is_causal, window)
            part, block_mask = query[:, :, first : first + step], None
            if visible is not None:
                # None: one mask for all sequences and heads.
                B, H = (None, None) if mask_mod is None else query.shape[:2]
                sizes, device = (B, H, part.shape[-2], S), query.device
                create = _compiled(create_block_mask) if compiled else create_block_mask
                block_mask = create(visible, *sizes, device=device)
            options = {"score_mod": _score_mod(score_mod, start, softcap), "scale": scale}
            options |= {"block_mask": block_mask, "enable_gqa": query.shape[1] != key.shape[1]}
            output, lse = _attend(part, key, value, compiled, with_lse, options)
            outputs.append(output)
            lses.append(lse)
        output = torch.cat(outputs, -2) if len(outputs) > 1 else outputs[0]
        lse = torch.cat(lses, -1) if with_lse else None
    if sinks is not None:  # it takes its share afterwards
        sink = sinks.to(lse.dtype)[..., None]
        # Finite: -inf - -inf, of a row that sees nothing and a sink that is none, is NaN.
        share = (lse - sink.clamp(min=torch.finfo(lse.dtype).min)).sigmoid()
        output = (output * share[..., None]).to(output.dtype)
        lse = torch.logaddexp(lse, sink)
    return (output, lse) if return_lse else output


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    compiled: bool,
    with_lse: bool,
    options: dict[str, object],
) -> tuple[Tensor, Tensor | None]:
    attend = _compiled(flex.flex_attention) if compiled else flex.flex_attention
    if not with_lse:
        return attend(query, key, value, **options), None
    if not hasattr(flex, "AuxRequest"):  # PyTorch before 2.9
        return attend(query, key, value, return_lse=True, **options)
    output, more = attend(query, key, value, return_aux=flex.AuxRequest(lse=True), **options)
    return output, more.lse


@functools.cache
def _compiled(function: Callable[..., object]) -> Callable[..., object]:
    return torch.compile(function, dynamic=False)


def _mask_mod(
    mask_mod: MaskMod | None,
    start: Tensor | None,
    offset: int,
    is_causal: bool,
    window: int | None,
) -> MaskMod | None:
    """Combine all conditions for the queries from ``start`` on; None without any.
    Query i has the position of key offset + i."""
    if mask_mod is None and not is_causal and window is None:
        return None

    def visible(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        i = i if start is None else i + start
        distance = j - (i + offset)
        allowed = distance == distance
        if is_causal:
            allowed = allowed & (distance <= 0)
        if window is not None:
            allowed = allowed & (distance < window) & (-distance < window)
        return allowed if mask_mod is None else allowed & mask_mod(b, h, i, j)

    return visible


def _score_mod(
    score_mod: ScoreMod | None, start: Tensor | None, softcap: float | None
) -> ScoreMod | None:
    if score_mod is None and softcap is None:
        return None

    def changed(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        score = score if softcap is None else softcap * (score / softcap).tanh()
        i = i if start is None else i + start
        return score if score_mod is None else score_mod(score, b, h, i, j)

    return changed
