"""m09: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def rollout(layers):
    eye = np.eye(layers.shape[-1])
    flow = eye
    for heads in layers:
        flow = (0.5 * eye + 0.5 * heads.mean(axis=0)) @ flow
    return flow


def erasure(x, query, readout):
    def answer(words):
        e = np.exp(words @ query - (words @ query).max())
        return e / e.sum() @ words @ readout

    without = (np.delete(x, j, axis=0) for j in range(len(x)))
    return np.array([answer(x) - answer(rest) for rest in without])


def patching(x, other, query, readout):
    def answer(words):
        e = np.exp(words @ query - (words @ query).max())
        return e / e.sum() @ words @ readout

    shares = []
    for j in range(len(x)):
        mixed = x.copy()
        mixed[j] = other[j]
        moved = answer(mixed) - answer(x)
        shares.append(moved / (answer(other) - answer(x)))
    return np.array(shares)


def integrated_gradients(x, blank):
    middles = (np.arange(1000) + 0.5) / 1000
    way = blank + middles[:, None] * (x - blank)  # a row for each step
    gradients = []
    for i in range(len(x)):
        others = np.delete(way, i, axis=1)
        gradients.append(others.prod(axis=1).mean())
    return (x - blank) * np.array(gradients)


# ---- The same another way ------------------------------------------------------------------


def rollout_by_analysis_py(layers):
    import torch

    import analysis

    return analysis.rollout([torch.from_numpy(heads) for heads in layers]).numpy()


def integrated_as_a_polynomial(x, blank):
    """Integrate the product of the others, each blank + a (x - blank), exactly over a."""
    from numpy.polynomial import Polynomial

    factors = [Polynomial([b, end - b]) for b, end in zip(blank, x, strict=True)]
    parts = []
    for i, factor in enumerate(factors):
        others = Polynomial([1.0])
        for other in factors[:i] + factors[i + 1 :]:
            others = others * other
        parts.append(factor.coef[1] * others.integ()(1) if x[i] != blank[i] else 0.0)
    return np.array(parts)


def attended(x, query, readout, mask=None):
    """The answer, by attention.py."""
    import torch

    from attention import scaled_dot_product_attention

    q, x, readout = (torch.from_numpy(part) for part in (query[None], x, readout))
    mask = None if mask is None else torch.from_numpy(mask)[None]
    return (scaled_dot_product_attention(q, x, x, mask, scale=1.0)[0] @ readout).item()


def erasure_by_a_mask(x, query, readout):
    whole = attended(x, query, readout)
    positions = np.arange(len(x))
    return np.array([whole - attended(x, query, readout, positions != j) for j in positions])


def patching_by_attention_py(x, other, query, readout):
    mine, theirs = attended(x, query, readout), attended(other, query, readout)
    positions = np.arange(len(x))[:, None]
    answers = (attended(np.where(positions == j, other, x), query, readout) for j in range(len(x)))
    return np.array([(answer - mine) / (theirs - mine) for answer in answers])


# ---- Inputs ----------------------------------------------------------------------------------


def maps(rng, size):
    """One to five layers of one to four heads."""
    layers, heads = 1 + size % 5, 1 + size % 4
    return (rng.dirichlet(np.ones(size + 1), size=(layers, heads, size + 1)),)


def a_text(rng, size):
    x = rng.normal(size=(size + 1, 3))
    return x, rng.normal(size=3), rng.normal(size=3)


def a_text_to_erase(rng, size):
    """Make a text; in size 3 a word comes twice.

    All scores are near −1,000 in size 6, near 1,000 in 7, and in 5 one is near 1,000 and all others
    are near −1,000.
    """
    x, query, readout = a_text(rng, size)
    if size == 3:
        x[-1] = x[0]
    along = query / (query @ query)
    if size in (5, 6, 7):
        x += along * {5: -1000, 6: -1000, 7: 1000}[size]
    if size == 5:
        x[0] += along * 2000
    return x, query, readout


def two_texts(rng, size):
    """Texts that differ in one to three words, with answers that differ by 0.5 or more.

    In sizes 5 and 7 the largest score is 1,000, at a word that differs, and another is 998.
    """
    while True:
        x, query, readout = a_text(rng, size)
        positions = rng.choice(len(x), size=min(3, size), replace=False)
        if size in (5, 7):
            best = (x @ query).max() + 1
            for position, score in ((positions[0], best), (positions[1], 0.998 * best)):
                x[position] += query / (query @ query) * (score - x[position] @ query)
        other = x.copy()
        other[positions] = rng.normal(size=(len(positions), 3))
        if size in (5, 7):
            query *= 1000 / (x @ query).max()
        if abs(answer_of(other, query, readout) - answer_of(x, query, readout)) > 0.5:
            return x, other, query, readout


def factors(rng, size):
    """Two to five numbers of words; the blanks are 0 in size 1, as on the page."""
    length = 2 + size % 4 if size > 1 else 2
    x = rng.uniform(0.5, 2, size=length) * rng.choice([-1, 1], size=length)
    blank = np.zeros(length) if size == 1 else rng.uniform(-0.5, 0.4, size=length)
    return x, blank


# ---- Mistakes --------------------------------------------------------------------------------


def answer_of(x, query, readout):
    e = np.exp(x @ query - (x @ query).max())
    return e / e.sum() @ x @ readout


def without_its_vector(x, query, readout):
    eye = np.eye(len(x))[:, :, None]
    return np.array(
        [answer_of(x, query, readout) - answer_of(x * (1 - one), query, readout) for one in eye]
    )


def patched_one_after_another(x, other, query, readout):
    mine, theirs = answer_of(x, query, readout), answer_of(other, query, readout)
    mixed, shares = x.copy(), []
    for j in range(len(x)):
        mixed[j] = other[j]
        shares.append((answer_of(mixed, query, readout) - mine) / (theirs - mine))
    return np.array(shares)


def moved(x, other, query, readout):
    gap = answer_of(other, query, readout) - answer_of(x, query, readout)
    return patching(x, other, query, readout) * gap


def overflowing(x, query, readout):
    """Take softmax of the scores as they are: e^1000 is too large, all of e^-1000 are 0."""
    e = np.exp(x @ query)
    return e / e.sum() @ x @ readout


def without_the_largest(x, query, readout):
    with np.errstate(all="ignore"):
        answers = [overflowing(np.delete(x, j, axis=0), query, readout) for j in range(len(x))]
        return np.array([overflowing(x, query, readout) - answer for answer in answers])


def patched_without_the_largest(x, other, query, readout):
    with np.errstate(all="ignore"):
        mine, theirs = overflowing(x, query, readout), overflowing(other, query, readout)
        positions = np.arange(len(x))[:, None]
        mixed = (np.where(positions == j, other, x) for j in range(len(x)))
        moves = [overflowing(text, query, readout) - mine for text in mixed]
        return np.array(moves) / (theirs - mine)


def every_such_word(x, query, readout):
    others = [(x != word).any(axis=1) for word in x]
    return np.array(
        [answer_of(x, query, readout) - answer_of(x[other], query, readout) for other in others]
    )


def scored_low(x, query, readout, low=-30.0):
    falls = []
    for j in range(len(x)):
        scores = x @ query
        scores[j] = low
        e = np.exp(scores - scores.max())
        falls.append(answer_of(x, query, readout) - e / e.sum() @ x @ readout)
    return np.array(falls)


def contributions(x, query, readout):
    e = np.exp(x @ query - (x @ query).max())
    return e / e.sum() * (x @ readout)


def rolled(layers, *, share=0.5, backwards=False):
    eye = np.eye(layers.shape[-1])
    flow = eye
    for heads in layers:
        layer = share * eye + (1 - share) * heads.mean(axis=0)
        flow = flow @ layer if backwards else layer @ flow
    return flow


def slopes(numbers):
    return np.array([np.delete(numbers, i).prod() for i in range(len(numbers))])


TASKS = [
    Task(
        erasure,
        inputs=a_text_to_erase,
        truth=erasure_by_a_mask,
        hints=[
            "Write the classifier as a function of `x` first, then call it with fewer rows.",
            "`np.delete(x, j, axis=0)` is `x` without row j: hidden from softmax is the same as "
            "not there.",
        ],
        why="The weight says how much is read; erasure says what comes of it. A word with a large "
        "weight whose value is like the others' changes little when it goes.",
        mistakes={
            "you turned it around: the whole text's answer less the one without the word":
                lambda *text: -erasure(*text),
            "you took away the word's own part, its weight times what it adds; without it the "
            "others share out 1 again, and their weights grow": contributions,
            "you made the word's vector zero; a score of 0 still gets weight. Hide it from softmax":
                without_its_vector,
            "you returned the size; keep the sign, a word may speak against the answer":
                lambda *text: np.abs(erasure(*text)),
            "scores of 1,000 are too large for exp, and those of −1,000 too small: take away the "
            "largest score first": without_the_largest,
            "a word that comes twice is erased at one place only; take out row j, whatever is in "
            "the others": every_such_word,
            "a score of −30 is low only beside larger ones: take −inf, or leave the row out":
                scored_low,
        },
    ),
    Task(
        patching,
        inputs=two_texts,
        truth=patching_by_attention_py,
        absolute=1e-4,  # float32 rounds scores near 1,000, on each processor otherwise
        hints=[
            "Copy `x` for each place: `mixed = x.copy()`, then `mixed[j] = other[j]`.",
            "The share is (answer with the patch − answer for x) / (answer for other − answer "
            "for x).",
        ],
        why="Where the two texts have the same vector, the share is exactly 0. The shares need "
        "not sum to 1: softmax makes places depend on one another.",
        mistakes={
            "each patch starts from x again: copy it, or the patches pile up":
                patched_one_after_another,
            "divide by the whole way, the answer for other less the answer for x": moved,
            "you patched x into other; patch other into x":
                lambda x, other, query, readout:
                    1 - patching(other, x, query, readout),
            "scores of 1,000 are too large for exp: take away the largest score first":
                patched_without_the_largest,
        },
    ),
    Task(
        rollout,
        inputs=maps,
        truth=rollout_by_analysis_py,
        hints=[
            "`layers.mean(axis=1)` is (N, L, L): one map a layer. Half of `np.eye(L)` is "
            "what each word keeps.",
            "Start with `flow = np.eye(L)`. Each layer multiplies it from the left: "
            "`flow = A @ flow`.",
        ],
        why="A row of the last layer says which of the *middle* vectors are read. Each of those "
        "was mixed by the layer below, so its map comes to the right. Rollout follows weights "
        "alone: what values, MLPs and norms do to the vectors isn't in it.",
        mistakes={
            "you left out what a word keeps of itself: mix in half of the identity":
                lambda layers: rolled(layers, share=0.0),
            "the first layer is on the left; it must be on the right: A_N … A_1":
                lambda layers: rolled(layers, backwards=True),
            "you averaged the layers; multiply them":
                lambda layers: 0.5 * np.eye(layers.shape[-1]) + 0.5 * layers.mean(axis=(0, 1)),
            "you multiplied the heads too; take their mean":
                lambda layers: rolled(layers.reshape(-1, 1, *layers.shape[2:])),
        },
    ),
    Task(
        integrated_gradients,
        inputs=factors,
        truth=integrated_as_a_polynomial,
        absolute=1e-4,
        hints=[
            "`np.linspace` or `(np.arange(1000) + 0.5) / 1000` gives how much of the way is behind "
            "you in the middle of each step. There the words are `blank + share * (x - blank)`.",
            "For word i, `np.delete(numbers, i).prod()` is its gradient. Take the mean over all "
            "steps, times `x[i] - blank[i]`.",
        ],
        why="The mean slope of a way times its length is how far one climbs. So all that the words "
        "get adds up to the answer for `x` less that for the blanks: it is shared out, as in the "
        "example by pencil.",
        mistakes={
            "that is the gradient at the end of the way, or erasure; take the mean over the way":
                lambda x, blank: (x - blank) * slopes(x),
            "you took the gradient at the blanks alone; take its mean over the way":
                lambda x, blank: (x - blank) * slopes(blank),
            "that is the mean gradient; multiply it by the word's number less its blank's":
                lambda x, blank: integrated_gradients(x, blank) / (x - blank),
            "you multiplied by the word's number; take its blank's away from it first":
                lambda x, blank: x * integrated_gradients(x, blank) / (x - blank),
            "you summed the gradients of the steps; take their mean":
                lambda x, blank: 1000 * integrated_gradients(x, blank),
        },
    ),
]  # fmt: skip
