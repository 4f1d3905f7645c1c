"""Position: complete each function, then run

    python3 -m course exercise m07

A function counts as begun when its "..." is gone.
"""

import numpy as np


def positions_as_waves(length, size):
    """Make sinusoidal positions.

    Position *p* is a row of `size` numbers: sin(pθ₀), cos(pθ₀), sin(pθ₁), cos(pθ₁), and so on,
    with θᵢ = 10000^(−2i / size), the speed of a hand. Here the number *up* stands before the number
    to the *right*, as in the paper. Positions count from 0; `size` is even.

    Return: the positions (length, size).
    """
    ...


def relative_bias(table, length):
    """Lay out a learned relative bias.

    `table` has a number for each distance from −m to m, so 2m + 1 of them. The distance of a query
    at *i* and a key at *j* is *j* − *i* here, so *three back* is −3: the first number is for a key
    that stands m positions before its query. Pairs further apart than m take the number
    of m, or of −m.

    Shapes: `table` (2m + 1,); `length` may be less than m, too.

    Return: what is added to the scores, (length, length), a row for each query.
    """
    ...


def rotate(x, positions, base):
    """Turn queries or keys by hand.

    Each row of `x` is a query or a key of D numbers; `positions` says where each stands. Numbers 2i
    and 2i + 1 are a pair (a, b), which turns by the angle φ = position · base^(−2i / D) into
    (a cos φ − b sin φ, a sin φ + b cos φ).

    Shapes: `x` (L, D) with an even D; `positions` (L,), which may be fractions, for a text may be
    squeezed.

    Return: the turned rows (L, D).
    """
    ...


def alibi(num_heads, length):
    """Write ALiBi's biases.

    Head *h*, counted from 1, takes 2^(−8h / num_heads) off a score for each position between query
    and key, in either direction. `num_heads` is a power of two.

    Return: what is added to the scores, (num_heads, length, length).
    """
    ...
