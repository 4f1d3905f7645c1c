import copy

import numpy as np
import pytest
import torch
from torch import nn

from attention import (
    CausalMultiHeadAttention,
    MultiHeadAttention,
    create_document_mask,
    create_padding_mask,
)
from positions import LearnedRelativeBias, Rotary, alibi_bias
from variants import AdditiveAttention, CrossAttention, LatentAttention, LinearAttention

from .inputs import DEVICES, reference


def by_hand(layer, x, context=None, mask=None, **options):
    """The layer's formula, head by head, in float64, from its weights."""
    layer = layer.double()
    x, context = x.double(), (x if context is None else context).double()
    D, groups = layer.head_dim, layer.num_heads // layer.num_kv_heads
    E = layer.num_heads * D  # rows of the queries
    w, b = layer.qkv_proj.weight, layer.qkv_proj.bias
    b = torch.zeros(w.shape[0], dtype=w.dtype) if b is None else b
    heads, weights = [], []
    for h in range(layer.num_heads):
        rows_q = slice(h * D, (h + 1) * D)
        at_k = E + (h // groups) * D
        at_v = at_k + layer.num_kv_heads * D
        q = x @ w[rows_q].T + b[rows_q]
        k = context @ w[at_k : at_k + D].T + b[at_k : at_k + D]
        v = context @ w[at_v : at_v + D].T + b[at_v : at_v + D]
        if layer.query_norm is not None:
            q = q / (q.square().mean(-1, keepdim=True) + 1e-6).sqrt() * layer.query_norm.weight
            k = k / (k.square().mean(-1, keepdim=True) + 1e-6).sqrt() * layer.key_norm.weight
        out, weight = reference(q, k, v, mask, **options)
        heads.append(out)
        weights.append(weight)
    return layer.out_proj(torch.cat(heads, -1)), torch.stack(weights, -3)


LAYERS = {
    "multi-head": {"num_heads": 4},
    "one head": {"num_heads": 1},
    "grouped": {"num_heads": 4, "num_kv_heads": 2},
    "multi-query": {"num_heads": 4, "num_kv_heads": 1},
    "no bias": {"num_heads": 4, "bias": False},
    "wide heads": {"num_heads": 3, "head_dim": 10},
    "normed, grouped, narrow": {"num_heads": 4, "num_kv_heads": 2, "head_dim": 2, "qk_norm": True},
}


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_matches_the_formula_by_hand(kind, cross, is_causal):
    layer = MultiHeadAttention(16, **LAYERS[kind])
    if layer.query_norm is not None:
        nn.init.uniform_(layer.query_norm.weight, 0.5, 2.0)
        nn.init.uniform_(layer.key_norm.weight, 0.5, 2.0)
    x, context = torch.randn(2, 5, 16), torch.randn(2, 7, 16) if cross else None
    mask = torch.rand(5, 7 if cross else 5) > 0.2
    got, weights = layer(x, mask, True, context=context, is_causal=is_causal)
    fused = layer(x, mask, context=context, is_causal=is_causal)
    want, want_weights = by_hand(layer, x, context, mask, is_causal=is_causal)
    for g, w in ((got, want), (fused, want), (weights, want_weights)):
        torch.testing.assert_close(g.double(), w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (2, 1, 3)], ids=str)
def test_any_batch_shape(kind, batch):
    layer = MultiHeadAttention(16, **LAYERS[kind])
    x = torch.randn(*batch, 5, 16)
    out, weights = layer(x, return_attention=True)
    assert out.shape == x.shape
    assert weights.shape == (*batch, layer.num_heads, 5, 5)
    torch.testing.assert_close(layer(x), out, rtol=1e-5, atol=1e-6)
    if batch:
        one = (0,) * len(batch)
        torch.testing.assert_close(layer(x[one]), out[one], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_gives_one_dtype_on_both_paths(device, dtype):
    layer = MultiHeadAttention(32, 4).to(device)
    x = torch.randn(2, 5, 32, device=device)
    with torch.autocast(device, dtype):
        fused, (explicit, _) = layer(x, is_causal=True), layer(x, None, True, is_causal=True)
    assert fused.dtype == explicit.dtype == dtype
    torch.testing.assert_close(fused, explicit, rtol=3e-2, atol=3e-2)
    torch.testing.assert_close(fused.float(), layer(x, is_causal=True), rtol=3e-2, atol=3e-2)


def test_dropout_applies_in_training_alone():
    layer = MultiHeadAttention(16, 2, dropout=0.5)
    x = torch.randn(2, 6, 16)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))
    torch.testing.assert_close(layer(x), layer(x, return_attention=True)[0])


