"""m14: worked solutions, inputs, hints and usual mistakes."""

import numpy as np

from course.exercises import Task


def others_add(keys, values):
    table = keys.T @ values
    own = (keys**2).sum(axis=1, keepdims=True) * values
    return keys @ table - own


def with_sink(scores, values, sink):
    largest = max(scores.max(), sink)
    e = np.exp(scores - largest)
    return (e * values).sum() / (e.sum() + np.exp(sink - largest))


def two_layers_say(tokens, num_guests):
    mark = (tokens == -1).cumsum()
    last = (tokens == -1).sum()
    unpaid = tokens[mark == last]
    coffees = (unpaid[:, None] == np.arange(num_guests)).sum(axis=0)
    return coffees / (coffees + 1)


# ---- The same, computed another way ------------------------------------------------------------


def guest_by_guest(keys, values):
    errors = np.zeros(values.shape)
    for i in range(len(keys)):
        for j in range(len(keys)):
            if i != j:
                errors[i] += (keys[i] @ keys[j]) * values[j]
    return errors


def with_a_token_of_no_value(scores, values, sink):
    import torch

    row = torch.from_numpy(np.append(scores, sink)).softmax(0)
    return (row @ torch.from_numpy(np.append(values, 0.0))).item()


def coffee_by_coffee(tokens, num_guests):
    owed = [0] * num_guests
    for guest in tokens.tolist():
        if guest == -1:
            owed = [0] * num_guests
        else:
            owed[guest] += 1
    return np.array([np.mean([1.0] * count + [0.0]) for count in owed])


# ---- Inputs ------------------------------------------------------------------------------------


def notes(rng, size):
    """Make keys of other lengths than 1; there are fewer guests than rows, or more."""
    keys = rng.normal(size=(size + 1, 4))
    return keys, rng.normal(size=(size + 1, 3)) + 1


def rows(rng, size):
    """Make scores near 1,000, near −1,000 or of both in a row, and sinks above and below."""
    scores, values = rng.normal(size=size) * 2, rng.normal(size=size) + 1
    sink = float(rng.normal())
    far = {3: 990.0, 4: -990.0}.get(size, 0.0)
    scores, sink = scores + far, sink + far
    if size in (5, 6):  # far apart, where neither the first nor the last is the largest
        scores[1:3], sink = (1000.0, -1000.0), 999.0
    if size == 7:  # the sink takes everything
        sink = 1000.0
    if size == 8:  # and nothing
        sink = -1000.0
    return scores, values, sink


def nights(rng, size):
    """Make nights in which all pay up to three times, as the last token too, or never."""
    num_guests = size + 1
    tokens = rng.integers(0, num_guests, size=6 * size)
    if size != 2:  # in size 2 nobody pays
        tokens[rng.integers(1, 3 * size)] = -1
    if size > 4:
        tokens[rng.integers(3 * size, 5 * size)] = -1
    if size in (3, 8):
        tokens[-3 if size == 8 else -1] = -1
    return tokens, num_guests


# ---- Mistakes ----------------------------------------------------------------------------------


def said(tokens, num_guests, *, counted=None, itself=1, says=None):
    mark = (tokens == -1).cumsum()
    kept = tokens[counted(mark)] if counted else tokens[mark == mark[-1]]
    coffees = (kept[:, None] == np.arange(num_guests)).sum(axis=0)
    return says(coffees, kept) if says else coffees / np.maximum(coffees + itself, 1)


def shifted(scores, values, sink, largest, *, divided_by=None):
    e, s = np.exp(scores - largest), np.exp(sink - largest)
    return (e * values).sum() / (e.sum() + s if divided_by is None else divided_by(e, s))


