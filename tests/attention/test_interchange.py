import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention import CausalMultiHeadAttention, MultiHeadAttention, create_padding_mask
from interchange import (
    from_torch,
    load_gpt2,
    load_llama,
    to_gpt2,
    to_llama,
    to_torch,
)
from positions import Rotary
from variants import CrossAttention

from .inputs import NEAR
from .rotation import rotate_half


def torch_layer(**options):
    layer = nn.MultiheadAttention(16, 4, **options).eval()
    if layer.in_proj_bias is not None:  # PyTorch starts them at 0, which would hide a wrong order
        nn.init.normal_(layer.in_proj_bias)
        nn.init.normal_(layer.out_proj.bias)
    return layer


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_torch_both_ways(bias, batch_first, dtype):
    theirs = torch_layer(bias=bias, batch_first=batch_first, dtype=dtype)
    ours = from_torch(theirs)
    back = to_torch(ours, batch_first=batch_first)
    x, context = torch.randn(2, 5, 16, dtype=dtype), torch.randn(2, 7, 16, dtype=dtype)
    may, real = torch.rand(5, 7) > 0.3, create_padding_mask([7, 4])
    may[:, 0] = True
    want, want_weights = ours(x, may & real, True, context=context)
    hiding = {"attn_mask": ~may, "key_padding_mask": ~real[:, 0, 0]}
    for module in (theirs, back):
        order = (lambda t: t) if batch_first else (lambda t: t.transpose(0, 1))
        given = (order(x), order(context), order(context))
        got, weights = module(*given, average_attn_weights=False, **hiding)
        torch.testing.assert_close(order(got), want, **NEAR)
        torch.testing.assert_close(weights, want_weights, **NEAR)
    torch.testing.assert_close(theirs(x[0], x[0], x[0])[0], ours(x[0]), **NEAR)  # without a batch


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("kdim", "vdim"), [(5, 7), (5, None), (None, 7)])
def test_torch_with_widths_of_their_own_both_ways(bias, kdim, vdim):
    theirs = torch_layer(bias=bias, kdim=kdim, vdim=vdim, batch_first=True)
    ours = from_torch(theirs)
    assert isinstance(ours, CrossAttention)
    x, key = torch.randn(2, 3, 16), torch.randn(2, 6, kdim or 16)
    value = torch.randn(2, 6, vdim or 16)
    want = ours(x, context=ours.project_context(key, value))
    for module in (theirs, to_torch(ours)):
        torch.testing.assert_close(module(x, key, value)[0], want, **NEAR)


def test_copies_do_not_share_weights_and_keep_mode_and_dropout():
    theirs = nn.MultiheadAttention(16, 4, dropout=0.3)
    ours = from_torch(theirs)
    assert ours.training
    assert not from_torch(theirs.eval()).training
    assert ours.dropout == to_torch(ours).dropout == 0.3
    with torch.no_grad():
        ours.out_proj.weight.zero_()
    assert theirs.out_proj.weight.abs().max() > 0


def heads_of(projected, count):
    return projected.unflatten(-1, (count, -1)).transpose(1, 2)


def gpt2_attention(state, x, heads):
    """GPT-2's layer as published: x W + b with W (inputs, outputs), a causal mask, c_proj."""
    joined = x @ state["h.attn.c_attn.weight"] + state["h.attn.c_attn.bias"]
    q, k, v = (heads_of(part, heads) for part in joined.split(x.shape[-1], dim=-1))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    return out @ state["h.attn.c_proj.weight"] + state["h.attn.c_proj.bias"]


@pytest.mark.parametrize("prefix", ["h.attn", "h.attn."])
def test_gpt2_projections(prefix):
    shapes = {"c_attn.weight": (16, 48), "c_attn.bias": (48,)}
    shapes |= {"c_proj.weight": (16, 16), "c_proj.bias": (16,)}
    state = {f"h.attn.{name}": torch.randn(shape) for name, shape in shapes.items()}
    layer = load_gpt2(CausalMultiHeadAttention(16, 4, max_seq_len=6), state, prefix)
    x = torch.randn(2, 6, 16)
    torch.testing.assert_close(layer(x), gpt2_attention(state, x, 4), rtol=1e-4, atol=1e-4)
    back = to_gpt2(layer, prefix)
    assert set(back) == set(state)
    assert all(torch.equal(back[name], state[name]) for name in state)
    back["h.attn.c_proj.bias"].zero_()
    assert layer.out_proj.bias.abs().max() > 0


