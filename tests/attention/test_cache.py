import pytest
import torch

from attention import CausalMultiHeadAttention, KVCache
from positions import Rotary

from .inputs import DEVICES

LAYER_KINDS = {
    "plain": {},
    "grouped": {"num_kv_heads": 2},
    "rotary": {"rotary": Rotary(4)},
    "grouped rotary": {"num_kv_heads": 1, "rotary": Rotary(4)},
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", LAYER_KINDS)
@pytest.mark.parametrize("steps", [[1] * 9, [5, 1, 1, 2], [9]], ids=str)
@torch.no_grad()
def test_cached_decoding_equals_one_pass(device, kind, steps):
    layer = CausalMultiHeadAttention(16, 4, 9, **LAYER_KINDS[kind]).to(device).eval()
    x = torch.randn(3, 9, 16, device=device)
    cache = KVCache(3, layer.num_kv_heads, 9, 4, device=device)
    want, want_weights = layer(x, return_attention=True)
    at, outputs = 0, []
    for step in steps:
        outputs.append(layer(x[:, at : at + step], cache=cache))
        at += step
    torch.testing.assert_close(torch.cat(outputs, 1), want, rtol=1e-5, atol=1e-6)
    assert cache.length == 9
    cache.reset()
    assert cache.length == 0
    layer(x[:, :8], cache=cache)
    last, weights = layer(x[:, 8:], None, True, cache=cache)
    torch.testing.assert_close(last, want[:, 8:], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(weights, want_weights[..., 8:, :], rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_several_layers_share_one_cache():
    first, second = (CausalMultiHeadAttention(16, 4, 6).eval() for _ in range(2))
    x = torch.randn(2, 6, 16)
    want = second(first(x))
    cache = KVCache(2, 4, 6, 4, num_layers=2)
    outputs = [second(first(x[:, i : i + 1], cache=cache[0]), cache=cache[1]) for i in range(6)]
    torch.testing.assert_close(torch.cat(outputs, 1), want, rtol=1e-5, atol=1e-6)
    assert cache.lengths == [6, 6]
    cache[0].reset()
    assert cache.lengths == [0, 0]


@torch.no_grad()
def test_left_padded_batches_decode_with_a_mask():
    layer = CausalMultiHeadAttention(16, 4, 6).eval()
    x = torch.randn(2, 6, 16)
    mask = torch.ones(2, 1, 1, 6, dtype=torch.bool)
    mask[1, ..., :2] = False
    cache = KVCache(2, 4, 6, 4)
    layer(x[:, :5], mask[..., :5], cache=cache)
    out = layer(x[:, 5:], mask, cache=cache)
    torch.testing.assert_close(out[1:], layer(x[1:, 2:])[:, -1:], rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_the_cache_keeps_its_memory_and_its_tokens():
    cache = KVCache(2, 3, 5, 4)
    at = cache.keys.data_ptr()
    first, second = torch.randn(2, 3, 2, 4), torch.randn(2, 3, 3, 4)
    cache.append(first, -first)
    keys, values = cache.append(second, -second)
    assert torch.equal(keys, torch.cat([first, second], 2))
    assert torch.equal(values, -keys)
    assert keys.data_ptr() == cache.keys.data_ptr() == at


@torch.no_grad()
def test_a_refused_call_leaves_the_cache_as_it_was():
    layer = CausalMultiHeadAttention(16, 4, 4).eval()
    cache = KVCache(1, 4, 3, 4)
    layer(torch.randn(1, 2, 16), cache=cache)
    with pytest.raises(ValueError, match="doesn't broadcast"):
        layer(torch.randn(1, 1, 16), torch.ones(1, 2, dtype=torch.bool), cache=cache)
    with pytest.raises(ValueError, match=r"cache is full: 2 tokens \+ 2 new exceed max_seq_len=3"):
        layer(torch.randn(1, 2, 16), cache=cache)
    assert cache.length == 2