TASKS = [
    Task(
        others_add,
        inputs=notes,
        truth=guest_by_guest,
        hints=[
            "A table that adds is the sum of all keys times values: `keys.T @ values`.",
            "All guests are asked for at once by `keys @ table`.",
            "A guest's own note comes back as often as the key fits itself: take away "
            "`(keys**2).sum(axis=1, keepdims=True) * values`.",
        ],
        why="Each other guest adds the value as often as the two keys' dot product says. With keys "
        "of length 1 that point anywhere among D rows it is about 1/√D, plus or minus, and so "
        "about √(n/D) for n others.",
        mistakes={
            "that is the whole answer: take away the guest's own note":
                lambda keys, values: keys @ (keys.T @ values),
            "the keys don't have length 1: the own note comes back as often as the key fits itself":
                lambda keys, values: keys @ (keys.T @ values) - values,
            "a dot product of a key with itself is the sum of its squares, not its length":
                lambda keys, values: keys @ (keys.T @ values)
                - np.linalg.norm(keys, axis=1, keepdims=True) * values,
            "that is the guest's own note; return what the others add":
                lambda keys, values: (keys**2).sum(1, keepdims=True) * values,
            "that is what the others take off: turn the sign round":
                lambda keys, values: -others_add(keys, values),
            "others may add or take off: don't drop the signs":
                lambda keys, values: np.abs(others_add(keys, values)),
            "this table adds: nothing is divided by a sum of weights":
                lambda keys, values: others_add(keys, values) / len(keys),
            "only the guests before were counted; all notes are in the table when you ask":
                lambda keys, values: np.tril(keys @ keys.T, -1) @ values,
        },
    ),
    Task(
        with_sink,
        inputs=rows,
        truth=with_a_token_of_no_value,
        hints=[
            "A sink is like a token with the value 0.",
            "The sum below the line is `np.exp(scores).sum() + np.exp(sink)`.",
            "Take away the largest of all scores first, the sink's too: "
            "`max(scores.max(), sink)`.",
        ],
        why="With c coffees of score 0 and value 1, and a sink of score 0, the row says c/(c + 1): "
        "½, ⅔, ¾ … So a sink is the one other token that a count needs.",
        mistakes={
            "the sink is in the sum, too":
                lambda scores, values, sink: shifted(
                    scores, values, sink, scores.max(), divided_by=lambda e, s: e.sum()),
            "e to the sink is in the sum, not the sink itself":
                lambda scores, values, sink: shifted(
                    scores, values, sink, max(scores.max(), sink),
                    divided_by=lambda e, s: e.sum() + sink),
            "the sink's weight goes nowhere: it has no value":
                lambda scores, values, sink: (
                    with_sink(scores, values, sink)
                    + 1 - with_sink(scores, np.ones(len(scores)), sink)),
            "there is one sink in a row, not one for each token":
                lambda scores, values, sink: shifted(
                    scores, values, sink, max(scores.max(), sink),
                    divided_by=lambda e, s: e.sum() + len(e) * s),
            "a number of 1,000 is too large for exp, and one of −1,000 too small: take away the "
            "largest first":
                lambda scores, values, sink: shifted(scores, values, sink, 0.0),
            "the scores may be far above the sink: take away the largest of all":
                lambda scores, values, sink: shifted(scores, values, sink, sink),
            "scores may lie far apart: take away the largest, not their mean":
                lambda scores, values, sink: shifted(scores, values, sink, scores.mean()),
            "what is taken away from the scores is taken away from the sink, too":
                lambda scores, values, sink: shifted(
                    scores, values, sink, scores.max(),
                    divided_by=lambda e, s: e.sum() + np.exp(sink)),
            "return what the row says: the weights times the values, added up":
                lambda scores, values, sink: with_sink(scores, np.ones(len(scores)), sink),
        },
    ),
    Task(
        two_layers_say,
        inputs=nights,
        truth=coffee_by_coffee,
        hints=[
            "The marks are a running count: `(tokens == -1).cumsum()`.",
            "The question comes at the end, so its mark is the count of all payments.",
            "Of c coffees with the question's mark it says c / (c + 1).",
        ],
        why="The question is the one other token that is always looked at, so the mean tells the "
        "count: ½, ⅔, ¾ … Without a mark the question couldn't leave out what has been paid.",
        mistakes={
            "coffees that have been paid have an older mark: leave them out":
                lambda *night: said(*night, counted=lambda mark: mark >= 0),
            "the question looks at itself, too":
                lambda *night: said(*night, itself=0),
            "return what softmax says, a mean; that is the count":
                lambda *night: said(*night, says=lambda coffees, kept: coffees),
            "you counted the coffees before the first payment":
                lambda *night: said(*night, counted=lambda mark: mark == 0),
            "you counted what has been paid: the marks must be the same":
                lambda *night: said(*night, counted=lambda mark: mark < mark[-1]),
            "all may pay more than once: the question's mark is the last one":
                lambda *night: said(*night, counted=lambda mark: mark >= min(1, mark[-1])),
            "the question looks at this guest's coffees only, not at those of others":
                lambda *night: said(
                    *night, says=lambda coffees, kept: coffees / ((kept >= 0).sum() + 1)),
            "a coffee has the value 1, and the question 0, not the other way round":
                lambda *night: 1 - two_layers_say(*night),
        },
    ),
]  # fmt: skip
