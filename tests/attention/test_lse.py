"""Attention to parts of the keys, joined by its log-sum-exp."""

import pytest
import torch

from attention import fused_attention, scaled_dot_product_attention
from variants import merge_attention

from .inputs import assert_same_gradients, qkv


@pytest.mark.parametrize("parts", [[7], [3, 4], [1, 5, 1]])
def test_parts_of_the_keys_merge_into_the_whole(parts):
    inputs = qkv(query_len=5, key_len=7, dtype=torch.float64, requires_grad=True)
    hidden = torch.ones(2, 1, 5, 7, dtype=torch.bool)
    hidden[0, :, 2] = hidden[1, :, :, 3:] = False
    whole = fused_attention(*inputs, hidden, return_lse=True)
    split = (*(t.split(parts, -2) for t in inputs[1:]), hidden.split(parts, -1))
    pieces = [
        fused_attention(inputs[0], k, v, mask, return_lse=True)
        for k, v, mask in zip(*split, strict=True)
    ]
    merged = merge_attention(*zip(*pieces, strict=True))
    torch.testing.assert_close(merged, whole)
    assert_same_gradients(merged[0], whole[0], inputs)


def test_a_ring_of_devices_finds_what_one_does():
    """Each has a part of the queries, and meets its own keys and those before, part by part."""
    inputs = qkv(query_len=12, dtype=torch.float64)
    queries, keys, values = (t.chunk(3, -2) for t in inputs)
    outputs = []
    for rank, query in enumerate(queries):
        parts = [
            fused_attention(query, keys[r], values[r], is_causal=r == rank, return_lse=True)
            for r in range(rank + 1)
        ]
        outputs.append(merge_attention(*zip(*parts, strict=True))[0])
    want, _ = scaled_dot_product_attention(*inputs, is_causal=True)
    torch.testing.assert_close(torch.cat(outputs, -2), want)
