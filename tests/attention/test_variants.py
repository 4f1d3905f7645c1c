import pytest
import torch
import torch.nn.functional as F

import variants
from attention import KVCache, MultiHeadAttention, create_padding_mask
from caching import RaggedKVCache
from positions import Rotary
from variants import AdditiveAttention, CrossAttention, LatentAttention, LinearAttention

from .inputs import DEVICES


def test_additive_scores_by_hand():
    layer = AdditiveAttention(3, 5, 4).double()
    query, key, value = (torch.randn(s, dtype=torch.float64) for s in [(2, 3), (6, 5), (6, 7)])
    scores = torch.zeros(2, 6, dtype=torch.float64)
    for i in range(2):
        for j in range(6):
            hidden = torch.tanh(
                layer.query_proj.weight @ query[i]
                + layer.query_proj.bias
                + layer.key_proj.weight @ key[j]
            )
            scores[i, j] = layer.score.weight[0] @ hidden
    output, weights = layer(query, key, value)
    torch.testing.assert_close(weights, scores.softmax(-1))
    torch.testing.assert_close(output, scores.softmax(-1) @ value)


def test_additive_attention_keeps_the_mask_contract():
    layer = AdditiveAttention(4, 4, 8)
    x = torch.randn(2, 3, 4, requires_grad=True)
    mask = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
    output, weights = layer(x, x, x, mask)
    assert (weights[:, 1] == 0).all()
    assert (output[:, 1] == 0).all()
    assert (weights[:, 0, 1] == 0).all()
    output.sum().backward()
    assert x.grad.isfinite().all()
    with pytest.raises(TypeError, match="mask must be bool"):
        layer(x, x, x, mask.float())


def linear_by_hand(layer, x, context=None, mask=None, is_causal=False):
    """Each head on its own, quadratic, in float64: weights φ(q)·φ(k) scaled to sum to 1."""
    layer, context = layer.double(), x if context is None else context
    x, context = x.double(), context.double()
    E, D = layer.embed_dim, layer.head_dim
    w, b = layer.qkv_proj.weight, layer.qkv_proj.bias
    heads = []
    for h in range(layer.num_heads):
        rows = [slice(part * E + h * D, part * E + (h + 1) * D) for part in range(3)]
        q, k, v = (
            source @ w[r].T + b[r] for source, r in zip((x, context, context), rows, strict=True)
        )
        weights = (F.elu(q) + 1) @ (F.elu(k) + 1).mT
        weights = weights.tril() if is_causal else weights
        if mask is not None:
            weights = weights * mask[:, 0]
        total = weights.sum(-1, keepdim=True)
        heads.append(torch.where(total > 0, weights / total, 0.0) @ v)
    return layer.out_proj(torch.cat(heads, -1))


@pytest.mark.parametrize("mode", ["self", "cross", "causal", "padded", "causal padded"])
@pytest.mark.parametrize("chunk", [4, 256])
def test_linear_attention_by_hand(monkeypatch, mode, chunk):
    monkeypatch.setattr(variants, "QUERY_CHUNK", chunk)
    layer = LinearAttention(16, 4)
    x = torch.randn(2, 9, 16)
    context = torch.randn(2, 6, 16) if mode == "cross" else None
    mask = create_padding_mask([9, 3]) if "padded" in mode else None
    is_causal = "causal" in mode
    got = layer(x, mask, context=context, is_causal=is_causal)
    want = linear_by_hand(layer, x, context, mask, is_causal)
    torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-6)


def test_linear_heads_are_attended_apart():
    layer = LinearAttention(16, 4).eval()
    x = torch.randn(1, 5, 16)
    one = LinearAttention(16, 1).eval()
    one.load_state_dict(layer.state_dict())
    assert not torch.allclose(layer(x), one(x), atol=1e-4)


