"""Hybrids: complete each function, then run

    python3 -m course exercise m14

A function counts as begun when its "..." is gone.
"""

import numpy as np


def others_add(keys, values):
    """Measure the blur.

    A table only adds: each guest's value is written once under the guest's key. Then every guest is
    asked for, with the guest's own key as the query. What comes back is the guest's own note and
    something of all the others'. How much comes from the others?

    Shapes: `keys` (n, D), of any length; `values` (n, M).
    Return: what the other guests add to the answer for each guest (n, M).
    """
    ...


def with_sink(scores, values, sink):
    """Let one row of softmax count.

    In Inference a sink was a token that takes weight. Some models have a sink without a token: one
    more score in the row, which takes weight too, but has no value. The weights of the tokens are
    as always, e to the score divided by a sum, but the sink is in the sum, too. Scores and sink may
    be as large as 1,000, or as low as −1,000.

    Shapes: `scores` (n,), `values` (n,); `sink` is one number.
    Return: what the row says, one number.
    """
    ...


def two_layers_say(tokens, num_guests):
    """Keep the tab with two layers of softmax.

    `tokens` are the coffees of a night, in order: the number of the guest who has one, from 0 on,
    and −1 where all pay. In the lower layer each token gets a mark, how often all have paid so far.
    In the upper one the question of a guest looks at the guest's coffees that have the question's
    own mark, and at the question itself, all with the same weight. A coffee has the value 1, the
    question 0. Every question comes at the end of the night.

    Shapes: `tokens` (n,).
    Return: what the upper layer says of each guest (num_guests,).
    """
    ...
