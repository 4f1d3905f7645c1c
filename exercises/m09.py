"""Interpretation: complete each function, then run

    python3 -m course exercise m09

A function counts as begun when its "..." is gone.
"""

import numpy as np


def erasure(x, query, readout):
    """Erase each word in turn.

    A classifier with one query: the scores are `x @ query`, softmax makes weights of them, and
    its answer is the weighted sum of `x`, times `readout`: one number. It knows no blank, so erase
    a word by hiding it from softmax: the others share out 1. By how much does the answer fall?
    A word may come twice; erase one place at a time. Scores may be large, 1,000 or −1,000.

    Shapes: `x` (L, E), at least two words; `query` and `readout` (E,).
    Return: the answer of the whole text less the answer without word *j*, for each *j*: (L,).
    """
    ...


def patching(x, other, query, readout):
    """Patch one place at a time.

    The same classifier reads two texts of the same length, `x` and `other`. Take its run on `x`,
    and replace the vector at one place by the one that stands there in `other`. How far does the
    answer move, as a share of the way from the answer for `x` to the answer for `other`? 0: it
    stays. 1: it is the other's. The two answers differ. Scores may be as large as 1,000.

    Shapes: `x` and `other` (L, E); `query` and `readout` (E,).
    Return: the share for each place: (L,).
    """
    ...


def rollout(layers):
    """Roll out attention through all layers.

    In a layer each word keeps half of itself and takes half from where its heads look, on average
    over the heads: half of the identity plus half of the heads' mean. Multiply the layers, the
    last on the left, so that row *i* of the result says, by the weights alone, where word *i*'s
    last vector comes from in the input.

    Shapes: `layers` (N, H, L, L), the first layer first; rows sum to 1.
    Return: (L, L).
    """
    ...


def integrated_gradients(x, blank):
    """Share out a product.

    Each word is one number, and the answer is the product of all of them. Walk in a straight line
    from the numbers of blanks, `blank`, to those of the words, `x`, all together, in 1,000 equal
    steps. Take the gradient in the middle of each step: for each number, by how much the answer
    grows if this number grows a little. That is the product of all other numbers there. Each word
    gets its mean gradient, times its own number less that of its blank.

    Shapes: `x` and `blank` (L,), L from 2 to 5.
    Return: a number for each word: (L,). (It is exact to 0.0001.)
    """
    ...
