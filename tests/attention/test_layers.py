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
from positions import LearnedRelativeBias, Rotary, alibi_bias
from variants import AdditiveAttention, CrossAttention, LatentAttention, LinearAttention

from .inputs import DEVICES, reference

NEAR = {"rtol": 1e-5, "atol": 1e-6}


def by_hand(layer, x, context=None, mask=None, *, norm_eps=1e-6, **options):
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
            q, k = (t / (t.square().mean(-1, keepdim=True) + norm_eps).sqrt() for t in (q, k))
            q, k = q * layer.query_norm.weight, k * layer.key_norm.weight
        sinks = {} if layer.sinks is None else {"sinks": layer.sinks[h]}
        own = {"scale": layer.scale, "softcap": layer.softcap, **sinks}
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


def layer_of(kind):
    """A layer whose norms and sinks are not as they begin."""
    layer = MultiHeadAttention(16, **LAYERS[kind])
    for part in (layer.query_norm, layer.key_norm):
        if part is not None:
            nn.init.uniform_(part.weight, 0.5, 2.0)
    if layer.sinks is not None:
        nn.init.normal_(layer.sinks)
    return layer


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_matches_the_formula_by_hand(kind, cross, is_causal):
    layer = layer_of(kind)
    x, context = torch.randn(2, 5, 16), torch.randn(2, 7, 16) if cross else None
    mask = torch.rand(5, 7 if cross else 5) > 0.2
    got, weights = layer(x, mask, True, context=context, is_causal=is_causal)
    fused = layer(x, mask, context=context, is_causal=is_causal)
    fused.square().sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in layer.parameters())
    norm_eps = LAYERS[kind].get("norm_eps", 1e-6)
    options = {"norm_eps": norm_eps, "is_causal": is_causal}
    want, want_weights = by_hand(layer, x, context, mask, **options)
    for g, w in ((got, want), (fused, want), (weights, want_weights)):
        torch.testing.assert_close(g.double(), w, **NEAR)


@torch.no_grad()
def test_a_causal_layer_is_the_causal_formula_also_with_a_cache():
    options = LAYERS["scores"] | {"num_heads": 4}
    layer = CausalMultiHeadAttention(16, max_seq_len=6, **options)
    nn.init.normal_(layer.sinks)
    x, cache = torch.randn(2, 6, 16), KVCache(2, 2, 6, 4)
    steps = torch.cat([layer(one, cache=cache) for one in x.split([3, 1, 2], 1)], 1)
    outputs = [steps, layer(x), layer(x, return_attention=True)[0]]
    want, _ = by_hand(layer, x, norm_eps=0.1, is_causal=True)
    for got in outputs:
        torch.testing.assert_close(got.double(), want, **NEAR)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (2, 1, 3)], ids=str)
def test_any_batch_shape(kind, batch):
    layer, x = layer_of(kind), torch.randn(*batch, 5, 16)
    out, weights = layer(x, return_attention=True)
    assert out.shape == x.shape
    assert weights.shape == (*batch, layer.num_heads, 5, 5)
    torch.testing.assert_close(layer(x), out, **NEAR)
    if batch:
        one = (0,) * len(batch)
        torch.testing.assert_close(layer(x[one]), out[one], **NEAR)


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
    layer, x = MultiHeadAttention(16, 2, dropout=0.5), torch.randn(2, 6, 16)
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


def test_mask_bias_and_window_reach_both_paths():
    layer, x = MultiHeadAttention(16, 4), torch.randn(2, 6, 16)
    mask, bias = create_padding_mask([6, 3]), torch.randn(4, 6, 6)
    options = {"mask": mask, "bias": bias, "window": 2, "is_causal": True}
    out, weights = layer(x, return_attention=True, **options)
    torch.testing.assert_close(layer(x, **options), out, **NEAR)
    assert (weights[..., 5, :4] == 0).all()
    assert (weights[1, ..., 3:] == 0).all()
    assert not torch.allclose(out, layer(x, mask, window=2, is_causal=True), atol=1e-3)
    padded = layer(x, mask)  # each sequence as it would be alone
    torch.testing.assert_close(padded[1, :3], layer(x[1:, :3])[0], **NEAR)
    torch.testing.assert_close(padded[:1], layer(x[:1]), **NEAR)


