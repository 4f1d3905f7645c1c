"""The sentences of m02, and the maps of both grammar models' heads on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from attention import scaled_dot_product_attention
from course.payloads import MODELS_FOLDER
from models.weights import load

FOLDER = MODELS_FOLDER / "grammar"

# Each sentence with the word to look at first, and the truth about it.
EXAMPLES = [
    ("the cat sat on the mat", 2, "Who sat? The cat did."),
    (
        "the trophy did not fit in the suitcase because it was too big", 9,
        "A human reader knows: too big to go in, so “it” is the trophy.",
    ),
    (
        "the trophy did not fit in the suitcase because it was too small", 9,
        "A human reader knows: too small to hold it, so “it” is the suitcase.",
    ),
    (
        "the keys near the cabinet are red", 5,
        "“are” agrees with the keys, not with the cabinet beside it.",
    ),
    (
        "the cat sat on the mat because it was warm", 7,
        "A human reader knows: warm, not tired, so “it” is the mat.",
    ),
    (
        "the suitcase did not fit in the trophy because it was too big", 9,
        "A human reader knows: too big to go in, so “it” is the suitcase.",
    ),
    (
        "the suitcase did not fit in the trophy because it was too small", 9,
        "A human reader knows: too small to hold it, so “it” is the trophy.",
    ),
    (
        "the trophy did fit in the suitcase because it was small", 8,
        "A human reader knows: small enough to go in, so “it” is the trophy.",
    ),
    (
        "the trophy did fit in the suitcase because it was big", 8,
        "A human reader knows: big enough to hold it, so “it” is the suitcase.",
    ),
    (
        "the trophy did not fit in the suitcase because it was small", 9,
        "A human reader knows: not big enough to hold it, so “it” is the suitcase.",
    ),
]  # fmt: skip

IN_LESSON = range(5)
# The three pictures of the page on pronouns.
FIT, SWAPPED, DID_FIT = (1, 2), (5, 6), (7, 8, 9)

# Sentences that differ in their last word: it can hand the first noun the value of the other's.
HANDED = {1: 2, 2: 1}
# Sentences whose first noun can ask with the query of the second, in layer 1, head 4.
LENT = SWAPPED


def payload(sentence: int, head: int, shown: Sequence[int] | None = None) -> dict[str, Any]:
    """Return sentences, each model's maps, and the numbers of the first sentence and head.

    ``shown``: which of EXAMPLES, with what the masked model answers at the pronoun, and the
    changes to it that a reader can tick. If it is None, those of the lesson, without these.
    """
    indices = IN_LESSON if shown is None else shown
    sentences = [
        {"tokens": text.split(), "focus": focus, "says": says}
        for text, focus, says in (EXAMPLES[index] for index in indices)
    ]
    for index, one in zip(shown or (), sentences, strict=False):
        one["answer"] = answer(index)
    return {
        "sentences": sentences,
        "models": {name: head_maps(name, indices) for name in ("masked", "causal")},
        "changes": [change(index) for index in shown or ()],
        "start": {"sentence": sentence, "head": head},
    }


@torch.no_grad()
def head_maps(name: str, shown: Sequence[int] = range(len(EXAMPLES))) -> dict[str, Any]:
    """Return {"heads": names, "weights": a (heads, L, L) tensor for each of these}, rounded.

    The names don't say what a head does, because the page asks its reader to find that out.
    """
    model, weights = load(FOLDER / "weights" / f"{name}.safetensors"), []
    for index in shown:
        layers = model(model.encode(EXAMPLES[index][0].split())).weights
        weights.append(torch.cat(layers, dim=1)[0].double().round(decimals=5))
    heads = [
        f"layer {number}, head {h + 1}"
        for number, layer in enumerate(layers, 1)
        for h in range(layer.shape[1])
    ]
    return {"heads": heads, "weights": weights}


@torch.no_grad()
def answer(sentence: int) -> dict[str, Any]:
    """Return what the masked model answers at the word to look at first: {"word", "share"}."""
    model = load(FOLDER / "weights" / "masked.safetensors")
    text, focus, _ = EXAMPLES[sentence]
    return _answer(model, model(model.encode(text.split())).residual[-1][0, focus])


def change(sentence: int) -> dict[str, Any] | None:
    """Return a change to the masked model that a reader can tick: its field, maps and answer."""
    words = EXAMPLES[sentence][0].split()
    if sentence in HANDED:
        other = EXAMPLES[HANDED[sentence]][0].split()
        return {
            "field": "handed",
            "label": f"“{words[-1]}” hands “{words[1]}” the value of “{other[-1]}”",
            "says": f"In layer 1, head 4, “{words[1]}” gets the value of “{other[-1]}” from "
            f"“{words[-1]}”.",
            **handed(sentence),
        }
    if sentence in LENT:
        return {
            "field": "lent",
            "label": f"“{words[1]}” asks like “{words[7]}”",
            "says": f"In layer 1, head 4, “{words[1]}” has the query of “{words[7]}”.",
            **lent(sentence),
        }
    return None


@torch.no_grad()
def handed(sentence: int) -> dict[str, Any]:
    """Return the masked model's maps and answer if word 2 gets another value in layer 1, head 4.

    The last word hands it that of the other sentence's last word.
    """
    model = load(FOLDER / "weights" / "masked.safetensors")
    words, others = (
        model(model.encode(EXAMPLES[index][0].split())).residual[0][0]
        for index in (sentence, HANDED[sentence])
    )
    query, key, value = _split(model.layers[0], words)
    weights = _weights(model.layers[0], query, key)
    mixed = weights @ value
    other = _split(model.layers[0], others)[2]
    mixed[3, 1] += weights[3, 1, -1] * (other[3, -1] - value[3, -1])
    return _rest(model, words, weights, mixed, EXAMPLES[sentence][1])


@torch.no_grad()
def lent(sentence: int) -> dict[str, Any]:
    """Return the masked model's maps and answer if word 2 asks like word 8 in layer 1, head 4."""
    model = load(FOLDER / "weights" / "masked.safetensors")
    words = model(model.encode(EXAMPLES[sentence][0].split())).residual[0][0]
    query, key, value = _split(model.layers[0], words)
    query[3, 1] = query[3, 7]
    weights = _weights(model.layers[0], query, key)
    return _rest(model, words, weights, weights @ value, EXAMPLES[sentence][1])


