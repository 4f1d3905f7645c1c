import pytest
import torch
import torch.nn.functional as F

import variants
from attention import create_padding_mask
from variants import AdditiveAttention, LinearAttention

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


def test_one_sequence_without_a_batch():
    layer = LinearAttention(16, 4)
    x = torch.randn(5, 16)
    torch.testing.assert_close(layer(x), layer(x[None])[0])
