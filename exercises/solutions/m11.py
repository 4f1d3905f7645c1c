"""m11: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def online_softmax(scores, values, mask, size):
    top, total, mix = -np.inf, 0.0, np.zeros(values.shape[1])
    states = []
    for start in range(0, len(scores), size):
        piece = slice(start, start + size)
        visible = mask[piece]
        s, v = scores[piece][visible], values[piece][visible]
        if len(s):
            new = max(top, s.max())
            rate = np.exp(top - new)
            total = rate * total + np.exp(s - new).sum()
            mix = rate * mix + np.exp(s - new) @ v
            top = new
        states.append([top, total])
    return np.array(states), mix / total


def merge(output_a, lse_a, output_b, lse_b):
    top = np.maximum(lse_a, lse_b)
    a, b = np.exp(lse_a - top), np.exp(lse_b - top)
    return (a * output_a + b * output_b) / (a + b), top + np.log(a + b)


def bytes_carried(L, S, d, t, bytes_each):
    plain = 2 * L * d + 2 * S * d + 4 * L * S
    tiles = -(-L // t)  # rounded up
    tiled = 2 * L * d + tiles * 2 * S * d
    return bytes_each * plain, bytes_each * tiled


def prefix_by_prefix(scores, values, mask, size):
    """Every prefix from scratch, by PyTorch: it goes back, but is right."""
    import torch

    ends = [min(end, len(scores)) for end in range(size, len(scores) + size, size)]
    prefixes = [scores[:end][mask[:end]] for end in ends]
    tops = [s.max(initial=-np.inf) for s in prefixes]
    sums = [np.exp(s - top).sum() for s, top in zip(prefixes, tops, strict=True)]
    weights = torch.from_numpy(np.where(mask, scores, -np.inf)).softmax(-1).numpy()
    return np.stack([tops, sums], axis=1), weights @ values


def together(output_a, lse_a, output_b, lse_b):
    """As attention to two keys, whose scores are the logarithms and whose values the outputs."""
    import torch

    scores = torch.from_numpy(np.concatenate([lse_a, lse_b], axis=1))  # (L, 2)
    values = torch.from_numpy(np.stack([output_a, output_b], axis=1))  # (L, 2, d)
    output = (scores.softmax(-1)[:, None] @ values)[:, 0]
    return output.numpy(), scores.logsumexp(-1, keepdim=True).numpy()


def counted(L, S, d, t, bytes_each):
    """Trip by trip."""
    plain = sum([L * d, S * d, L * S, L * S, L * S, L * S, S * d, L * d])
    tiled, left = 0, L
    while left > 0:
        rows = min(t, left)
        tiled += rows * d + S * d + S * d + rows * d
        left -= rows
    return plain * bytes_each, tiled * bytes_each


def rows(rng, size):
    """Scores that mostly grow, as otherwise a forgotten rate is never missed; some far from 0.

    In one row the first piece lies 800 below the others, so that no unit serves for the whole row.
    In every second row the first piece is hidden as a whole. Values are never as wide as a piece.
    """
    length, piece = 3 * size + size % 3, 1 + size % 4
    scores = np.sort(rng.normal(size=length)) * 2 + rng.normal(size=length) * 0.3
    scores += {6: 800, 7: -800}.get(size, 0)
    scores[piece:] += 800 * (size == 5)
    mask = rng.random(length) < 0.8
    mask[-1], mask[0] = True, True
    if size % 2 == 0:
        mask[:piece], mask[piece] = False, True
    width = 1 + (size + 1) % 4
    return in_float32(scores), rng.normal(size=(length, width)).round(2), mask, piece


def in_float32(scores):
    """Round to 1/64, which float32 holds near 800 as well."""
    return (64 * scores).round() / 64


def halves(rng, size):
    L, d = size, 1 + size % 5
    logs = rng.normal(size=(2, L, 1)) * 2
    if size > 4:  # each row and side by itself, near or far from the other
        logs += 800 * rng.integers(-1, 2, size=(2, L, 1))
    logs = in_float32(logs)
    return rng.normal(size=(L, d)), logs[0], rng.normal(size=(L, d)), logs[1]


def shapes(rng, size):
    t = int(rng.choice([1, 2, 4, 16, 64] if size < 3 else [4, 16, 64]))
    rest = int(rng.integers(1, t)) if size % 2 and t > 1 else 0
    L = t * int(rng.integers(1, 5)) + rest
    S = L + int(rng.integers(1, 40))
    if size == 3:  # a tile that would hold more queries than there are
        L = rest
    elif size == 5:  # so few queries in the last tile that rounding to the nearest forgets it
        L += 1 - rest
    elif size == 6:  # fewer keys than queries
        S = int(rng.integers(1, L))
    return L, S, int(rng.choice([2, 8, 64])), t, 2 + 2 * (size % 2)


def running(
    scores, values, mask, size, *, rate_of_sum=True, rate_of_mix=True, up=False, divide=True
):
    top, total, mix, states = -np.inf, 0.0, np.zeros(values.shape[1]), []
    for start in range(0, len(scores), size):
        piece = slice(start, start + size)
        s, v = scores[piece][mask[piece]], values[piece][mask[piece]]
        if len(s):
            new = max(top, s.max())
            rate = (np.exp(new - top) if up else np.exp(top - new)) if total else 0.0
            total = (rate if rate_of_sum else 1) * total + np.exp(s - new).sum()
            mix = (rate if rate_of_mix else 1) * mix + np.exp(s - new) @ v
            top = new
        states.append([top, total])
    return np.array(states), mix / total if divide else mix


def unguarded(scores, values, mask, size):
    """Hide by -inf, and subtract -inf from it before the first visible score."""
    top, total, mix, states = -np.inf, 0.0, np.zeros(values.shape[1]), []
    for start in range(0, len(scores), size):
        piece = slice(start, start + size)
        s = np.where(mask[piece], scores[piece], -np.inf)
        new = max(top, s.max())
        total = np.exp(top - new) * total + np.exp(s - new).sum()
        mix = np.exp(top - new) * mix + np.exp(s - new) @ values[piece]
        top = new
        states.append([top, total])
    return np.array(states), mix / total


def largest_of_all(scores, values, mask, size):
    """Leave hidden scores out of the sums, but not out of the largest."""
    top, total, mix, states = -np.inf, 0.0, np.zeros(values.shape[1]), []
    for start in range(0, len(scores), size):
        piece = slice(start, start + size)
        new = max(top, scores[piece].max())
        parts = np.exp(scores[piece] - new) * mask[piece]
        total = np.exp(top - new) * total + parts.sum()
        mix = np.exp(top - new) * mix + parts @ values[piece]
        top = new
        states.append([top, total])
    return np.array(states), mix / total


def own_largest(scores, values, mask, size):
    starts = range(0, len(scores), size)
    pieces = [scores[start : start + size][mask[start : start + size]] for start in starts]
    tops = [s.max(initial=-np.inf) for s in pieces]
    states = [[top, np.exp(s - top).sum()] for s, top in zip(pieces, tops, strict=True)]
    return np.array(states), running(scores, values, mask, size)[1]


TASKS = [
    Task(
        online_softmax,
        inputs=rows,
        truth=prefix_by_prefix,
        hints=[
            "Begin with a largest of `-np.inf`, a sum of 0 and a mix of `d` zeros.",
            "Take only scores and values whose mask is True. If a piece has none, nothing changes. "
            "Else it brings `new = max(top, s.max())`. Old amounts are worth `np.exp(top - new)`.",
            "Multiply the sum *and* the mix by that rate, then add `np.exp(s - new).sum()` and "
            "`np.exp(s - new) @ v`. Divide once, at the end.",
        ],
        why="Every old part was `exp(s - top)`. Times `exp(top - new)` it is `exp(s - new)`, as if "
        "the new largest had been known from the start. And before the first score that counts, "
        "`-np.inf - -np.inf` isn't a number. So skip a piece that is hidden as a whole.",
        mistakes={
            "you didn't convert the mix: it needs the same rate as the sum":
                lambda *row: running(*row, rate_of_mix=False),
            "you didn't convert the sum when the largest score grew":
                lambda *row: running(*row, rate_of_sum=False),
            "your rate is upside down: what was kept shrinks as the largest grows, exp(old - new)":
                lambda *row: running(*row, up=True),
            "you didn't divide the mix by the sum at the end":
                lambda *row: running(*row, divide=False),
            "you kept each piece's own largest and sum; keep those of all so far": own_largest,
            "you let hidden scores count: leave out those whose mask is False":
                lambda s, v, mask, size: running(s, v, np.ones_like(mask), size),
            "your largest may be a hidden score: take the largest of those whose mask is True":
                largest_of_all,
            "as long as nothing has been seen, your rate is exp(−inf − −inf), which isn't a "
            "number: skip a piece that is hidden as a whole": unguarded,
        },
    ),
    Task(
        merge,
        inputs=halves,
        truth=together,
        hints=[
            "The whole sum is `exp(lse_a) + exp(lse_b)`. Each output counts as much as its sum.",
            "So it is a softmax over two: take the larger logarithm off both before `exp`.",
            "`a = np.exp(lse_a - top)`, `b` alike; the output is `(a * output_a + b * output_b) / "
            "(a + b)`, and the new logarithm `top + np.log(a + b)`.",
        ],
        why="It is attention to two keys: the logarithms are their scores, the outputs their "
        "values. Tiles, machines and caches can be merged like this in any order.",
        mistakes={
            "you took the mean of the outputs; each counts as much as its sum":
                lambda a, x, b, y: ((a + b) / 2, np.logaddexp(x, y)),
            "you weighted by the logarithms themselves; weight by the sums, which are their exp":
                lambda a, x, b, y: ((x * a + y * b) / (x + y), np.logaddexp(x, y)),
            "you added the logarithms; the sums add, not their logarithms":
                lambda a, x, b, y: (merge(a, x, b, y)[0], x + y),
            "you returned the larger logarithm; add the logarithm of the converted sum":
                lambda a, x, b, y: (merge(a, x, b, y)[0], np.maximum(x, y)),
            "you exchanged the weights of the two outputs": lambda a, x, b, y: merge(b, x, a, y),
        },
    ),
    Task(
        bytes_carried,
        inputs=shapes,
        truth=counted,
        hints=[
            "Plain: $Q$, $K$, $V$ and the output once each; scores and weights twice each.",
            "In tiles: $Q$ and the output once; $K$ and $V$ once for each group of queries.",
            "The number of groups is `L / t`, rounded up: `-(-L // t)`.",
        ],
        why="The map costs 4·L·S. Tiles trade it for keys and values that come by L/t times, "
        "2·S·d each time: less, at the latest when t reaches d/2.",
        mistakes={
            "your groups are rounded down: the last, smaller one needs all keys too":
                lambda L, S, d, t, b: (bytes_carried(L, S, d, t, b)[0],
                                       b * (2 * L * d + L // t * 2 * S * d)),
            "you let keys come by for each group and values only once; both pass each time":
                lambda L, S, d, t, b: (bytes_carried(L, S, d, t, b)[0],
                                       b * (2 * L * d + -(-L // t) * S * d + S * d)),
            "you counted scores and weights one way only; they are put back and fetched again":
                lambda L, S, d, t, b: (b * (2 * L * d + 2 * S * d + 2 * L * S),
                                       bytes_carried(L, S, d, t, b)[1]),
            "you counted numbers; the task asks for bytes":
                lambda L, S, d, t, b: bytes_carried(L, S, d, t, 1),
            "you returned the tiles first; the plain way comes first":
                lambda *sizes: bytes_carried(*sizes)[::-1],
        },
    ),
]  # fmt: skip
