"""The storyteller's own text, without a cache, and readings of what a writer drafts of it."""

import copy
from functools import cache
from itertools import pairwise, takewhile

import torch

from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer

BEGINNINGS = "It was a dark night, and", "One day Peter Rabbit", "The little rabbit"


@cache
@torch.no_grad()
def written(beginning, count=60):
    """(how many tokens the beginning has, the ids of all, their names)"""
    model = load_storyteller()
    tokenizer = Tokenizer(model.config.vocabulary)
    tokens = tokenizer.encode(beginning)
    begun = len(tokens)
    for _ in range(count):
        tokens.append(model(torch.tensor([tokens])).logits[0, -1].argmax().item())
    return begun, tokens, [tokenizer.name(token) for token in tokens]


@cache
@torch.no_grad()
def drafts(beginning, longest=8):
    """What two layers draft after each part of the text, as ids: the others add nothing."""
    begun, text, _ = written(beginning)
    model = copy.deepcopy(load_storyteller())
    for layer in model.layers[2:]:
        for last in (layer.attention.out_proj, layer.mlp[-1]):
            last.weight.zero_(), last.bias.zero_()
    made = []
    for length in range(begun, len(text)):
        tokens = text[:length]
        for _ in range(longest):
            tokens = [*tokens, model(torch.tensor([tokens])).logits[0, -1].argmax().item()]
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
