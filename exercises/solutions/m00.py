"""m00: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def compare(query, keys):
    return keys @ query / np.sqrt(keys.shape[-1])


def softmax(scores):
    e = np.exp(scores - scores.max())
    return e / e.sum()


def mix(weights, values):
    return weights @ values


def hide_the_future(scores, position):
    seen = np.arange(len(scores)) <= position
    return np.where(seen, scores, -np.inf)


def by_attention_py(query, keys, values, **options):
    """Return the output and the weights of one query, as rows."""
    import torch

    from attention import scaled_dot_product_attention

    rows = (torch.from_numpy(np.atleast_2d(rows)) for rows in (query, keys, values))
    return [rows.numpy()[0] for rows in scaled_dot_product_attention(*rows, **options)]


def one_by_one(query, keys):
    dots = [sum(q * k for q, k in zip(query, key, strict=True)) for key in keys]
    return np.array(dots) / len(query) ** 0.5


def as_one_query(scores):
    """Score with a query of size 1, so that each score is the key itself."""
    return by_attention_py(np.ones(1), scores[:, None], scores[:, None])[1]


def sum_of_parts(weights, values):
    return sum(weight * value for weight, value in zip(weights, values, strict=True))


def query_and_keys(rng, size):
    return rng.normal(size=size + 1), rng.normal(size=(size + 2 + size % 3, size + 1))


def row_of_scores(rng, size):
    return (rng.normal(size=size + 1) * 2,)


def weights_and_values(rng, size):
    return softmax(rng.normal(size=size + 1)), rng.normal(size=(size + 1, size + 2))


def scores_at_a_place(rng, size):
    return rng.normal(size=size + 2), int(rng.integers(0, size + 2) if size > 1 else 1)


def cut_off(scores, position):
    hidden = scores.copy()
    hidden[position + 1 :] = -np.inf
    return hidden


TASKS = [
    Task(
        compare,
        inputs=query_and_keys,
        truth=one_by_one,
        hints=[
            "`keys @ query` makes the dot product of every key with the query, all at once.",
            "The size of one key is `keys.shape[-1]`, the last number of its shape.",
        ],
        why="A matrix times a vector is one dot product for each row. With many queries it "
        "becomes `Q @ K.T`.",
        mistakes={
            "you didn't scale: divide by the root of the size of a key":
                lambda query, keys: keys @ query,
            "you divided by the size of a key, not by its root":
                lambda query, keys: keys @ query / keys.shape[-1],
            "you divided by the root of the number of keys; it is the size of one key that counts":
                lambda query, keys: keys @ query / np.sqrt(len(keys)),
            "you multiplied number by number, but didn't add up":
                lambda query, keys: keys * query / np.sqrt(keys.shape[-1]),
        },
    ),
    Task(
        softmax,
        inputs=row_of_scores,
        truth=as_one_query,
        hints=[
            "`np.exp(scores)` is e to the power of each score.",
            "Divide by the sum of what `np.exp` gave, not by the sum of the scores.",
        ],
        why="e to the power of anything is positive, so all weights are. Taking the largest score "
        "away first changes nothing, and keeps `exp` from overflowing.",
        mistakes={
            "you divided the scores by their sum; take `np.exp` of them first":
                lambda scores: scores / scores.sum(),
            "the weights don't sum to 1 yet: divide by the sum": lambda scores: np.exp(scores),
            "you divided by the sum of the scores; divide by the sum of their exponentials":
                lambda scores: np.exp(scores) / scores.sum(),
            "you gave everything to the largest score; softmax leaves each word some weight":
                lambda scores: (scores == scores.max()).astype(float),
        },
    ),
    Task(
        mix,
        inputs=weights_and_values,
        truth=sum_of_parts,
        hints=[
            "The first weight goes with the first row of `values`, and so on.",
            "`weights @ values` multiplies each row by its weight and adds the rows.",
        ],
        why="With many words it becomes `weights @ V`: each row of weights makes its own mix.",
        mistakes={
            "you took the value with the largest weight; mix all of them":
                lambda weights, values: values[weights.argmax()],
            "you took the plain mean; each value counts by its weight":
                lambda weights, values: values.mean(axis=0),
            "you multiplied each value by its weight, but didn't add them up":
                lambda weights, values: weights[:, None] * values,
            "you divided by the number of words; the weights sum to 1 already":
                lambda weights, values: weights @ values / len(weights),
        },
    ),
    Task(
        hide_the_future,
        inputs=scores_at_a_place,
        truth=cut_off,
        hints=[
            "`np.arange(len(scores))` are the positions of all the words: 0, 1, 2, …",
            "`np.where(condition, a, b)` takes from `a` where the condition holds, else from `b`.",
        ],
        why="e to the power of minus infinity is 0, so softmax gives the hidden words nothing, "
        "and the others divide all of the weight among them.",
        mistakes={
            "you hid the word itself too; it may look at itself":
                lambda scores, position: hide_the_future(scores, position - 1),
            "you hid the past; it is the words to come that must be hidden":
                lambda scores, position:
                    np.where(np.arange(len(scores)) >= position, scores, -np.inf),
            "you made the hidden scores 0; e to the power of 0 is 1, and that is still a weight":
                lambda scores, position: np.where(np.arange(len(scores)) <= position, scores, 0),
            "you cut the words to come off; keep their positions, with -np.inf there":
                lambda scores, position: scores[: position + 1],
        },
    ),
]  # fmt: skip