@pytest.mark.parametrize("steps", [[1] * 7, [4, 1, 2]], ids=str)
def test_a_running_state_equals_one_pass(steps):
    layer = LinearAttention(16, 4).eval()
    x = torch.randn(2, 7, 16)
    want, final = layer(x, return_state=True, is_causal=True)
    state, outputs = None, []
    for part in x.split(steps, dim=1):
        out, state = layer(part, return_state=True, is_causal=True, state=state)
        outputs.append(out)
    torch.testing.assert_close(torch.cat(outputs, 1), want, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(state, final, rtol=1e-5, atol=1e-5)
    assert state.shape == (2, 4, 4, 5)


def test_a_causal_linear_layer_leaves_the_past_bit_identical():
    layer = LinearAttention(16, 4)
    x = torch.randn(1, 6, 16)
    before = layer(x, is_causal=True)
    x[:, -1] = 5.0
    after = layer(x, is_causal=True)
    assert torch.equal(before[:, :-1], after[:, :-1])
    assert not torch.allclose(before[:, -1], after[:, -1])


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_sequence_of_padding_gives_zero_with_finite_gradients(is_causal):
    layer = LinearAttention(16, 4)
    torch.nn.init.zeros_(layer.out_proj.bias)
    x = torch.randn(2, 5, 16, requires_grad=True)
    out = layer(x, create_padding_mask([5, 0]), is_causal=is_causal)
    assert (out[1] == 0).all()
    out.sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_long_sums_keep_their_digits_in_half_precision(device, dtype):
    layer = LinearAttention(16, 2).to(device).eval()
    x = torch.randn(1, 4000, 16, device=device)
    want = layer(x, is_causal=True)
    got = layer.to(dtype)(x.to(dtype), is_causal=True)
    assert got.dtype == dtype
    torch.testing.assert_close(got.float(), want, rtol=2e-2, atol=2e-2)


def test_autocast_narrows_no_sums():
    layer = LinearAttention(16, 4).bfloat16()
    x = torch.randn(2, 300, 16, dtype=torch.bfloat16)
    for options in ({}, {"is_causal": True}):
        want, sums = layer(x, return_state=True, **options)
        with torch.autocast("cpu", torch.bfloat16):
            got, state = layer(x, return_state=True, **options)
            _, weights = layer(x, None, True, **options)
        assert torch.equal(state, sums)
        assert torch.equal(got, want)
        assert torch.equal(weights, layer(x, None, True, **options)[1])


def test_a_state_of_half_precision_is_widened():
    layer, x = LinearAttention(16, 4), torch.randn(2, 3, 16)
    state = torch.rand(2, 4, 4, 5).half()
    for options in ({}, {"is_causal": True}):
        got = layer(x, state=state, **options)
        torch.testing.assert_close(got, layer(x, state=state.float(), **options))


def test_one_sequence_without_a_batch():
    layer = LinearAttention(16, 4)
    x = torch.randn(5, 16)
    torch.testing.assert_close(layer(x), layer(x[None])[0])


@pytest.mark.parametrize("mode", ["self", "cross", "causal", "padded"])
def test_linear_weights_are_its_parent_s_third_argument(mode):
    layer = LinearAttention(16, 4)
    x = torch.randn(2, 6, 16)
    context = torch.randn(2, 3, 16) if mode == "cross" else None
    mask = create_padding_mask([6, 0]) if mode == "padded" else None
    options = {"context": context, "is_causal": mode == "causal"}
    out, weights = layer(x, mask, True, **options)
    assert weights.shape == (2, 4, 6, 3 if mode == "cross" else 6)
    torch.testing.assert_close(out, layer(x, mask, **options), rtol=1e-5, atol=1e-6)
    total = torch.ones(2, 4, 6)
    if mode == "padded":
        total[1] = 0
    torch.testing.assert_close(weights.sum(-1), total)
    value = layer._project(x, context)[2]
    torch.testing.assert_close(layer._merge(weights @ value, x), out)


def same_weights(cross, plain):
    """Copy a plain layer's weights, of one matrix, into a cross layer's three."""
    with torch.no_grad():
        rows = [plain.query_dim, plain.kv_dim, plain.kv_dim]
        for part in ("weight", "bias"):
            pieces = getattr(plain.qkv_proj, part).split(rows)
            for linear, piece in zip(
                (cross.q_proj, cross.k_proj, cross.v_proj), pieces, strict=True
            ):
                getattr(linear, part).copy_(piece)
    cross.out_proj.load_state_dict(plain.out_proj.state_dict())


@pytest.mark.parametrize(
    "options", [{}, {"num_kv_heads": 2, "head_dim": 6, "qk_norm": True}], ids=str
)
def test_cross_attention_equals_the_plain_layer_s(options):
    plain, cross = MultiHeadAttention(16, 4, **options), CrossAttention(16, 4, **options)
    same_weights(cross, plain)
    x, context = torch.randn(2, 3, 16), torch.randn(2, 5, 16)
    mask = create_padding_mask([5, 2])
    want, want_weights = plain(x, mask, True, context=context)
    once = cross.project_context(context)
    for given in (context, once):
        got, weights = cross(x, mask, True, context=given)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(weights, want_weights)
        torch.testing.assert_close(cross(x, mask, context=given), want)
    torch.testing.assert_close(cross(x[[1, 1]], context=once.reorder([1, 1])),
                               plain(x[[1, 1]], context=context[[1, 1]]))  # fmt: skip


def test_cross_attention_reads_each_width():
    layer = CrossAttention(16, 4, kdim=5, vdim=7).double()
    x, keys, values = (torch.randn(2, n, w).double() for n, w in ((3, 16), (6, 5), (6, 7)))
    got = layer(x, context=layer.project_context(keys, values))
    heads = [m(t).unflatten(-1, (4, 4)).transpose(1, 2) for m, t in (
        (layer.q_proj, x), (layer.k_proj, keys), (layer.v_proj, values))]  # fmt: skip
    want = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
    torch.testing.assert_close(got, layer.out_proj(want))
    assert "kdim=5, vdim=7" in repr(layer)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c(torch.randn(2, 3, 16)), TypeError, "context"),
        (
            lambda c: c(torch.randn(2, 3, 16), context=torch.randn(2, 6, 16)),
            ValueError,
            r"context \(2, 6, 16\) must be \(..., length, kdim=5\)",
        ),
        (
            lambda c: c(torch.randn(2, 3, 16), context=torch.randn(2, 6, 5)),
            ValueError,
            r"context \(2, 6, 5\) must be \(..., length, vdim=7\)",
        ),
        (
            lambda c: c.project_context(torch.randn(2, 6, 5), torch.randn(2, 4, 7)),
            ValueError,
            r"batch or length differs: context \(2, 6, 5\), value \(2, 4, 7\)",
        ),
        (
            lambda c: c(
                torch.randn(3, 3, 16),
                context=c.project_context(torch.randn(2, 6, 5), torch.randn(2, 6, 7)),
            ),
            ValueError,
            r"batch differs: x \(3,\), context \(2,\)",
        ),
    ],
)
def test_errors_of_cross_attention(call, error, words):
    with pytest.raises(error, match=words):
        call(CrossAttention(16, 4, kdim=5, vdim=7))


