"""Weights to and from torch.nn.MultiheadAttention, and under the names of open models."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from attention import CausalMultiHeadAttention, MultiHeadAttention
from positions import Rotary
from variants import CrossAttention, LatentAttention

LIKE_LLAMA = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "gpt_oss")


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
    shapes = {f"{prefix}{name}.weight": size for name, size in sizes.items()}
    shapes |= {f"{prefix}{name}.bias": size[1:] for name, size in sizes.items()}
    _check_state(state, shapes)
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


def layer_like(config: object, index: int = 0) -> CausalMultiHeadAttention | LatentAttention:
    """An untrained layer as a model's config describes its layer ``index``, for a loader to fill.

    ``config``: of Hugging Face's transformers, or an object with its names: ``model_type`` one of
        "gpt2", "deepseek_v3" or ``LIKE_LLAMA``. Sizes, scale, soft cap, sinks, norms and rotary
        angles are its own. If its ``layer_types`` say "sliding_attention", call the layer with
        ``window=config.sliding_window``.
    Raises: ValueError for another model_type, or a scaling that Rotary doesn't know.
    """
    kind = config.model_type
    if kind == "gpt2":
        if config.scale_attn_by_inverse_layer_idx:
            raise ValueError("scale_attn_by_inverse_layer_idx=True has no counterpart, only False")
        return CausalMultiHeadAttention(config.n_embd, config.n_head, config.n_positions)
    if kind == "deepseek_v3":
        return _latent_like(config)
    if kind not in LIKE_LLAMA:
        known = ", ".join(("gpt2", "deepseek_v3", *LIKE_LLAMA))
        raise ValueError(f"model_type must be one of {known}; got {kind!r}")
    heads = config.num_attention_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    scalar = getattr(config, "query_pre_attn_scalar", None)  # Gemma's
    return CausalMultiHeadAttention(
        config.hidden_size,
        heads,
        config.max_position_embeddings,
        num_kv_heads=config.num_key_value_heads,
        head_dim=head_dim,
        bias=kind == "qwen2" or getattr(config, "attention_bias", False),
        qk_norm=kind in ("qwen3", "gemma3_text"),
        norm_eps=getattr(config, "rms_norm_eps", 1e-6),
        rotary=Rotary(head_dim, interleaved=False, scaling=_rope(config, index)),
        scale=None if scalar is None else scalar**-0.5,
        softcap=getattr(config, "attn_logit_softcapping", None),
        sinks=kind == "gpt_oss",
    )


def _rope(config: object, index: int) -> dict[str, object]:
    """The rotary parameters of a layer; older configs have them under other names."""
    rope = dict(getattr(config, "rope_parameters", None) or {})
    if not rope:
        rope = {"rope_theta": getattr(config, "rope_theta", None)}
        rope |= getattr(config, "rope_scaling", None) or {}
    kinds = getattr(config, "layer_types", None)
    if kinds and kinds[index] in rope:  # Gemma 3: one for each kind of layer
        rope = dict(rope[kinds[index]])
    known = {"original_max_position_embeddings": config.max_position_embeddings}
    return known | {"partial_rotary_factor": getattr(config, "partial_rotary_factor", None)} | rope


def _latent_like(config: object) -> LatentAttention:
    """DeepSeek-V3's layer. YaRN's factor scales its scores, not its cosines."""
    rope, size = _rope(config, 0), config.qk_nope_head_dim + config.qk_rope_head_dim
    rope["partial_rotary_factor"] = None  # head_dim of the rotary is the part that is turned
    scale, every = size**-0.5, rope.get("mscale_all_dim")
    if rope.get("rope_type") == "yarn" and every and rope["factor"] > 1:
        scale *= (0.1 * every * math.log(rope["factor"]) + 1.0) ** 2
    interleaved = getattr(config, "rope_interleave", True)
    return LatentAttention(
        config.hidden_size,
        config.num_attention_heads,
        config.kv_lora_rank,
        rotary=Rotary(config.qk_rope_head_dim, interleaved=interleaved, scaling=rope),
        head_dim=config.qk_nope_head_dim,
        value_dim=config.v_head_dim,
        query_latent_dim=config.q_lora_rank,
        norm_eps=1e-6,
        scale=scale,
    )


def load_llama(
    layer: MultiHeadAttention,
    state: Mapping[str, Tensor],
    prefix: str = "",
    *,
    model_type: str | None = None,
) -> MultiHeadAttention:
    """Copy Llama's ``q_proj``, ``k_proj``, ``v_proj`` and ``o_proj`` into ``layer``; return it.

    Names and order are those of Hugging Face's files, which ``LIKE_LLAMA`` share: ``prefix`` is
    as "model.layers.0.self_attn". A layer with ``qk_norm`` also reads ``q_norm`` and ``k_norm``,
    one with ``sinks`` reads ``sinks``. Biases are copied if the layer has them; Qwen 2's output
    has none: that is 0 here. Phi-3's three projections are one, ``qkv_proj``.
    ``model_type``: that of the model's config. Models share names and compute something else:
    Gemma 3's norms multiply by 1 + weight, which becomes the weight here. So with ``qk_norm`` it
    is required. ``layer_like(config)`` makes a layer that fits.
    Raises: ValueError for another model_type, a missing name, a shape that differs, or a layer
        whose options aren't the model's: a rotary that pairs neighbours, because these weights
        pair halves (``Rotary(head_dim, interleaved=False)``), or no scale for Gemma.
    """
    _check_halves(layer)
    needed = layer.query_norm is not None
    if model_type not in LIKE_LLAMA and (needed or model_type is not None):
        raise ValueError(f"model_type must be one of {', '.join(LIKE_LLAMA)}; got {model_type!r}")
    gemma = model_type in ("gemma2", "gemma3_text")
    if gemma and layer.scale is None:
        raise ValueError("Gemma has a scale of its own: scale=query_pre_attn_scalar**-0.5")
    if model_type == "gemma2" and layer.softcap is None:
        raise ValueError("Gemma 2 caps its scores: softcap=attn_logit_softcapping")
    part = _unprefixed(state, _dotted(prefix))
    if model_type == "phi3" and "qkv_proj.weight" in part:
        rows = [layer.query_dim, layer.kv_dim, layer.kv_dim]
        _check_state(part, {"qkv_proj.weight": (sum(rows), layer.embed_dim)})
        pieces = part.pop("qkv_proj.weight").split(rows)
        part |= {f"{n}_proj.weight": piece for n, piece in zip("qkv", pieces, strict=True)}
    _check_llama(layer, part, _dotted(prefix))

    def three(kind: str) -> Tensor:
        return torch.cat([part[f"{name}_proj.{kind}"] for name in "qkv"])

    bias = layer.out_proj.bias
    _copy(layer.qkv_proj, three("weight"), None if bias is None else three("bias"))
    if bias is not None:
        bias = part.get("o_proj.bias", torch.zeros_like(bias))
    _copy(layer.out_proj, part["o_proj.weight"], bias)
    if needed:
        _copy(layer.query_norm, part["q_norm.weight"] + gemma, None)
        _copy(layer.key_norm, part["k_norm.weight"] + gemma, None)
    if layer.sinks is not None:
        with torch.no_grad():
            layer.sinks.copy_(part["sinks"])
    return layer


def _check_llama(layer: MultiHeadAttention, part: Mapping[str, Tensor], prefix: str) -> None:
    """Refuse weights that are missing, don't fit, or would be left over."""
    E, Q, KV = layer.embed_dim, layer.query_dim, layer.kv_dim
    sizes = {"q_proj": (Q, E), "k_proj": (KV, E), "v_proj": (KV, E), "o_proj": (E, Q)}
    shapes = {f"{name}.weight": size for name, size in sizes.items()}
    biases = {f"{name}.bias": size[:1] for name, size in sizes.items()}
    norms = {f"{name}.weight": (layer.head_dim,) for name in ("q_norm", "k_norm")}
    sinks = {"sinks": (layer.num_heads,)}
    for names, option, used in (
        (biases, "bias", layer.out_proj.bias is not None),
        (norms, "qk_norm", layer.query_norm is not None),
        (sinks, "sinks", layer.sinks is not None),
    ):
        extra = [name for name in names if name in part and not used]
        if extra:
            raise ValueError(f"state has '{prefix}{extra[0]}', and the layer has {option}=False")
        shapes |= names if used else {}
    if "o_proj.bias" not in part:
        shapes.pop("o_proj.bias", None)
    _check_state(part, shapes, prefix)