@pytest.mark.parametrize("return_attention", [False, True])
def test_a_causal_layer_leaves_the_past_bit_identical_and_combines_its_mask(return_attention):
    def call(x, mask=None):
        out = layer(x, mask, return_attention)
        return out[0] if return_attention else out

    layer, x = CausalMultiHeadAttention(16, 4, max_seq_len=8), torch.randn(2, 6, 16)
    before, changed = call(x), x.clone()
    changed[:, -1] = 9.0
    after = call(changed)
    assert torch.equal(before[:, :-1], after[:, :-1])
    assert not torch.allclose(before[:, -1], after[:, -1])
    mask = create_padding_mask([6, 2])
    out, weights = layer(x, mask, return_attention=True)
    torch.testing.assert_close(call(x, mask), out, **NEAR)
    assert (weights[1, ..., 2:] == 0).all()
    assert (weights.triu(1) == 0).all()


def test_a_layer_learns():
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


# ---- Jagged and packed batches, positions -------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
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
    for g, w in zip(out.unbind(), want, strict=True):
        torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-5)
    got = torch.autograd.grad(out.values().square().sum(), texts)
    wanted = torch.autograd.grad(sum(w.square().sum() for w in want), texts)
    for g, w in zip(got, wanted, strict=True):
        torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-5)


def test_a_jagged_view_with_holes_is_attended_too():
    layer, padded = MultiHeadAttention(16, 4), torch.randn(2, 5, 16)
    starts, lengths = torch.tensor([0, 1]), torch.tensor([2, 3])
    x = torch.nested.narrow(padded, 1, starts, lengths, layout=torch.jagged)
    for got, text in zip(layer(x).unbind(), (padded[0, :2], padded[1, 1:4]), strict=True):
        torch.testing.assert_close(got, layer(text))


@pytest.mark.parametrize("return_attention", [False, True])
def test_packed_documents_do_not_leak(return_attention):
    layer = CausalMultiHeadAttention(16, 4, 12, rotary=Rotary(4)).eval()
    texts = [torch.randn(n, 16) for n in (3, 5, 2)]
    packed = torch.cat([*texts, torch.randn(2, 16)])[None]  # two of padding
    documents = torch.tensor([[0] * 3 + [1] * 5 + [2] * 2 + [-1] * 2])
    positions = torch.cat([torch.arange(n) for n in (3, 5, 2, 2)])

    def call(x):
        mask = create_document_mask(documents)
        out = layer(x, mask, return_attention, position_ids=positions)
        return out[0][0] if return_attention else out[0]

    out, changed = call(packed), packed.clone()
    for got, text in zip(out.split([3, 5, 2, 2]), texts, strict=False):
        torch.testing.assert_close(got, layer(text), **NEAR)
    torch.testing.assert_close(out[10:], layer.out_proj.bias.expand(2, 16))
    changed[0, 3:8] = 7.0
    same = [*range(3), *range(8, 12)]
    assert torch.equal(out[same], call(changed)[same])


def test_position_ids_replace_the_count():
    layer, x = MultiHeadAttention(16, 4, rotary=Rotary(4)), torch.randn(2, 5, 16)
    torch.testing.assert_close(layer(x, position_ids=torch.arange(5)), layer(x))
    rows = torch.stack([torch.arange(5), torch.tensor([0, 2, 4, 6, 8])])
    out = layer(x, position_ids=rows)
    torch.testing.assert_close(out[0], layer(x)[0])
    assert not torch.allclose(out[1], layer(x)[1], atol=1e-3)


