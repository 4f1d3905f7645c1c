"""Every wrong input: a TypeError or ValueError with the argument's name and both values."""

import pytest
import torch

from attention import (
    AdditiveAttention,
    CausalMultiHeadAttention,
    KVCache,
    LinearAttention,
    MultiHeadAttention,
    create_causal_mask,
    create_padding_mask,
    create_window_mask,
    fused_attention,
    masked_softmax,
    scaled_dot_product_attention,
)

from .inputs import qkv


def t(*shape, **options):
    return torch.zeros(shape, **options)


Q, K, V = qkv(query_len=5, key_len=7)  # (2, 4, 5, 8) and (2, 4, 7, 8)
half, double = torch.float16, torch.float64
no_device = torch.device("meta")

ATTENTION = {
    "float mask": (
        {"mask": t(5, 7)},
        TypeError,
        r"mask must be bool, True = may attend; got torch.float32: add scores with bias=",
    ),
    "0/1 mask": ({"mask": t(5, 7, dtype=torch.int64)}, TypeError, "bool.*got torch.int64.*bias="),
    "mask as a list": ({"mask": [[True]]}, TypeError, "mask must be bool.*got list"),
    "bool bias": (
        {"bias": t(5, 7, dtype=torch.bool)},
        TypeError,
        "bias must be torch.float32, to be added; got torch.bool: hide with mask=",
    ),
    "mask per batch": (
        {"mask": t(2, 5, 7, dtype=torch.bool)},
        ValueError,
        r"mask \(2, 5, 7\) doesn't broadcast to the scores \(2, 4, 5, 7\)",
    ),
    "mask too long": (
        {"mask": t(5, 8, dtype=torch.bool)},
        ValueError,
        r"mask \(5, 8\).*\(2, 4, 5, 7\)",
    ),
    "mask with too many dimensions": (
        {"mask": t(1, 1, 1, 5, 7, dtype=torch.bool)},
        ValueError,
        r"mask \(1, 1, 1, 5, 7\)",
    ),
    "bias too short": ({"bias": t(4, 5, 6)}, ValueError, r"bias \(4, 5, 6\).*\(2, 4, 5, 7\)"),
    "bias of another dtype": (
        {"bias": t(5, 7, dtype=double)},
        TypeError,
        "dtype differs: query torch.float32, bias torch.float64",
    ),
    "mask elsewhere": (
        {"mask": t(5, 7, dtype=torch.bool, device=no_device)},
        ValueError,
        "device differs: query cpu, mask meta",
    ),
    "head sizes": (
        {"key": t(2, 4, 7, 4)},
        ValueError,
        r"head_dim differs: query \(2, 4, 5, 8\), key \(2, 4, 7, 4\)",
    ),
    "no head size": (
        {"query": t(2, 4, 5, 0), "key": t(2, 4, 7, 0)},
        ValueError,
        r"head_dim is 0: query \(2, 4, 5, 0\)",
    ),
    "key and value lengths": (
        {"value": t(2, 4, 6, 8)},
        ValueError,
        r"key and value differ in .* length: .* key \(2, 4, 7, 8\), value \(2, 4, 6, 8\)",
    ),
    "batches": (
        {"key": t(3, 4, 7, 8), "value": t(3, 4, 7, 8)},
        ValueError,
        r"batch differs: query \(2, 4, 5, 8\), key \(3, 4, 7, 8\)",
    ),
    "three-dimensional batches": (
        {"query": t(4, 5, 8), "key": t(2, 7, 8), "value": t(2, 7, 8)},
        ValueError,
        r"batch differs: query \(4, 5, 8\), key \(2, 7, 8\)",
    ),
    "shared heads": (
        {"key": t(2, 3, 7, 8), "value": t(2, 3, 7, 8)},
        ValueError,
        r"query heads must be a multiple of key heads: query \(2, 4, 5, 8\), key \(2, 3, 7, 8\)",
    ),
    "no shared heads": (
        {"key": t(2, 0, 7, 8), "value": t(2, 0, 7, 8)},
        ValueError,
        r"key heads are 0: .*\(2, 0, 7, 8\)",
    ),
    "dimensions": ({"key": t(7, 8), "value": t(7, 8)}, ValueError, r"as many dimensions.*\(7, 8\)"),
    "one dimension": (
        {"query": t(8), "key": t(8), "value": t(8)},
        ValueError,
        r"at least 2: query \(8,\)",
    ),
    "key dtype": (
        {"key": K.half()},
        TypeError,
        "dtype differs: query torch.float32, key torch.float16",
    ),
    "value dtype": ({"value": V.double()}, TypeError, "float32, value torch.float64"),
    "bool key": ({"key": K.bool()}, TypeError, "query torch.float32, key torch.bool"),
    "integers": (
        {"query": Q.int(), "key": K.int(), "value": V.int()},
        TypeError,
        "query .*got torch.int32",
    ),
    "key device": (
        {"key": t(2, 4, 7, 8, device=no_device)},
        ValueError,
        "device differs: query cpu, key meta",
    ),
    "no window": ({"window": 0}, ValueError, "window must be at least 1, got 0"),
    "half a window": ({"window": 1.5}, TypeError, "window must be an int, got 1.5"),
    "dropout": ({"dropout_p": 1.0}, ValueError, r"dropout_p must lie in \[0, 1\), got 1.0"),
    "negative dropout": ({"dropout_p": -0.1}, ValueError, r"\[0, 1\), got -0.1"),
}


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention])
@pytest.mark.parametrize("case", ATTENTION)
def test_attention(attend, case):
    changes, error, words = ATTENTION[case]
    inputs = {"query": Q, "key": K, "value": V} | changes
    with pytest.raises(error, match=words):
        attend(inputs.pop("query"), inputs.pop("key"), inputs.pop("value"), **inputs)


