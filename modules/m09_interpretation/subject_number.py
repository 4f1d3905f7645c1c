"""Locate, by patching, where the ordinary grammar model stores the subject's number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

import torch
from torch import Tensor

from models.grammar.sentences import agreement
from models.grammar.words import MASK, NOUNS, SINGULAR_VERBS, VERBS
from models.transformer import Transformer

BOTH = [*NOUNS.items(), *VERBS.items()]
OTHER = dict(BOTH) | {other: one for one, other in BOTH}


class Pair(NamedTuple):
    """A sentence with its verb hidden, and the same with its subject in the other number."""

    words: list[str]
    other: list[str]
    subject: int
    verb: int
    right: str  # the verb of ``words``; OTHER[right] is that of ``other``


def pairs(count: int, seed: int = 10**6) -> list[Pair]:
    """Make pairs from sentences with one distractor, whose nouns were never trained together."""
    rng, batch = Random(seed), []
    while len(batch) < count:
        sentence = agreement(rng, held="pairs", distractors=1)
        verb, subject = sentence.link("verb")
        words, right = [*sentence.words], sentence.words[verb]
        if OTHER.get(words[subject], words[subject]) == words[subject] or right not in OTHER:
            continue  # such as "sheep"
        words[verb] = MASK
        other = [*words[:subject], OTHER[words[subject]], *words[subject + 1 :]]
        batch.append(Pair(words, other, subject, verb, right))
    return batch


@torch.no_grad()
def carried(model: Transformer, pair: Pair) -> Tensor:
    """Return how far the guess moves to the other verb if one vector between the layers is patched.

    0: it stays; 1: it is that of the other sentence. Returns: a share for each position, (L,).
    """
    first, rest = model.layers[0], model.layers[1:]

    def between(words: list[str]) -> Tensor:
        x = model.embedding[model.encode(words)] + model.positions[: len(words)]
        return first(x, x, None, None)[0]  # (1, L, E)

    def guess(x: Tensor) -> Tensor:
        for layer in rest:
            x = layer(x, x, None, None)[0]
        right, wrong = (model.ids[verb] for verb in (pair.right, OTHER[pair.right]))
        logits = model.norm(x[:, pair.verb]) @ model.embedding[[right, wrong]].T
        return (logits + model.unembedding_bias[[right, wrong]]) @ torch.tensor([1.0, -1.0])

    mine, theirs = between(pair.words), between(pair.other)
    swap = torch.eye(len(pair.words), dtype=torch.bool)[:, :, None]
    patched = torch.where(swap, theirs, mine)  # row i has position i from the other: (L, L, E)
    start = guess(mine)
    return (guess(patched) - start) / (guess(theirs) - start)


def kept_at(model: Transformer, batch: Sequence[Pair]) -> dict[str, float]:
    """Return how far a patch at the subject, and one at the first word, moves the guess: means."""
    shares = [carried(model, pair)[[pair.subject, 0]] for pair in batch]
    at_subject, at_first = torch.stack(shares).mean(0).tolist()
    return {"at the subject": at_subject, "at the first word": at_first}


@torch.no_grad()
def guesses(
    model: Transformer, batch: Sequence[Pair], off: Iterable[tuple[int, int]] = ()
) -> tuple[float, float]:
    """Guess the verb's number; return the share of right guesses, and of singular ones."""
    right, singular = 0, 0
    for pair in batch:
        logits = model(model.encode(pair.words), off=off).logits[0, pair.verb]
        likelier = max(pair.right, OTHER[pair.right], key=lambda verb: logits[model.ids[verb]])
        right += likelier == pair.right
        singular += likelier in SINGULAR_VERBS
    return right / len(batch), singular / len(batch)
