"""The models that the explorer shows: their files, examples, and the scores of their heads."""

from __future__ import annotations

import json
from typing import Any

from course.page.numbers import rounded
from course.payloads import MODELS_FOLDER
from course.payloads.findings import BEGINNINGS, findings, rounds
from course.payloads.tracing import COARSE, storyteller_trace
from models.grammar.words import split
from models.storyteller.scores import LOOKS
from models.weights import load

MOST = 256  # tokens that the page has room for
LABELS = {
    "itself": "the word itself",
    "previous": "the word before",
    "first": "the first word",
    "induction": "what came after the same word last time",
    "punctuation": "punctuation",
    "verb": "from a verb to its subject",
    "it": "from “it” to its noun",
    "adjective": "from an adjective to its noun",
    "predicate": "from what is said to its subject",
    "bank": "from “bank” to the word that gives its sense",
    "verb, guessed": "to the subject, where the verb is guessed",
    "sense, guessed": "to the word that gives the sense, where it is needed",
}
MODELS = [
    {
        "name": "storyteller", "kind": "storyteller", "title": "Storyteller: English books",
        "about": "Trained on 99 children's books. Type any English text. Rarer words come in "
        "pieces: …g goes on with the last word, so that big …g makes bigg, as in bigger.",
        "file": "storyteller/weights/storyteller.safetensors",
        "examples": [
            ("The boy saw a big dog. Then the big", "4.3"),
            ("Tom had a black cat. One night the black", "4.3"),
            ('The moon looked down at Peter Rabbit. "Good night, moon," said Peter', "4.3"),
            ("The Tin Woodman and the Scarecrow went to see the Tin", "1.1"),
            ("The good old man went home to his", "2.4"),
            ("The boy saw a big cat. Then the big", "4.3"),
            ("The boy saw a small dog. Then the big", "4.3"),
        ],
    },
    {
        "name": "causal", "kind": "grammar", "title": "Grammar: the next word",
        "about": "Knows 198 words, and guesses which comes next.",
        "file": "grammar/weights/causal.safetensors",
        "examples": [
            ("the keys near the old cabinet", "2.2"),
            ("the key near the old cabinets", "2.2"),
            ("the trophy did not fit in the suitcase because it was too big . the", "2.4"),
        ],
    },
    {
        "name": "masked", "kind": "grammar", "title": "Grammar: fill the gap, built to be readable",
        "about": "Reads 198 words both ways, and guesses what [mask] hides. So that its heads can "
        "be read, it was asked, at “it”, which noun is meant, and its layer 2 reads plain words.",
        "file": "grammar/weights/masked.safetensors",
        "examples": [
            ("the trophy did not fit in the suitcase because it was too big .", "2.1"),
            ("the trophy did not fit in the suitcase because it was too small .", "2.1"),
            ("the keys near the old cabinet [mask] red .", "2.2"),
        ],
    },
    {
        "name": "masked-standard", "kind": "grammar", "title": "Grammar: fill the gap, ordinary",
        "about": "Reads the same 198 words both ways. Nothing was done to make its heads readable. "
        "Of three trainings we show the one in which no head looks at the subject.",
        "file": "grammar/weights/masked-standard.safetensors",
        "examples": [
            ("the keys near the old cabinet [mask] red .", "1.1"),
            ("the keys near the old cabinet is red .", "1.1"),
        ],
    },
    {
        "name": "two-layers", "kind": "induction", "title": "Induction: two layers",
        "about": "Reads letters and five marks; trained on rows that repeat. Type some twice.",
        "file": "induction/weights/two-layers-1000.safetensors",
        "examples": [("lamp us,lamp us,lam", "2.2"), ("why not? buy it", "2.1")],
    },
    {
        "name": "one-layer", "kind": "induction", "title": "Induction: one layer",
        "about": "Trained on the same rows, four times as long, with a single layer.",
        "file": "induction/weights/one-layer-4000.safetensors",
        "examples": [("lamp us,lamp us,lam", "1.1"), ("why not? buy it", "1.2")],
    },
]  # fmt: skip


def payload(text: str) -> dict[str, Any]:
    """Return models, a trace of ``text``, gallery and game."""
    data = {
        "models": catalogue(), "opening": storyteller_trace(text),
        "findings": findings(), "game": rounds(), "beginnings": BEGINNINGS,
    }  # fmt: skip
    return rounded(data, **COARSE)


def catalogue() -> list[dict[str, Any]]:
    """Return each model's file and sizes, its examples, and the scores of its heads."""
    return [_entry(model) for model in MODELS]


def _entry(model: dict[str, Any]) -> dict[str, Any]:
    path = MODELS_FOLDER / model["file"]
    config = load(path).config
    examples = [
        {"text": text, "head": head, "at": _at(model["kind"], text)}
        for text, head in model["examples"]
    ]
    return {
        **model, "examples": examples, "file": f"models/{model['file']}",
        "size": path.stat().st_size, "words": len(config.vocabulary),
        "counts": list(config.num_heads), "width": config.embed_dim,
        "most": min(MOST, config.max_len), "units": config.mlp_dim, "causal": config.is_causal,
        "turns": config.positions == "rotary",
        "scores": _scores(model["name"], list(config.num_heads)),
    }  # fmt: skip


def _at(kind: str, text: str) -> int | None:
    """Return the position to start at: the hidden word or "it", otherwise the last."""
    words = split(text) if kind == "grammar" else []
    special = next((word for word in ("[mask]", "it") if word in words and words[-1] == "."), None)
    return words.index(special or "is") if words[-1:] == ["."] else None


def _scores(name: str, counts: list[int]) -> list[dict[str, Any]]:
    """Return each head's cost and looks: [label, mean weight, weight to compare with]."""
    if name == "storyteller":
        return _of_storyteller()
    if name in ("two-layers", "one-layer"):
        return _of_induction(name)
    scores = _json(f"grammar/scores/{name}.json")
    relations = scores["seeds"][str(scores["shipped"])]["attention"]
    return [
        {
            "cost": None,
            "looks": [
                [LABELS[relation], score["heads"][layer][head], score["fixed offset"]]
                for relation, score in relations.items()
            ],
        }
        for layer, count in enumerate(counts)
        for head in range(count)
    ]


def _of_storyteller() -> list[dict[str, Any]]:
    scores = _json("storyteller/scores/storyteller.json")["seeds"]["0"]
    trained = scores["held out"]["heads"]
    untrained = scores["on the way"]["0"]["held out"]["heads"]
    return [
        {
            "cost": head["cost"],
            "looks": [[LABELS[look], head[look], before[look]] for look in LOOKS],
        }
        for head, before in zip(trained, untrained, strict=True)
    ]


def _of_induction(name: str) -> list[dict[str, Any]]:
    scores = _json(f"induction/scores/{name}.json")
    history = scores["seeds"][str(scores["shipped"])]["history"]
    first, last = history[0], history[-1]
    return [
        {
            "cost": head["repeated_loss_off"] - last["repeated_loss"],
            "looks": [
                [LABELS[look].replace("word", "letter"), head[look], before[look]]
                for look in ("previous", "induction")
            ],
        }
        for head, before in zip(last["heads"], first["heads"], strict=True)
    ]


def _json(path: str) -> Any:
    return json.loads((MODELS_FOLDER / path).read_text("utf-8"))
