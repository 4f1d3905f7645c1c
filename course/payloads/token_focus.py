"""The sentences of m02, and the maps of both grammar models' heads on them."""

from __future__ import annotations

import json
from typing import Any

import torch

from course.payloads import MODELS
from models.weights import load

FOLDER = MODELS / "grammar"
LEAST = 0.5  # least mean weight for naming a head after a relation
RELATIONS = {"verb": "verb to subject", "it": "“it” to its noun", "adjective": "adjective to noun"}

# Each sentence with the word to look at first, and the truth about it.
EXAMPLES = [
    ("the cat sat on the mat", 2, "Who sat? The cat did."),
    (
        "the trophy did not fit in the suitcase because it was too big", 9,
        "What is meant: too big to go in, so “it” is the trophy.",
    ),
    (
        "the trophy did not fit in the suitcase because it was too small", 9,
        "What is meant: too small to hold it, so “it” is the suitcase.",
    ),
    (
        "the keys near the cabinet are red", 5,
        "“are” agrees with the keys, not with the cabinet beside it.",
    ),
    (
        "the cat sat on the mat because it was warm", 7,
        "What is meant: warm, not tired, so “it” is the mat.",
    ),
]  # fmt: skip


def payload(sentence: int, head: int) -> dict[str, Any]:
    """Sentences, maps of each model, and what to show first: the number of sentence and head."""
    return {
        "sentences": [
            {"tokens": text.split(), "focus": focus, "says": says} for text, focus, says in EXAMPLES
        ],
        "models": {name: head_maps(name) for name in ("masked", "causal")},
        "start": {"sentence": sentence, "head": head},
    }


def named_heads(name: str) -> dict[tuple[int, int], str]:
    """Return {(layer, head): relation that the head follows}, by the scores of model ``name``."""
    scores = json.loads((FOLDER / "scores" / f"{name}.json").read_text(encoding="utf-8"))
    attention = scores["seeds"][str(scores["shipped"])]["attention"]
    found: dict[tuple[int, int], str] = {}
    for relation, says in RELATIONS.items():
        head, weight = tuple(attention[relation]["head"]), attention[relation]["weight"]
        if weight < LEAST:
            continue
        found[head] = ", ".join(filter(None, [found.get(head), says]))
    return found


@torch.no_grad()
def head_maps(name: str) -> dict[str, Any]:
    """Return {"heads": names, "weights": a (heads, L, L) tensor for each of EXAMPLES}, rounded."""
    model, names = load(FOLDER / "weights" / f"{name}.safetensors"), named_heads(name)
    weights = []
    for text, *_ in EXAMPLES:
        layers = model(model.encode(text.split())).weights
        weights.append(torch.cat(layers, dim=1)[0].double().round(decimals=5))
    each = [(i, h) for i, layer in enumerate(layers) for h in range(layer.shape[1])]
    heads = [f"layer {i + 1}, head {h + 1}" for i, h in each]
    said = [
        f"{head} ({names[at]})" if at in names else head
        for at, head in zip(each, heads, strict=True)
    ]
    return {"heads": said, "weights": weights}
