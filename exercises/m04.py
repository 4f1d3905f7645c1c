"""Softmax and scale: complete each function, then run

    python3 -m course exercise m04

A function counts as begun when its "..." is gone.
"""

import numpy as np


def stable_softmax(scores):
    """Write a softmax that never overflows.

    Make each row of `scores` a softmax. The scores may be as large as 10,000, or as small as
    −10,000, and one row may be far from the next. Use NumPy alone.

    Shapes: `scores` (L, S).
    Return: the weights (L, S).
    """
    ...


def entropy_in_bits(weights):
    """Measure how spread out attention is, in bits.

    Compute the entropy of each row. A weight of exactly 0 adds 0, not NaN. Others may be as small
    as 1e-30, and count.

    Shapes: `weights` (L, S); each row sums to 1.
    Return: the entropies in bits (L,).
    """
    ...


def softmax_backward(weights, upstream):
    """Write the backward pass of softmax.

    Softmax made each row of `weights` from a row of scores. `upstream` says how much the loss, the
    number that training makes smaller, changes with each weight. Go one step back: find how much it
    changes with each score. Each score changes all weights of its row: its own weight i by
    w_i (1 - w_i), and another weight j by -w_i w_j. Don't build the S × S table of these numbers.

    Shapes: `weights` and `upstream` (L, S).
    Return: the gradient of the loss for each score (L, S).
    """
    ...
