"""Score the classifiers: answers, attribution methods, and weights by kind of position."""

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
CLOSE, FAR = 0.01, 0.9  # how far the chance may move; share of the weight at other positions
RIVALS = {
    "integrated gradients, from zeros": partial(by_integrated_gradients, from_zero=True),
    "erasure, word left out": by_deletion,
}
KINDS = ("adjective", "turn", "noun", "verdict's rest", "first", "elsewhere")


def held_out(count: int = TESTS) -> list[Review]:
    return list(reviews(10**6, count, held_out=True))


def score(model: Transformer) -> dict:
    """Return what is in scores/*.json for one seed.

    ``right``: the share of answers; ``finds``: for each method the share of reviews in which the
    words with the largest sizes are the decisive ones, of all, of those with one decisive word
    ("plain"), and of those with two ("turned"); ``finds, with stresses``: the share of all, if a
    *quite* or its like in the verdict is counted as decisive too, and ``finds, with noun``, if its
    noun is. By kind of position, ``looks`` sums the first word's weights in the last layer, and
    ``carries`` how far a patch between the layers moves the answer to that of the same review with
    its verdict's adjective swapped, if both answers are right; ``…, plain`` and ``…, turned`` count
    one kind of review.
    ``other weights``: the share of reviews with other weights in the last layer
    that keep the chance of good to within CLOSE; of these, the median distance from the model's
    own weights, and the share that is further than FAR. ``equal weights``: the share of all
    reviews whose answer stays when all words get the same weight there.
    """
    batch = held_out()
    tokens, answers, _ = to_tensors(batch)
    with torch.no_grad():
        right = (margin(model, tokens) > 0) == answers.bool()
    equal = keeps_by_equal_weights(model, tokens)
    batch = batch[:EXPLAINED]
    tokens, answers, decides = to_tensors(batch)
    turned = decides.sum(1) == 2
    stressed, named = decides | stresses(batch, decides), decides | nouns(batch, decides)
    finds_by_method, finds_stressed, finds_named = {}, {}, {}
    for name, method in {**METHODS, **RIVALS}.items():
        numbers = method(model, tokens)
        hits = finds(numbers, decides).float()
        of = {"all": hits, "plain": hits[~turned], "turned": hits[turned]}
        finds_by_method[name] = {kind: share(some) for kind, some in of.items()}
        finds_stressed[name] = share(finds(numbers, stressed).float())
        finds_named[name] = share(finds(numbers, named).float())
    with torch.no_grad():
        looks = read(model, tokens).weights[-1][:, :, 0].mean(1)
    rng = Random(0)
    others, other_answers, _ = to_tensors([swapped(review, rng) for review in batch])
    with torch.no_grad():
        both = (margin(model, tokens) > 0) == answers.bool()
        both &= (margin(model, others) > 0) == other_answers.bool()
    pairs = [review for review, right in zip(batch, both, strict=True) if right]
    before, between = patched(model, tokens[both], others[both])
    _, far, moved = other_weights(model, tokens[:REWEIGHTED])
    distances = far[moved < CLOSE]
    return {
        "right": share(right.float()),
        "finds": finds_by_method,
        "finds, with stresses": finds_stressed,
        "finds, with noun": finds_named,
        **by_kind("looks", looks, batch),
        **by_kind("carries", between, pairs),
        "carries before": by_position(before, pairs),
        "other weights": {
            "found": round(len(distances) / REWEIGHTED, 4),
            "distance": round(distances.median().item(), 4),
            "far": share((distances > FAR).float()),
        },
        "equal weights": equal,
    }


@torch.no_grad()
def keeps_by_equal_weights(model: Transformer, tokens: Tensor) -> float:
    answer, own = answer_by_weights(model, tokens)
    real = visible(tokens)[:, 0].to(own.dtype).expand_as(own)
    equal = real / real.sum(-1, keepdim=True)
    return share(((answer(own) > 0) == (answer(equal) > 0)).float())


def stresses(batch: list[Review], like: Tensor) -> Tensor:
    """Mark the *quite* of a verdict, or its like: bool, shaped as ``like`` (B, L)."""
    mask = torch.zeros_like(like)
    for row, review in enumerate(batch):
        mask[
            row, [position for position in review.verdict if review.words[position] in STRESSES]
        ] = True
    return mask


def nouns(batch: list[Review], like: Tensor) -> Tensor:
    """Mark the noun of a verdict: bool, shaped as ``like`` (B, L)."""
    mask = torch.zeros_like(like)
    mask[range(len(batch)), [review.work for review in batch]] = True
    return mask


def by_kind(name: str, amounts: Tensor, batch: list[Review]) -> dict[str, dict[str, float]]:
    """Sum by kind of position: over all reviews, those without a negation, and those with."""
    turned = [len(review.decisive) == 2 for review in batch]
    scored = {name: by_position(amounts, batch)}
    for kind, has_turn in (("plain", False), ("turned", True)):
        rows = [row for row, is_turned in enumerate(turned) if is_turned == has_turn]
        scored[f"{name}, {kind}"] = by_position(amounts[rows], [batch[row] for row in rows])
    return scored


def by_position(amounts: Tensor, batch: list[Review]) -> dict[str, float]:
    """Sum ``amounts`` (B, L) over the positions of each kind; return the means over reviews."""
    totals = dict.fromkeys(KINDS, 0.0)
    for row, review in zip(amounts.tolist(), batch, strict=True):
        for position, number in enumerate(row[: len(review.words)]):
            totals[kind_of(review, position)] += number / len(batch)
    return {kind: round(total, 4) for kind, total in totals.items()}


def kind_of(review: Review, position: int) -> str:
    if position in review.decisive:
        return "adjective" if position == review.decisive[-1] else "turn"
    if position == 0:
        return "first"
    if position == review.work:
        return "noun"
    return "verdict's rest" if position in review.verdict else "elsewhere"


def share(hits: Tensor) -> float:
    return round(hits.mean().item(), 4)
