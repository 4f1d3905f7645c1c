"""The sentences of m02, and the maps of both grammar models' heads on them."""

from __future__ import annotations

from typing import Any

import torch

from course.payloads import MODELS
from models.weights import load

FOLDER = MODELS / "grammar"

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


@torch.no_grad()
def head_maps(name: str) -> dict[str, Any]:
    """Return {"heads": names, "weights": a (heads, L, L) tensor for each of EXAMPLES}, rounded.

    The names don't say what a head does, because the page asks its reader to find that out.
    """
    model, weights = load(FOLDER / "weights" / f"{name}.safetensors"), []
    for text, *_ in EXAMPLES:
        layers = model(model.encode(text.split())).weights
        weights.append(torch.cat(layers, dim=1)[0].double().round(decimals=5))
    heads = [
        f"layer {number}, head {h + 1}"
        for number, layer in enumerate(layers, 1)
        for h in range(layer.shape[1])
    ]
    return {"heads": heads, "weights": weights}
