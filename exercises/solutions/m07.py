"""m07: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def positions_as_waves(length, size):
    speeds = 10000.0 ** (-np.arange(0, size, 2) / size)
    angles = np.arange(length)[:, None] * speeds
    positions = np.zeros((length, size))
    positions[:, 0::2] = np.sin(angles)
    positions[:, 1::2] = np.cos(angles)
    return positions


def relative_bias(table, length):
    most = len(table) // 2
    positions = np.arange(length)
    distance = positions[None, :] - positions[:, None]
    return table[distance.clip(-most, most) + most]


def rotate(x, positions, base):
    speeds = base ** (-np.arange(0, x.shape[1], 2) / x.shape[1])
    angles = positions[:, None] * speeds
    a, b = x[:, 0::2], x[:, 1::2]
    turned = np.empty_like(x)
    turned[:, 0::2] = a * np.cos(angles) - b * np.sin(angles)
    turned[:, 1::2] = a * np.sin(angles) + b * np.cos(angles)
    return turned


def alibi(num_heads, length):
    slopes = 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)
    positions = np.arange(length)
    distance = np.abs(positions[:, None] - positions)
    return -slopes[:, None, None] * distance


def by_positions_py(length, size):
    import torch

    from positions import sinusoidal_positions

    return sinusoidal_positions(length, size, dtype=torch.float64).numpy()


def pair_by_pair(table, length):
    most = len(table) // 2
    return np.array(
        [[table[max(-most, min(most, j - i)) + most] for j in range(length)] for i in range(length)]
    )


def by_complex_numbers(x, positions, base):
    """A pair is a complex number, and turning it is a product."""
    size = x.shape[1]
    turned = [
        [
            complex(*row[2 * i : 2 * i + 2]) * np.exp(1j * position * base ** (-2 * i / size))
            for i in range(size // 2)
        ]
        for row, position in zip(x, positions, strict=True)
    ]
    return np.array([[part for z in row for part in (z.real, z.imag)] for row in turned])


def alibi_by_positions_py(num_heads, length):
    import torch

    from positions import alibi_bias

    return alibi_bias(num_heads, length, dtype=torch.float64).numpy()


def lengths(rng, size):
    return int(rng.integers(2, 20)), (2, 4, 6, 8, 10, 16, 32, 34)[size - 1]


def tables(rng, size):
    """Make a table for distances up to m; every third text has m words or fewer, size 3's has one.

    Size 8 has a long text.
    """
    most = 1 + size // 2
    longer = size % 3 + 1 if size % 3 else -int(rng.integers(0, most))
    longer = {3: 1 - most, 8: 20}.get(size, longer)
    return rng.normal(size=2 * most + 1).round(2), most + longer


def rows_at_positions(rng, size):
    """Make rows at whole numbers; even sizes have quarters in between, and so has 5, and a 0."""
    numbers = rng.normal(size=(size + 1, 2 * (1 + size % 4)))
    positions = rng.permutation(30)[: size + 1] + 1
    if size % 2 == 0 or size == 5:
        positions = positions + rng.permutation(np.arange(size + 1) % 4) / 4
    if size == 5:
        positions[0] = 0
    return numbers.round(2), positions, (100.0, 10000.0)[size % 2]


def heads(rng, size):
    return 2 ** (size % 5), 40 if size == 8 else int(rng.integers(2, 12))


def waves(length, size, *, speeds=None, halves=False, start=0, swap=False):
    steps = np.arange(0, size, 2) / size if speeds is None else speeds(size)
    angles = np.arange(start, start + length)[:, None] * 10000.0**-steps
    sines, cosines = np.sin(angles), np.cos(angles)
    positions = np.zeros((length, size))
    if halves:
        return np.concatenate((sines, cosines), axis=1)
    if swap:
        positions[:, 0::2], positions[:, 1::2] = np.cos(angles), np.sin(angles)
    else:
        positions[:, 0::2], positions[:, 1::2] = sines, cosines
    return positions


def from_the_first(table, length):
    """Repeat the table's ends as often as a long text needs, and start from the first number."""
    most = len(table) // 2
    more = max(0, length - 1 - most)
    line = np.concatenate((np.full(more, table[0]), table, np.full(more, table[-1])))
    last = len(line) // 2 if length > most else length - 1
    return np.stack([line[last - i : last - i + length] for i in range(length)])


def turn(x, positions, base, *, sign=1, halves=False, speeds=None):
    size = x.shape[1]
    steps = np.arange(0, size, 2) / size if speeds is None else speeds(size)
    angles = sign * positions[:, None] * base**-steps
    a, b = np.split(x, 2, axis=1) if halves else (x[:, 0::2], x[:, 1::2])
    new = a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)
    return np.concatenate(new, 1) if halves else np.stack(new, -1).reshape(x.shape)


def penalties(num_heads, length, slopes, distance=np.abs):
    positions = np.arange(length)
    return -slopes[:, None, None] * distance(positions[:, None] - positions[None, :])


def exponents(num_heads):
    return np.arange(1, num_heads + 1) / num_heads


