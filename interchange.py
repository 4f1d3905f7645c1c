"""Weights to and from torch.nn.MultiheadAttention, and from GPT-2's fused projections."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from attention import MultiHeadAttention


def from_torch(module: nn.MultiheadAttention) -> MultiHeadAttention:
    """A layer that computes what ``module`` does, with a copy of its weights.

    The inputs differ: this layer is batch-first, and its masks say who *may* attend.
    Raises: ValueError for kdim, vdim, add_bias_kv and add_zero_attn, which have no counterpart.
    """
    if module.in_proj_weight is None:
        sizes = f"kdim={module.kdim}, vdim={module.vdim}"
        raise ValueError(f"{sizes} must both be embed_dim={module.embed_dim}")
    for name, used in (
        ("add_bias_kv", module.bias_k is not None),
        ("add_zero_attn", module.add_zero_attn),
    ):
        if used:
            raise ValueError(f"{name}=True has no counterpart in MultiHeadAttention, only False")
    has_bias = module.in_proj_bias is not None
    layer = MultiHeadAttention(module.embed_dim, module.num_heads, module.dropout, bias=has_bias)
    layer.to(module.in_proj_weight).train(module.training)
    _copy(layer.qkv_proj, module.in_proj_weight, module.in_proj_bias)
    _copy(layer.out_proj, module.out_proj.weight, module.out_proj.bias)
    return layer


def to_torch(layer: MultiHeadAttention, *, batch_first: bool = True) -> nn.MultiheadAttention:
    """A ``torch.nn.MultiheadAttention`` with a copy of this layer's weights.

    Raises: ValueError for shared key heads and rotary, which it doesn't have.
    """
    _check_plain(layer)
    if layer.rotary is not None:
        raise ValueError(f"rotary={layer.rotary} has no counterpart, only None")
    has_bias = layer.qkv_proj.bias is not None
    module = nn.MultiheadAttention(
        layer.embed_dim, layer.num_heads, layer.dropout, bias=has_bias, batch_first=batch_first
    )
    module.to(layer.qkv_proj.weight).train(layer.training)
    with torch.no_grad():
        module.in_proj_weight.copy_(layer.qkv_proj.weight)
        if has_bias:
            module.in_proj_bias.copy_(layer.qkv_proj.bias)
    _copy(module.out_proj, layer.out_proj.weight, layer.out_proj.bias)
    return module


def load_gpt2(
    layer: MultiHeadAttention, state: Mapping[str, Tensor], prefix: str = ""
) -> MultiHeadAttention:
    """Copy GPT-2's ``c_attn`` and ``c_proj`` into ``layer``, and return it.

    GPT-2 stores a projection as (inputs, outputs), the transpose of ``nn.Linear``. ``prefix`` is
    what comes before the names, as "transformer.h.0.attn.".
    Raises: ValueError for a missing name, or a shape that differs from the layer's.
    """
    _check_plain(layer)
    if layer.qkv_proj.bias is None:
        raise ValueError("layer has bias=False, GPT-2's projections have biases")
    E = layer.embed_dim
    sizes = {"c_attn": (E, 3 * E), "c_proj": (E, E)}
    wanted = {f"{prefix}{name}.weight": size for name, size in sizes.items()}
    wanted |= {f"{prefix}{name}.bias": size[1:] for name, size in sizes.items()}
    for name, shape in wanted.items():
        if name not in state:
            raise ValueError(f"state has no {name!r}; it has {', '.join(list(state)[:8])}")
        if tuple(state[name].shape) != shape:
            raise ValueError(f"{name} must be {shape}, got {tuple(state[name].shape)}")
    for name, linear in (("c_attn", layer.qkv_proj), ("c_proj", layer.out_proj)):
        _copy(linear, state[f"{prefix}{name}.weight"].mT, state[f"{prefix}{name}.bias"])
    return layer


def _check_plain(layer: MultiHeadAttention) -> None:
    if layer.num_kv_heads != layer.num_heads:
        heads = f"num_kv_heads={layer.num_kv_heads}, num_heads={layer.num_heads}"
        raise ValueError(f"the other side has a key head for each query head, not {heads}")


@torch.no_grad()
def _copy(linear: nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    linear.weight.copy_(weight)
    if bias is not None:
        linear.bias.copy_(bias)