@pytest.mark.parametrize("return_attention", [False, True])
def test_dropout_is_applied_once(return_attention):
    layer = MultiHeadAttention(20, 1, dropout=0.25)
    with torch.no_grad():  # values and output become the input: one row each
        layer.qkv_proj.weight[40:] = torch.eye(20)
        layer.qkv_proj.bias.zero_()
        layer.out_proj.weight.copy_(torch.eye(20))
        layer.out_proj.bias.zero_()
    x = torch.eye(20).expand(200, 20, 20)
    out = layer(x, None, return_attention)
    out = out[0] if return_attention else out
    assert (out == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("heads", [1, 2, 8])
def test_parameters_do_not_depend_on_heads(heads):
    layer = MultiHeadAttention(64, heads)
    assert sum(p.numel() for p in layer.parameters()) == 16_640
    without_bias = MultiHeadAttention(512, heads, bias=False)
    assert sum(p.numel() for p in without_bias.parameters()) == 1_048_576


def test_a_mask_for_each_sequence():
    layer = MultiHeadAttention(16, 4).eval()
    x = torch.randn(2, 5, 16)
    out = layer(x, create_padding_mask([5, 3]))
    torch.testing.assert_close(out[1, :3], layer(x[1:, :3])[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(out[:1], layer(x[:1]), rtol=1e-5, atol=1e-6)


def test_bias_and_window_reach_both_paths():
    layer = MultiHeadAttention(16, 4).eval()
    x, bias = torch.randn(2, 6, 16), torch.randn(4, 6, 6)
    options = {"bias": bias, "window": 2, "is_causal": True}
    out, weights = layer(x, return_attention=True, **options)
    torch.testing.assert_close(layer(x, **options), out, rtol=1e-5, atol=1e-6)
    assert (weights[..., 5, :4] == 0).all()
    assert not torch.allclose(out, layer(x, window=2, is_causal=True), atol=1e-3)


def test_a_causal_layer_leaves_the_past_bit_identical():
    layer = CausalMultiHeadAttention(16, 4, max_seq_len=8)
    x = torch.randn(2, 6, 16)
    for weights in (False, True):
        before = layer(x, None, weights)
        changed = x.clone()
        changed[:, -1] = 9.0
        after = layer(changed, None, weights)
        before, after = (before[0], after[0]) if weights else (before, after)
        assert torch.equal(before[:, :-1], after[:, :-1])
        assert not torch.allclose(before[:, -1], after[:, -1])


def test_a_causal_layer_combines_its_mask():
    layer = CausalMultiHeadAttention(16, 4, max_seq_len=6)
    x = torch.randn(2, 6, 16)
    mask = create_padding_mask([6, 2])
    out, weights = layer(x, mask, return_attention=True)
    torch.testing.assert_close(layer(x, mask), out, rtol=1e-5, atol=1e-6)
    assert (weights[1, ..., 2:] == 0).all()
    assert (weights.triu(1) == 0).all()


def test_a_layer_learns():
    torch.manual_seed(0)
    layer = CausalMultiHeadAttention(16, 2, max_seq_len=8, rotary=Rotary(8))
    head = nn.Linear(16, 16)
    optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=1e-2)
    x = torch.randn(64, 8, 16)
    target = x.roll(1, dims=1)[:, 1:]  # copy the token before
    losses = []
    for _ in range(150):
        loss = (head(layer(x))[:, 1:] - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


def test_state_dict_and_deepcopy_round_trip():
    layer = CausalMultiHeadAttention(16, 4, 8, num_kv_heads=2, rotary=Rotary(4))
    assert set(layer.state_dict()) == {
        f"{name}.{part}" for name in ("qkv_proj", "out_proj") for part in ("weight", "bias")
    }
    x = torch.randn(1, 5, 16)
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("rotary", [None, Rotary(4)])
def test_a_jagged_batch_is_attended_sequence_by_sequence(device, is_causal, window, rotary):
    layer = MultiHeadAttention(16, 4, num_kv_heads=2, rotary=rotary).to(device)
    texts = [torch.randn(n, 16, device=device, requires_grad=True) for n in (3, 6, 1)]
    x = torch.nested.as_nested_tensor(texts, layout=torch.jagged)
    out = x + layer(x, is_causal=is_causal, window=window)  # the same raggedness, so they add
    want = [text + layer(text, is_causal=is_causal, window=window) for text in texts]
    for g, w in zip(out.unbind(), want, strict=True):
        torch.testing.assert_close(g, w, rtol=1e-5, atol=1e-6)
    got = torch.autograd.grad(out.values().square().sum(), texts)
    for g, w in zip(
        got, torch.autograd.grad(sum(w.square().sum() for w in want), texts), strict=True
    ):
        torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-5)


def test_a_jagged_view_with_holes_is_attended_too():
    layer, padded = MultiHeadAttention(16, 4), torch.randn(2, 5, 16)
    starts, lengths = torch.tensor([0, 1]), torch.tensor([2, 3])
    x = torch.nested.narrow(padded, 1, starts, lengths, layout=torch.jagged)
    for got, text in zip(layer(x).unbind(), (padded[0, :2], padded[1, 1:4]), strict=True):
        torch.testing.assert_close(got, layer(text))


def test_a_jagged_batch_keeps_to_max_seq_len():
    x = torch.nested.nested_tensor([torch.randn(3, 16), torch.randn(7, 16)], layout=torch.jagged)
    assert CausalMultiHeadAttention(16, 4, 7)(x).shape[2] == 16
    with pytest.raises(ValueError, match="sequence of 7 exceeds max_seq_len=6"):
        CausalMultiHeadAttention(16, 4, 6)(x)


@pytest.mark.parametrize("return_attention", [False, True])
def test_packed_documents_do_not_leak(return_attention):
    layer = CausalMultiHeadAttention(16, 4, 12, rotary=Rotary(4)).eval()
    texts = [torch.randn(n, 16) for n in (3, 5, 2)]
    packed = torch.cat([*texts, torch.randn(2, 16)])[None]  # two of padding
    documents = torch.tensor([[0] * 3 + [1] * 5 + [2] * 2 + [-1] * 2])
    positions = torch.cat([torch.arange(n) for n in (3, 5, 2, 2)])
    mask = create_document_mask(documents)
    out = layer(packed, mask, return_attention, position_ids=positions)
    out = out[0] if return_attention else out
    for got, text in zip(out[0].split([3, 5, 2, 2]), texts, strict=False):
        torch.testing.assert_close(got, layer(text), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(out[0, 10:], layer.out_proj.bias.expand(2, 16))
    changed = packed.clone()
    changed[0, 3:8] = 7.0
    after = layer(changed, mask, position_ids=positions)
    before = layer(packed, mask, position_ids=positions)
    same = [*range(3), *range(8, 12)]
    assert torch.equal(before[0, same], after[0, same])


def test_position_ids_replace_the_count():
    layer = MultiHeadAttention(16, 4, rotary=Rotary(4))
    x = torch.randn(2, 5, 16)
    torch.testing.assert_close(layer(x, position_ids=torch.arange(5)), layer(x))
    rows = torch.stack([torch.arange(5), torch.tensor([0, 2, 4, 6, 8])])
    out = layer(x, position_ids=rows)
    torch.testing.assert_close(out[0], layer(x)[0])
    assert not torch.allclose(out[1], layer(x)[1], atol=1e-3)


def test_numpy_s_integers_are_taken():
    layer = CausalMultiHeadAttention(
        np.int64(16), np.int32(4), np.int64(8), num_kv_heads=np.int8(2)
    )
    assert type(layer.num_heads) is type(layer.head_dim) is type(layer.max_seq_len) is int
    assert layer(torch.randn(1, 3, 16)).shape == (1, 3, 16)
    latent = LatentAttention(*map(np.int64, (16, 4, 6)), rotary=Rotary(4))
    sizes = (latent.embed_dim, latent.num_heads, latent.latent_dim, latent.head_dim)
    assert {type(size) for size in sizes} == {int}


def test_a_layer_says_what_it_is():
    said = repr(CausalMultiHeadAttention(16, 4, 8, dropout=0.1, num_kv_heads=2))
    assert "16, num_heads=4, num_kv_heads=2, head_dim=4, dropout=0.1, max_seq_len=8" in said


MADE = {
    "multi-head": lambda: MultiHeadAttention(16, 4),
    "all options": lambda: CausalMultiHeadAttention(
        16, 4, 8, num_kv_heads=2, head_dim=6, bias=False, qk_norm=True, rotary=Rotary(6)
    ),
    "linear": lambda: LinearAttention(16, 4),
    "additive": lambda: AdditiveAttention(3, 5, 4),
    "cross": lambda: CrossAttention(16, 4, kdim=5, vdim=7, qk_norm=True),
    "latent": lambda: LatentAttention(16, 4, 6, rotary=Rotary(4)),
    "relative": lambda: LearnedRelativeBias(4, 3),
}


@pytest.mark.parametrize("kind", MADE)
def test_every_layer_s_weights_round_trip(kind, tmp_path):
    one, other = MADE[kind](), MADE[kind]()
    with torch.no_grad():
        for parameter in one.parameters():
            nn.init.normal_(parameter)
    torch.save(one.state_dict(), tmp_path / "weights.pt")
    assert other.load_state_dict(torch.load(tmp_path / "weights.pt")).missing_keys == []
    x = torch.randn(2, 4, 16)
    inputs = {
        "additive": (torch.randn(4, 3), torch.randn(6, 5), torch.randn(6, 2)),
        "relative": (4,),
    }.get(kind, (x,))
    context = {"context": torch.randn(2, 3, 5)} if kind == "cross" else {}
    if kind == "cross":
        context["context"] = one.project_context(context["context"], torch.randn(2, 3, 7))
    for got, want in zip(one(*inputs, **context), other(*inputs, **context), strict=True):
        assert torch.equal(got, want)


@pytest.mark.parametrize("batch", [1, 4, 8])
@pytest.mark.parametrize("return_attention", [False, True])
def test_a_bias_for_heads_means_the_same_at_every_batch_size(batch, return_attention):
    layer, bias = MultiHeadAttention(16, 4), alibi_bias(4, 5)
    x = torch.randn(batch, 5, 16)
    got = layer(x, bias=bias, return_attention=return_attention)
    got = got[0] if return_attention else got
    torch.testing.assert_close(got, layer(x, bias=bias[None]))
    one_by_one = torch.cat([layer(row[None], bias=bias) for row in x])
    torch.testing.assert_close(got, one_by_one)


class LowRank(nn.Module):
    """A linear layer and a small change to it, as LoRA wraps one; it has no weight of its own."""

    def __init__(self, linear):
        super().__init__()
        self.linear = linear
        self.change = nn.Linear(linear.in_features, linear.out_features, bias=False)

    def forward(self, x):
        return self.linear(x) + self.change(x)


@pytest.mark.parametrize("cross", [False, True])
def test_wrapped_projections_are_called(cross):
    wrapped, merged = (MultiHeadAttention(16, 4, num_kv_heads=2) for _ in range(2))
    merged.load_state_dict(wrapped.state_dict())
    for name in ("qkv_proj", "out_proj"):
        setattr(wrapped, name, LowRank(getattr(wrapped, name)))
        with torch.no_grad():
            getattr(merged, name).weight += getattr(wrapped, name).change.weight
    x = torch.randn(2, 5, 16)
    context = torch.randn(2, 7, 16) if cross else None
    torch.testing.assert_close(wrapped(x, context=context), merged(x, context=context))


def test_a_layer_is_made_where_it_is_asked_for():
    layer = CausalMultiHeadAttention(16, 4, 9, qk_norm=True, device="meta", dtype=torch.bfloat16)
    assert {(p.device.type, p.dtype) for p in layer.parameters()} == {("meta", torch.bfloat16)}
