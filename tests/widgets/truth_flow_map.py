"""What arrives in the flow map: by a recurrence run step by step, and by attention.py."""

import math

import torch

from attention import scaled_dot_product_attention

WORDS = "the cat sat on the mat because it was tired".split()
N = len(WORDS)
DECAYS = [0.5, 0.7, 0.9, 0.99, 1]
TIMES = [1, 3, 10, 30, 100, 1000]


def recurrent(decay):
    """[j, i]: raise word i by 1, run the recurrence, and see what state j becomes."""
    flow = torch.zeros(N, N, dtype=torch.float64)
    for i in range(N):
        state = 0.0
        for j in range(N):
            state = decay * state + (i == j)
            flow[j, i] = state
    return flow


def attention(source, times):
    """The weights of attention.py, where every query scores ``source`` ln(times), the others 0."""
    query = torch.full((N, 1), math.log(times), dtype=torch.float64)
    key = torch.zeros(N, 1, dtype=torch.float64)
    key[source] = 1
    return scaled_dot_product_attention(query, key, key, scale=1.0)[1]
