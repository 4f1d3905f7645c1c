"""m02: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def soft_lookup(query, keys, values, temperature):
    scores = keys @ query
    if temperature == 0:
        return values[scores.argmax()]
    powers = np.exp((scores - scores.max()) / temperature)
    return powers / powers.sum() @ values


def craft_query(keys, target):
    key = keys[target]
    return 10 * key / (key @ key)


def who_asks_whom(kinds, asks):
    W_Q, W_K = np.zeros((2, len(kinds), kinds.max() + 1))
    for word, (kind, asked) in enumerate(zip(kinds, asks, strict=True)):
        W_K[word, kind] = 1
        if asked >= 0:
            W_Q[word, asked] = 5
    return W_Q, W_K


def best_bandwidth(x, y, candidates):
    def error(h):
        scores = -((x[:, None] - x) ** 2) / (2 * h**2)
        np.fill_diagonal(scores, -np.inf)  # nobody looks at their own
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = powers / powers.sum(axis=1, keepdims=True)
        return ((weights @ y - y) ** 2).mean()

    return candidates[np.argmin([error(h) for h in candidates])]


def softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def without_maximum(scores):
    with np.errstate(all="ignore"):
        return (e := np.exp(scores)) / e.sum(axis=-1, keepdims=True)


def without_maximum_nor_nan(scores):
    return np.nan_to_num(without_maximum(scores))


def without_maximum_but_finite(scores):
    e = np.exp(scores)
    return e / (e.sum(axis=-1, keepdims=True) + 1e-12)


def leave_one_out(
    x, y, h, *, power=2, divisor=lambda h: 2 * h**2, loss=np.square, hidden=-np.inf, weigh=softmax
):
    """``hidden``: the score of a point with itself, None for what it comes to."""
    scores = -(np.abs(x[:, None] - x) ** power) / divisor(h)
    if hidden is not None:
        np.fill_diagonal(scores, hidden)
    return loss(weigh(scores) @ y - y).mean()


def choose(x, y, candidates, *, pick=np.argmin, **how):
    return candidates[pick([leave_one_out(x, y, h, **how) for h in candidates])]


def by_attention_py(query, keys, values, temperature):
    import torch

    from attention import scaled_dot_product_attention

    q, k, v = (torch.from_numpy(a) for a in (query[None], keys, values))
    # At 1e-9 softmax is argmax to the last bit, for scores that differ as these do.
    output, _ = scaled_dot_product_attention(q, k, v, scale=1 / (temperature or 1e-9))
    return output[0].numpy()


def point_by_point(x, y, candidates):
    errors = []
    for h in candidates:
        error = 0.0
        for i in range(len(x)):
            squares = (x[i] - np.delete(x, i)) ** 2
            w = np.exp((squares.min() - squares) / (2 * h**2))
            error += (np.dot(w, np.delete(y, i)) / np.sum(w) - y[i]) ** 2
        errors.append(error)
    return candidates[int(np.argmin(errors))]


def memories(rng, size):
    """Make a query, keys, values and a temperature, which is 0 at even sizes.

    At size 5 it is low, and the scores so near to each other that several keys count. At size 7
    the powers of the scores overflow, the best two differ by 1, and the first is far below 0 and
    farther from it than any other. At size 4 the best two scores are so near to each other that a
    temperature of 1e-5 doesn't stand for 0.
    """
    temperature = 0.0 if size % 2 == 0 else float(rng.uniform(0.3, 2))
    d = 2 if size < 4 else 3
    shapes = (d,), (size + 1, d), (size + 1, 3)
    query, keys, values = (rng.normal(size=shape) for shape in shapes)
    if size == 5:
        temperature = float(rng.uniform(2e-4, 1e-3))
        query *= 2 * temperature / (keys @ query).std()
    if size == 7:  # numbers whose products float32 has exactly, too
        query, temperature = np.array([rng.integers(3000, 6000), 64.0, rng.integers(9)]), 0.5
        keys = (keys * 64).round() / 64
        best, other = rng.permutation(np.arange(1, size + 1))[:2]
        keys[best, 0] = np.abs(keys[:, 0]).max() + 0.5
        keys[other] = keys[best] - np.array([0, 1 / 64, 0])
        keys[0] = -2 * keys[best]
    if size == 4:
        best, other = (keys @ query).argsort()[[-1, 0]]
        keys[other] = keys[best] - 3e-5 * query / (query @ query)
    return query, keys, values, temperature


def orthogonal_keys(rng, size):
    """Make two to nine keys of different lengths; at even sizes the target's is by far the least.

    It is so short that a factor that is the same for all keys, up to 1e10, doesn't make up for it.
    """
    directions, _ = np.linalg.qr(rng.normal(size=(size + 1, size + 1)))
    lengths = rng.permutation(np.linspace(0.1, 3, size + 1))
    target = lengths.argmin() if size % 2 == 0 else rng.integers(size + 1)
    if size % 2 == 0:
        lengths[target] /= 1e4
    return directions * lengths[:, None], int(target)


def noisy_wave(rng, size):
    """Make a slow or fast wave with an outlier, and candidates of which any may be the best.

    At all sizes a formula that is nearly right chooses another candidate for certain. Up to size 5
    there is a point far from all others.
    """
    near = {
        1: {"hidden": -1e4},
        2: {"weigh": without_maximum_nor_nan},
        3: {"hidden": -100},
        4: {"weigh": without_maximum_but_finite},
        5: {"weigh": without_maximum},
        6: {"divisor": np.square},
        7: {"power": 1},
        8: {"loss": np.abs},
    }
    while True:
        x = np.sort(rng.uniform(0, 6, 24 + 2 * size))
        x[-1] += 10 * (size < 6)
        y = np.sin(rng.uniform(0.5, 4) * x) + rng.normal(scale=0.2, size=len(x))
        y[rng.integers(len(y))] += 3
        candidates = rng.choice(np.geomspace(0.05, 4, 16).round(2), 2 + size, replace=False)
        candidates.sort()
        if size not in near or choose(x, y, candidates) != choose(x, y, candidates, **near[size]):
            return x, y, candidates


def words_of_kinds(rng, size):
    """Make two to nine words of two to four kinds; some of them ask for nothing.

    No kind asks for its own. Kind 0 has one word, and another word looks for it. From size 3 on,
    two words of a kind differ in what they ask for.
    """
    n, k = size + 1, min(size + 1, 2 + size // 3)
    kinds = rng.permutation(np.append(np.arange(k), rng.integers(1, k, size=n - k)))
    asks = (kinds + rng.integers(1, k, size=n)) % k
    asks[kinds == 0] = -1
    at = np.flatnonzero(kinds == np.bincount(kinds).argmax())
    asks[at[-1]] = 0
    if n > 3:
        asks[at[0]] = -1
    return kinds, asks


def looks_as_asked(got, kinds, asks):
    weights = softmax(got[0] @ got[1].T)
    for word, (row, asked) in enumerate(zip(weights, asks, strict=True)):
        if asked < 0 and not np.allclose(row, 1 / len(asks), atol=1e-4):
            return f"word {word} looks for nothing, but its weights go up to {row.max():.2f}"
        of_kind = row[kinds == asked]
        if asked >= 0 and not of_kind.sum() >= 0.9:
            return f"word {word} gives words of kind {asked} only {of_kind.sum():.2f} of its weight"
        if asked >= 0 and not np.allclose(of_kind, of_kind[0], atol=1e-4):
            return f"word {word} gives words of kind {asked} different weights"
    return None


def at_kinds(which, kinds, times=5.0):
    """A row for each word, with a number at the kind that stands in ``which``."""
    return times * (np.arange(kinds.max() + 1) == which[:, None])


def gets_the_weight(got, keys, target):
    weight = softmax(keys @ got)[target]
    return None if weight >= 0.9 else f"the key at {target} gets {weight:.2f} of the weight"


TASKS = [
    Task(
        soft_lookup,
        inputs=memories,
        truth=by_attention_py,
        hints=[
            "All scores are one product: `keys @ query` has a number for each key.",
            "At temperature 0 you can't divide. `scores.argmax()` is the index of the best key.",
            "Otherwise the weights are `e / e.sum()`, where `e` is `np.exp(s - s.max())` and `s` "
            "is `scores / temperature`. The answer is `weights @ values`.",
        ],
        why="Softmax has no value at 0, only a limit, and the limit is argmax. So the code says "
        "it in a line of its own.",
        mistakes={
            "you multiplied by the temperature; a high one must make the weights more alike":
                lambda q, k, v, T: softmax(k @ q * T) @ v if T else v[(k @ q).argmax()],
            "you left the temperature out":
                lambda q, k, v, T: softmax(k @ q) @ v if T else v[(k @ q).argmax()],
            "at temperature 0 you returned the mean; the best key alone counts":
                lambda q, k, v, T: softmax(k @ q / T) @ v if T else v.mean(axis=0),
            "you scaled by √d too; here the temperature is the only scale":
                lambda q, k, v, T:
                    softmax(k @ q / T / len(q) ** 0.5) @ v if T else v[(k @ q).argmax()],
            "you returned the weights; mix the values with them":
                lambda q, k, v, T: softmax(k @ q / T) if T else np.eye(len(k))[(k @ q).argmax()],
        },
    ),
    Task(
        craft_query,
        inputs=orthogonal_keys,
        judge=gets_the_weight,
        hints=[
            "A query along the target's key has the score 0 with every key orthogonal to it.",
            "Its score with the target is its length times the key's. How large must that be?",
            "With nine keys, eˢ / (eˢ + 8) ≥ 0.9 asks for s ≥ 4.3. Divide the key by its squared "
            "length, and multiply by a number above that.",
        ],
        why="Direction chooses the key, length decides how firmly. Dividing by the squared length "
        "gives the target a score of 10, however short it is; all other keys score 0.",
        mistakes={
            "the query points the right way but is too short: softmax hardly tells the keys apart":
                lambda keys, target: 0.1 * keys[target] / np.linalg.norm(keys[target]),
            "you returned the sum of all keys, so the longest key wins":
                lambda keys, target: keys.sum(axis=0),
            "your query is the target's key turned round: it avoids what it should find":
                lambda keys, target: -10 * keys[target] / (keys[target] @ keys[target]),
        },
    ),
    Task(
        who_asks_whom,
        inputs=words_of_kinds,
        judge=looks_as_asked,
        hints=[
            "The vector of word i picks row i of a matrix. So row i of W_Q is the query of word i, "
            "and row j of W_K is the key of word j. Both have k numbers, one for each kind.",
            "Let a key say of which kind its word is: a 1 at `kinds[j]`. Then the score of word i "
            "with word j is `W_Q[i, kinds[j]]`.",
            "If one word of nine is of that kind, eˢ / (eˢ + 8) ≥ 0.9 asks for s ≥ 4.3. Put a "
            "number above that at `W_Q[i, asks[i]]`. A query of zeros scores 0 with every key.",
        ],
        why="A key says what a word is, and a query what it looks for. Words of a kind share a "
        "key, so a key may be much shorter than the vectors of all words.",
        mistakes={
            "you used the matrix of queries for both: a word is found by what it asks for":
                lambda kinds, asks: (at_kinds(asks, kinds), at_kinds(asks, kinds, 1.0)),
            "you used the matrix of keys for both: each word looks for its own kind":
                lambda kinds, asks: (at_kinds(kinds, kinds), at_kinds(kinds, kinds, 1.0)),
            "you exchanged the two: each word looks for those that ask for its kind":
                lambda kinds, asks: (at_kinds(kinds, kinds, 1.0), at_kinds(asks, kinds)),
            "the scores are too small: softmax hardly tells the kinds apart":
                lambda kinds, asks: (at_kinds(asks, kinds, 1.0), at_kinds(kinds, kinds, 1.0)),
        },
    ),
    Task(
        best_bandwidth,
        inputs=noisy_wave,
        truth=point_by_point,
        hints=[
            "All pairs at once: `scores = -((x[:, None] - x) ** 2) / (2 * h**2)` is (N, N).",
            "Nobody may look at their own answer: `np.fill_diagonal(scores, -np.inf)`.",
            "The prediction is `softmax(scores) @ y`; take each row's largest score away before "
            "`exp`. Compare the mean squared errors of all h.",
        ],
        why="With itself among the keys, a point predicts itself best with the hardest lookup, "
        "and the smallest h always wins. Hiding the diagonal is a mask: your first.",
        mistakes={
            "each point looks at itself, so the smallest bandwidth always wins: hide the diagonal":
                lambda x, y, c: choose(x, y, c, hidden=None),
            "you returned the index of the best candidate; return the candidate":
                lambda x, y, c: int(np.argmin([leave_one_out(x, y, h) for h in c])),
            "you returned the candidate with the largest error":
                lambda x, y, c: choose(x, y, c, pick=np.argmax),
            "you returned the error; return the bandwidth that has it":
                lambda x, y, c: min(leave_one_out(x, y, h) for h in c),
        },
    ),
]  # fmt: skip
