"""The temperature map's queries and keys, and its weights by attention.py."""

import math

import torch

from attention import scaled_dot_product_attention

STOPS = [0, *(i / 10 for i in range(1, 31)), math.inf]
KEY = [[2, 0, 0, 0], [0, 2, 0, 1], [0, 0, 2, 0], [0, 0, 0.5, -1], [2, 0, 0, 0], [0, 2, 0, -1]]
QUERY = [
    [0, 2, 0, 1], [2, 0, 1.5, 0], [0, 1.5, 0, 2], [0, 1.5, 0, -1.5], [0, 2, 0, 1], [1.5, 0, 0, -1]
]  # fmt: skip


def expected(query, key, temperature):
    """By attention.py; the limits by a temperature too small to matter, and by a scale of 0."""
    q, k = (torch.tensor(m, dtype=torch.float64) for m in (query, key))
    scale = 0.0 if temperature == math.inf else k.shape[-1] ** -0.5 / (temperature or 1e-9)
    return scaled_dot_product_attention(q, k, k, scale=scale)[1]
