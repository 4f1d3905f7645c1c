"""A tour in eight steps: complete the function, then run

    python3 -m course exercise m00

A function counts as begun when its "..." is gone.
"""

import numpy as np


def attend(query, keys, values):
    """Take one word through attention.

    Compare the word's query with every key: a score is a dot product, divided by the root of the
    size of a key. Make weights of the scores: *e* to the power of each, divided by the sum of all
    of these. Then multiply each value by its weight, and add them up.

    Shapes: `query` (d,), `keys` (S, d), `values` (S, v).

    Return: the mix (v,), which is as long as one value.
    """
    ...