@torch.no_grad()
def hidden_maps(
    sentence: int, words_at: int | list[int], heads: int | slice = slice(None)
) -> torch.Tensor:
    """Return the masked model's maps if words can't see the last one in heads of layer 1.

    ``words_at``: where the words stand that can't see it, counted from 0.
    """
    return _hidden(sentence, words_at, heads)[0]


def _hidden(
    sentence: int, words_at: int | list[int], heads: int | slice = slice(None)
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the maps of ``hidden_maps``, and in layer 2, head 1, the (L, L) scores."""
    model = load(FOLDER / "weights" / "masked.safetensors")
    words = model.embedding[model.encode(EXAMPLES[sentence][0].split())]
    mask = torch.ones(1, 4, *[words.shape[-2]] * 2, dtype=torch.bool)
    mask[0, heads, words_at, -1] = False
    after, first = model.layers[0](words, words, None, mask)
    _, second = model.layers[1](after, words, None, None)
    query, key, _ = _split(model.layers[1], after[0])[:, 0]
    scores = query @ key.T / key.shape[-1] ** 0.5 + model.layers[1].relative(len(key))[0]
    return torch.cat([first, second], dim=1)[0], scores


@torch.no_grad()
def hiding() -> dict[str, Any]:
    """Return what the nouns and the pronoun give the last word, and whom the pronoun then finds.

    ``{"words": the three, "endings": {last word: {"looks": (3,) weights of layer 1, head 4,
    "found" and "scores": (8, 3) weights of the pronoun in layer 2, head 1, and their scores}}}``.
    Row n of these is for the last word hidden in all heads of layer 1 from those words whose bit
    is set in n.
    """
    sentence, at = EXAMPLES[1][0].split(), [1, 7, 9]
    endings = {}
    for index in (2, 1):  # the sentence that the page is about comes first
        cases = [
            _hidden(index, [word for bit, word in enumerate(at) if n >> bit & 1])
            for n in range(2 ** len(at))
        ]
        endings[EXAMPLES[index][0].split()[-1]] = {
            "looks": cases[0][0][3, at, -1].double().round(decimals=7),
            "found": torch.stack([maps[4, at[-1], at] for maps, _ in cases])
            .double()
            .round(decimals=7),
            "scores": torch.stack([scores[at[-1], at] for _, scores in cases])
            .double()
            .round(decimals=5),
        }
    return {"words": [sentence[word] for word in at], "endings": endings}


def _rest(
    model: torch.nn.Module, words: torch.Tensor, weights: torch.Tensor, mixed: torch.Tensor, at: int
) -> dict[str, Any]:
    """Return the maps of both layers, and the answer at word ``at``.

    ``weights``, ``mixed``: of each head of layer 1, its map, and what it took in.
    """
    first, second = model.layers
    after = words + first.attention.out_proj(mixed.transpose(0, 1).flatten(-2))
    last, maps = second(after[None], words[None], None, None)
    return {
        "weights": torch.cat([weights, maps[0]]).double().round(decimals=5),
        "answer": _answer(model, last[0, at]),
    }


def _answer(model: torch.nn.Module, vector: torch.Tensor) -> dict[str, Any]:
    """Return the most probable of all words, and its probability."""
    logits = model.embedding @ model.norm(vector) + model.unembedding_bias
    share, index = logits.softmax(-1).max(-1)
    return {"word": model.config.vocabulary[index], "share": round(share.item(), 5)}


def _split(layer: torch.nn.Module, words: torch.Tensor) -> torch.Tensor:
    """Return the layer's queries, keys and values of (L, D) vectors: (3, heads, L, head_dim)."""
    projections = layer.attention.qkv_proj(words)
    return projections.unflatten(-1, (3, layer.attention.num_heads, -1)).permute(1, 2, 0, 3).clone()


def _weights(layer: torch.nn.Module, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    bias = layer.relative(query.shape[-2])
    return scaled_dot_product_attention(query, key, key, bias=bias)[1]
