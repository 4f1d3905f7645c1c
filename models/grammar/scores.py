"""Score a grammar model on held-out sentences: its answers, and its heads' attention."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import torch
from torch import Tensor

from models.grammar.sentences import (
    MAX_LEN,
    Sentence,
    agreement,
    bank,
    it_sentence,
    pairs_of,
    sentences,
)
from models.grammar.words import INDEX, MASK, PAD, PLURAL_VERBS, SINGULAR_VERBS, VOCABULARY
from models.transformer import Run, Transformer

COUNT, SEED = 400, 1_000_000
FEWEST = 20  # fewest sentences for a distance to count
MEANS = ({"means": 0}, {"means": 1})
SENSES = ({"sense": "river"}, {"sense": "money"})
VERBS = [INDEX[word] for word in PLURAL_VERBS + SINGULAR_VERBS]
Heads = tuple[tuple[int, int], ...]


def to_tensors(batch: list[Sentence]) -> tuple[Tensor, Tensor, Tensor]:
    """Return words, whether the others decide each, and the noun of each "it": (N, MAX_LEN)."""
    words, meant = torch.full((2, len(batch), MAX_LEN), INDEX[PAD])
    decided = torch.zeros(len(batch), MAX_LEN, dtype=torch.bool)
    for row, sentence in enumerate(batch):
        words[row, : len(sentence.words)] = torch.tensor([INDEX[w] for w in sentence.words])
        decided[row, list(sentence.right)] = True
        for relation, start, end in sentence.links:
            if relation == "it":
                meant[row, start] = INDEX[sentence.words[end]]
    return words, decided, meant


def held_out(count: int = COUNT) -> dict[str, dict[str, list[Sentence]]]:
    """Make unseen sentences for each question, with held-out words and held-out pairs."""
    rng, sets = Random(SEED), {}
    for held in ("pairs", "words"):
        questions = {}
        for n in (1, 2) if held == "pairs" else (0, 1, 2):
            questions[f"{n} distractors"] = [agreement(rng, held, n) for _ in range(count)]
        for name, answer in (("it", False), ("answer", True)):
            options = {"held": held, "answer": answer}
            pairs = (pairs_of(it_sentence, rng, MEANS, **options) for _ in range(count))
            questions[name] = [sentence for pair in pairs for sentence in pair]
        sets[held] = questions
    return sets


@torch.no_grad()
def score(model: Transformer, *, names_it: bool, count: int = COUNT) -> dict:
    """Return all scores. A pair is right only if both its sentences are.

    ``names_it``: the model was trained to name the noun of "it" at "it".
    """
    sets = held_out(count)
    attention = attention_scores(model, sets, count)

    def accuracy(off: Heads = ()) -> dict:
        return {
            held: _accuracy(model, questions, names_it, off) for held, questions in sets.items()
        }

    scores = {"accuracy": accuracy()}
    # A causal model predicts the verb at the word before, and learns the noun of "it" later.
    heads = ["verb, guessed"] if model.config.is_causal else ["verb", "it"]
    for relation in heads:
        without = accuracy(off=(tuple(attention[relation]["head"]),))
        scores[f"accuracy without the {relation.split(',')[0]} head"] = without
    rng = Random(SEED + 1)
    senses = [s for _ in range(count) for s in pairs_of(bank, rng, SENSES)]
    scores["accuracy"]["bank"] = _both(answers(model, senses))
    return scores | {"attention": attention}


def _accuracy(
    model: Transformer, questions: dict[str, list[Sentence]], names_it: bool, off: Heads
) -> dict:  # fmt: skip
    shares = {}
    for name, batch in questions.items():
        if name == "it":
            if names_it:
                shares["meant by it"] = _both(meant_by_it(model, batch, off))
        elif name == "answer":
            shares["answer"] = _both(answers(model, batch, off))
        else:
            right = answers(model, batch, off)
            shares[name] = _share(right)
    return shares


def answers(model: Transformer, batch: list[Sentence], off: Heads = ()) -> list[bool]:
    """Return if each hidden word is right; of verbs, the likeliest in the present tense counts."""
    logits = run(model, batch, hide=True, off=off).logits
    shift = int(model.config.is_causal)  # a causal model predicts from the words before
    hits = []
    for row, sentence in zip(logits, batch, strict=True):
        for position, right in sentence.right.items():
            among = VERBS if sentence.kind == "agreement" else range(len(VOCABULARY))
            best = max(among, key=row[position - shift].tolist().__getitem__)
            hits.append(VOCABULARY[best] in right)
    return hits


def meant_by_it(model: Transformer, batch: list[Sentence], off: Heads = ()) -> list[bool]:
    """Return if the model's word at "it" is the right noun."""
    best = run(model, batch, off=off).logits.argmax(-1)
    links = [sentence.link("it") for sentence in batch]
    return [
        VOCABULARY[best[row, start]] == batch[row].words[end]
        for row, (start, end) in enumerate(links)
    ]


