import pytest
import torch
import torch.nn.functional as F

import variants
from attention import KVCache, MultiHeadAttention, create_padding_mask
from caching import RaggedKVCache
from positions import Rotary
from variants import AdditiveAttention, CrossAttention, LatentAttention, LinearAttention

from .inputs import NEAR, half_precision, on_devices


def test_additive_scores_by_hand_under_the_mask_contract():
    layer = AdditiveAttention(3, 5, 4).double()
    query, key, value = (torch.randn(s, dtype=torch.float64) for s in [(3, 3), (6, 5), (6, 7)])
    query.requires_grad_()
    mask = torch.tensor([[True] * 6, [True, False] * 3, [False] * 6])
    scores = torch.full((3, 6), -torch.inf, dtype=torch.float64)
    for i, j in mask.nonzero():
        query_part = layer.query_proj.weight @ query[i] + layer.query_proj.bias
        hidden = torch.tanh(query_part + layer.key_proj.weight @ key[j])
        scores[i, j] = layer.score.weight[0] @ hidden
    want = scores.softmax(-1).nan_to_num()  # the last query sees nothing
    output, weights = layer(query, key, value, mask)
    torch.testing.assert_close(weights, want)
    torch.testing.assert_close(output, want @ value)
    torch.testing.assert_close(layer(query, key, value)[1][:1], want[:1])
    output.sum().backward()
    assert query.grad.isfinite().all()


# ---- Linear attention ---------------------------------------------------------------------------


def linear_by_hand(layer, x, context=None, mask=None, is_causal=False):
    """Each head on its own, quadratic, in float64: weights φ(q)·φ(k) scaled to sum to 1."""
    layer, context = layer.double(), x if context is None else context
    x, context = x.double(), context.double()
    E, D = layer.embed_dim, layer.head_dim
    w, b = layer.qkv_proj.weight, layer.qkv_proj.bias
    outputs, shares = [], []
    for h in range(layer.num_heads):
        rows = [slice(part * E + h * D, part * E + (h + 1) * D) for part in range(3)]
        sources = zip((x, context, context), rows, strict=True)
        q, k, v = (source @ w[r].T + b[r] for source, r in sources)
        weights = (F.elu(q) + 1) @ (F.elu(k) + 1).mT
        weights = weights.tril() if is_causal else weights
        if mask is not None:
            weights = weights * mask[:, 0]
        total = weights.sum(-1, keepdim=True)
        shares.append(torch.where(total > 0, weights / total, 0.0))
        outputs.append(shares[-1] @ v)
    return layer.out_proj(torch.cat(outputs, -1)), torch.stack(shares, 1)


@pytest.mark.parametrize("mode", ["self", "cross", "causal", "padded", "causal padded"])
@pytest.mark.parametrize("chunk", [4, 256])
def test_linear_attention_by_hand(monkeypatch, mode, chunk):
    monkeypatch.setattr(variants, "QUERY_CHUNK", chunk)
    layer = LinearAttention(16, 4)
    x = torch.randn(3, 9, 16, requires_grad=True)
    context = torch.randn(3, 6, 16) if mode == "cross" else None
    mask = create_padding_mask([9, 3, 0]) if "padded" in mode else None
    options = {"context": context, "is_causal": "causal" in mode}
    got = layer(x, mask, **options)
    assert torch.autograd.grad(got.sum(), x)[0].isfinite().all()
    explicit, weights = layer(x, mask, True, **options)
    one = layer(x[0], None if mask is None else mask[0], **options) if mode != "cross" else got[0]
    want, wanted_weights = linear_by_hand(layer, x, mask=mask, **options)
    for have, wanted in ((got, want), (explicit, want), (weights, wanted_weights), (one, want[0])):
        torch.testing.assert_close(have.double(), wanted, **NEAR)


@pytest.mark.parametrize("steps", [[1] * 7, [4, 1, 2]], ids=str)
def test_a_running_state_equals_one_pass(steps):
    layer, x = LinearAttention(16, 4), torch.randn(2, 7, 16)
    want, final = layer(x, return_state=True, is_causal=True)
    state, outputs = None, []
    for part in x.split(steps, dim=1):
        out, state = layer(part, return_state=True, is_causal=True, state=state)
        outputs.append(out)
    torch.testing.assert_close(torch.cat(outputs, 1), want, **NEAR)
    torch.testing.assert_close(state, final, rtol=1e-5, atol=1e-5)


