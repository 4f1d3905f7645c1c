"""Sparse attention: complete each function, then run

    python3 -m course exercise m15

A function counts as begun when its "..." is gone.
"""

import numpy as np


def chosen_attention(query, key, value, cheap, kept):
    """Attend to the chosen tokens.

    Each query sees itself and the tokens before it. Of these it chooses the `kept` with the largest
    cheap scores; all of them if there are no more than that. Then it looks at the chosen tokens
    only: scaled dot products, a softmax, and a mix of their values, for one head.

    `cheap[i, j]` is what query i gives to token j. No two cheap scores are equal. Scaled dot
    products may be as large as 1,000, or as low as −1,000.

    Shapes: `query` and `key` (L, D); `value` (L, Dv); `cheap` (L, L); `kept` a whole number, at
    least 1.
    Return: the output of each query (L, Dv).
    """
    ...


def moved(weights, chosen, value):
    """Measure a choice.

    The choice is made, and so are the weights of a layer that looks at everything. How far does the
    choice move what comes out? If a query looks at its chosen tokens only, their weights keep their
    ratios and add up to 1 again. Mix the values by these, and take away the mix by all weights.

    `weights[i, j]` is what query i gives to token j. Each row adds up to 1, and later tokens have
    0. `chosen[i, j]` is True if query i has chosen token j. Each query has chosen at least one,
    itself or one before it.

    Shapes: `weights` (L, L); `chosen` (L, L), bool; `value` (L, Dv).
    Return: for each query the mix of the chosen tokens, minus the mix of all (L, Dv). It is 0 where
    everything is chosen.
    """
    ...


def numbers_kept(layers, tokens, num_kv_heads, head_dim, window, short_dim):
    """Count what a stack keeps.

    `layers` is a list of words. A "softmax" layer keeps a key and a value of every token, for each
    of its `num_kv_heads` heads. A "window" layer keeps them of the last `window` tokens only. A
    "table" layer keeps one table for each of its `num_kv_heads` heads, with `head_dim` rows and
    `head_dim` columns. Every key and every value has `head_dim` numbers.

    A "choice" layer looks only at a few tokens, but any token may be chosen later. So it keeps what
    a "softmax" layer keeps, and for the cheap score one short key of every token, with `short_dim`
    numbers.

    Return: how many numbers all layers keep after `tokens` tokens.
    """
    ...