def attention_scores(model: Transformer, sets: dict, count: int = COUNT) -> dict:
    """Return each relation's best head and its mean weight, in all and by distance.

    "fixed offset" is the most that a head at one fixed distance could reach.
    """
    batch = [
        s
        for questions in sets.values()
        for name in questions
        if name != "answer"
        for s in questions[name]
    ]
    rng = Random(SEED + 2)
    batch += [bank(rng) for _ in range(count)] + list(sentences(SEED + 3, count))
    scores, weights = {}, run(model, batch).weights
    for relation in ("verb", "it", "adjective", "predicate", "bank"):
        scores[relation] = _of_relation(weights, batch, relation)
    # A word is predicted at its own hidden position, in a causal model at the position before.
    shift = int(model.config.is_causal)
    weights_hidden = run(model, batch, hide=True).weights
    for relation in ("verb", "sense"):
        scores[f"{relation}, guessed"] = _of_relation(weights_hidden, batch, relation, shift)
    pairs = [s for questions in sets.values() for s in questions["it"]]
    scores["it"]["flips"] = _flips(model, pairs, scores["it"]["head"])
    return scores


def _of_relation(
    weights: list[Tensor], batch: list[Sentence], relation: str, shift: int = 0
) -> dict:
    links = [
        (row, start - shift, end)
        for row, sentence in enumerate(batch)
        for name, start, end in sentence.links
        if name == relation
    ]
    rows, starts, ends = torch.tensor(links).unbind(1)
    each = [layer[rows, :, starts, ends] for layer in weights]  # N of (links, H)
    heads = [layer.mean(0) for layer in each]
    best = max(
        ((i, h) for i, layer in enumerate(heads) for h in range(len(layer))),
        key=lambda head: heads[head[0]][head[1]].item(),
    )
    distances = defaultdict(list)
    for distance, weight in zip((starts - ends).tolist(), each[best[0]][:, best[1]], strict=True):
        distances[distance + shift].append(weight.item())
    return {
        "head": list(best),
        "weight": _round(heads[best[0]][best[1]].item()),
        "fixed offset": _round(max(map(len, distances.values())) / len(links)),
        "by distance": {
            str(d): _round(sum(w) / len(w))
            for d, w in sorted(distances.items())
            if len(w) >= FEWEST
        },
        "heads": [[_round(mean) for mean in layer.tolist()] for layer in heads],
    }


def _flips(model: Transformer, pairs: list[Sentence], head: list[int]) -> float:
    """Return the share of pairs in which "it" looks most at the right noun in both sentences."""
    layer, number = head
    weights = run(model, pairs).weights[layer][:, number]
    links = [sentence.link("it") for sentence in pairs]
    return _both([weights[i, start].argmax().item() == end for i, (start, end) in enumerate(links)])


def run(model: Transformer, batch: list[Sentence], *, hide: bool = False, off: Heads = ()) -> Run:
    """Run the model; ``hide`` masks the words that others decide, unless the model is causal."""
    words, decided, _ = to_tensors(batch)
    real = words != INDEX[PAD]
    if hide and not model.config.is_causal:
        words = words.masked_fill(decided, INDEX[MASK])
    with torch.no_grad():
        return model(words, real[:, None, None, :], off=off)


def _both(right: list[bool]) -> float:
    return _share([a and b for a, b in zip(right[::2], right[1::2], strict=True)])


def _share(right: list[bool]) -> float:
    return _round(sum(right) / len(right))


def _round(number: float) -> float:
    return round(number, 4)
