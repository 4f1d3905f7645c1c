"""m04's draws; their scores and weights by attention.py, and slopes in 80 digits."""

import torch

from attention import scaled_dot_product_attention

SIZES = [2**i for i in range(3, 12)]
DRAWS = 40


def draws():
    """The products q·k that m04 publishes, (sizes, draws, keys)."""
    rng = torch.Generator().manual_seed(102)
    q = torch.randn(DRAWS, 1, 2048, generator=rng, dtype=torch.float64)
    k = torch.randn(DRAWS, 8, 2048, generator=rng, dtype=torch.float64)
    return torch.stack([torch.einsum("nqd,nkd->nk", q[..., :d], k[..., :d]) for d in SIZES])


PRODUCTS = draws().round(decimals=3)


def expected(size=0, divide=False, draw=0):
    """Scores and weights of one row by attention.py."""
    products = PRODUCTS[size, draw]
    factor = 1 / (SIZES[size] ** 0.5 if divide else 1)
    one, keys = torch.ones(1, 1, dtype=torch.float64), products[:, None]
    return products * factor, scaled_dot_product_attention(one, keys, keys, scale=factor)[1][0]
