"""The reviews of m09, with the answers of two models and the attributions of five methods."""

from __future__ import annotations

import torch

from course.page.numbers import rounded
from course.payloads import MODELS_FOLDER
from models.sentiment.attributions import METHODS, margin
from models.sentiment.reviews import ADJECTIVES, READ, TURNS, WORKS
from models.transformer import Transformer
from models.weights import load

FILES = {"B": "ordinary-2", "A": "ordinary-0"}  # B first: m09 asks about it
# The pairs of work and adjective in their verdicts were never trained.
EXAMPLES = (
    "it was a great coffee and the film was not superb .",
    "the soup was dreadful and it was a great song .",
    "it was never a terrible play and we had to wait .",
    "the hall was lovely and it was really a poor song .",
    "my sister came too and the story was quite lovely .",
    "the show was not dull and it was not a good bus .",
)


def decisive(words: list[str]) -> list[int]:
    """Return the positions of the verdict's adjective and, if there is one, of its negation."""
    ands = [i for i, word in enumerate(words) if word in ("and", ".")]
    starts = [0, *(i + 1 for i in ands)]
    [clause] = [
        range(start, end)
        for start, end in zip(starts, ands, strict=False)
        if set(words[start:end]) & set(WORKS)
    ]
    return [i for i in clause if words[i] in (*ADJECTIVES, *TURNS)]


def classifier(name: str) -> Transformer:
    """Load model A or B: the same recipe, from two seeds."""
    return load(MODELS_FOLDER / f"sentiment/weights/{FILES[name]}.safetensors")


def payload() -> dict:
    """Return the examples, the models' answers, and the methods' attributions."""
    texts = [text.split() for text in EXAMPLES]
    models = {}
    for name, file in FILES.items():
        model = classifier(name)
        inputs = [model.encode([READ, *words]) for words in texts]
        with torch.no_grad():
            margins = [rounded(margin(model, tokens).item()) for tokens in inputs]
        models[name] = {
            "file": f"models/sentiment/weights/{file}.safetensors",
            "margins": margins,
            "found": [
                [rounded(method(model, tokens)[0, 1:]) for method in METHODS.values()]
                for tokens in inputs
            ],
        }
    reviews = [{"words": words, "decisive": decisive(words)} for words in texts]
    return {"reviews": reviews, "methods": list(METHODS), "models": models}
