"""Softmax and scale: complete each function, then run

    python3 -m course exercise m04

A function counts as begun when its "..." is gone.
"""

import numpy as np


def divisor(query_spread, key_spread, d_k):
    """Find by what to divide.

    The numbers of the queries are random, with a mean of 0 and a spread of `query_spread`, and
    those of the keys have a spread of `key_spread`. They have nothing to do with each other. By
    what must the scores be divided, so that their spread is 1?

    Shapes: the two spreads are numbers above 0; `d_k` says how many numbers a key has.
    Return: a number.
    """
    ...


def stable_softmax(scores):
    """Write a softmax that never overflows.

    Make each row of `scores` a softmax. The scores may be as large as 12,000, or as small as
    −12,000, and one row may be far from the next. A number of 64 bits can't hold e to the power of
    12,000. Use NumPy alone.

    Shapes: `scores` (L, S), a row for each of L queries, with a score for each of S keys.
    Return: the weights (L, S).
    """
    ...


def entropy_in_bits(weights):
    """Measure among how many keys a row is shared, in bits.

    A saturated row looks at one key, and an open row at many. Its entropy tells how many: in bits,
    it is the sum of w · log₂(1/w) over its weights w. Two keys with half the weight each have 1
    bit, and four with a quarter each 2. A weight of exactly 0 adds 0, and not NaN ("not a number"),
    but one of 1e-30 still adds something.

    Shapes: `weights` (L, S); each row sums to 1.
    Return: the entropies in bits (L,).
    """
    ...


def softmax_backward(weights, upstream):
    """Go one step back through softmax, as training does.

    Softmax made each row of `weights` from a row of scores. `upstream` says how much the loss
    changes with each weight. Find how much it changes with each score. Each score changes all
    weights of its row: its own weight i by w_i (1 - w_i), and another weight j by -w_i w_j, because
    what one key gains the others lose, each in proportion to its weight. Don't build the S × S
    table of these numbers.

    Shapes: `weights` and `upstream` (L, S).
    Return: the gradient of the loss for each score (L, S).
    """
    ...