@pytest.mark.parametrize("batch", [1, 4, 8])
@pytest.mark.parametrize("return_attention", [False, True])
def test_a_bias_for_heads_means_the_same_at_every_batch_size(batch, return_attention):
    layer, bias = MultiHeadAttention(16, 4), alibi_bias(4, 5)
    x = torch.randn(batch, 5, 16)
    got = layer(x, bias=bias, return_attention=return_attention)
    got = got[0] if return_attention else got
    torch.testing.assert_close(got, layer(x, bias=bias[None]))
    torch.testing.assert_close(got, torch.cat([layer(row[None], bias=bias) for row in x]))


# ---- What surrounds the formula -----------------------------------------------------------------


def test_numpy_s_integers_are_taken():
    sizes = np.int64(16), np.int32(4), np.int64(8)
    layer = CausalMultiHeadAttention(*sizes, num_kv_heads=np.int8(2))
    assert type(layer.num_heads) is type(layer.head_dim) is type(layer.max_seq_len) is int
    assert layer(torch.randn(1, 3, 16)).shape == (1, 3, 16)
    latent = LatentAttention(*map(np.int64, (16, 4, 6)), rotary=Rotary(4))
    sizes = (latent.embed_dim, latent.num_heads, latent.latent_dim, latent.head_dim)
    assert {type(size) for size in sizes} == {int}


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
def test_every_layer_s_weights_round_trip_and_copies_compute_the_same(kind, tmp_path):
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
    context = {}
    if kind == "cross":
        context["context"] = one.project_context(torch.randn(2, 3, 5), torch.randn(2, 3, 7))
    for again in (other, copy.deepcopy(one)):
        for got, want in zip(one(*inputs, **context), again(*inputs, **context), strict=True):
            assert torch.equal(got, want)


def test_angles_are_no_weights():
    layer = CausalMultiHeadAttention(16, 4, 8, num_kv_heads=2, rotary=Rotary(4))
    parts = {f"{name}.{part}" for name in ("qkv_proj", "out_proj") for part in ("weight", "bias")}
    assert set(layer.state_dict()) == parts


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
    x, context = torch.randn(2, 5, 16), torch.randn(2, 7, 16) if cross else None
    torch.testing.assert_close(wrapped(x, context=context), merged(x, context=context))


def test_a_layer_is_made_where_it_is_asked_for():
    layer = CausalMultiHeadAttention(16, 4, 9, qk_norm=True, device="meta", dtype=torch.bfloat16)
    assert {(p.device.type, p.dtype) for p in layer.parameters()} == {("meta", torch.bfloat16)}
    for part in ("num_heads=4", "head_dim=4", "max_seq_len=9"):
        assert part in repr(layer)


@pytest.mark.parametrize("seq_len", [1, 6, 20])
@pytest.mark.parametrize("demonstrate", [demonstrate_attention, demonstrate_causal_attention])
def test_demonstrations_are_short_seeded_and_true(capsys, demonstrate, seq_len):
    state = torch.random.get_rng_state()
    demonstrate(seq_len=seq_len)
    first = capsys.readouterr().out
    assert torch.equal(torch.random.get_rng_state(), state)
    demonstrate(seq_len=seq_len, embed_dim=32, num_heads=4)
    assert capsys.readouterr().out == first
    lines = first.splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 100
    rows = [[float(n) for n in line.split()] for line in lines if line.startswith("  ")]
    if seq_len == 6:
        assert all(sum(row) == pytest.approx(1, abs=0.03) for row in rows[:6])
        if demonstrate is demonstrate_causal_attention:
            assert rows[0] == [1, 0, 0, 0, 0, 0]
            assert rows[6][:5] == [0] * 5
            assert rows[6][5] > 0
        else:
            assert "(1, 6, 32) in, weights (1, 4, 6, 6), (1, 6, 32) out" in lines[0]
