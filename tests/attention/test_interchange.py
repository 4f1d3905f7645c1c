import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention import CausalMultiHeadAttention, MultiHeadAttention
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

from .rotation import rotate_half


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_torch_both_ways(bias, batch_first, dtype):
    theirs = nn.MultiheadAttention(16, 4, bias=bias, batch_first=batch_first, dtype=dtype).eval()
    if bias:  # PyTorch starts them at 0, which would hide a wrong order
        nn.init.normal_(theirs.in_proj_bias)
        nn.init.normal_(theirs.out_proj.bias)
    ours = from_torch(theirs)
    back = to_torch(ours, batch_first=batch_first)
    x, context = torch.randn(2, 5, 16, dtype=dtype), torch.randn(2, 7, 16, dtype=dtype)
    may = torch.rand(5, 7) > 0.3
    may[:, 0] = True
    want, want_weights = ours(x, may, True, context=context)
    for module in (theirs, back):
        order = (lambda t: t) if batch_first else (lambda t: t.transpose(0, 1))
        got, weights = module(
            order(x), order(context), order(context), attn_mask=~may, average_attn_weights=False
        )
        torch.testing.assert_close(order(got), want, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(weights, want_weights, rtol=1e-5, atol=1e-6)
    assert not ours.training


def test_copies_do_not_share_weights_and_keep_mode_and_dropout():
    theirs = nn.MultiheadAttention(16, 4, dropout=0.3)
    ours = from_torch(theirs)
    assert ours.training
    assert ours.dropout == to_torch(ours).dropout == 0.3
    with torch.no_grad():
        ours.out_proj.weight.zero_()
    assert theirs.out_proj.weight.abs().max() > 0


def gpt2_attention(state, x, heads):
    """GPT-2's layer as published: x W + b with W (inputs, outputs), a causal mask, c_proj."""
    E = x.shape[-1]
    q, k, v = (x @ state["h.attn.c_attn.weight"] + state["h.attn.c_attn.bias"]).split(E, dim=-1)
    q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    return out @ state["h.attn.c_proj.weight"] + state["h.attn.c_proj.bias"]


def gpt2_state(E=16):
    shapes = {"c_attn.weight": (E, 3 * E), "c_attn.bias": (3 * E,)}
    shapes |= {"c_proj.weight": (E, E), "c_proj.bias": (E,)}
    return {f"h.attn.{name}": torch.randn(shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("prefix", ["h.attn", "h.attn."])
def test_gpt2_projections(prefix):
    state = gpt2_state()
    layer = load_gpt2(CausalMultiHeadAttention(16, 4, max_seq_len=6), state, prefix)
    x = torch.randn(2, 6, 16)
    torch.testing.assert_close(layer(x), gpt2_attention(state, x, 4), rtol=1e-4, atol=1e-4)
    back = to_gpt2(layer, prefix)
    assert set(back) == set(state)
    assert all(torch.equal(back[name], state[name]) for name in state)
    back["h.attn.c_proj.bias"].zero_()
    assert layer.out_proj.bias.abs().max() > 0


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("kdim", "vdim"), [(5, 7), (5, None), (None, 7)])
def test_torch_with_widths_of_their_own_both_ways(bias, kdim, vdim):
    theirs = nn.MultiheadAttention(16, 4, bias=bias, kdim=kdim, vdim=vdim, batch_first=True).eval()
    if bias:
        nn.init.normal_(theirs.in_proj_bias)
    ours = from_torch(theirs)
    assert isinstance(ours, CrossAttention)
    x, key, value = (
        torch.randn(2, 3, 16),
        torch.randn(2, 6, kdim or 16),
        torch.randn(2, 6, vdim or 16),
    )
    want = ours(x, context=ours.project_context(key, value))
    for module in (theirs, to_torch(ours)):
        torch.testing.assert_close(module(x, key, value)[0], want, rtol=1e-5, atol=1e-6)


def llama_state(E=16, heads=4, kv_heads=2, D=6, bias=False, norm=False):
    sizes = {
        "q": (heads * D, E),
        "k": (kv_heads * D, E),
        "v": (kv_heads * D, E),
        "o": (E, heads * D),
    }
    state = {f"{name}_proj.weight": torch.randn(size) / 4 for name, size in sizes.items()}
    if bias:  # as in Qwen 2: none for the output
        state |= {f"{name}_proj.bias": torch.randn(sizes[name][0]) for name in "qkv"}
    if norm:
        state |= {f"{name}_norm.weight": torch.rand(D) + 0.5 for name in "qk"}
    return {f"model.layers.0.self_attn.{name}": tensor for name, tensor in state.items()}


def llama_attention(state, x, heads, kv_heads, base):
    """Llama's layer as published: rotate half, each key head repeated, a causal mask."""
    part = {name.rsplit("self_attn.")[1]: tensor.double() for name, tensor in state.items()}
    q, k, v = (
        F.linear(x.double(), part[f"{n}_proj.weight"], part.get(f"{n}_proj.bias"))
        .unflatten(-1, (h, -1))
        .transpose(1, 2)
        for n, h in (("q", heads), ("k", kv_heads), ("v", kv_heads))
    )
    if "q_norm.weight" in part:
        q, k = (
            t * torch.rsqrt(t.square().mean(-1, keepdim=True) + 1e-6) * part[f"{n}_norm.weight"]
            for n, t in (("q", q), ("k", k))
        )
    q, k = (rotate_half(t, torch.arange(x.shape[1]), base) for t in (q, k))
    k, v = (torch.repeat_interleave(t, heads // kv_heads, 1) for t in (k, v))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.transpose(1, 2).flatten(2) @ part["o_proj.weight"].T


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("norm", [False, True])
def test_llama_s_names_both_ways(bias, norm):
    state = llama_state(bias=bias, norm=norm)
    rotary = Rotary(6, base=500000.0, interleaved=False)
    options = {"num_kv_heads": 2, "head_dim": 6, "bias": bias, "qk_norm": norm, "rotary": rotary}
    layer = load_llama(
        CausalMultiHeadAttention(16, 4, 9, **options),
        state,
        "model.layers.0.self_attn",
        model_type="qwen3" if norm else None,
    )
    x = torch.randn(2, 9, 16)
    want = llama_attention(state, x, 4, 2, 500000.0)
    torch.testing.assert_close(layer(x).double(), want, rtol=1e-4, atol=1e-5)
    back = to_llama(layer, "model.layers.0.self_attn.")
    assert all(torch.equal(back[name], state[name]) for name in state)
    assert set(back) - set(state) <= {"model.layers.0.self_attn.o_proj.bias"}


def test_what_models_have_of_their_own():
    """Gemma 3 stores a norm's weight less 1, Phi-3 three projections as one, gpt-oss sinks."""
    state = {name.partition("attn.")[2]: t for name, t in llama_state(norm=True).items()}
    options = {"num_kv_heads": 2, "head_dim": 6, "bias": False}
    normed = options | {"qk_norm": True, "scale": 0.3}
    want = to_llama(load_llama(MultiHeadAttention(16, 4, **normed), state, model_type="qwen3"))
    less = state | {name: state[name] - 1 for name in ("q_norm.weight", "k_norm.weight")}
    gemma = load_llama(MultiHeadAttention(16, 4, **normed), less, model_type="gemma3_text")
    torch.testing.assert_close(to_llama(gemma), want)

    sinks = {"sinks": torch.randn(4)}
    layer = MultiHeadAttention(16, 4, **options, sinks=True)
    rest = {name: t for name, t in state.items() if "norm" not in name}
    back = to_llama(load_llama(layer, rest | sinks, model_type="gpt_oss"))
    assert all(torch.equal(back[name], t) for name, t in (rest | sinks).items())

    joined = torch.cat([rest[f"{name}_proj.weight"] for name in "qkv"])
    fused = {"qkv_proj.weight": joined, "o_proj.weight": rest["o_proj.weight"]}
    phi = load_llama(MultiHeadAttention(16, 4, **options), fused, model_type="phi3")
    assert all(torch.equal(to_llama(phi)[name], t) for name, t in rest.items())
