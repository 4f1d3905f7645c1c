"""m04: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def divisor(query_spread, key_spread, d_k):
    return query_spread * key_spread * np.sqrt(d_k)


def stable_softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def entropy_in_bits(weights):
    logs = np.zeros_like(weights)
    np.log2(weights, where=weights > 0, out=logs)
    return -(weights * logs).sum(axis=-1)


def softmax_backward(weights, upstream):
    mean = (weights * upstream).sum(axis=-1, keepdims=True)
    return weights * (upstream - mean)


def shifted(scores, by):
    e = np.exp(scores - by)
    return e / e.sum(axis=-1, keepdims=True)


def entropy(weights, log=np.log2, tiny=0.0):
    return -(weights * log(weights + tiny)).sum(axis=-1)


def term_by_term(query_spread, key_spread, d_k):
    """The variances of independent terms add up, and each is the product of two mean squares."""
    return sum(query_spread**2 * key_spread**2 for _ in range(d_k)) ** 0.5


def softmax_by_pytorch(scores):
    import torch

    return torch.from_numpy(scores).softmax(dim=-1).numpy()


def entropy_by_pytorch(weights):
    import torch

    return torch.special.entr(torch.from_numpy(weights)).sum(dim=-1).numpy() / np.log(2)


def backward_by_autograd(weights, upstream):
    import torch

    scores = torch.from_numpy(weights).log().requires_grad_()
    scores.softmax(dim=-1).backward(torch.from_numpy(upstream))
    return scores.grad.numpy()


def spreads(rng, size):
    """Make two spreads that differ from each other and from 1, and a size."""
    query, key = rng.uniform(0.1, 0.8), rng.uniform(1.5, 4)
    if size % 2:
        query, key = key, query
    return float(query), float(key), int(rng.integers(1, 12)) ** 2 + size


def extreme_scores(rng, size):
    """Make rows, one far above the others; the last has one large score, at any position.

    From size 3 on, one far below too, and two that go from one extreme to the other: the first
    score and the last, the mean, the median and the smallest are all far from their maximum.
    """
    scores = rng.normal(size=(size + 2, size + 1), scale=2)
    scores[-1, rng.integers(size + 1)] += 5_000
    scores[0] += rng.integers(11_500, 12_000)  # beyond long doubles, too
    if size > 2:
        scores[1] -= rng.integers(11_500, 12_000)
        scores[2, 0] -= 5_000
        scores[2, size // 2 : size // 2 + 2] += 5_000
        scores[3] = scores[2, ::-1]
    return ((scores * 64).round() / 64,)  # as float32 has them too


def rows_of_weights(rng, size):
    """Make rows of weights, one in three with a weight of 0; from size 3 on one of 1e-30 too."""
    weights = rng.dirichlet(np.ones(size + 1), size=size + 2)
    weights[::3, 0] = 0
    if size > 2:
        weights[1] = np.eye(size + 1)[0] + 1e-30 * np.eye(size + 1)[1]
    return (weights / weights.sum(axis=-1, keepdims=True),)


def weights_and_gradients(rng, size):
    """Make rows, one with a weight of 0; the last are so long that an S × S table shows."""
    L, S = (size + 1, size + 2) if size < 8 else (2, 200)
    weights = rng.dirichlet(np.ones(S), size=L)
    weights[0] = np.roll(np.linspace(0, 2 / S, S), size)  # one of them is 0
    weights[0] /= weights[0].sum()
    return weights, rng.normal(size=weights.shape)


def builds_no_table(held, weights, upstream):
    S = weights.shape[1]
    if held < 2 * S * S:  # a quarter of a table
        return None
    return (
        f"right, but with {S} keys it holds {held:,} bytes at once, as the S × S table does; each "
        "row needs one sum, of weight times gradient"
    )


TASKS = [
    Task(
        divisor,
        inputs=spreads,
        truth=term_by_term,
        hints=[
            "A term of the dot product is one number of the query times one of the key. How large "
            "is its mean square?",
            "The mean squares are multiplied, and those of all terms add up: that is the variance.",
            "The spread is the root of the variance, `d_k * query_spread**2 * key_spread**2`.",
        ],
        why="With spreads of 1 this is √d_k. Models begin with smaller numbers, so their first "
        "scores, divided by √d_k, have a spread below 1.",
        mistakes={
            "the spreads count, too: √d_k alone is for numbers of spread 1":
                lambda a, b, d_k: d_k**0.5,
            "that is the variance of the scores; their spread is its root":
                lambda a, b, d_k: a**2 * b**2 * d_k,
            "the more numbers a key has, the larger the scores: use d_k":
                lambda a, b, d_k: a * b,
            "the terms cancel in part: their spread grows with the root of d_k":
                lambda a, b, d_k: a * b * d_k,
            "a term is a product: both spreads count in full, not their root":
                lambda a, b, d_k: (a * b * d_k) ** 0.5,
            "queries are not as large as keys: use both spreads":
                lambda a, b, d_k: a * a * d_k**0.5,
            "you multiply by that number; the question is by what to divide":
                lambda a, b, d_k: 1 / (a * b * d_k**0.5),
        },
    ),
    Task(
        stable_softmax,
        inputs=extreme_scores,
        truth=softmax_by_pytorch,
        hints=[
            "`exp` overflows above 709 in 64 bits. Which number can you take from a whole row?",
            "Softmax doesn't change when the same number is taken from each score of a row. "
            "Take the row's maximum: then the largest exponent is 0.",
            "Every row has its own: `scores.max(axis=-1, keepdims=True)`.",
        ],
        why="The largest exponent is 0, so no `exp` is above 1. One maximum for the whole matrix "
        "isn't enough: in a row far below it every `exp` would be 0, and 0 / 0 is NaN.",
        mistakes={
            "exp overflowed: infinity divided by infinity is NaN; take each row's maximum away "
            "first": lambda scores: shifted(scores, 0),
            "you took each row's mean away: a score far above it still overflows; take the "
            "row's maximum": lambda scores: shifted(scores, scores.mean(axis=-1, keepdims=True)),
            "you took the maximum of the whole matrix: in rows far below it every exp is 0; each "
            "row needs its own": lambda scores: shifted(scores, scores.max()),
            "you took each column's maximum; softmax runs along a row: axis=-1":
                lambda scores: shifted(scores, scores.max(axis=0)),
            "your softmax runs over the queries (axis 0); each row of weights must sum to 1":
                lambda scores: stable_softmax(scores.T).T,
            "you returned the exponentials; divide each row by its sum":
                lambda scores: np.exp(scores - scores.max(axis=-1, keepdims=True)),
        },
    ),
    Task(
        entropy_in_bits,
        inputs=rows_of_weights,
        truth=entropy_by_pytorch,
        absolute=1e-36,
        hints=[
            "The entropy of a row is −Σ w log w. The base of the logarithm is the unit.",
            "Bits need base 2: `np.log2`, or nats divided by `np.log(2)`.",
            "0 · log 0 counts as 0, but NumPy computes NaN. Take the logarithm only `where` the "
            "weight is above 0, and give it zeros as `out=` for the rest.",
        ],
        why="As w goes to 0, w log w does too, so a weight of 0 adds nothing. A small number added "
        "to every weight would change the weights near 0, and so the result.",
        mistakes={
            "these are nats: bits need the logarithm of base 2":
                lambda weights: entropy_in_bits(weights) * np.log(2),
            "0 · log 0 gave NaN; it counts as 0": entropy,
            "0 · log 0 gave NaN, and these are nats: base 2 for bits":
                lambda weights: entropy(weights, log=np.log),
            "the sign is missing: entropy is never negative":
                lambda weights: -entropy_in_bits(weights),
            "you averaged over the keys; entropy is their sum":
                lambda weights: entropy_in_bits(weights) / weights.shape[-1],
            "you added a number to every weight that is large enough to be seen":
                lambda weights: entropy(weights, tiny=1e-3),
            "a small weight got lost: 1e-30 counts as it is, and 0 alone adds 0; don't add a "
            "number to weights, nor multiply their powers: add up logarithms":
                lambda weights: entropy(weights, tiny=1e-12),
        },
    ),
    Task(
        softmax_backward,
        inputs=weights_and_gradients,
        truth=backward_by_autograd,
        judge_memory=builds_no_table,
        hints=[
            "As a table, the numbers of a row are diag(w) − w wᵀ. What is that times "
            "a vector g?",
            "diag(w) g is `w * g`. w wᵀ g is w times one number, w · g.",
            "That number is a sum along each row: `(weights * upstream).sum(axis=-1, "
            "keepdims=True)`.",
        ],
        why="Take the mean of a row's `upstream`, each number counted by its weight. A score's "
        "gradient is its weight times what its own number is above that mean. Where the weight is "
        "0, that is 0; where it is 1, the mean is its own number, and that is 0, too.",
        mistakes={
            "you left out w wᵀ: a score moves all the weights of its row, for they sum to 1":
                lambda w, g: w * g,
            "you took the diagonal alone, w (1 − w): that is a sigmoid's derivative":
                lambda w, g: w * (1 - w) * g,
            "you took the plain mean of the gradients; weigh it with the weights":
                lambda w, g: w * (g - g.mean(axis=-1, keepdims=True)),
            "you forgot the factor w in front": lambda w, g: g - (w * g).sum(-1, keepdims=True),
            "the sum runs along a row: axis=-1, keepdims=True":
                lambda w, g: w * (g - (w * g).sum(axis=0)),
            "the sign is turned around": lambda w, g: -softmax_backward(w, g),
        },
    ),
]  # fmt: skip
