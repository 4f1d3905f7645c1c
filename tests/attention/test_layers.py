import copy

import numpy as np
import pytest
import torch
from torch import nn

from attention import (
    CausalMultiHeadAttention,
    KVCache,
    MultiHeadAttention,
    create_document_mask,
    create_padding_mask,
    demonstrate_attention,
    demonstrate_causal_attention,
)
from positions import Rotary
from variants import GatedAttention, GatedDeltaNet, LatentAttention, LinearAttention

from .inputs import NEAR, half_precision, on_devices, reference


def by_hand(layer, x, context=None, mask=None, bias=None, **options):
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
            eps = layer.query_norm.eps
            q, k = (t / (t.square().mean(-1, keepdim=True) + eps).sqrt() for t in (q, k))
            q, k = q * layer.query_norm.weight, k * layer.key_norm.weight
        own = {"scale": layer.scale, "softcap": layer.softcap}
        own["sinks"] = None if layer.sinks is None else layer.sinks[h]
        own["bias"] = None if bias is None else bias[h]
        # With a dimension for its one head, which the sink is for.
        out, weight, _ = reference(*(t[:, None] for t in (q, k, v)), mask, **own, **options)
        heads.append(out[:, 0])
        weights.append(weight[:, 0])
    return layer.out_proj(torch.cat(heads, -1)), torch.stack(weights, -3)


LAYERS = {
    "multi-head": {"num_heads": 4},
    "one head": {"num_heads": 1},
    "grouped": {"num_heads": 4, "num_kv_heads": 2},
    "multi-query": {"num_heads": 4, "num_kv_heads": 1},
    "no bias": {"num_heads": 4, "bias": False},
    "wide heads": {"num_heads": 3, "head_dim": 10},
    "normed, grouped, narrow": {"num_heads": 4, "num_kv_heads": 2, "head_dim": 2, "qk_norm": True},
    "scores": {"num_heads": 4, "num_kv_heads": 2, "qk_norm": True, "norm_eps": 0.1}
    | {"scale": 0.6, "softcap": 1.2, "sinks": True},
}
WHO = {
    "everybody": {},
    "causal": {"is_causal": True},
    "context": {"context": torch.randn(4, 7, 16)},
    "causal context": {"context": torch.randn(4, 7, 16), "is_causal": True},
    "window, bias, padding": {"window": 2, "mask": create_padding_mask([5, 3, 0, 4])},
}


def layer_of(options, kind=MultiHeadAttention, **more):
    """A layer whose norms and sinks are not as they begin."""
    layer = kind(16, **options, **more)
    for part in (layer.query_norm, layer.key_norm):
        if part is not None:
            nn.init.uniform_(part.weight, 0.5, 2.0)
    if layer.sinks is not None:
        nn.init.normal_(layer.sinks)
    return layer


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("who", WHO)
def test_matches_the_formula_by_hand(kind, who):
    """A bias for heads is (H, L, S) also where there are as many texts as heads."""
    layer, x, options = layer_of(LAYERS[kind]), torch.randn(4, 5, 16), dict(WHO[who])
    options.setdefault("mask", torch.rand(5, 7 if "context" in options else 5) > 0.2)
    if "bias" in who:
        options["bias"] = torch.randn(layer.num_heads, 5, 5)
    got, weights = layer(x, return_attention=True, **options)
    fused = layer(x, **options)
    fused.square().sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in layer.parameters())
    want, want_weights = by_hand(layer, x, **options)
    for g, w in ((got, want), (fused, want), (weights, want_weights)):
        torch.testing.assert_close(g.double(), w, **NEAR)


@torch.no_grad()
def test_a_causal_layer_is_the_causal_formula_also_with_a_cache():
    layer = layer_of(LAYERS["scores"], CausalMultiHeadAttention, max_seq_len=6)
    x, cache = torch.randn(2, 6, 16), KVCache(2, 2, 6, 4)
    steps = torch.cat([layer(one, cache=cache) for one in x.split([3, 1, 2], 1)], 1)
    mask = create_padding_mask([6, 2])
    masked = [layer(x, mask), layer(x, mask, return_attention=True)[0]]
    outputs = [steps, layer(x), layer(x, return_attention=True)[0]]
    for some, hidden in ((outputs, None), (masked, mask)):
        want, _ = by_hand(layer, x, mask=hidden, is_causal=True)
        for got in some:
            torch.testing.assert_close(got.double(), want, **NEAR)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (2, 1, 3)], ids=str)