def llama_state(bias=False, norm=False):
    """Weights for an embedding of 16, 4 heads of 6 numbers, and 2 key heads."""
    rows = {"q": 24, "k": 12, "v": 12}
    state = {f"{name}_proj.weight": torch.randn(size, 16) / 4 for name, size in rows.items()}
    state["o_proj.weight"] = torch.randn(16, 24) / 4
    if bias:  # as in Qwen 2: none for the output
        state |= {f"{name}_proj.bias": torch.randn(size) for name, size in rows.items()}
    if norm:
        state |= {f"{name}_norm.weight": torch.rand(6) + 0.5 for name in "qk"}
    return state


def llama_attention(state, x, base):
    """Llama's layer as published: rotate half, each key head repeated, a causal mask."""
    part = {name: tensor.double() for name, tensor in state.items()}
    heads = []
    for name, count in (("q", 4), ("k", 2), ("v", 2)):
        bias = part.get(f"{name}_proj.bias")
        head = heads_of(F.linear(x.double(), part[f"{name}_proj.weight"], bias), count)
        if f"{name}_norm.weight" in part:
            head = head * torch.rsqrt(head.square().mean(-1, keepdim=True) + 1e-6)
            head = head * part[f"{name}_norm.weight"]
        heads.append(rotate_half(head, torch.arange(x.shape[1]), base) if name != "v" else head)
    q, k, v = (torch.repeat_interleave(head, 4 // head.shape[1], 1) for head in heads)
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.transpose(1, 2).flatten(2) @ part["o_proj.weight"].T


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("norm", [False, True])
def test_llama_s_names_both_ways(bias, norm):
    state, prefix = llama_state(bias, norm), "model.layers.0.self_attn"
    rotary = Rotary(6, base=500000.0, interleaved=False)
    options = {"num_kv_heads": 2, "head_dim": 6, "bias": bias, "qk_norm": norm, "rotary": rotary}
    layer = load_llama(
        CausalMultiHeadAttention(16, 4, 9, **options),
        {f"{prefix}.{name}": tensor for name, tensor in state.items()},
        prefix,
        model_type="qwen3" if norm else None,
    )
    x = torch.randn(2, 9, 16)
    want = llama_attention(state, x, 500000.0)
    torch.testing.assert_close(layer(x).double(), want, rtol=1e-4, atol=1e-5)
    back = to_llama(layer, f"{prefix}.")
    assert all(torch.equal(back[f"{prefix}.{name}"], tensor) for name, tensor in state.items())
    assert len(back) - len(state) == bias  # the output's, of zeros


def test_what_models_have_of_their_own():
    """Gemma 3 stores a norm's weight less 1, Phi-3 three projections as one, gpt-oss sinks."""
    state = llama_state(norm=True)
    options = {"num_kv_heads": 2, "head_dim": 6, "bias": False}
    normed = options | {"qk_norm": True, "scale": 0.3}
    less = state | {name: state[name] - 1 for name in ("q_norm.weight", "k_norm.weight")}
    gemma = load_llama(MultiHeadAttention(16, 4, **normed), less, model_type="gemma3_text")
    torch.testing.assert_close(to_llama(gemma), state)

    rest = {name: t for name, t in state.items() if "norm" not in name}
    sinks = rest | {"sinks": torch.randn(4)}
    layer = MultiHeadAttention(16, 4, **options, sinks=True)
    assert_equal(to_llama(load_llama(layer, sinks, model_type="gpt_oss")), sinks)

    joined = torch.cat([rest[f"{name}_proj.weight"] for name in "qkv"])
    fused = {"qkv_proj.weight": joined, "o_proj.weight": rest["o_proj.weight"]}
    layer = MultiHeadAttention(16, 4, **options)
    assert_equal(to_llama(load_llama(layer, fused, model_type="phi3")), rest)


def assert_equal(got, want):
    torch.testing.assert_close(got, want, rtol=0, atol=0)
