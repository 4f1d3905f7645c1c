"""m00: a worked solution, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def attend(query, keys, values):
    scores = keys @ query / np.sqrt(keys.shape[-1])
    e = np.exp(scores - scores.max())
    return e / e.sum() @ values


def by_attention_py(query, keys, values):
    import torch

    from attention import scaled_dot_product_attention

    rows = (torch.from_numpy(np.atleast_2d(rows)) for rows in (query, keys, values))
    return scaled_dot_product_attention(*rows)[0].numpy()[0]


def one_word(rng, size):
    """Make a query, keys and values: as many words, numbers in a key and in a value never agree.

    Nor do two of them keep one distance, so that none can stand for another.
    """
    words = size + 1
    d, v = rng.choice([n for n in range(2, size + 4) if n != words], 2, replace=False)
    return 2 * rng.normal(size=d), rng.normal(size=(words, d)), rng.normal(size=(words, v))


def softmax(scores):
    e = np.exp(scores - scores.max())
    return e / e.sum()


def weights_of(query, keys):
    return softmax(keys @ query / np.sqrt(len(query)))


TASKS = [
    Task(
        attend,
        inputs=one_word,
        truth=by_attention_py,
        hints=[
            "`keys @ query` makes the dot product of every key with the query, all at once. The "
            "size of a key is `keys.shape[-1]`.",
            "`e = np.exp(scores)` is *e* to the power of each score, and `e / e.sum()` are the "
            "weights.",
            "`weights @ values` multiplies each row of `values` by its weight and adds the rows.",
        ],
        why="Taking the largest score away first changes nothing, and keeps `exp` from "
        "overflowing. For all words at once, `keys @ query` becomes `Q @ K.mT`.",
        mistakes={
            "you didn't scale: divide the scores by the root of the size of a key":
                lambda q, K, V: softmax(K @ q) @ V,
            "you divided by the size of a key, not by its root":
                lambda q, K, V: softmax(K @ q / len(q)) @ V,
            "you divided by the root of the number of keys; it is the size of one key that counts":
                lambda q, K, V: softmax(K @ q / np.sqrt(len(K))) @ V,
            "you mixed by the scores themselves; make weights of them first":
                lambda q, K, V: K @ q / np.sqrt(len(q)) @ V,
            "your weights don't sum to 1: divide the powers by their sum":
                lambda q, K, V: np.exp(K @ q / np.sqrt(len(q))) @ V,
            "you took the value with the largest weight; mix all of them":
                lambda q, K, V: V[(K @ q).argmax()],
            "you took the plain mean of the values; each counts by its weight":
                lambda q, K, V: V.mean(axis=0),
            "you multiplied each value by its weight, but didn't add them up":
                lambda q, K, V: weights_of(q, K)[:, None] * V,
            "you returned the weights; mix the values by them": lambda q, K, V: weights_of(q, K),
        },
    ),
]  # fmt: skip
