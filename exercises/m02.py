"""Query, key, value: complete each function, then run

    python3 -m course exercise m02

A function counts as begun when its "..." is gone.
"""

import numpy as np


def soft_lookup(query, keys, values, temperature):
    """Write a lookup from soft to hard.

    Score each key with its dot product with the query, divide by the temperature, and return the
    softmax-weighted mean of the values. At temperature 0 the best key alone counts: return its
    value. Scores may be in the thousands, and then `exp` gives infinity. Subtract the largest score
    from all of them first: the weights stay as they are.

    Shapes: `query` (d,), so d numbers; `keys` (S, d), S keys of d numbers; `values` (S, d_v);
    `temperature` is a number ≥ 0.
    Return: the answer (d_v,).
    """
    ...


def craft_query(keys, target):
    """Craft a query.

    Find a query that gives the key at index `target` at least 0.9 of the weight, when the weights
    are the softmax of `keys @ query`, at temperature 1. There are at most nine keys. They are
    at right angles to each other, so their dot products are 0, and some may be very short.

    Shapes: `keys` (S, d), with S ≤ d; `target` is an index.
    Return: the query (d,).
    """
    ...


def best_bandwidth(x, y, candidates):
    """Choose a bandwidth.

    A soft lookup can predict, too. At the place `x[j]` of a line somebody has measured `y[j]`. To
    predict at another place, ask with that place as the query: the places `x[j]` are the keys, the
    `y[j]` are the values, and a near key fits better, as its score is −(distance)² / (2h²). The
    *bandwidth* h says what is near. With a small h the nearest point gets nearly all the weight,
    and with a large h all points count alike.

    Which h predicts best? Test each candidate: predict every `y[i]` from all the *other* points,
    with the scores −(x[i] − x[j])² / (2h²). Return the candidate h with the smallest mean squared
    error. As above, subtract the largest score before `exp`: a point may be far from all others.

    Shapes: `x` and `y` (N,); `candidates` (C,).
    Return: one of the candidates, a number.
    """
    ...
