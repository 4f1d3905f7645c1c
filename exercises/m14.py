"""Hybrids: complete each function, then run

    python3 -m course exercise m14

A function counts as begun when its "..." is gone.
"""

import numpy as np


def chosen_mask(index, kept):
    """Choose what softmax may look at.

    `index[i, j]` is a cheap score that says how much query i might want key j. Let each query see
    the `kept` keys with its largest scores, among itself and the tokens before it; all of them if
    there are no more than that. No two scores are equal.

    Shapes: `index` (L, L); `kept` a whole number, at least 1.
    Return: a bool array (L, L). True means *may attend*.
    """
    ...


def numbers_kept(layers, tokens, num_kv_heads, head_dim, window):
    """Count what a stack keeps.

    `layers` is a list of words. A "softmax" layer keeps a key and a value of every token, for each
    of its `num_kv_heads` heads. A "window" layer keeps them of the last `window` tokens only. A
    "table" layer keeps one table for each of its `num_kv_heads` heads, with `head_dim` rows and
    `head_dim` columns. Every key and every value has `head_dim` numbers.

    Return: how many numbers all layers keep after `tokens` tokens.
    """
    ...
