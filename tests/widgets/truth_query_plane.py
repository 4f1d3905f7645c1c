"""The five harbours, and a look-up among them by attention.py."""

import torch

from attention import scaled_dot_product_attention

KEYS = [[0, 1.5], [1.43, 0.46], [0.88, -1.21], [-0.88, -1.21], [-1.43, 0.46]]
HEIGHTS = [1.8, 0.6, 1.4, 3.2, 2.8]


def expected(query, temperature, keys=KEYS, values=HEIGHTS):
    """At temperature 0 the best keys share equally; else softmax, by attention.py."""
    q, k, v = (torch.tensor(x, dtype=torch.float64) for x in ([query], keys, values))
    if temperature == 0:
        scores = (q @ k.T)[0]
        weights = (scores > scores.max() - 1e-9).double()
        return (weights / weights.sum()).tolist(), (weights @ v / weights.sum()).item()
    output, weights = scaled_dot_product_attention(q, k, v[:, None], scale=1 / temperature)
    return weights[0].tolist(), output.item()
