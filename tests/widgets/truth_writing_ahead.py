"""The storyteller's own text, without a cache, and readings of what a writer drafts of it."""

from dataclasses import replace
from functools import cache
from itertools import pairwise, takewhile

import torch

from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer

BEGINNINGS = "It was a dark night, and", "One day Peter Rabbit", "The little rabbit"


def likeliest(model, tokens):
    return model(torch.tensor([tokens]), need_weights=False).logits[0, -1].argmax().item()


@cache
@torch.no_grad()
def written(beginning, count=60):
    """(how many tokens the beginning has, the ids of all, their names)"""
    model = load_storyteller()
    tokenizer = Tokenizer(model.config.vocabulary)
    tokens = tokenizer.encode(beginning)
    begun = len(tokens)
    for _ in range(count):
        tokens.append(likeliest(model, tokens))
    return begun, tokens, [tokenizer.name(token) for token in tokens]


@cache
@torch.no_grad()
def drafts(beginning, longest=8):
    """What the first two layers draft after each part of the text, as ids."""
    begun, text, _ = written(beginning)
    model = load_storyteller()
    short = {"num_heads": model.config.num_heads[:2], "raw_values": model.config.raw_values[:2]}
    model.config, model.layers = replace(model.config, num_layers=2, **short), model.layers[:2]
    made = []
    for length in range(begun, len(text)):
        tokens = text[:length]
        for _ in range(longest):
            tokens = [*tokens, likeliest(model, tokens)]
        made.append(tokens[length:])
    return made


def copied(beginning, length, most):
    """What followed where the last two tokens stood last."""
    _, text, _ = written(beginning)
    follows = {pair: i for i, pair in enumerate(pairwise(text[: length - 1]), start=2)}
    found = follows.get((text[length - 2], text[length - 1]))
    return [] if found is None else text[found : min(found + most, length)]


def read_ahead(beginning, writer, longest):
    """[(tokens drafted, tokens kept)] of each reading."""
    begun, text, _ = written(beginning)
    readings, length = [], begun
    while length < len(text):
        most = min(longest, len(text) - length - 1)
        drafted = (
            copied(beginning, length, most)
            if writer == "copier"
            else drafts(beginning)[length - begun][:most]
        )
        ahead = zip(drafted, text[length:], strict=False)
        kept = len([*takewhile(lambda both: both[0] == both[1], ahead)])
        readings.append((len(drafted), kept))
        length += kept + 1
    return readings
