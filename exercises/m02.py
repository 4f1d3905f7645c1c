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

    Shapes: `query` (d,), so d numbers; `keys` (S, d), S keys of d numbers; `values` (S, d_v), a
    value of d_v numbers for each key; `temperature` is a number ≥ 0.
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


def who_asks_whom(kinds, asks):
    """Write two matrices.

    A toy language has n words of k kinds, such as nouns and verbs. Word i is of the kind
    `kinds[i]`, and looks for words of the kind `asks[i]`, or for nothing if `asks[i]` is −1. The
    vector of word i has a 1 at index i, and 0 everywhere else.

    Write the matrices for queries and keys. A sentence has each word once, and a score is the dot
    product of a query and a key, at temperature 1. A word that looks for a kind must give the words
    of that kind at least 0.9 of its weight together, and to each of them the same. A word that
    looks for nothing must give all words the same weight. There are at most nine words.

    Shapes: `kinds` and `asks` (n,), whole numbers; the kinds are 0 to k − 1.
    Return: W_Q and W_K, (n, k) each: a row for each number of a word's vector.
    """
    ...


def best_bandwidth(x, y, candidates):
    """Choose a bandwidth.

    A score needn't be a dot product: any number will do that is larger where a key fits better. On
    a line somebody has measured `y[j]` at the place `x[j]`. To predict at another place, let that
    place be the query, the `x[j]` the keys and the `y[j]` the values, with −(distance)² / (2h²) as
    the score. With a small *bandwidth* h the nearest point gets nearly all the weight, and with a
    large h all points count alike.

    Which h predicts best? For each candidate, predict every `y[i]` from all the *other* points, and
    take the mean of the squared errors. Return the candidate for which it is smallest. As above,
    subtract the largest score before `exp`.

    Shapes: `x` and `y` (N,); `candidates` (C,).
    Return: one of the candidates, a number.
    """
    ...
