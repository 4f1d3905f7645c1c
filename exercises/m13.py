"""Beyond softmax: complete each function, then run

    python3 -m course exercise m13

A function counts as begun when its "..." is gone.
"""

import numpy as np


def linear_attention(q, k, v):
    """Keep a table.

    This is linear attention of one head, as a loop over the tokens. Begin with a table of zeros,
    which has a row for each number of a key and a column for each number of a value, and with a sum
    of keys, zeros as well. φ makes queries and keys positive, number by number: it is `x + 1` above
    0, and `e^x` at 0 and below. Each token first writes: it adds `outer(φ(k), v)` to the table, and
    φ(k) to the sum. Then it asks: its output is `φ(q) @ table`, divided by the dot product of φ(q)
    and the sum. Numbers in `q` and `k` may be as large as 1,000, or as low as −1,000; each query,
    and the first key, have one above 0.

    Shapes: `q` and `k` (L, D); `v` (L, Dv).
    Return: the output (L, Dv), and the table after the last token (D, Dv).
    """
    ...


def beta_for(table, key, value, wanted):
    """Say how far a note must go.

    Each value is a single number here. If the table says 3 under `key`, and a note is to write 7
    there, then with beta = 1/4 it says 4 afterwards: it has gone a quarter of the way. Which beta
    lets the table say `wanted` afterwards?

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