TASKS = [
    Task(
        positions_as_waves,
        inputs=lengths,
        truth=by_positions_py,
        hints=[
            "All angles are one product: positions as a column, `np.arange(length)[:, None]`, "
            "times the speeds θ as a row.",
            "`np.arange(0, size, 2) / size` has the exponents 2i / size, one for each sine.",
            "Put sines into `[:, 0::2]` and cosines into `[:, 1::2]` of an array of zeros.",
        ],
        why="Sine and cosine of one angle are the tip of a clock hand: two numbers for each hand.",
        mistakes={
            "you put all sines first and all cosines after; here they alternate":
                lambda length, size: waves(length, size, halves=True),
            "you began with a cosine; each pair is a sine, then its cosine":
                lambda length, size: waves(length, size, swap=True),
            "your positions count from 1; the first is 0":
                lambda length, size: waves(length, size, start=1),
            "your exponent is i / size; it is 2i / size":
                lambda length, size: waves(
                    length, size, speeds=lambda n: np.arange(0, n, 2) / 2 / n),
            "you divided the exponent by the number of pairs; it is 2i / size":
                lambda length, size: waves(
                    length, size, speeds=lambda n: np.arange(0, n, 2) * 2 / n),
        },
    ),
    Task(
        relative_bias,
        inputs=tables,
        truth=pair_by_pair,
        hints=[
            "Make all distances first: `positions[None, :] - positions[:, None]` has a row for "
            "each query.",
            "`distance.clip(-m, m)` brings those that are too far back to the ends of the table.",
            "Add m, so that −m becomes index 0, and look all up at once: `table[...]`.",
        ],
        why="One number for each distance, wherever the pair stands: every diagonal of the "
        "matrix is constant. And clipping gives pairs of any distance a number that was learned.",
        mistakes={
            "you took the distances the other way round: j − i, key minus query":
                lambda table, length: relative_bias(table[::-1], length),
            "you used the distance without its sign; before and after have numbers of their own":
                lambda table, length: relative_bias(
                    np.concatenate((table[len(table) // 2 + 1 :][::-1], table[len(table) // 2 :])),
                    length),
            "you let distances beyond m wrap around to the table's other end; clip them":
                lambda table, length: table[
                    (np.arange(length)[None] - np.arange(length)[:, None] + len(table) // 2)
                    % len(table)],
            "distance 0 takes the table's middle number in a text of m words or fewer, too":
                from_the_first,
            "you gave pairs beyond m no bias; they take the number at the table's end":
                lambda table, length: np.where(
                    np.abs(np.arange(length)[None] - np.arange(length)[:, None]) > len(table) // 2,
                    0.0, relative_bias(table, length)),
        },
    ),
    Task(
        rotate,
        inputs=rows_at_positions,
        truth=by_complex_numbers,
        hints=[
            "The first numbers of all pairs are `x[:, 0::2]`, the second ones `x[:, 1::2]`.",
            "The angles are a column of positions times a row of speeds: (L, D / 2), one a pair.",
            "Compute both new numbers from the *old* pair, then write them to `[:, 0::2]` and "
            "`[:, 1::2]` of a new array.",
        ],
        why="A pair keeps its length and changes its direction. In a dot product of two turned "
        "pairs, the angle of one is taken from the other's, so only the difference of their "
        "positions is left.",
        mistakes={
            "you turned the other way: the sign of sin is swapped":
                lambda x, positions, base: turn(x, positions, base, sign=-1),
            "you paired number i with number i + D/2, as Llama's weights on Hugging Face do; here "
            "neighbours are a pair":
                lambda x, positions, base: turn(x, positions, base, halves=True),
            "you turned all pairs at the same speed; pair i turns by position · base^(−2i / D)":
                lambda x, at, base: turn(x, at, base, speeds=lambda n: np.zeros(n // 2)),
            "you turned by the row's number; `positions` says where each row stands":
                lambda x, positions, base: turn(x, np.arange(len(x)), base),
            "positions may be fractions; don't cut them":
                lambda x, positions, base: turn(x, positions.astype(int), base),
            "your exponent is i / D; it is 2i / D":
                lambda x, positions, base: turn(
                    x, positions, base, speeds=lambda n: np.arange(0, n, 2) / 2 / n),
        },
    ),
    Task(
        alibi,
        inputs=heads,
        truth=alibi_by_positions_py,
        hints=[
            "The slopes are one row: `2.0 ** (-8 * h / num_heads)` for h = 1 … num_heads.",
            "Distances are `np.abs(positions[:, None] - positions[None, :])`, (length, length).",
            "Give the slopes two more axes, `slopes[:, None, None]`, and mind the sign.",
        ],
        why="Nothing is learned. A head with a steep slope sees its neighbours, one with a flat "
        "slope sees far; and no distance is new in kind, whatever the length.",
        mistakes={
            "you added the distance; it is a penalty, so at most 0":
                lambda H, L: -penalties(H, L, 2.0 ** (-8 * exponents(H))),
            "your heads count from 0; the first has the slope 2^(−8 / num_heads)":
                lambda H, L: penalties(H, L, 2.0 ** (-8 * (exponents(H) - 1 / H))),
            "keys after the query have a penalty too; take the distance without its sign":
                lambda H, L: penalties(H, L, 2.0 ** (-8 * exponents(H)), lambda d: d.clip(min=0)),
            "you gave every head the same slope":
                lambda H, L: penalties(H, L, np.full(H, 2.0 ** (-8 / H))),
        },
    ),
]  # fmt: skip
