"""m03: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def attention(Q, K, V):
    scaled = Q @ K.mT / np.sqrt(K.shape[-1])
    e = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights


def additive_scores(Q, K, w):
    sums = Q[:, None] + K[None, :]  # (L, S, h)
    pairs = np.tanh(sums)
    return pairs @ w


def find_mistake(scores, d_k, scaled, weights):
    if np.abs(scores / np.sqrt(d_k) - scaled).max() > 0.01:
        return "scaled"
    e = np.exp(scaled - scaled.max())
    is_wrong = np.abs(e / e.sum() - weights).max() > 0.01
    return "weights" if is_wrong else None


def softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def attend(scores, V, axis=-1):
    weights = softmax(scores, axis)
    return weights @ V, weights


def by_attention_py(Q, K, V):
    import torch

    from attention import scaled_dot_product_attention

    return [t.numpy() for t in scaled_dot_product_attention(*map(torch.from_numpy, (Q, K, V)))]


def pair_by_pair(Q, K, w):
    return np.array([[w @ np.tanh(q + k) for k in K] for q in Q])


def matrices(rng, size):
    """Make queries, keys and values.

    The last query has scores of thousands in size 8, and only of minus thousands in size 7.
    """
    L, S, d_k, d_v = size, size + 1, 1 + 5 * size % 7, size + 2
    Q, K, V = (rng.normal(size=shape) for shape in ((L, d_k), (S, d_k), (S, d_v)))
    if size == 8:
        top = (K**2).sum(axis=1).argmax()  # no other key comes near its score
        Q[-1] = 5000 * K[top] / (K[top] @ K[top])
    if size == 7:
        K = np.abs(K)
        Q[-1] = -5000 / K.min()
    return Q, K, V


def queries_and_keys(rng, size):
    h = 2 + size % 5
    shapes = (size, h), (size + 1, h), (h,)
    return tuple(rng.normal(size=shape) for shape in shapes)


SCORES = (-0.8, 0.3, 1.2)
SPOILED = {  # size: its scores, and by how much which of its weights are wrong
    2: (SCORES, {0: -0.02}),
    6: (SCORES, {0: 0.05, 1: -0.05}),
    7: ((0.3, -0.8, 1.2), {0: 0.05}),
    8: ((0.3, 1.4, -1.2, 0.4, 0.1, 0.2), {3: 0.04, 5: -0.04}),
}


def printed_examples(rng, size):
    """Make the lesson's example, then others, and let none be nearly right.

    In size 8 two weights are wrong, and the sum is right; they stand at odd places from the fourth
    on, and are neither the greatest nor the least. The first weight alone is wrong in sizes 2, too
    low, and 7, too high. 3, 5 and 6 have one wrong number in the scaled row, each at another index,
    and 6 wrong weights too; 4 has no mistake, and a scaled row that needed no rounding. In sizes 2
    and 5 the mistake is 0.02, so that a tolerance of 0.03 isn't enough. The scaled number is too
    low in size 3 and too high in 5. What is rounded differs by nearly 0.005 in the weights of 4 and
    the scaled row of 7.
    """
    if size == 1:
        printed = [2.1, 8.7, 3.2], 128, [0.19, 0.77, 0.28], [0.22, 0.48, 0.30]
        return tuple(np.array(row) for row in printed)
    d_k = 64 if size == 7 else int(rng.choice([4, 16, 64]))
    levels, wrong = SPOILED.get(size, (rng.permutation(SCORES), {}))
    weights, enough = np.full(len(levels), np.nan), False
    # They sum to 1 as rounded, so that no rounding is a mistake.
    while weights.round(2).sum().round(2) != 1 or not enough:
        scores = levels + rng.normal(scale=0.1, size=len(levels))
        scores = ((scores.round(2) if size == 4 else scores) * np.sqrt(d_k)).round(2)
        scaled = (scores / np.sqrt(d_k)).round(2)
        index, by = {3: (0, -0.2), 5: (2, 0.02), 6: (1, 0.2)}.get(size, (0, 0))
        scaled[index] += by
        weights = softmax(scaled)
        rows = {4: (weights, 0.0042), 7: (scores / 8, 0.0035)}
        row, least = rows.get(size, (weights, 0))
        enough = least < np.abs(row - row.round(2)).max() < 0.0049 or size not in rows
    weights = weights.round(2)
    for index, by in wrong.items():
        weights[index] += by
    return scores, d_k, scaled.round(2), weights.round(2)


def first_wrong(scores, d_k, scaled, weights, *, tolerance=0.01, divisor=np.sqrt, of="scaled"):
    if np.abs(scores / divisor(d_k) - scaled).max() > tolerance:
        return "scaled"
    source = scaled if of == "scaled" else scores
    return "weights" if np.abs(softmax(source) - weights).max() > tolerance else None


def last_wrong(scores, d_k, scaled, weights):
    if np.abs(softmax(scaled) - weights).max() > 0.01:
        return "weights"
    return "scaled" if np.abs(scores / np.sqrt(d_k) - scaled).max() > 0.01 else None


TASKS = [
    Task(
        attention,
        inputs=matrices,
        truth=by_attention_py,
        hints=[
            "All scores are one matrix product: `Q @ K.mT` has a row for each query.",
            "The size of a key is `K.shape[-1]`. Divide by its root.",
            "For the softmax, take each row's largest scaled score away, then `exp`, and divide "
            "each row by its sum: `axis=-1, keepdims=True` keeps the sums as a column.",
        ],
        why="Four lines: compare and scale, two for softmax, mix. Taking each row's maximum away "
        "changes nothing in the result and keeps `exp` from overflowing.",
        mistakes={
            "you divided by d_k, not by its root": lambda Q, K, V: attend(Q @ K.mT / K.shape[1], V),
            "you didn't scale: divide the scores by √d_k": lambda Q, K, V: attend(Q @ K.mT, V),
            "you divided by the root of the number of keys; d_k is the size of one key":
                lambda Q, K, V: attend(Q @ K.mT / np.sqrt(K.shape[0]), V),
            "your softmax runs over the queries (axis 0); each row of weights must sum to 1":
                lambda Q, K, V: attend(Q @ K.mT / np.sqrt(K.shape[1]), V, axis=0),
            "your softmax runs over the whole matrix; each row must sum to 1 by itself":
                lambda Q, K, V: attend(Q @ K.mT / np.sqrt(K.shape[1]), V, axis=None),
            "you returned the weights first; the output comes first":
                lambda Q, K, V: attention(Q, K, V)[::-1],
            "you returned the output alone; return the weights too":
                lambda Q, K, V: attention(Q, K, V)[0],
        },
    ),
    Task(
        find_mistake,
        inputs=printed_examples,
        truth=first_wrong,
        hints=[
            "Compute both rows yourself, in order, and stop at the first that differs.",
            "Compare with `np.abs(mine - printed).max() > 0.01`, not with `==`: they were rounded.",
            "Check the weights against the softmax of the *printed* scaled row.",
        ],
        why="A sum of 1 shows that something was normalised, not what. Only computing the row "
        "again tells. The weights are compared with what follows from the printed row, so that one "
        "mistake isn't reported twice.",
        mistakes={
            "a row that sums to 1 is not yet a right row: compute the weights again":
                lambda scores, d_k, scaled, weights:
                    None if np.abs(scores / np.sqrt(d_k) - scaled).max() <= 0.01 else "scaled",
            "you allowed no rounding: only more than 0.01 is a mistake":
                lambda *example: first_wrong(*example, tolerance=1e-9),
            "you divided by d_k, not by its root":
                lambda *example: first_wrong(*example, divisor=float),
            "you took the softmax of the scores; the weights follow from the scaled row":
                lambda *example: first_wrong(*example, of="scores"),
            "you returned the last row that is wrong; the task asks for the first": last_wrong,
        },
    ),
    Task(
        additive_scores,
        inputs=queries_and_keys,
        truth=pair_by_pair,
        hints=[
            "To add every query to every key, give them a new axis each: (L, 1, h) + (1, S, h). "
            "NumPy repeats an axis of size 1 until the shapes fit.",
            "`Q[:, None]` is (L, 1, h), and `K[None, :]` is (1, S, h).",
            "`tanh` of those pairs is (L, S, h). Its product with `w` leaves (L, S).",
        ],
        why="The pairs hold a vector each, L · S · h numbers. That is the price of this score; a "
        "dot product never makes them.",
        mistakes={
            "you took tanh of query and key apart; add them first, then take tanh of the sum":
                lambda Q, K, w: (np.tanh(Q)[:, None] + np.tanh(K)) @ w,
            "tanh is missing; without it, the score is a sum of a query's and a key's own term":
                lambda Q, K, w: (Q[:, None] + K) @ w,
            "your scores are transposed: rows are queries, columns are keys":
                lambda Q, K, w: additive_scores(Q, K, w).T,
            "you multiplied query and key; this score adds them":
                lambda Q, K, w: np.tanh(Q[:, None] * K) @ w,
            "you applied softmax; the task asks for the scores before it":
                lambda Q, K, w: softmax(additive_scores(Q, K, w)),
        },
    ),
]  # fmt: skip