def latent_by_hand(layer, x, is_causal):
    """Every head's own keys and values, made from the latents, in float64."""
    layer, x = layer.double(), x.double()
    D, R, H = layer.head_dim, layer.rotary.head_dim, layer.num_heads
    latent, shared = layer.latent_proj(x).split([layer.latent_dim, R], -1)
    shared = layer.rotary(shared)
    queries = layer.q_proj(x).unflatten(-1, (H, D + R))
    heads = []
    for h in range(H):
        query = torch.cat([queries[:, :, h, :D], layer.rotary(queries[:, :, h, D:])], -1)
        key = torch.cat([latent @ layer.k_up[h], shared], -1)
        value = latent @ layer.v_up[h]
        heads.append(F.scaled_dot_product_attention(query, key, value, is_causal=is_causal))
    return layer.out_proj(torch.cat(heads, -1))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("latent_dim", [3, 24])
def test_latent_attention_by_hand(device, is_causal, latent_dim):
    layer = LatentAttention(16, 4, latent_dim, rotary=Rotary(6), head_dim=5).to(device)
    x = torch.randn(2, 7, 16, device=device)
    got = layer(x, is_causal=is_causal)
    torch.testing.assert_close(
        got.double(), latent_by_hand(layer, x, is_causal), rtol=1e-5, atol=1e-5
    )
    got.sum().backward()
    assert all(p.grad.abs().max() > 0 for p in layer.parameters())