def load_deepseek(
    layer: LatentAttention, state: Mapping[str, Tensor], prefix: str = ""
) -> LatentAttention:
    """Copy DeepSeek-V3's (and V2's) attention into ``layer``, and return it.

    Names are those of Hugging Face's files: ``q_a_proj``, ``q_b_proj`` or ``q_proj``,
    ``kv_a_proj_with_mqa``, ``kv_b_proj``, ``o_proj`` and two norms. ``layer_like(config)`` makes a
    layer that fits.
    Raises: ValueError for a missing name, or a shape that differs from the layer's.
    """
    H, D, Dv, E, C = (
        layer.num_heads,
        layer.head_dim,
        layer.value_dim,
        layer.embed_dim,
        layer.latent_dim,
    )
    R, rank = layer.rotary.head_dim, layer.query_latent_dim
    part = _unprefixed(state, _dotted(prefix))
    queries = {"q_proj.weight": (H * (D + R), E)}
    if rank is not None:
        queries = {"q_a_proj.weight": (rank, E), "q_a_layernorm.weight": (rank,)}
        queries |= {"q_b_proj.weight": (H * (D + R), rank)}
    shapes = {
        "kv_a_proj_with_mqa.weight": (C + R, E),
        "kv_a_layernorm.weight": (C,),
        "kv_b_proj.weight": (H * (D + Dv), C),
        "o_proj.weight": (E, H * Dv),
    }
    _check_state(part, queries | shapes, _dotted(prefix))
    if layer.latent_norm is None:
        raise ValueError("DeepSeek's latents are normed, and the layer has norm_eps=None")
    if rank is not None:
        _copy(layer.query_down, part["q_a_proj.weight"], None)
        _copy(layer.query_norm, part["q_a_layernorm.weight"], None)
    _copy(layer.q_proj, part["q_proj.weight" if rank is None else "q_b_proj.weight"], None)
    _copy(layer.latent_proj, part["kv_a_proj_with_mqa.weight"], None)
    _copy(layer.latent_norm, part["kv_a_layernorm.weight"], None)
    up = part["kv_b_proj.weight"].unflatten(0, (H, D + Dv)).mT  # (H, C, D + Dv)
    with torch.no_grad():
        layer.k_up.copy_(up[..., :D])
        layer.v_up.copy_(up[..., D:])
    _copy(layer.out_proj, part["o_proj.weight"], None)
    return layer


