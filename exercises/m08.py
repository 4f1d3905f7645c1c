"""Patterns: complete each function, then run

    python3 -m course exercise m08

A function counts as begun when its "..." is gone.
"""

import numpy as np


def previous_score(weights):
    """Score how much a head looks at the word before.

    The mean weight that queries give to the word just before them. The first word has none before
    it, so it doesn't count.

    Shapes: `weights` (L, L), a causal map with L at least 2.
    Return: the score, and what equal weights over all visible words would score.
    """
    ...


def induction_score(weights, tokens):
    """Detect an induction head.

    Of each query whose token stood somewhere before it, take the weight on the token that came
    right after its *last* earlier occurrence. Queries whose token is new don't count.

    Shapes: `weights` (L, L), a causal map; `tokens` (L,), whole numbers.
    Return: the mean of these weights, or 0 where no token comes again.
    """
    ...


def make_induction_fail(tokens):
    """Make induction fail.

    You get some tokens, all different. Write on: return a text that begins with them and then has
    each of them once more, in an order of your choice. An induction head guesses after each
    repeated token what followed it the last time. Choose the order so that it is never right.

    Shapes: `tokens` (n,), whole numbers, n at least 3.
    Return: the whole text (2n,).
    """
    ...


def copies(W_E, W_V, W_O):
    """Read from matrices whether a head copies.

    Where a head looks at token *t*, it adds the vector of *t*, times W_V, times W_O. The score of
    each guess rises by the dot product of that with the guess's own vector. Of which share of the
    tokens does the token itself rise most?

    Shapes: `W_E` (V, E), a row for each token; `W_V` (E, D); `W_O` (D, E).
    Return: the share, from 0 to 1.
    """
    ...
