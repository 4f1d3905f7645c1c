import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention import CausalMultiHeadAttention, MultiHeadAttention
from interchange import from_torch, load_gpt2, to_torch
from positions import Rotary


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


def test_gpt2_projections():
    state = gpt2_state()
    layer = load_gpt2(CausalMultiHeadAttention(16, 4, max_seq_len=6), state, "h.attn.")
    x = torch.randn(2, 6, 16)
    torch.testing.assert_close(layer(x), gpt2_attention(state, x, 4), rtol=1e-4, atol=1e-4)


def plain():
    return MultiHeadAttention(16, 4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: from_torch(nn.MultiheadAttention(16, 4, add_bias_kv=True)), "add_bias_kv=True"),
        (lambda: from_torch(nn.MultiheadAttention(16, 4, add_zero_attn=True)), "add_zero_attn"),
        (lambda: to_torch(MultiHeadAttention(16, 4, num_kv_heads=2)), "num_kv_heads=2"),
        (lambda: to_torch(MultiHeadAttention(16, 4, rotary=Rotary(4))), "rotary=Rotary.*None"),
        (lambda: load_gpt2(plain(), {"a": torch.ones(1)}), "no 'c_attn.weight'; it has a"),
        (
            lambda: load_gpt2(plain(), gpt2_state(8), "h.attn."),
            r"c_attn.weight must be \(16, 48\), got \(8, 24\)",
        ),
        (lambda: load_gpt2(MultiHeadAttention(16, 4, bias=False), gpt2_state()), "bias=False"),
    ],
)
def test_errors(call, words):
    with pytest.raises(ValueError, match=words):
        call()
