"""Fast and exact: complete each function, then run

    python3 -m course exercise m11

A function counts as begun when its "..." is gone.
"""

import numpy as np


def online_softmax(scores, values, mask, size):
    """Write the online softmax of one row with a mask.

    The row comes in pieces of `size` scores (the last may be shorter), and you see each once.
    Keep the largest score so far, and the sum of `exp(score - largest)` over all scores so far.
    Only scores whose `mask` is True count. A piece may be hidden as a whole, even the first; as
    long as nothing has been seen, the largest score is `-np.inf` and the sum 0. Scores may be in
    the hundreds, and one piece may lie hundreds above the one before.

    Shapes: `scores` (S,), `values` (S, d), `mask` (S,) bool, at least once True, `size` an int.

    Return: what was kept after each piece, (pieces, 2), largest and sum; and the row's output (d,).
    """
    ...


def merge(output_a, lse_a, output_b, lse_b):
    """Merge two results.

    Two machines computed attention for the same queries, each with keys of its own, and each
    divided by its own sum. So each sends an output, and for every row the logarithm of its sum: of
    the sum of `exp(score)` over its keys. Make of the two what one machine with all the keys would
    send. Scores may be in the hundreds, so `exp` of a logarithm alone may overflow.

    Shapes: outputs (L, d), logarithms (L, 1).

    Return: the output (L, d) and the logarithm of the sum (L, 1).
    """
    ...


def bytes_carried(L, S, d, t, bytes_each):
    """Count the bytes.

    `L` queries meet `S` keys; queries, keys, values and outputs have `d` numbers each, of
    `bytes_each` bytes. The plain way carries scores and weights, once each way. In groups of `t`
    queries, all keys and values come by for each group; the last may be smaller. Leave out the
    logarithms that training keeps.

    Return: bytes carried by the plain way, and in tiles.
    """
    ...
