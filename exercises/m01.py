"""Why attention: complete each function, then run

    python3 -m course exercise m01

A function counts as begun when its "..." is gone.
"""

import numpy as np


def path_length(edges, start, end):
    """Count the steps of a path.

    A network is a list of edges: `(a, b)` means that what is at *a* goes into *b*, and not the
    other way. What is the smallest number of edges from `start` to `end`?

    Shapes: `edges` is a list of pairs of integers; `start` and `end` are integers.
    Return: the number of edges, 0 where `start` is `end`, or `None` where there is no path.
    """
    ...


def flow_lines(n, kept, times):
    """Repair the lines over distance.

    Raise one of `n` words by 1: how much of it arrives at the last word? Answer for each distance
    between the two, from 0 (the last word itself) to `n - 1`. The first line is for a recurrent
    network: state = kept · state before + word. The second is for attention, in which the raised
    word counts `times` as much as each other word. In the file a first try stands below the `...`.
    Remove the `...`, and make both lines right.

    Return: two arrays of shape (n,), an entry for each distance.
    """
    ...
    distances = np.arange(1, n + 1)
    return kept**distances, np.ones(n)


def times_needed(n, weight):
    """Find out how well a word must be told apart.

    Attention mixes `n` words. How many times as much as each other word must one of them count, to
    get that `weight`?

    Shapes: `n` is an integer from 2 on; `weight` lies between 0 and 1.
    Return: the number of times.
    """
    ...