def to_llama(layer: MultiHeadAttention, prefix: str = "") -> dict[str, Tensor]:
    """The layer's weights, copied, under Llama's names: what ``load_llama`` reads."""
    _check_halves(layer)
    prefix, state = _dotted(prefix), {}
    rows = [layer.query_dim, layer.kv_dim, layer.kv_dim]
    for part, tensor in layer.qkv_proj.named_parameters():
        for name, piece in zip("qkv", tensor.split(rows), strict=True):
            state[f"{prefix}{name}_proj.{part}"] = piece.detach().clone()
    if layer.sinks is not None:
        state[f"{prefix}sinks"] = layer.sinks.detach().clone()
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


def _check_state(
    state: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]], prefix: str = ""
) -> None:
    for name, shape in shapes.items():
        if name not in state:
            names = ", ".join(prefix + other for other in list(state)[:8])
            raise ValueError(f"state has no {prefix + name!r}; it has {names}")
        if tuple(state[name].shape) != shape:
            raise ValueError(f"{prefix}{name} must be {shape}, got {tuple(state[name].shape)}")


def _unprefixed(state: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the names below a prefix, without it; all names if none has it."""
    part = {n.removeprefix(prefix): t for n, t in state.items() if n.startswith(prefix)}
    return part or dict(state)


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