@on_devices
@half_precision
def test_long_sums_keep_their_digits_in_half_precision(device, dtype):
    layer = LinearAttention(16, 2).to(device).eval()
    x = torch.randn(1, 4000, 16, device=device)
    want = layer(x, is_causal=True)
    got = layer.to(dtype)(x.to(dtype), is_causal=True)
    assert got.dtype == dtype
    torch.testing.assert_close(got.float(), want, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("is_causal", [False, True])
def test_autocast_narrows_no_sums(is_causal):
    layer, options = LinearAttention(16, 4).bfloat16(), {"is_causal": is_causal}
    x = torch.randn(2, 300, 16, dtype=torch.bfloat16)
    want = (*layer(x, return_state=True, **options), *layer(x, None, True, **options))
    with torch.autocast("cpu", torch.bfloat16):
        got = (*layer(x, return_state=True, **options), *layer(x, None, True, **options))
    for g, w in zip(got, want, strict=True):
        assert torch.equal(g, w)
    layer, x, state = layer.float(), x.float()[:, :3], torch.rand(2, 4, 4, 5).half()
    wide = layer(x, state=state.float(), **options)
    torch.testing.assert_close(layer(x, state=state, **options), wide)


# ---- Cross-attention ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"num_kv_heads": 2, "head_dim": 6, "qk_norm": True}], ids=str
)
def test_cross_attention_equals_the_plain_layer_s(options):
    plain, cross = MultiHeadAttention(16, 4, **options), CrossAttention(16, 4, **options)
    state, rows = plain.state_dict(), [plain.query_dim, plain.kv_dim, plain.kv_dim]
    for part in ("weight", "bias"):
        pieces = state.pop(f"qkv_proj.{part}").split(rows)
        state |= {f"{n}_proj.{part}": piece for n, piece in zip("qkv", pieces, strict=True)}
    cross.load_state_dict(state)
    assert "kdim=16, vdim=16" in repr(cross)
    x, context = torch.randn(2, 3, 16), torch.randn(2, 5, 16)
    mask = create_padding_mask([5, 2])
    want, want_weights = plain(x, mask, True, context=context)
    once = cross.project_context(context)
    for given in (context, once):
        got, weights = cross(x, mask, True, context=given)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(weights, want_weights)
        torch.testing.assert_close(cross(x, mask, context=given), want)
    got = cross(x[[1, 1]], context=once.reorder([1, 1]))
    torch.testing.assert_close(got, plain(x[[1, 1]], context=context[[1, 1]]))


# ---- Latent attention ---------------------------------------------------------------------------


def latent_by_hand(layer, x, is_causal):
    """Every head's own keys and values, made from the latents, in float64."""
    layer, x = layer.double(), x.double()
    D, R, H = layer.head_dim, layer.rotary.head_dim, layer.num_heads

    def normed(t, norm):
        if norm is None:
            return t
        return t / (t.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight

    latent, shared = layer.latent_proj(x).split([layer.latent_dim, R], -1)
    latent, shared = normed(latent, layer.latent_norm), layer.rotary(shared)
    source = x if layer.query_down is None else normed(layer.query_down(x), layer.query_norm)
    queries = layer.q_proj(source).unflatten(-1, (H, D + R))
    heads = []
    for h in range(H):
        query = torch.cat([queries[:, :, h, :D], layer.rotary(queries[:, :, h, D:])], -1)
        key = torch.cat([latent @ layer.k_up[h], shared], -1)
        scores = query @ key.mT * layer.scale
        if is_causal:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, -torch.inf)
        heads.append(scores.softmax(-1) @ (latent @ layer.v_up[h]))
    return layer.out_proj(torch.cat(heads, -1))


LATENTS = {
    "plain": {"latent_dim": 3},
    "wide": {"latent_dim": 24},
    # As DeepSeek-V3 has it.
    "normed, queries too": {"latent_dim": 6, "value_dim": 3, "query_latent_dim": 7}
    | {"norm_eps": 0.1, "scale": 0.4},
}


@on_devices
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kind", LATENTS)
def test_latent_attention_by_hand(device, is_causal, kind):
    layer = LatentAttention(16, 4, rotary=Rotary(6), head_dim=5, **LATENTS[kind]).to(device)
    if layer.latent_norm is not None:
        torch.nn.init.uniform_(layer.latent_norm.weight, 0.5, 2.0)
    assert layer.scale == LATENTS[kind].get("scale", 11**-0.5)
    x = torch.randn(2, 7, 16, device=device)
    got = layer(x, is_causal=is_causal)
    got.sum().backward()
    assert all(p.grad.abs().max() > 0 for p in layer.parameters())
    want = latent_by_hand(layer, x, is_causal)
    torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("steps", [[1] * 7, [4, 1, 2]], ids=str)
@torch.no_grad()
def test_latent_attention_keeps_the_latents_alone_and_hides_padding(steps):
    layer = LatentAttention(16, 4, 6, rotary=Rotary(4)).eval()
    x = torch.randn(2, 7, 16)
    cache = KVCache(2, 1, 7, 6, value_dim=4)
    got = torch.cat([layer(part, is_causal=True, cache=cache) for part in x.split(steps, 1)], 1)
    torch.testing.assert_close(got, layer(x, is_causal=True), **NEAR)
    assert torch.equal(cache.keys[0, 0, 0], layer.latent_proj(x)[0, :, :6])
    ragged = RaggedKVCache(2, 1, 7, 6, value_dim=4)
    layer(x[:, :4], is_causal=True, cache=ragged, lengths=[4, 2])
    step = layer(x[:, 4:5], is_causal=True, cache=ragged)
    shorter = torch.cat([x[1:, :2], x[1:, 4:5]], 1)
    torch.testing.assert_close(step[1], layer(shorter, is_causal=True)[0, -1:])
    out = layer(x, create_padding_mask([7, 3]))
    torch.testing.assert_close(out[1, :3], layer(x[1:, :3])[0], **NEAR)
