"""Text by a model of models/storyteller/, as the page writes it."""

from __future__ import annotations

import torch
from torch import Generator

from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer

BEGIN = "Once upon a time"


@torch.no_grad()
def write(
    model: Transformer, seed: int, *, begin: str = BEGIN, words: int = 100, temperature: float = 0.8
) -> str:
    """Continue ``begin`` until the text has ``words`` words, or the model can read no more."""
    tokenizer, generator = Tokenizer(model.config.vocabulary), Generator().manual_seed(seed)
    tokens = tokenizer.encode(begin)
    while len(tokens) < model.config.max_len:
        logits = model(torch.tensor([tokens]), need_weights=False).logits[0, -1]
        shares = (logits / temperature).softmax(0)
        tokens.append(torch.multinomial(shares, 1, generator=generator).item())
        # One word more than asked for: the last may be unfinished.
        if len((text := tokenizer.decode(tokens)).split()) > words:
            return _first(text, words)
    return tokenizer.decode(tokens)


def _first(text: str, words: int) -> str:
    """Return the first ``words`` words of the text."""
    last = text.split()[words]
    return text[: text.rindex(last)].rstrip()
