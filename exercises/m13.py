"""Beyond softmax: complete each function, then run

    python3 -m course exercise m13

A function counts as begun when its "..." is gone.
"""

import numpy as np


def beta_for(table, key, value, wanted):
    """Say how far a note must go.

    Each value is a single number here. A note under `key` brings what the table says there the part
    beta of the way to `value`. Which beta lets the table say `wanted` afterwards?

    Shapes: `table` (D,); `key` (D,), of length 1; `value` and `wanted` are numbers. `wanted` lies
        between what the table says before and `value`, and these two differ.
    Return: beta, a number from 0 to 1.
    """
    ...


def gated_delta(q, k, v, alpha, beta):
    """Run the gated delta rule along a text.

    Begin with a table of zeros. Each token first fades the whole table to the part `alpha[t]`, then
    corrects it under its key by `beta[t]`, and then asks it with its query.

    Shapes: `q` and `k` (L, D), each row of `k` of length 1; `v` (L, Dv); `alpha` and `beta` (L,).
    Return: what each token found (L, Dv), and the table after the last one (D, Dv).
    """
    ...


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
