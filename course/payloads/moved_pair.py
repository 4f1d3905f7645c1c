"""The scores of two signs in the first layer of a trained model, at every pair of positions."""

from typing import Any

import torch
from torch import Tensor

from course.page.numbers import rounded
from models.positions.task import BACK, KINDS, LENGTH, LETTERS, Reader, examples
from models.positions.train import load

NAMES = {kind: told.title.removesuffix(" bias") for kind, told in KINDS.items()}  # short
SEVEN, FOUR, POSITIONS = LETTERS + 7, LETTERS + 4, 48


def payload() -> dict[str, Any]:
    """Return each scheme's scores of a query *7* at every position with a key *4* up to it."""
    schemes = []
    for kind, name in NAMES.items():
        model = load(kind)
        scores = pair_scores(model, SEVEN, FOUR, head_that_looks_back(model), POSITIONS).tolist()
        visible = [rounded(row[: m + 1], 2) for m, row in enumerate(scores)]
        schemes.append({"key": kind, "name": name, "scores": visible})
    return {"schemes": schemes, "trained": LENGTH}


@torch.no_grad()
def pair_scores(model: Reader, query: int, key: int, head: int, length: int) -> Tensor:
    """Return the scores (L, L): a query from sign ``query`` at i, a key from ``key`` at j.

    The scores are those that softmax gets, after the scaling, with a bias if there is one.
    """
    layer = model.layers[0]
    q, k = _queries_and_keys(model, query, key, head, length)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores if layer.bias is None else scores + layer.bias(length)[head]


@torch.no_grad()
def scores_by_hand(model: Reader, query: int, key: int, head: int, length: int) -> Tensor:
    """Return what each pair of numbers adds to ``pair_scores`` of a rotary model (hands, L, L)."""
    q, k = (part.unflatten(-1, (-1, 2)).transpose(0, 1) for part in _queries_and_keys(
        model, query, key, head, length))  # fmt: skip
    return q @ k.mT / (2 * len(q)) ** 0.5


def _queries_and_keys(
    model: Reader, query: int, key: int, head: int, length: int
) -> tuple[Tensor, Tensor]:
    """Return queries and keys (L, D) of one head, turned by their positions if it is rotary."""
    layer = model.layers[0]
    asks, answers = (
        layer.norm(model.embed(torch.full((1, length), sign))) for sign in (query, key)
    )
    q, k = layer.attention.project(asks)[0], layer.attention.project(answers)[1]
    if layer.attention.rotary is not None:
        q, k = layer.attention.rotary(q), layer.attention.rotary(k)
    return q[0, head], k[0, head]


@torch.no_grad()
def head_that_looks_back(model: Reader) -> int:
    """Return the head of the first layer that gives most to the sign BACK positions before."""
    signs, _ = examples(200, LENGTH, torch.Generator().manual_seed(7))
    layer = model.layers[0]
    x, options = layer.norm(model.embed(signs)), layer.options(torch.arange(LENGTH))
    _, weights = layer.attention(x, return_attention=True, is_causal=True, **options)
    return int(weights.mean(0).diagonal(-BACK, 1, 2).mean(-1).argmax())