def test_any_batch_shape(kind, batch):
    layer, x = layer_of(LAYERS[kind]), torch.randn(*batch, 5, 16)
    out, weights = layer(x, return_attention=True)
    flat, flat_weights = layer(x.reshape(-1, 5, 16), return_attention=True)
    torch.testing.assert_close(out, flat.reshape(x.shape), **NEAR)
    torch.testing.assert_close(layer(x), out, **NEAR)
    shape = (*batch, layer.num_heads, 5, 5)
    torch.testing.assert_close(weights, flat_weights.reshape(shape), **NEAR)


@on_devices
@half_precision
def test_autocast_gives_one_dtype_on_both_paths(device, dtype):
    layer = MultiHeadAttention(32, 4).to(device)
    x = torch.randn(2, 5, 32, device=device)
    with torch.autocast(device, dtype):
        fused, (explicit, _) = layer(x, is_causal=True), layer(x, None, True, is_causal=True)
    assert fused.dtype == explicit.dtype == dtype
    torch.testing.assert_close(fused, explicit, rtol=3e-2, atol=3e-2)
    torch.testing.assert_close(fused.float(), layer(x, is_causal=True), rtol=3e-2, atol=3e-2)


@torch.no_grad()
def test_dropout_applies_once_and_in_training_alone():
    layer = MultiHeadAttention(20, 1, dropout=0.25)
    layer.qkv_proj.weight[40:] = torch.eye(20)  # values and output become the input: one row each
    layer.qkv_proj.bias.zero_()
    layer.out_proj.weight.copy_(torch.eye(20))
    layer.out_proj.bias.zero_()
    x = torch.eye(20).expand(200, 20, 20)
    for out in (layer(x), layer(x, return_attention=True)[0]):
        assert (out == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    latent = LatentAttention(16, 4, 6, rotary=Rotary(4), dropout=0.25)
    for kind, given in ((layer, x), (latent, torch.randn(2, 6, 16))):
        assert not torch.equal(kind(given), kind(given))
        kind.eval()
        assert torch.equal(kind(given), kind(given))


# ---- Jagged and packed batches, positions -------------------------------------------------------


@on_devices
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize(
    "options", [{}, {"rotary": Rotary(4)}, {"rotary": Rotary(4), "softcap": 1.0, "sinks": True}]
)
def test_a_jagged_batch_is_attended_sequence_by_sequence(device, is_causal, window, options):
    layer = MultiHeadAttention(16, 4, num_kv_heads=2, **options).to(device)
    texts = [torch.randn(n, 16, device=device, requires_grad=True) for n in (3, 6, 1)]
    x = torch.nested.as_nested_tensor(texts, layout=torch.jagged)
    out = x + layer(x, is_causal=is_causal, window=window)  # the same raggedness, so they add
    want = [text + layer(text, is_causal=is_causal, window=window) for text in texts]
    got = torch.autograd.grad(out.values().square().sum(), texts)
    wanted = torch.autograd.grad(sum(w.square().sum() for w in want), texts)
    for g, w in zip([*out.unbind(), *got], [*want, *wanted], strict=True):
        torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-5)


def test_a_jagged_view_with_holes_is_attended_too():
    layer, padded = MultiHeadAttention(16, 4), torch.randn(2, 5, 16)
    starts, lengths = torch.tensor([0, 1]), torch.tensor([2, 3])
    x = torch.nested.narrow(padded, 1, starts, lengths, layout=torch.jagged)
    for got, text in zip(layer(x).unbind(), (padded[0, :2], padded[1, 1:4]), strict=True):
        torch.testing.assert_close(got, layer(text))


