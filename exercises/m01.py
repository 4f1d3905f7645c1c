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
    Return: the number of edges, 0 where `start` is `end`, or `None` where there is no way.
    """
    ...


def flow_lines(n, decay, times):
    """Repair the lines over distance.

    For the last of `n` words: how much of a word 0, 1, … `n - 1` places before it arrives? The
    first line is for a recurrent net, state = decay · state before + word. The second is for
    attention that counts the word it looks for `times` as much as each of the others. In the file a
    first try stands below the `...`. Remove the `...`, and make both lines right.

    Return: two arrays of shape (n,); the first entry is for the last word itself.
    """
    ...
    places = np.arange(1, n + 1)
    return decay**places, np.ones(n)


def times_needed(n, share):
    """Find out how well a word must be told apart.

    Attention over `n` words counts one of them some number of times as much as each of the
    others. How many times, for that one to get `share` of the mix?

    Shapes: `n` is an integer from 2 on; `share` lies between 0 and 1.
    Return: the number of times.
    """
    ...