def layer(**options):
    return MultiHeadAttention(16, 4, **options)


def causal():
    return CausalMultiHeadAttention(16, 4, max_seq_len=6)


X = torch.randn(2, 5, 16)

CASES = {
    "embed_dim": (
        lambda: MultiHeadAttention(10, 4),
        ValueError,
        "embed_dim=10 must be a multiple of num_heads=4",
    ),
    "num_kv_heads": (
        lambda: MultiHeadAttention(16, 4, num_kv_heads=3),
        ValueError,
        "num_heads=4 must be a multiple of num_kv_heads=3",
    ),
    "no heads": (
        lambda: MultiHeadAttention(16, 0),
        ValueError,
        "num_heads must be at least 1, got 0",
    ),
    "half a head": (lambda: MultiHeadAttention(16, 2.0), TypeError, "num_heads .* int, got 2.0"),
    "dropout": (lambda: MultiHeadAttention(16, 4, 1.5), ValueError, r"dropout .*\[0, 1\), got 1.5"),
    "max_seq_len": (
        lambda: CausalMultiHeadAttention(16, 4, 0),
        ValueError,
        "max_seq_len must be at least 1, got 0",
    ),
    "width of x": (
        lambda: layer()(torch.randn(2, 5, 12)),
        ValueError,
        r"x .*embed_dim=16\), got \(2, 5, 12\)",
    ),
    "one token": (lambda: layer()(torch.randn(16)), ValueError, r"length.*got \(16,\)"),
    "one causal token": (lambda: causal()(torch.randn(16)), ValueError, r"length.*got \(16,\)"),
    "width of context": (
        lambda: layer()(X, context=torch.randn(2, 5, 12)),
        ValueError,
        r"context must be \(..., length, embed_dim=16\), got \(2, 5, 12\)",
    ),
    "batch of context": (
        lambda: layer()(X, context=torch.randn(3, 5, 16)),
        ValueError,
        r"batch differs: x \(2, 5, 16\), context \(3, 5, 16\)",
    ),
    "context and cache": (
        lambda: layer()(X, context=X, cache=KVCache(2, 4, 5, 4)),
        ValueError,
        "context excludes cache",
    ),
    "mask of a layer": (
        lambda: layer()(X, torch.ones(2, 5, 5, dtype=torch.bool)),
        ValueError,
        r"mask \(2, 5, 5\) doesn't broadcast to the scores \(2, 4, 5, 5\)",
    ),
    "past max_seq_len": (
        lambda: causal()(torch.randn(2, 7, 16)),
        ValueError,
        "sequence of 7 exceeds max_seq_len=6",
    ),
    "unknown argument": (lambda: causal()(X, is_causal=False), TypeError, "is_causal"),
    "cache of another batch": (
        lambda: layer().requires_grad_(False)(X, cache=KVCache(3, 4, 9, 4)),
        ValueError,
        r"key \(2, 4, 5, 4\) doesn't fit the cache's \(3, 4, 5, 4\)",
    ),
    "cache of another dtype": (
        lambda: layer().requires_grad_(False)(X, cache=KVCache(2, 4, 9, 4, dtype=half)),
        TypeError,
        "dtype differs: cache torch.float16, key torch.float32",
    ),
    "gradients into a cache": (
        lambda: layer()(X, cache=KVCache(2, 4, 9, 4)),
        ValueError,
        "key requires grad.*no_grad",
    ),
    "cache without a layer": (
        lambda: layer().requires_grad_(False)(X, cache=KVCache(2, 4, 9, 4, num_layers=2)),
        ValueError,
        r"cache has 2 layers: choose one, as in cache\[0\]",
    ),
    "a layer too many": (
        lambda: KVCache(2, 4, 9, 4, num_layers=2)[2],
        IndexError,
        "0 ... 1, got 2",
    ),
    "size of a cache": (
        lambda: KVCache(2, 4, 0, 4),
        ValueError,
        "max_seq_len must be at least 1, got 0",
    ),
    "causal mask": (
        lambda: create_causal_mask(0),
        ValueError,
        "query_len must be at least 1, got 0",
    ),
    "causal mask of a tensor": (
        lambda: create_causal_mask(X),
        TypeError,
        "query_len must be an int, got tensor",
    ),
    "window mask": (lambda: create_window_mask(3, window=0), ValueError, "window must be .* got 0"),
    "lengths past the end": (
        lambda: create_padding_mask([2, 5], 4),
        ValueError,
        r"key_len=4, got \[2, 5\]",
    ),
    "negative lengths": (lambda: create_padding_mask([-1, 2]), ValueError, r"got \[-1, 2\]"),
    "fractional lengths": (lambda: create_padding_mask([1.5]), TypeError, r"integers .*1.5"),
    "softmax mask": (
        lambda: masked_softmax(X, t(5, 15).bool()),
        ValueError,
        r"\(5, 15\).*\(2, 5, 16\)",
    ),
    "additive width": (
        lambda: AdditiveAttention(4, 6, 8)(t(3, 4), t(5, 4), t(5, 4)),
        ValueError,
        r"key must be \(..., length, key_dim=6\), got \(5, 4\)",
    ),
    "additive lengths": (
        lambda: AdditiveAttention(4, 6, 8)(t(3, 4), t(5, 6), t(4, 6)),
        ValueError,
        r"batch or key length differs: query \(3, 4\), key \(5, 6\), value \(4, 6\)",
    ),
    "linear mask for each query": (
        lambda: LinearAttention(16, 4)(X, create_causal_mask(5)),
        ValueError,
        r"mask \(5, 5\) doesn't broadcast to the scores \(2, 4, 1, 5\)",
    ),
    "linear state": (
        lambda: LinearAttention(16, 4)(X, state=t(2, 4, 4, 4)),
        ValueError,
        r"state must be \(2, 4, 4, 5\), got \(2, 4, 4, 4\)",
    ),
    "linear, causal and crossed": (
        lambda: LinearAttention(16, 4)(X, context=X, is_causal=True),
        ValueError,
        "context excludes",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_layers_masks_and_caches(case):
    call, error, words = CASES[case]
    with pytest.raises(error, match=words):
        call()
