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
    (
        "the trophy did not fit in the suitcase because it was too tired", 9,
        "A human reader knows: neither a trophy nor a suitcase is ever tired.",
    ),
]  # fmt: skip

IN_LESSON = range(5)
# The three pictures of the page on pronouns.
FIT, SWAPPED, DID_FIT = (1, 2), (5, 6), (8, 7, 9, 10)

# Sentences that differ in their last word: it can hand the first noun the value of the other's.
HANDED = {1: 2, 2: 1}
# What the first noun takes in from the last word of these: the other's value, or nothing, as its
# mark is taken off, or as the word is hidden from it.
TAKEN = ("other", "off", "hidden")
# Sentences whose first noun can ask with the query of the second, in layer 1, head 4.
LENT = SWAPPED
# Words whose score with the pronoun, in layer 2, head 1, is taken apart, and the word whose mark
# is one of the parts, beside that of the last word.
APART, MARKER = ("trophy", "suitcase", "it"), "did"
# The parts of a score, all but the mark of the last word, as ``patched`` returns them.
PARTS = (
    "the word itself",
    "what all words get",
    "heads 1 to 3",
    f"head 4: {MARKER}",
    "head 4: others",
    "the distance",
)
# Which of these a picture adds up to one bar: {name of the bar: places in PARTS}.
FOLDED = {"everything else": [0, 1, 2, 3, 4, 5]}
WITH_MARKER = {"everything else": [0, 1, 2, 4, 5], f"mark of {MARKER}": [3]}


