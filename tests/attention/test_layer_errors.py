"""Layers, masks and caches: a wrong input is told by name and both values."""

import pytest
import torch

from attention import (
    CausalMultiHeadAttention,
    KVCache,
    MultiHeadAttention,
    create_causal_mask,
    create_document_mask,
    create_padding_mask,
    create_window_mask,
    masked_softmax,
)
from positions import Rotary
from variants import (
    AdditiveAttention,
    ContextKV,
    CrossAttention,
    LatentAttention,
    LinearAttention,
)


def t(*shape, **options):
    return torch.zeros(shape, **options)


def layer(**options):
    return MultiHeadAttention(16, 4, **options)


def causal():
    return CausalMultiHeadAttention(16, 4, max_seq_len=6)


def jagged():
    return torch.nested.nested_tensor([t(3, 16), t(5, 16)], layout=torch.jagged)


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
        r"x \(2, 5, 12\) must be .*embed_dim=16\)",
    ),
    "dtype of x": (
        lambda: layer()(X.double()),
        TypeError,
        "dtype differs: layer torch.float32, x torch.float64",
    ),
    "dtype of context": (
        lambda: layer()(X, context=X.half()),
        TypeError,
        "x torch.float32, context torch.float16",
    ),
    "device of x": (
        lambda: layer()(X.to("meta")),
        ValueError,
        "device differs: layer cpu, x meta",
    ),
    "additive dtype": (
        lambda: AdditiveAttention(4, 6, 8)(t(3, 4), t(5, 6), t(5, 6).double()),
        TypeError,
        "dtype differs: query torch.float32, value torch.float64",
    ),
    "one token": (
        lambda: layer()(torch.randn(16)),
        ValueError,
        r"x \(16,\) must be .*length, embed_dim=16\)",
    ),
    "one causal token": (
        lambda: causal()(torch.randn(16)),
        ValueError,
        r"x \(16,\) must be .*length, embed_dim=16\)",
    ),
    "width of context": (
        lambda: layer()(X, context=torch.randn(2, 5, 12)),
        ValueError,
        r"context \(2, 5, 12\) must be \(..., length, embed_dim=16\)",
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
    "query, key, value": (
        lambda: layer()(X, None, X),
        TypeError,
        r"return_attention must be a bool, got Tensor: .*layer\(x, context=y\)",
    ),
    "three inputs": (lambda: layer()(X, X, X), TypeError, "return_attention must be a bool"),
    "linear, three inputs": (
        lambda: LinearAttention(16, 4)(X, X, X),
        TypeError,
        "return_attention must be a bool",
    ),
    "linear, weights of a state": (
        lambda: LinearAttention(16, 4)(X, None, True, return_state=True),
        ValueError,
        "return_attention excludes state",
    ),
    "mask of as many sequences as heads": (
        lambda: layer()(torch.randn(4, 5, 16), torch.ones(4, 5, 5, dtype=torch.bool)),
        ValueError,
        r"mask \(4, 5, 5\): for sequences mask\[:, None\], for heads mask\[None\]",
    ),
    "nested, strided": (
        lambda: layer()(torch.nested.nested_tensor([t(3, 16), t(5, 16)])),
        TypeError,
        r"x is nested: it must be jagged, \(B, j, 16\); got 3 dimensions, torch.strided",
    ),
    "nested, strided and causal": (
        lambda: causal()(torch.nested.nested_tensor([t(3, 16), t(5, 16)])),
        TypeError,
        "x is nested: it must be jagged",
    ),
    "nested with a mask": (
        lambda: layer()(jagged(), torch.ones(5, dtype=torch.bool)),
        ValueError,
        "nested x goes with is_causal and window alone",
    ),
    "nested and linear": (lambda: LinearAttention(16, 4)(jagged()), TypeError, "x is nested: pad"),
    "positions without rotary": (
        lambda: layer()(X, position_ids=torch.arange(5)),
        ValueError,
        "position_ids are for rotary, and this layer has none",
    ),
    "head_dim": (lambda: layer(head_dim=0), ValueError, "head_dim must be at least 1, got 0"),
    "a bool of heads": (lambda: MultiHeadAttention(16, True), TypeError, "num_heads .* got True"),
    "padding side": (
        lambda: create_padding_mask([1], padding_side="up"),
        ValueError,
        "'right' or 'left', got 'up'",
    ),
    "documents": (
        lambda: create_document_mask(torch.zeros(3)),
        TypeError,
        r"integers \(B, L\), got torch.float32",
    ),
    "documents of one sequence": (
        lambda: create_document_mask(torch.tensor([0, 1])),
        ValueError,
        r"documents must be \(B, L\), got \(2,\)",
    ),
    "unknown argument": (lambda: causal()(X, is_causal=False), TypeError, "is_causal"),
    "cache of another batch": (
        lambda: layer().requires_grad_(False)(X, cache=KVCache(3, 4, 9, 4)),
        ValueError,
        r"key \(2, 4, 5, 4\) doesn't fit the cache's \(3, 4, 5, 4\)",
    ),
    "cache of another dtype": (
        lambda: layer().requires_grad_(False)(X, cache=KVCache(2, 4, 9, 4, dtype=torch.float16)),
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
    "one length": (
        lambda: create_padding_mask(3),
        TypeError,
        r"integers \(B,\), got 3",
    ),
    "a padding mask for lengths": (
        lambda: create_padding_mask(t(2, dtype=torch.bool)),
        TypeError,
        r"lengths must be integers \(B,\), got tensor\(\[False",
    ),
    "a fractional key_len": (
        lambda: create_padding_mask([1], 2.5),
        TypeError,
        "key_len must be an int, got 2.5",
    ),
    "not a tensor": (lambda: layer()(X.numpy()), TypeError, "x must be a tensor, got ndarray"),
    "not a causal tensor": (lambda: causal()(None), TypeError, "x must be a tensor, got NoneType"),
    "nested context": (
        lambda: layer()(X, context=jagged()),
        TypeError,
        "context must not be nested: pad it",
    ),
    "nested with positions": (
        lambda: layer(rotary=Rotary(4))(jagged(), position_ids=torch.arange(3)),
        ValueError,
        "nested x goes with is_causal and window alone",
    ),
    "nested and latent": (
        lambda: LatentAttention(16, 4, 6, rotary=Rotary(4))(jagged()),
        TypeError,
        "x must not be nested: pad it",
    ),
    "latent lengths without a cache": (
        lambda: LatentAttention(16, 4, 6, rotary=Rotary(4))(X, lengths=[1, 2]),
        ValueError,
        r"lengths need a cache; .*create_padding_mask",
    ),
    "linear state elsewhere": (
        lambda: LinearAttention(16, 4)(X, state=t(2, 4, 4, 5, device="meta")),
        ValueError,
        "device differs: x cpu, state meta",
    ),
    "context of half precision": (
        lambda: CrossAttention(16, 4, qk_norm=True)(X, context=ContextKV(*t(2, 2, 4, 3, 4).half())),
        TypeError,
        "layer torch.float32, context torch.float16",
    ),
    "context for beams": (
        lambda: ContextKV(t(2, 4, 3, 4), t(2, 4, 3, 4)).reorder([0, 2]),
        ValueError,
        r"index must be numbers in 0 ... 1, got \[0, 2\]",
    ),
    "softmax mask": (
        lambda: masked_softmax(X, t(5, 15).bool()),
        ValueError,
        r"\(5, 15\).*\(2, 5, 16\)",
    ),
    "additive width": (
        lambda: AdditiveAttention(4, 6, 8)(t(3, 4), t(5, 4), t(5, 4)),
        ValueError,
        r"key \(5, 4\) must be \(..., length, key_dim=6\)",
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
