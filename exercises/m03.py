"""Scaled dot-product attention: complete each function, then run

    python3 -m course exercise m03

A function counts as begun when its "..." is gone.
"""

import numpy as np


def attention(Q, K, V):
    """Write scaled dot-product attention.

    Compare each query with each key, scale, make each row of scores a softmax, and mix the values.
    Use NumPy alone. Scores may be in the thousands.

    Shapes: `Q` (L, d_k), `K` (S, d_k), `V` (S, d_v).

    Return: the output (L, d_v) and the weights (L, S), in this order.
    """
    ...


def additive_scores(Q, K, W_q, W_k, w):
    """Write the additive score.

    A small network can score instead of a dot product, as the first attention did. It scores
    query *i* and key *j* with wᵀ tanh(W_qᵀ qᵢ + W_kᵀ kⱼ). tanh squeezes each number to between -1
    and 1: `np.tanh`. Score all pairs at once. No softmax yet.

    Shapes: `Q` (L, d), `K` (S, d), `W_q` and `W_k` (d, h), `w` (h,).

    Return: the scores (L, S).
    """
    ...


def find_mistake(scores, d_k, scaled, weights):
    """Find the mistake in a worked example.

    An example prints one row three times: its `scores`, the same `scaled` by 1/√d_k, and their
    softmax, the `weights`. The last two are rounded to two decimals, so only a difference of
    clearly more than 0.01 is a mistake, too high or too low. Wrong weights, too, sum to 1. Which
    row is the first that doesn't follow from the row before it?

    Shapes: `scores`, `scaled` and `weights` (S,); `d_k` is a number.

    Return: `"scaled"`, `"weights"`, or `None` where both are right.
    """
    ...
