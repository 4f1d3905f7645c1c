"""m05: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def for_pytorch(mask):
    return mask, np.where(mask, 0.0, -np.inf), ~mask


def causal_padding_mask(query_len, key_len, lengths):
    queries = np.arange(key_len - query_len, key_len)  # (L,)
    keys = np.arange(key_len)  # (S,)
    ends = np.asarray(lengths)[:, None, None, None]  # (B, 1, 1, 1)
    return (keys <= queries[:, None]) & (keys < ends)


def masked_softmax(scores, mask):
    empty = ~mask.any(axis=-1, keepdims=True)
    # An empty row is opened first, and emptied at the end.
    scores = np.where(mask | empty, scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.where(empty, 0.0, e / e.sum(axis=-1, keepdims=True))


def cell_by_cell(mask):
    rows = mask.tolist()
    added = [[0.0 if on else float("-inf") for on in row] for row in rows]
    return np.array(rows), np.array(added), np.array([[not on for on in row] for row in rows])


def by_attention_py(query_len, key_len, lengths):
    from attention import create_causal_mask, create_padding_mask

    padding = create_padding_mask(list(map(int, lengths)), key_len)
    return (create_causal_mask(query_len, key_len) & padding).numpy()


def softmax_by_attention_py(scores, mask):
    import torch

    from attention import masked_softmax

    return masked_softmax(torch.from_numpy(scores), torch.from_numpy(mask)).numpy()


def masks(rng, size):
    return (rng.random((size, size + 1)) < 0.5,)


def batches(rng, size):
    query_len, key_len = (size, size) if size % 2 else (max(1, size // 2), size + 1)
    lengths = rng.integers(1, key_len + 1, size=size + 1)
    if size > 1:
        lengths[rng.integers(size + 1)] = 0  # a text of blanks
    return query_len, key_len, lengths


def masked_scores(rng, size):
    """Make scores and a mask whose last row is empty, except at size 1.

    From size 3 on one row shows only very low scores, and another hides very high ones: no
    number but -inf is below all scores. They are powers of 2, which float32 has too. From size 4
    on one row shows 2,000 and 4,000, so that taking away less than the largest overflows.
    """
    shape = (size + 1, size + 2)
    mask = rng.random(shape) < 0.6
    mask[np.arange(size + 1), rng.integers(size + 2, size=size + 1)] = True
    mask[-1] = size == 1
    scores = rng.normal(scale=2, size=shape)
    if size > 2:
        scores[0, mask[0]] = -(2.0**120)
        scores[1, ~mask[1]] = 2.0**120
    if size > 3:
        mask[2, :2] = True
        scores[2, :2] = rng.permutation([2000, 4000])
    return scores, mask


def build(query_len, key_len, lengths, *, shift=None, strict=False, axis="keys"):
    at = np.arange(query_len)[:, None] + (key_len - query_len if shift is None else shift)
    keys = np.arange(key_len)
    lengths = np.asarray(lengths)[:, None, None, None]
    padding = {"keys": keys < lengths, "queries": at < lengths, "none": lengths >= 0}[axis]
    return (keys < at if strict else keys <= at) & padding


def filled(scores, mask, number=-1e9):
    scores = np.where(mask, scores, number)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def without_maximum(scores, mask):
    e = np.where(mask, np.exp(scores), 0.0)
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


TASKS = [
    Task(
        for_pytorch,
        inputs=masks,
        truth=cell_by_cell,
        hints=[
            "One of the three is `mask` itself. One is its opposite.",
            "Floats are *added* to the scores: what changes nothing is 0, what hides is −∞.",
            "`np.where(mask, 0.0, -np.inf)` writes the floats; `~mask` turns booleans around.",
        ],
        why="The wish is the same; only its spelling differs. Keep one convention in your code, "
        "and translate at the border.",
        mistakes={
            "`F.scaled_dot_product_attention` reads True as *may attend*, as this course does":
                lambda mask: (~mask, np.where(mask, 0.0, -np.inf), ~mask),
            "`nn.MultiheadAttention` reads True as *hidden*: turn the mask around":
                lambda mask: (mask, np.where(mask, 0.0, -np.inf), mask),
            "floats of 1 and 0 are added to the scores and hide nothing: use 0 and -inf":
                lambda mask: (mask, mask.astype(float), ~mask),
            "your floats hide what may be seen: 0 where the mask is True, -inf where it is False":
                lambda mask: (mask, np.where(mask, -np.inf, 0.0), ~mask),
            "-1e9 is not -inf: float16 refuses it, and an empty row becomes uniform":
                lambda mask: (mask, np.where(mask, 0.0, -1e9), ~mask),
        },
    ),
    Task(
        causal_padding_mask,
        inputs=batches,
        truth=by_attention_py,
        hints=[
            "Query *i* stands at position `key_len - query_len + i`. It may see the keys up to it.",
            "Compare a column of positions, (L, 1), with a row of keys, (S,).",
            "Padding depends on text and key alone: `keys < lengths[:, None, None, None]` is "
            "(B, 1, 1, S), and `&` spreads it over the queries.",
        ],
        why="Both masks broadcast: (L, S) and (B, 1, 1, S) become (B, 1, L, S). One new query, "
        "`query_len` 1, sees all keys that aren't blanks, because the ends are aligned.",
        mistakes={
            "you aligned the starts; the last query stands at the last key":
                lambda *sizes: build(*sizes, shift=0),
            "each word may see itself too: the diagonal is visible":
                lambda *sizes: build(*sizes, strict=True),
            "you hid the blanks as queries; hide them as keys, the last axis":
                lambda *sizes: build(*sizes, axis="queries"),
            "you left out the padding": lambda *sizes: build(*sizes, axis="none"),
            "True means *may attend*; yours says *hidden*": lambda *sizes: ~build(*sizes),
            "your mask is (B, L, S), and would land on the heads; give it an axis of 1 for them":
                lambda *sizes: build(*sizes)[:, 0],
        },
    ),
    Task(
        masked_softmax,
        inputs=masked_scores,
        truth=softmax_by_attention_py,
        silent=True,
        hints=[
            "`np.where(mask, scores, -np.inf)` hides: `np.exp(-np.inf)` is exactly 0.",
            "An empty row is one where `mask.any(axis=-1)` is False. There the sum would be 0.",
            "Open the empty rows first, so that no step divides 0 by 0, and set them to 0 last.",
        ],
        why="Zeros say nothing, which is true. Opening the row first keeps NaN out of every step, "
        "not only out of the result.",
        mistakes={
            "an empty row becomes uniform with -1e9; it must be zeros": filled,
            "an empty row is NaN: it divides 0 by 0":
                lambda scores, mask:
                    np.where(mask.any(-1, keepdims=True), masked_softmax(scores, mask), np.nan),
            "-1e9 hides nothing from scores that are lower still: hide with -inf":
                lambda scores, mask:
                    np.where(mask.any(-1, keepdims=True), filled(scores, mask), 0),
            "rows of low scores are NaN or zeros: take the largest score that is shown away first":
                without_maximum,
            "hidden keys get weight: hide them before the softmax, with -inf":
                lambda scores, mask: filled(scores * mask, mask | True),
            "your rows don't sum to 1: the hidden keys are in the sum that you divide by":
                lambda scores, mask: filled(scores, mask | True) * mask,
            "you hid what the mask shows: True = may attend":
                lambda scores, mask: masked_softmax(scores, ~mask),
        },
    ),
]  # fmt: skip
