"""What the explorer's models are asked, and how they read it in PyTorch."""

import torch

from course.payloads import explorer
from models.grammar.words import split
from models.storyteller.tokens import Tokenizer

MODELS = explorer.catalogue()
STATE = {
    "model": "storyteller", "text": None, "at": None, "to": None, "head": None, "off": [],
    "temperature": 1, "topk": 40, "pin": None, "guide": 6,
}  # fmt: skip
TYPED = {
    "storyteller": "<b>Zoë</b> & “Mr. Fox” [one]\nran ",
    "grammar": "The lions didn't climb [mask] WALL.",
    "induction": "quick frog, quick",
}


def ids_of(model, kind, text):
    if kind == "storyteller":
        return Tokenizer(model.config.vocabulary).encode(text.rstrip(" "))
    words = split(text) if kind == "grammar" else list(text.lower())
    return model.encode(words)[0].tolist()


@torch.no_grad()
def asked(model, run, ids, off=()):
    """The logits by which each token is guessed, (L, V)."""
    if model.config.is_causal:
        return run.logits[0]
    hidden = torch.tensor([ids]).repeat(len(ids), 1).fill_diagonal_(model.ids["[mask]"])
    return model(hidden, off=off).logits.diagonal(dim1=0, dim2=1).T
