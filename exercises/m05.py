"""Masks: complete each function, then run

    python3 -m course exercise m05

A function counts as begun when its "..." is gone.
"""

import numpy as np


def for_pytorch(mask):
    """Translate a mask into PyTorch's three conventions.

    In `mask`, True means *may attend*. Write the same wish for `F.scaled_dot_product_attention`,
    as booleans and as floats to be added, and for `nn.MultiheadAttention`, as booleans.

    Shapes: `mask` (L, S), bool.
    Return: the three arrays (L, S), in this order.
    """
    ...


def causal_padding_mask(query_len, key_len, lengths):
    """Build a mask that is causal and hides padding.

    A model that goes on writing asks for its new words only, so the queries are the *last*
    `query_len` of `key_len` positions: their ends are aligned. Text *b* has `lengths[b]` words; the
    keys after them are blanks, which nobody may attend to. True means *may attend*.

    Shapes: `query_len` and `key_len` are numbers, `lengths` (B,), each from 0 to `key_len`.
    Return: a bool array (B, 1, L, S) for B texts; the 1 stands for the heads of the next lesson,
    which all use one mask.
    """
    ...


def masked_softmax(scores, mask):
    """Write a softmax that survives empty rows.

    Each row becomes weights over the keys that `mask` shows. Hidden keys get exactly 0. A row that
    shows none becomes zeros: no NaN, no warning. Scores may be as low as −10³⁶ or as high as 10³⁶.

    Shapes: `scores` (L, S); `mask` (L, S), bool, True = may attend.
    Return: the weights (L, S).
    """
    ...
