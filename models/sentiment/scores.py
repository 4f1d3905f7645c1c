"""What the classifiers score: answers, methods that find the words that decide, and places."""

from __future__ import annotations

from functools import partial
from random import Random

import torch
from torch import Tensor

from models.sentiment.attributions import (
    METHODS,
    answer_by_weights,
    by_deletion,
    by_integrated_gradients,
    finds,
    margin,
    other_weights,
    patched,
    read,
    visible,
)
from models.sentiment.reviews import STRESSES, Review, reviews, swapped, to_tensors
from models.transformer import Transformer

TESTS, EXPLAINED, REWEIGHTED = 2000, 500, 200
CLOSE, FAR = 0.01, 0.9  # how far the chance may move; of all weight, in other places
RIVALS = {
    "integrated gradients, from zeros": partial(by_integrated_gradients, from_zero=True),
    "erasure, word left out": by_deletion,
}
PLACES = ("adjective", "turn", "noun", "verdict's rest", "first", "elsewhere")


def held_out(count: int = TESTS) -> list[Review]:
    return list(reviews(10**6, count, held_out=True))


def score(model: Transformer) -> dict:
    """Return what is in scores/*.json for one seed.

    ``right``: the share of answers; ``finds``: for each method the share of reviews in which the
    words with the largest sizes are the decisive ones, of all, of those with one decisive word
    ("plain"), and of those with two ("turned"); ``finds, with stresses``: the share of all, if a
    *quite* or its like in the verdict is counted as decisive too, and ``finds, with noun``, if its
    noun is. ``looks`` and ``carries`` share
    out by place what the first word's weights in the last layer are, and how far a patch between
    the layers moves the answer to that of the same review with its verdict's adjective swapped,
    where both answers are right; ``…, plain`` and ``…, turned`` are of one kind only.
    ``other weights``: the share of reviews for which the search found weights in the last layer
    that keep the chance of good to within CLOSE; of these, the median distance from the model's
    own weights, and the share that is further than FAR. ``equal weights``: the share of all
    reviews whose answer stays when all words get the same weight there.
    """
    made = held_out()
    tokens, answers, _ = to_tensors(made)
    with torch.no_grad():
        right = (margin(model, tokens) > 0) == answers.bool()
    equal = keeps_by_equal_weights(model, tokens)
    made = made[:EXPLAINED]
    tokens, answers, decides = to_tensors(made)
    turned = decides.sum(1) == 2
    stressed, named = decides | stresses(made, decides), decides | nouns(made, decides)
    found, found_stressed, found_named = {}, {}, {}
    for name, method in {**METHODS, **RIVALS}.items():
        numbers = method(model, tokens)
        hits = finds(numbers, decides).float()
        of = {"all": hits, "plain": hits[~turned], "turned": hits[turned]}
        found[name] = {kind: share(some) for kind, some in of.items()}
        found_stressed[name] = share(finds(numbers, stressed).float())
        found_named[name] = share(finds(numbers, named).float())
    with torch.no_grad():
        looks = read(model, tokens).weights[-1][:, :, 0].mean(1)
    rng = Random(0)
    others, wanted, _ = to_tensors([swapped(one, rng) for one in made])
    with torch.no_grad():
        both = (margin(model, tokens) > 0) == answers.bool()
        both &= (margin(model, others) > 0) == wanted.bool()
    pairs = [one for one, right in zip(made, both, strict=True) if right]
    before, between = patched(model, tokens[both], others[both])
    _, far, moved = other_weights(model, tokens[:REWEIGHTED])
    found_far = far[moved < CLOSE]
    return {
        "right": share(right.float()),
        "finds": found,
        "finds, with stresses": found_stressed,
        "finds, with noun": found_named,
        **by_kind("looks", looks, made),
        **by_kind("carries", between, pairs),
        "carries before": by_place(before, pairs),
        "other weights": {
            "found": round(len(found_far) / REWEIGHTED, 4),
            "distance": round(found_far.median().item(), 4),
            "far": share((found_far > FAR).float()),
        },
        "equal weights": equal,
    }


@torch.no_grad()
def keeps_by_equal_weights(model: Transformer, tokens: Tensor) -> float:
    answer, own = answer_by_weights(model, tokens)
    seen = visible(tokens)[:, 0].to(own.dtype).expand_as(own)
    equal = seen / seen.sum(-1, keepdim=True)
    return share(((answer(own) > 0) == (answer(equal) > 0)).float())


def stresses(made: list[Review], like: Tensor) -> Tensor:
    """Which words are the *quite* of a verdict, or its like: bool, as ``like`` (B, L)."""
    found = torch.zeros_like(like)
    for row, one in enumerate(made):
        found[row, [place for place in one.verdict if one.words[place] in STRESSES]] = True
    return found


def nouns(made: list[Review], like: Tensor) -> Tensor:
    """Which words are the noun of a verdict: bool, as ``like`` (B, L)."""
    found = torch.zeros_like(like)
    found[range(len(made)), [one.work for one in made]] = True
    return found


def by_kind(name: str, found: Tensor, made: list[Review]) -> dict[str, dict[str, float]]:
    """Share out by place: of all reviews, of those without a word that turns, of those with."""
    turned = [len(one.decisive) == 2 for one in made]
    scored = {name: by_place(found, made)}
    for kind, wanted in (("plain", False), ("turned", True)):
        rows = [row for row, is_turned in enumerate(turned) if is_turned == wanted]
        scored[f"{name}, {kind}"] = by_place(found[rows], [made[row] for row in rows])
    return scored


def by_place(found: Tensor, made: list[Review]) -> dict[str, float]:
    """Sum ``found`` (B, L) over the places of each kind; return the means over reviews."""
    totals = dict.fromkeys(PLACES, 0.0)
    for row, one in zip(found.tolist(), made, strict=True):
        for place, number in enumerate(row[: len(one.words)]):
            totals[kind_of(one, place)] += number / len(made)
    return {kind: round(total, 4) for kind, total in totals.items()}


def kind_of(one: Review, place: int) -> str:
    if place in one.decisive:
        return "adjective" if place == one.decisive[-1] else "turn"
    if place == 0:
        return "first"
    if place == one.work:
        return "noun"
    return "verdict's rest" if place in one.verdict else "elsewhere"


def share(hits: Tensor) -> float:
    return round(hits.mean().item(), 4)
