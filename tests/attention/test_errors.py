"""Every wrong input: a TypeError or ValueError with the argument's name and both values."""

import pytest
import torch

from attention import fused_attention, scaled_dot_product_attention

from .inputs import qkv


def t(*shape, **options):
    return torch.zeros(shape, **options)


Q, K, V = qkv(query_len=5, key_len=7)  # (2, 4, 5, 8) and (2, 4, 7, 8)
no_device = torch.device("meta")

ATTENTION = {
    "float mask": (
        {"mask": t(5, 7)},
        TypeError,
        r"mask must be bool, True = may attend; got torch.float32: add scores with bias=",
    ),
    "0/1 mask": (
        {"mask": t(5, 7, dtype=torch.int64)},
        TypeError,
        r"bool.*got torch.int64: mask\.bool\(\) makes it one, add scores with bias=",
    ),
    "mask as a list": ({"mask": [[True]]}, TypeError, "mask must be bool.*got list"),
    "causal by a word": ({"is_causal": "no"}, TypeError, "is_causal must be a bool, got 'no'"),
    "mask for heads at another batch size": (
        {"mask": t(4, 5, 7, dtype=torch.bool)},
        ValueError,
        r"mask \(4, 5, 7\): for sequences mask\[:, None\], for heads mask\[None\]",
    ),
    "mask=True": ({"mask": True}, TypeError, "mask must be bool, a tensor; got bool True"),
    "mask for sequences and heads alike": (
        {"query": t(4, 4, 5, 8), "key": t(4, 4, 7, 8), "value": t(4, 4, 7, 8)}
        | {"mask": t(4, 5, 7, dtype=torch.bool)},
        ValueError,
        r"mask \(4, 5, 7\): for sequences mask\[:, None\], for heads mask\[None\]",
    ),
    "nested": (
        {"key": torch.nested.nested_tensor([t(4, 3, 8), t(4, 5, 8)], layout=torch.jagged)},
        TypeError,
        "must not be nested: MultiHeadAttention takes jagged",
    ),
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
        {"bias": t(5, 7, dtype=torch.float64)},
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
        r"multiple of key heads: .*\(2, 0, 7, 8\)",
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
    "not a tensor": (
        {"key": K.numpy()},
        TypeError,
        "key must be a tensor, got ndarray",
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


SINKS = {
    "softcap": ({"softcap": 0.0}, ValueError, "softcap must be above 0 and finite, got 0.0"),
    "no cap": ({"softcap": float("inf")}, ValueError, "softcap must be .* finite, got inf"),
    "a number for sinks": ({"sinks": 0.0}, TypeError, "sinks must be a tensor, got float"),
    "sinks": ({"sinks": t(3)}, ValueError, r"sinks must be one number, or .*\(4,\); got \(3,\)"),
    "sinks dtype": ({"sinks": t(4).double()}, TypeError, "query torch.float32, sinks .*float64"),
}


@pytest.mark.parametrize("case", SINKS)
def test_softcap_and_sinks(case):
    options, error, words = SINKS[case]
    with pytest.raises(error, match=words):
        scaled_dot_product_attention(Q, K, V, **options)


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, fused_attention])
def test_a_mask_of_sequences_that_fits_queries_warns_of_both_readings(attend, recwarn):
    query, key = t(5, 2, 5, 8), t(5, 2, 7, 8)
    mask = torch.rand(5, 7) > 0.5
    with pytest.warns(UserWarning, match=r"mask\[None, None\] says .*mask\[:, None, None\]"):
        attend(query, key, key, mask)
    recwarn.clear()
    attend(query, key, key, mask[None, None])
    attend(query, key, key, mask[:, None, None])
    attend(query[:1], key[:1], key[:1], mask)
    attend(query[:, :1], key[:, :1], key[:, :1], (torch.rand(1, 5, 7) > 0.5))
    attend(query[:, 0], key[:, 0], key[:, 0], mask[None])
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"mask\[None\] says .*mask\[:, None\]"):
        attend(query[:, 0], key[:, 0], key[:, 0], mask)


def test_a_causal_mask_of_our_own_warns_of_no_mask(recwarn):
    query, key, value = qkv((5,), query_len=5)  # as many sequences as queries
    scaled_dot_product_attention(query, key, value, is_causal=True)
    assert not recwarn.list
