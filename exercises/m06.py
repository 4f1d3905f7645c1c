"""Many heads: complete each function, then run

    python3 -m course exercise m06

A function counts as begun when its "..." is gone.
"""

import numpy as np


def split_heads(x, num_heads):
    """Split into heads.

    Cut each token's row of numbers into pieces, one for each head: head 0 gets the first, head 1
    the next.

    Shapes: `x` (B, L, E).
    Return: (B, H, L, D), where H is `num_heads` and D is E / H.
    """
    ...


def multi_head(x, W_q, W_k, W_v, W_o, num_heads):
    """Write multi-head attention.

    Project, split, attend in each head, merge, and mix with `W_o`. No biases, no mask. Use NumPy
    alone.

    Shapes: `x` (B, L, E); the four matrices (E, E), used as in `x @ W_q`.
    Return: (B, L, E).
    """
    ...


def project_heads(x, W):
    """Project and split with one einsum.

    Here each head has a matrix of its own, and no reshape is needed: `np.einsum` with the right
    letters makes the queries of all heads at once.

    Shapes: `x` (B, L, E), `W` (H, E, D).
    Return: (B, H, L, D).
    """
    ...


def count_parameters(embed_dim, num_heads, num_kv_heads, bias):
    """Count a layer's parameters.

    Queries and output are `embed_dim` wide. In some models several query heads share one head of
    keys and values. There keys and values have only `num_kv_heads` heads, each of the size of a
    query head. `bias` says whether the four matrices have biases.

    Return: the number of parameters, an integer.
    """
    ...