def payload(
    sentence: int,
    head: int,
    shown: Sequence[int] | None = None,
    bars: dict[str, list[int]] = FOLDED,
) -> dict[str, Any]:
    """Return sentences, each model's maps, and the numbers of the first sentence and head.

    ``shown``: which of EXAMPLES, with what the masked model answers at the pronoun, the parts of
    scores, and the changes to it that a reader can make. If it is None, those of the lesson,
    without these. ``bars``: which parts of a score each bar sums.
    """
    indices = IN_LESSON if shown is None else shown
    sentences = [
        {"tokens": text.split(), "focus": focus, "says": says}
        for text, focus, says in (EXAMPLES[index] for index in indices)
    ]
    for index, one in zip(shown or (), sentences, strict=False):
        one |= patched(index) | {"mark": one["tokens"][-1]}
        if index in HANDED:
            other = EXAMPLES[HANDED[index]][0].split()[-1]
            one["asks"] = f"query of the pronoun with “{other}”"
        del one["weights"]  # they are among those of the model
        one["apart"] = [at for at, token in enumerate(one["tokens"]) if token in APART]
    return {
        "sentences": sentences,
        "models": {name: head_maps(name, indices) for name in ("masked", "causal")},
        "changes": [changes(index) for index in shown or ()],
        "bars": [{"name": name, "parts": parts} for name, parts in bars.items() if shown],
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


def changes(sentence: int) -> list[dict[str, Any]]:
    """Return the changes to the masked model that a reader can make, each with what it makes.

    One is made if the widget's ``field`` has this ``value``; ``mark``: whose mark it then shows.
    """
    words = EXAMPLES[sentence][0].split()
    first, last = words[1], words[-1]
    if sentence in LENT:
        return [
            {
                "field": "lent",
                "value": True,
                "label": f"“{first}” asks like “{words[7]}”",
                "says": f"In layer 1, head 4, “{first}” has the query of “{words[7]}”.",
                "mark": last,
                **patched(sentence, "lent"),
            }
        ]
    if sentence not in HANDED:
        return []
    other = EXAMPLES[HANDED[sentence]][0].split()[-1]
    offers = {
        "other": (
            f"value of “{other}”",
            f"In layer 1, head 4, “{first}” gets the value of “{other}” from “{last}”.",
        ),
        "off": (
            "mark off",
            f"The mark of “{last}” is taken off “{first}”.",
        ),
        "hidden": (
            f"“{last}” hidden",
            f"In layer 1, “{first}” can’t see “{last}”, and looks more at the other words.",
        ),
    }
    return [
        {
            "field": "taken",
            "value": taken,
            "label": label,
            "says": says,
            "mark": other if taken == "other" else last,
            **patched(sentence, taken),
        }
        for taken, (label, says) in offers.items()
    ]


@torch.no_grad()
def patched(sentence: int, how: str = "") -> dict[str, Any]:
    """Return what the masked model does with one thing changed in layer 1, at the first noun.

    ``how``: one of TAKEN, or "lent": in head 4 it asks with the query of the second noun; as it is
    if empty. The result has the maps of both layers, the answer at the pronoun, the pronoun's
    ``scores`` (L,) in layer 2, head 1, and for each of APART the ``parts`` that its score is the
    sum of: PARTS, and the mark of the last word. For a sentence of HANDED, ``asked`` has the same
    if the pronoun has in layer 2 the queries that it has in the other sentence; its ``weights``
    (2, L) are only those of the pronoun in the two heads of layer 2.
    """
    model = load(FOLDER / "weights" / "masked.safetensors")
    text, at, _ = EXAMPLES[sentence]
    tokens = text.split()
    (first, second), out = model.layers, model.layers[0].attention.out_proj
    words = model.embedding[model.encode(tokens)[0]]
    query, key, value = _split(first, words)
    if how == "lent":
        query[3, 1] = query[3, 7]
    mask = torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    mask[1, -1] = how != "hidden"
    weights = _weights(first, query, key, mask)
    # What each word (the third place) adds to each vector (the second) through each head.
    added = torch.einsum(
        "hqk,hkd,ehd->hqke", weights, value, out.weight.unflatten(1, value.shape[::2])
    )
    if how == "off":
        added[3, 1, -1] = 0
    if how == "other":
        other = model.embedding[model.encode(EXAMPLES[HANDED[sentence]][0].split())[0]]
        handed = _split(first, other)[2][3, -1]
        added[3, 1, -1] = weights[3, 1, -1] * (out.weight[:, -len(handed) :] @ handed)
    after = words + out.bias + added.sum((0, 2))
    asks, keys, _ = _split(second, after)
    far = second.relative(len(tokens))[:, at]
    last, maps = second(after[None], words[None], None, None)

    def taken_apart(query: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the scores of layer 2, head 1, with this query of the pronoun, and their parts."""
        query = query / keys.shape[-1] ** 0.5
        width, heads = keys.shape[-1], second.attention.num_heads
        to_key, bias = (
            part[heads * width :][:width]
            for part in (second.attention.qkv_proj.weight, second.attention.qkv_proj.bias)
        )
        brings = added @ to_key.T @ query  # (heads, L, L)
        parts, markers = [], [i for i, token in enumerate(tokens) if token == MARKER]
        for word in (i for i, token in enumerate(tokens) if token in APART):
            did, mark = brings[3, word, markers].sum(), brings[3, word, -1]
            parts.append(
                [
                    words[word] @ to_key.T @ query,
                    (out.bias @ to_key.T + bias) @ query,
                    brings[:3, word].sum(),
                    did,
                    brings[3, word].sum() - did - mark,
                    far[0, word],
                    mark,
                ]
            )
        return {
            "scores": (keys[0] @ query + far[0]).double().round(decimals=4),
            "parts": torch.tensor(parts).double().round(decimals=4),
        }

    result = {
        "weights": torch.cat([weights, maps[0]]).double().round(decimals=5),
        "answer": _answer(model, last[0, at]),
        **taken_apart(asks[0, at]),
    }
    if sentence not in HANDED:
        return result
    ending = EXAMPLES[HANDED[sentence]][0].split()
    borrowed = _split(second, model(model.encode(ending)).residual[1][0])[0][:, at]  # (heads, D)
    scores = torch.einsum("hd,hkd->hk", borrowed, keys) / keys.shape[-1] ** 0.5 + far
    took = torch.einsum("hk,hkd->hd", scores.softmax(-1), _split(second, words)[2])
    result["asked"] = {
        "says": f"In layer 2, the pronoun asks with its query of the sentence with “{ending[-1]}”.",
        "weights": scores.softmax(-1).double().round(decimals=5),
        "answer": _answer(model, after[at] + second.attention.out_proj(took.flatten())),
        **taken_apart(borrowed[0]),
    }
    return result


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


def _answer(model: torch.nn.Module, vector: torch.Tensor) -> dict[str, Any]:
    """Return the most probable of all words, and its probability."""
    logits = model.embedding @ model.norm(vector) + model.unembedding_bias
    share, index = logits.softmax(-1).max(-1)
    return {"word": model.config.vocabulary[index], "share": round(share.item(), 5)}


def _split(layer: torch.nn.Module, words: torch.Tensor) -> torch.Tensor:
    """Return the layer's queries, keys and values of (L, D) vectors: (3, heads, L, head_dim)."""
    projections = layer.attention.qkv_proj(words)
    return projections.unflatten(-1, (3, layer.attention.num_heads, -1)).permute(1, 2, 0, 3).clone()


def _weights(
    layer: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    bias = layer.relative(query.shape[-2])
    return scaled_dot_product_attention(query, key, key, mask, bias=bias)[1]
