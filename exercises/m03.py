"""Scaled dot-product attention: complete each function, then run

    python3 -m course exercise m03

A function counts as begun when its "..." is gone.
"""

import numpy as np


def attention(Q, K, V):
    """Write scaled dot-product attention.

    Compare each query with each key, scale, turn each row into weights with softmax, and mix the
    values. Use NumPy alone. Scores may be in the thousands.

    Shapes: `Q` (L, d_k), `K` (S, d_k), `V` (S, d_v): L queries, S keys, values of d_v numbers.

    Return: the output (L, d_v) and the weights (L, S), in this order.
    """
    ...


def find_mistake(scores, d_k, scaled, weights):
    """Find the mistake in a worked example.

    Someone worked an example by hand, and printed three rows: the `scores` of one query, then the
    row `scaled`, divided by √d_k, then the `weights`, the softmax of that. The last two are rounded
    to two decimals. Which is the first row that doesn't follow from the row before it, as printed?
    Call a number wrong if it is more than 0.01 too high or too low.

    Shapes: `scores`, `scaled` and `weights` (S,); `d_k` is a number.

    Return: `"scaled"`, `"weights"`, or `None` where both are right.
    """
    ...


def additive_scores(Q, K, w):
    """Write the additive score.

    A dot product multiplies a query and a key, number by number. The first attention for
    translation added them instead: add a query and a key, number by number, squeeze each sum to
    between -1 and 1 with `np.tanh`, and take the dot product with `w`, a vector that training
    finds. Score every query with every key, without a loop. No softmax yet.

    Shapes: `Q` (L, h) and `K` (S, h), with h numbers in each query and key; `w` (h,).

    Return: the scores (L, S).
    """
    ...