@pytest.mark.parametrize("return_attention", [False, True])
def test_packed_documents_are_attended_alone_and_padding_sees_nothing(return_attention):
    layer, sizes = CausalMultiHeadAttention(16, 4, 12, rotary=Rotary(4)).eval(), (3, 5, 2, 2)
    x = torch.randn(1, 12, 16)
    mask = create_document_mask(torch.tensor([[0] * 3 + [1] * 5 + [2] * 2 + [-1] * 2]))
    positions = torch.cat([torch.arange(n) for n in sizes])
    out = layer(x, mask, return_attention, position_ids=positions)
    *outputs, padding = (out[0] if return_attention else out).split(sizes, 1)
    for got, text in zip(outputs, x.split(sizes, 1), strict=False):
        torch.testing.assert_close(got, layer(text), **NEAR)
    torch.testing.assert_close(padding, layer.out_proj.bias.expand(1, 2, 16))


# ---- What surrounds the formula -----------------------------------------------------------------


def test_numpy_s_integers_are_taken():
    sizes = np.int64(16), np.int32(4), np.int64(8)
    layer = CausalMultiHeadAttention(*sizes, num_kv_heads=np.int8(2))
    latent = LatentAttention(*map(np.int64, (16, 4, 6)), rotary=Rotary(4))
    sizes = [layer.num_heads, layer.head_dim, layer.max_seq_len]
    sizes += [latent.embed_dim, latent.num_heads, latent.latent_dim, latent.head_dim]
    assert {type(size) for size in sizes} == {int}


MADE = {
    "all options": lambda: CausalMultiHeadAttention(
        16, 4, 8, num_kv_heads=2, head_dim=6, bias=False, qk_norm=True, sinks=True, rotary=Rotary(6)
    ),
    "linear": lambda: LinearAttention(16, 4),
    "latent": lambda: LatentAttention(16, 4, 6, rotary=Rotary(4)),
    "gated delta": lambda: GatedDeltaNet(16, 4),
}


@pytest.mark.parametrize("kind", MADE)
def test_weights_round_trip_without_angles_and_copies_compute_the_same(kind, tmp_path):
    one, other, x = MADE[kind](), MADE[kind](), torch.randn(2, 4, 16)
    for parameter in one.parameters():
        nn.init.normal_(parameter)
    assert "rotary" not in str(one.state_dict().keys())
    assert "num_heads=4" in repr(one)
    torch.save(one.state_dict(), tmp_path / "weights.pt")
    other.load_state_dict(torch.load(tmp_path / "weights.pt"))
    assert torch.equal(other(x), one(x))
    assert torch.equal(copy.deepcopy(one)(x), one(x))


def test_wrapped_projections_are_called():
    """As LoRA and int8 wrap them: what stands in their place has no weight of its own."""
    plain, x, context = MultiHeadAttention(16, 4), torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    wrapped = copy.deepcopy(plain)
    for name in ("qkv_proj", "out_proj"):
        setattr(wrapped, name, nn.Sequential(getattr(wrapped, name)))
    for options in ({}, {"context": context}):
        torch.testing.assert_close(wrapped(x, **options), plain(x, **options))


@pytest.mark.parametrize("kind", [MultiHeadAttention, GatedAttention])
def test_a_layer_is_made_where_it_is_asked_for(kind):
    layer = kind(16, 4, qk_norm=True, sinks=True, device="meta", dtype=torch.bfloat16)
    assert {(p.device.type, p.dtype) for p in layer.parameters()} == {("meta", torch.bfloat16)}


@pytest.mark.parametrize("demonstrate", [demonstrate_attention, demonstrate_causal_attention])
def test_demonstrations_are_short_seeded_and_true(capsys, demonstrate):
    state, shown = torch.random.get_rng_state(), []
    for seq_len in (6, 6, 20, 1):
        demonstrate(seq_len=seq_len)
        shown.append(capsys.readouterr().out.splitlines())
    assert torch.equal(torch.random.get_rng_state(), state)
    assert shown[0] == shown[1]
    assert max(map(len, shown)) <= 10
    rows = [[float(n) for n in line.split()] for line in shown[0] if line[0] == " "]
    assert all(sum(row) == pytest.approx(1, abs=0.03) for row in rows[:6])
    if demonstrate is demonstrate_causal_attention:
        assert rows[0] == [1, 0, 0, 0, 0, 0]
        assert rows[6][:5] == [0] * 5
        assert rows[6][5] > 0
