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


def missed(scores, cheap, kept):
    """Measure a choice.

    Each query sees itself and the tokens before it. Of these it chooses the `kept` with the largest
    cheap scores; all of them if there are no more than that. How much would softmax overlook if it
    looked only at the chosen tokens? Take the softmax of the scores of all tokens that the query
    sees, and add up the weights of those that are *not* chosen.

    `scores[i, j]` and `cheap[i, j]` are what query i gives to token j. No two cheap scores are
    equal. Scores may be as large as 1,000, or as low as −1,000.

    Shapes: `scores` and `cheap` (L, L); `kept` a whole number, at least 1.
    Return: the weight that each query misses (L,). It is 0 where nothing is missed.
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
