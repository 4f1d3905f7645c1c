"""A tour in eight steps: complete each function, then run

    python3 -m course exercise m00

A function counts as begun when its "..." is gone.
"""

import numpy as np


def compare(query, keys):
    """Score one query against every key.

    A score is a dot product: multiply number by number, then add. Then divide each score by the
    root of the size of a key. For a query (2, 1) and a key (2, 0.5): (2·2 + 1·0.5) / √2.

    Shapes: `query` (d,), `keys` (S, d).

    Return: the scaled scores (S,), one for each key.
    """
    ...


def softmax(scores):
    """Turn scores into weights.

    Take e to the power of each score, then divide by the sum of all of these.

    Shapes: `scores` (S,).

    Return: the weights (S,). They are positive, and sum to 1.
    """
    ...


def mix(weights, values):
    """Mix the values by their weights.

    Multiply each value by its weight, then add them up. What comes out is as long as one value.

    Shapes: `weights` (S,), `values` (S, d).

    Return: the mix (d,).
    """
    ...


def hide_the_future(scores, position):
    """Hide the words to come.

    `scores` are those of the word at `position`, counted from 0, for every word of the sentence.
    It may look at itself and at the words before it. Make every other score minus infinity, and
    leave the rest as they are.

    Shapes: `scores` (S,); `position` is a whole number below S.

    Return: the scores (S,), with `-np.inf` for the words to come.
    """
    ...
