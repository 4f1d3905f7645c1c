"""Weights to and from torch.nn.MultiheadAttention, and under GPT-2's and Llama's names."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from attention import CausalMultiHeadAttention, MultiHeadAttention
from variants import CrossAttention

LIKE_LLAMA = ("llama", "mistral", "qwen2", "qwen3")  # whose attention differs in sizes alone


def from_torch(module: nn.MultiheadAttention) -> MultiHeadAttention:
    """A layer that computes what ``module`` does, with a copy of its weights.

    One with kdim or vdim becomes a CrossAttention (variants.py). The inputs differ: this layer is
    batch-first, and its masks say who *may* attend.
    Raises: ValueError for add_bias_kv and add_zero_attn, which have no counterpart.
    """
    if not isinstance(module, nn.MultiheadAttention):
        kind = type(module).__name__
        raise TypeError(f"module must be a torch.nn.MultiheadAttention, got {kind}")
    for name, used in (
        ("add_bias_kv", module.bias_k is not None),
        ("add_zero_attn", module.add_zero_attn),
    ):
        if used:
            raise ValueError(f"{name}=True has no counterpart in MultiHeadAttention, only False")
    options = {"bias": module.in_proj_bias is not None}
    kind = MultiHeadAttention
    if module.in_proj_weight is None:
        kind, options = CrossAttention, options | {"kdim": module.kdim, "vdim": module.vdim}
    layer = kind(module.embed_dim, module.num_heads, module.dropout, **options)
    layer.to(module.out_proj.weight).train(module.training)
    if kind is MultiHeadAttention:
        _copy(layer.qkv_proj, module.in_proj_weight, module.in_proj_bias)
    else:
        biases = (None,) * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
        weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
        for linear, weight, bias in zip(_three(layer), weights, biases, strict=True):
            _copy(linear, weight, bias)
    _copy(layer.out_proj, module.out_proj.weight, module.out_proj.bias)
    return layer


def to_torch(layer: MultiHeadAttention, *, batch_first: bool = True) -> nn.MultiheadAttention:
    """A ``torch.nn.MultiheadAttention`` with a copy of this layer's weights.

    Raises: ValueError for what it doesn't have: shared key heads, a head_dim of its own, qk_norm
        and rotary; TypeError for a layer that computes something else.
    """
    _check_plain(layer, CrossAttention)
    crosses = isinstance(layer, CrossAttention)
    options = {"kdim": layer.kdim, "vdim": layer.vdim} if crosses else {}
    options |= {"bias": layer.out_proj.bias is not None, "batch_first": batch_first}
    module = nn.MultiheadAttention(layer.embed_dim, layer.num_heads, layer.dropout, **options)
    module.to(layer.out_proj.weight).train(layer.training)
    with torch.no_grad():
        if module.in_proj_weight is not None:
            module.in_proj_weight.copy_(_joined(layer, "weight"))
        else:
            weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
            for weight, linear in zip(weights, _three(layer), strict=True):
                weight.copy_(linear.weight)
        if module.in_proj_bias is not None:
            module.in_proj_bias.copy_(_joined(layer, "bias"))
    _copy(module.out_proj, layer.out_proj.weight, layer.out_proj.bias)
    return module


def load_gpt2(
    layer: MultiHeadAttention, state: Mapping[str, Tensor], prefix: str = ""
) -> MultiHeadAttention:
    """Copy GPT-2's ``c_attn`` and ``c_proj`` into ``layer``, and return it.

    GPT-2 stores a projection as (inputs, outputs), the transpose of ``nn.Linear``. ``prefix`` is
    what comes before the names, as "transformer.h.0.attn" (a missing dot is added).
    Raises: ValueError for a missing name, or a shape that differs from the layer's.
    """
    _check_gpt2(layer)
    prefix = _dotted(prefix)
    E = layer.embed_dim
    sizes = {"c_attn": (E, 3 * E), "c_proj": (E, E)}
    wanted = {f"{prefix}{name}.weight": size for name, size in sizes.items()}
    wanted |= {f"{prefix}{name}.bias": size[1:] for name, size in sizes.items()}
    _check_state(state, wanted)
    for name, linear in (("c_attn", layer.qkv_proj), ("c_proj", layer.out_proj)):
        _copy(linear, state[f"{prefix}{name}.weight"].mT, state[f"{prefix}{name}.bias"])
    return layer


def to_gpt2(layer: MultiHeadAttention, prefix: str = "") -> dict[str, Tensor]:
    """The layer's weights, copied, under GPT-2's names: what ``load_gpt2`` reads."""
    _check_gpt2(layer)
    prefix, state = _dotted(prefix), {}
    for name, linear in (("c_attn", layer.qkv_proj), ("c_proj", layer.out_proj)):
        state[f"{prefix}{name}.weight"] = linear.weight.detach().mT.clone()
        state[f"{prefix}{name}.bias"] = linear.bias.detach().clone()
    return state


def load_llama(
    layer: MultiHeadAttention,
    state: Mapping[str, Tensor],
    prefix: str = "",
    *,
    model_type: str | None = None,
) -> MultiHeadAttention:
    """Copy Llama's ``q_proj``, ``k_proj``, ``v_proj`` and ``o_proj`` into ``layer``; return it.

    Names and order are those of Hugging Face's files, which Mistral and Qwen share: ``prefix`` is
    as "model.layers.0.self_attn". A layer with ``qk_norm`` also reads ``q_norm`` and ``k_norm``
    (Qwen 3). Biases are copied where the layer has them; Qwen 2's output has none: that is 0 here.
    ``model_type``: as the model's config says it, "llama", "mistral", "qwen2" or "qwen3". Others
    share the names and compute something else: Gemma 3's norms multiply by 1 + weight. With
    ``qk_norm`` it must be given, as nothing in the weights tells Qwen's norms from Gemma's.
    Raises: ValueError for another model_type, a missing name, a shape that differs, or a layer
        whose rotary pairs neighbours, because these weights pair halves:
        ``Rotary(head_dim, interleaved=False)``.
    """
    _check_halves(layer)
    needed = layer.query_norm is not None
    if model_type not in LIKE_LLAMA and (needed or model_type is not None):
        raise ValueError(f"model_type must be one of {', '.join(LIKE_LLAMA)}; got {model_type!r}")
    prefix = _dotted(prefix)
    E, Q, KV, has_bias = layer.embed_dim, layer.query_dim, layer.kv_dim, layer.out_proj.bias
    sizes = {"q_proj": (Q, E), "k_proj": (KV, E), "v_proj": (KV, E), "o_proj": (E, Q)}
    wanted = {f"{prefix}{name}.weight": size for name, size in sizes.items()}
    if has_bias is not None:
        wanted |= {
            f"{prefix}{name}.bias": sizes[name][:1] for name in ("q_proj", "k_proj", "v_proj")
        }
    for name in ("q_norm", "k_norm") if layer.query_norm is not None else ():
        wanted[f"{prefix}{name}.weight"] = (layer.head_dim,)
    _check_state(state, wanted)
    extra = [f"{prefix}{name}.bias" for name in sizes if f"{prefix}{name}.bias" in state]
    if has_bias is None and extra:
        raise ValueError(f"state has {extra[0]!r}, and the layer has bias=False")
    if layer.query_norm is None and f"{prefix}q_norm.weight" in state:
        raise ValueError(f"state has '{prefix}q_norm.weight', and the layer has qk_norm=False")

    def three(part: str) -> Tensor:
        return torch.cat([state[f"{prefix}{name}_proj.{part}"] for name in "qkv"])

    _copy(layer.qkv_proj, three("weight"), None if has_bias is None else three("bias"))
    bias = None
    if has_bias is not None:
        bias = state.get(f"{prefix}o_proj.bias", torch.zeros_like(has_bias))
    _copy(layer.out_proj, state[f"{prefix}o_proj.weight"], bias)
    if layer.query_norm is not None:
        _copy(layer.query_norm, state[f"{prefix}q_norm.weight"], None)
        _copy(layer.key_norm, state[f"{prefix}k_norm.weight"], None)
    return layer


def to_llama(layer: MultiHeadAttention, prefix: str = "") -> dict[str, Tensor]:
    """The layer's weights, copied, under Llama's names: what ``load_llama`` reads."""
    _check_halves(layer)
    prefix, state = _dotted(prefix), {}
    rows = [layer.query_dim, layer.kv_dim, layer.kv_dim]
    for part, tensor in layer.qkv_proj.named_parameters():
        for name, piece in zip("qkv", tensor.split(rows), strict=True):
            state[f"{prefix}{name}_proj.{part}"] = piece.detach().clone()
    modules = {"o_proj": layer.out_proj, "q_norm": layer.query_norm, "k_norm": layer.key_norm}
    for name, module in modules.items():
        for part, tensor in () if module is None else module.named_parameters():
            state[f"{prefix}{name}.{part}"] = tensor.detach().clone()
    return state


def _check_kind(layer: MultiHeadAttention, *more: type[MultiHeadAttention]) -> None:
    """Refuse a layer whose weights mean something else, as LinearAttention's."""
    if type(layer) not in (MultiHeadAttention, CausalMultiHeadAttention, *more):
        kind = type(layer).__name__
        raise TypeError(f"layer must be a MultiHeadAttention, or causal; got {kind}")


