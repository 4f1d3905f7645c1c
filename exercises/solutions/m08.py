"""m08: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def previous_score(weights):
    score = weights.diagonal(-1).mean()
    equal = (1 / np.arange(2, len(weights) + 1)).mean()
    return score, equal


def induction_score(weights, tokens):
    looks = []
    for i in range(len(tokens)):
        before = np.flatnonzero(tokens[:i] == tokens[i])
        if len(before):
            looks.append(weights[i, before[-1] + 1])
    return np.mean(looks) if looks else 0.0


def make_induction_fail(tokens):
    return np.concatenate([tokens, tokens[::-1]])


def copies(W_E, W_V, W_O):
    rises = W_E @ W_V @ W_O @ W_E.T  # (V, V), a row for each seen
    return (rises.argmax(axis=1) == np.arange(len(W_E))).mean()


# ---- Truths ------------------------------------------------------------------------------------


def previous_by_loop(weights):
    L = len(weights)
    score = sum(weights[i, i - 1] for i in range(1, L)) / (L - 1)
    return score, sum(1 / (i + 1) for i in range(1, L)) / (L - 1)


def induction_by_loop(weights, tokens):
    last, total, count = {}, 0.0, 0
    for i, token in enumerate(tokens.tolist()):
        if token in last:
            total, count = total + weights[i, last[token] + 1], count + 1
        last[token] = i
    return total / count if count else 0.0


def copies_by_loop(W_E, W_V, W_O):
    hits = 0
    for t, vector in enumerate(W_E):
        added = W_O.T @ (W_V.T @ vector)
        hits += max(range(len(W_E)), key=lambda guess: added @ W_E[guess]) == t
    return hits / len(W_E)


def judged(got, tokens):
    """Let an ideal induction head go on after each repeated token."""
    n = len(tokens)
    try:
        text = np.asarray(got)
    except ValueError:
        return "return one array of whole numbers"
    if text.shape != (2 * n,):
        return f"the text has the shape {text.shape}; {n} tokens and each once more are ({2 * n},)"
    if not np.array_equal(text[:n], tokens):
        return "the text must begin with the tokens as they are given"
    if sorted(text[n:].tolist()) != sorted(tokens.tolist()):
        return "each token must come exactly once more"
    for i in range(n, 2 * n - 1):
        before = np.flatnonzero(text[:i] == text[i])[-1]
        if text[before + 1] == text[i + 1]:
            return (
                f"after the second {text[i]} it guesses {text[before + 1]}, as the last time, "
                "and is right"
            )
    return None


# ---- Inputs ------------------------------------------------------------------------------------


def causal_map(rng, length):
    weights = np.tril(rng.random((length, length)) ** 3 + 1e-3)
    return weights / weights.sum(axis=1, keepdims=True)


def maps(rng, size):
    return (causal_map(rng, size + 1),)


def texts(rng, size):
    """From size 2 on some token comes three times; at size 1 none comes again."""
    tokens = np.array([4, 7]) if size == 1 else rng.integers(0, 1 + size // 2, size=2 * size)
    return causal_map(rng, len(tokens)), tokens


def different(rng, size):
    return (rng.permutation(40)[: size + 2],)


def matrices(rng, size):
    """A head that copies some tokens: its OV is near the identity, with noise."""
    V, E, D = size + 2, 4, 3
    W_E = rng.normal(size=(V, E))
    W_V = rng.normal(size=(E, D))
    return W_E, W_V, 0.6 * W_V.T + 0.8 * rng.normal(size=(D, E))


def first_occurrence(weights, tokens, shift=1, which=0):
    looks = []
    for i in range(len(tokens)):
        before = np.flatnonzero(tokens[:i] == tokens[i])
        if len(before):
            looks.append(weights[i, before[which] + shift])
    return np.mean(looks) if looks else 0.0


def over_all_queries(weights, tokens):
    seen = sum(token in tokens[:i] for i, token in enumerate(tokens))
    return induction_score(weights, tokens) * seen / len(tokens)


def rises(W_E, W_V, W_O):
    return W_E @ W_V @ W_O @ W_E.T


TASKS = [
    Task(
        previous_score,
        inputs=maps,
        truth=previous_by_loop,
        hints=[
            "The weights on the word before stand one below the diagonal: row *i*, column *i* − 1.",
            "`weights.diagonal(-1)` has them all, and none for the first word.",
            "Query *i*, counted from 0, sees *i* + 1 words. Equal weights give each 1 / (*i* + 1): "
            "take the mean of 1/2, 1/3, … 1/L.",
        ],
        why="A score says little alone. Next to what equal weights would give, it says whether "
        "the head prefers the word before.",
        mistakes={
            "you took the diagonal itself: that is each word's weight on itself":
                lambda w: (w.diagonal().mean(), (1 / np.arange(2, len(w) + 1)).mean()),
            "you took the diagonal above: row i, column i + 1 is the word after":
                lambda w: (w.diagonal(1).mean(), (1 / np.arange(2, len(w) + 1)).mean()),
            "divide by the L − 1 words that have one before them, not by L":
                lambda w: (w.diagonal(-1).sum() / len(w),
                           (1 / np.arange(2, len(w) + 1)).sum() / len(w)),
            "equal weights differ from row to row: query i sees i + 1 words, not all L":
                lambda w: (w.diagonal(-1).mean(), 1 / len(w)),
            "the first word counts in your equal weights, but has no word before it":
                lambda w: (w.diagonal(-1).mean(), (1 / np.arange(1, len(w) + 1)).mean()),
        },
    ),
    Task(
        induction_score,
        inputs=texts,
        truth=induction_by_loop,
        hints=[
            "Go through the queries. For query *i*, where in `tokens[:i]` does its token stand?",
            "`np.flatnonzero(tokens[:i] == tokens[i])` lists these places; the last of them is the "
            "last earlier occurrence.",
            "The weight to take is in row *i*, at that place + 1.",
        ],
        why="A head that scores high on random tokens that repeat can't know them from training. "
        "Let the distance differ from text to text, or a head that always looks so far back scores "
        "as high. Whether it also copies what it finds, the score doesn't say.",
        mistakes={
            "you took the weight on the earlier same token; take the one on the token after it":
                lambda w, t: first_occurrence(w, t, shift=0, which=-1),
            "you took the first earlier occurrence; the task asks for the last":
                lambda w, t: first_occurrence(w, t),
            "you took the weight on the token before the earlier occurrence":
                lambda w, t: first_occurrence(w, t, shift=-1, which=-1),
            "queries whose token is new don't count in the mean": over_all_queries,
        },
    ),
    Task(
        make_induction_fail,
        inputs=different,
        judge=judged,
        hints=[
            "Induction goes on as it did before. So no two neighbours may come again in the same "
            "order.",
            "Which order turns every pair of neighbours around?",
            "`tokens[::-1]` is the same backwards; `np.concatenate` joins both halves.",
        ],
        why="Backwards, each token is followed by the one that came before it. The trained "
        "induction model is then led to the wrong sign, and from five signs on it is mostly sure "
        "of it: its loss is above that of a blind guess.",
        mistakes={
            "the same order again is what induction is best at": lambda t: np.concatenate([t, t]),
            "moved round by one, most neighbours are still the same":
                lambda t: np.concatenate([t, np.roll(t, 1)]),
            "return the whole text, not only its second half": lambda t: t[::-1].copy(),
            "each token must come once more: don't repeat a single one":
                lambda t: np.concatenate([t, np.repeat(t[:1], len(t))]),
        },
    ),
    Task(
        copies,
        inputs=matrices,
        truth=copies_by_loop,
        hints=[
            "`W_E @ W_V @ W_O` has a row for each token: what the head adds where it looks at it.",
            "Times `W_E.T` gives a table: row = the token looked at, column = the guess.",
            "In how many rows is the largest number on the diagonal? "
            "`argmax(axis=1) == np.arange(V)`.",
        ],
        why="No text was needed. The table holds for every text in which the head looks at a "
        "token, as far as layer norms and other heads leave it alone.",
        mistakes={
            "you looked along columns; each row is one token that is looked at":
                lambda E, V, W_O: (rises(E, V, W_O).argmax(axis=0) == np.arange(len(E))).mean(),
            "a positive number on the diagonal isn't enough: it must be the largest of its row":
                lambda E, V, W_O: (rises(E, V, W_O).diagonal() > 0).mean(),
            "return the share of the tokens, not their number":
                lambda E, V, W_O: copies(E, V, W_O) * len(E),
            "the sizes too: take the row's largest number, not its largest size":
                lambda E, V, W_O:
                    (abs(rises(E, V, W_O)).argmax(axis=1) == np.arange(len(E))).mean(),
        },
    ),
]  # fmt: skip