@pytest.mark.parametrize("steps", [[1] * 7, [4, 1, 2]], ids=str)
@torch.no_grad()
def test_latent_attention_keeps_the_latents_alone(steps):
    layer = LatentAttention(16, 4, 6, rotary=Rotary(4)).eval()
    x = torch.randn(2, 7, 16)
    cache = KVCache(2, 1, 7, 6, value_dim=4)
    got = torch.cat([layer(part, is_causal=True, cache=cache) for part in x.split(steps, 1)], 1)
    torch.testing.assert_close(got, layer(x, is_causal=True), rtol=1e-5, atol=1e-6)
    assert cache.keys[0, 0].numel() + cache.values[0, 0].numel() == 7 * (6 + 4)
    assert torch.equal(cache.keys[0, 0, 0], layer.latent_proj(x)[0, :, :6])
    ragged = RaggedKVCache(2, 1, 7, 6, value_dim=4)
    layer(x[:, :4], is_causal=True, cache=ragged, lengths=[4, 2])
    step = layer(x[:, 4:5], is_causal=True, cache=ragged)
    shorter = torch.cat([x[1:, :2], x[1:, 4:5]], 1)
    torch.testing.assert_close(step[1], layer(shorter, is_causal=True)[0, -1:])


def test_latent_attention_as_deepseek_v3_has_it():
    options = {"value_dim": 3, "query_latent_dim": 7, "norm_eps": 0.1, "scale": 0.4}
    layer = LatentAttention(16, 4, 6, rotary=Rotary(4), head_dim=5, **options).double()
    torch.nn.init.uniform_(layer.latent_norm.weight)
    x = torch.randn(2, 7, 16, dtype=torch.float64)

    def normed(t, norm):
        return t / (t.square().mean(-1, keepdim=True) + 0.1).sqrt() * norm.weight

    query = layer.q_proj(normed(layer.query_down(x), layer.query_norm))
    query, turned = query.unflatten(-1, (4, 9)).transpose(1, 2).split([5, 4], -1)
    latent, shared = layer.latent_proj(x)[:, None].split([6, 4], -1)
    latent = normed(latent, layer.latent_norm)
    key = torch.cat([latent @ layer.k_up, layer.rotary(shared).expand(-1, 4, -1, -1)], -1)
    query = torch.cat([query, layer.rotary(turned)], -1)
    value = latent @ layer.v_up  # (B, H, L, 3)
    want = F.scaled_dot_product_attention(query, key, value, scale=0.4, is_causal=True)
    torch.testing.assert_close(
        layer(x, is_causal=True), layer.out_proj(want.transpose(1, 2).flatten(2))
    )


def test_latent_attention_hides_and_refuses():
    layer = LatentAttention(16, 4, 6, rotary=Rotary(4)).eval()
    x = torch.randn(2, 5, 16)
    out = layer(x, create_padding_mask([5, 3]))
    torch.testing.assert_close(out[1, :3], layer(x[1:, :3])[0], rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"x must be \(B, L, 16\), got \(5, 16\)"):
        layer(x[0])
    with pytest.raises(ValueError, match="latent_dim must be at least 1, got 0"):
        LatentAttention(16, 4, 0, rotary=Rotary(4))