def _check_plain(layer: MultiHeadAttention, *more: type[MultiHeadAttention]) -> None:
    _check_kind(layer, *more)
    if layer.num_kv_heads != layer.num_heads:
        heads = f"num_kv_heads={layer.num_kv_heads}, num_heads={layer.num_heads}"
        raise ValueError(f"the other side has a key head for each query head, not {heads}")
    if layer.query_dim != layer.embed_dim:
        sizes = f"head_dim={layer.head_dim} for embed_dim={layer.embed_dim}"
        raise ValueError(f"the other side has head_dim = embed_dim / num_heads, not {sizes}")
    if layer.query_norm is not None:
        raise ValueError("qk_norm=True has no counterpart, only False")
    for name in ("rotary", "scale", "softcap", "sinks"):
        if getattr(layer, name) is not None:
            raise ValueError(f"{name}={getattr(layer, name)} has no counterpart, only None")


def _check_gpt2(layer: MultiHeadAttention) -> None:
    _check_plain(layer)
    if layer.out_proj.bias is None:
        raise ValueError("layer has bias=False, GPT-2's projections have biases")


def _check_halves(layer: MultiHeadAttention) -> None:
    _check_kind(layer)
    if getattr(layer.rotary, "interleaved", False):
        raise ValueError(
            f"Llama's weights pair halves: rotary={layer.rotary} needs interleaved=False"
        )


def _check_state(state: Mapping[str, Tensor], wanted: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in wanted.items():
        if name not in state:
            raise ValueError(f"state has no {name!r}; it has {', '.join(list(state)[:8])}")
        if tuple(state[name].shape) != shape:
            raise ValueError(f"{name} must be {shape}, got {tuple(state[name].shape)}")


def _dotted(prefix: str) -> str:
    return f"{prefix}." if prefix and not prefix.endswith(".") else prefix


def _three(layer: CrossAttention) -> tuple[nn.Linear, ...]:
    return layer.q_proj, layer.k_proj, layer.v_proj


def _joined(layer: MultiHeadAttention, part: str) -> Tensor:
    """Weights or biases of query, key and value in one tensor."""
    if isinstance(layer, CrossAttention):
        return torch.cat([getattr(linear, part) for linear in _three(layer)])
    return getattr(layer.qkv_proj, part)


@torch.no_grad()
def _copy(module: nn.Module, weight: Tensor, bias: Tensor | None) -> None:
    module.weight.copy_(weight)
    if bias is not None:
        module.bias.copy_(bias)
