"""The storyteller's own text, without a cache, and a copier's readings of it."""

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


def read_ahead(beginning, guesses):
    """[(tokens guessed, tokens kept)] of each reading, by where each pair of tokens stood last."""
    begun, text, _ = written(beginning)
    readings, length = [], begun
    while length < len(text):
        follows = {pair: i for i, pair in enumerate(pairwise(text[: length - 1]), start=2)}
        found = follows.get((text[length - 2], text[length - 1]))
        most = min(guesses, len(text) - length - 1)
        guessed = [] if found is None else text[found : min(found + most, length)]
        ahead = zip(guessed, text[length:], strict=False)
        kept = len([*takewhile(lambda both: both[0] == both[1], ahead)])
        readings.append((len(guessed), kept))
        length += kept + 1
    return readings
