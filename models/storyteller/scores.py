"""Score a model's guesses on held-out books, and what each of its heads looks at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from models.storyteller.books import LENGTH
from models.transformer import Run, Transformer

SEED, COUNT, PERIOD = 1_000_000, 16, 48  # of the random tokens that repeat
WINDOWS = 16  # of the held-out books, for what the heads do
BATCH = 16
LOOKS = ("itself", "previous", "first", "induction", "punctuation")


@torch.no_grad()
def bits_per_byte(model: Transformer, books: dict[str, Tensor]) -> dict[str, float]:
    """Bits a byte for each whole book, and for "all" together.

    The model guesses every token except the first once, from at least the 128 tokens before it,
    or from all of them if there are fewer.
    """
    sizes = byte_counts(model)
    bits, bytes_ = {}, {}
    for name, tokens in books.items():
        bits[name] = _loss_of_book(model, tokens) / math.log(2)
        bytes_[name] = sizes[tokens[1:]].sum().item()
    by_book = {name: round(bits[name] / bytes_[name], 4) for name in books}
    return by_book | {"all": round(sum(bits.values()) / sum(bytes_.values()), 4)}


def byte_counts(model: Transformer) -> Tensor:
    return torch.tensor([len(token) for token in model.config.vocabulary])


def _loss_of_book(model: Transformer, tokens: Tensor) -> float:
    """Return the loss of a book in nats, summed over all tokens except the first."""
    half = LENGTH // 2
    total, starts = 0.0, torch.arange(0, max(1, len(tokens) - 1 - half), half)
    for batch in starts.split(BATCH):
        for start in _alike(batch, len(tokens)):
            window = tokens[
                start[:, None] + torch.arange(min(LENGTH, len(tokens) - 1 - start[0]) + 1)
            ]
            losses = _losses(model(window[:, :-1], need_weights=False).logits, window)
            # The first half of a window was guessed in the one before, but for the book's first.
            fresh = torch.where(start == 0, 0, half)[:, None] <= torch.arange(losses.shape[1])
            total += losses[fresh].sum().item()
    return total


def _alike(starts: Tensor, length: int) -> Iterable[Tensor]:
    """Batch the whole windows; a book's last window, which is shorter, is a batch of its own."""
    whole = starts + LENGTH < length
    return [part for part in (starts[whole], *starts[~whole].split(1)) if len(part)]


def windows(books: dict[str, Tensor]) -> Tensor:
    """(WINDOWS, LENGTH + 1): evenly from all books."""
    whole = torch.cat([*books.values()])
    starts = torch.linspace(0, len(whole) - LENGTH - 1, WINDOWS).long()
    return whole[starts[:, None] + torch.arange(LENGTH + 1)]


def repeated(vocabulary: Sequence[str]) -> Tensor:
    """(COUNT, 2 · PERIOD): random tokens that occur in English, then the same again."""
    usual = torch.tensor([i for i, token in enumerate(vocabulary) if token.isascii() and i > 31])
    generator = Generator().manual_seed(SEED)
    order = torch.rand(COUNT, len(usual), generator=generator).argsort(dim=1)[:, :PERIOD]
    return usual[order].repeat(1, 2)


@torch.no_grad()
def score_heads(model: Transformer, books: dict[str, Tensor]) -> dict:
    """``held out`` and ``repeated``: the loss in nats a token, for each head the mean weights that
    its queries give, and what the loss is more without it.

    Weights: on the token ``itself``; on the ``previous`` and on the ``first`` one; ``induction``:
        on the token after the last same one, over the queries that have one; ``punctuation``: on
        all tokens without letter or digit before the query. The first query of a text counts
        nowhere: it has only itself.
    On repeated tokens, loss and induction are those of the second half, which can be known.
    """
    return {
        "held out": _score(model, windows(books), 0),
        "repeated": score_repeated(model),
    }


@torch.no_grad()
def held_out_loss(model: Transformer, books: dict[str, Tensor]) -> float:
    """Return the loss in nats a token on the windows that score the heads."""
    return round(_loss(model, windows(books), 0), 4)


@torch.no_grad()
def score_repeated(model: Transformer) -> dict:
    return _score(model, repeated(model.config.vocabulary), PERIOD)


def _score(model: Transformer, texts: Tensor, start: int) -> dict:
    looks = [0.0] * model.config.num_layers
    for text in texts.split(BATCH):
        run = model(text[:, :-1])
        share = len(text) / len(texts)
        looks = [
            a + share * b for a, b in zip(looks, _looks(model, run, text[:, :-1]), strict=True)
        ]
    loss = _loss(model, texts, start)
    heads = []
    for layer, counts in enumerate(model.config.num_heads):
        for head in range(counts):
            weights = dict(zip(LOOKS, looks[layer][:, head].tolist(), strict=True))
            cost = _loss(model, texts, start, off=[(layer, head)]) - loss
            named = {"layer": layer, "head": head} | weights | {"cost": cost}
            heads.append({name: round(x, 4) for name, x in named.items()})
    return {"loss": round(loss, 4), "heads": heads}


def _looks(model: Transformer, run: Run, tokens: Tensor) -> list[Tensor]:
    """Return mean weights, (looks, heads) for each layer."""
    masks = relations(model.config.vocabulary, tokens)  # each (B, L, L), bool
    looks = []
    for weights in run.weights:
        sums = [(weights * mask[:, None]).sum(-1) for mask in masks.values()]  # (B, H, L)
        counted = [mask.any(-1) if name == "induction" else _after_first(mask)
                 for name, mask in masks.items()]  # fmt: skip
        means = [(s * a[:, None]).sum((0, 2)) / a.sum().clamp(min=1)
                 for s, a in zip(sums, counted, strict=True)]  # fmt: skip
        looks.append(torch.stack(means))
    return looks


def _after_first(mask: Tensor) -> Tensor:
    counted = torch.ones(mask.shape[:2], dtype=torch.bool)
    counted[:, 0] = False
    return counted


def relations(vocabulary: Sequence[str], tokens: Tensor) -> dict[str, Tensor]:
    """Return a mask (B, L, L) for each of LOOKS: the keys whose weights a query sums."""
    B, L = tokens.shape
    query, key = torch.arange(L)[:, None], torch.arange(L)
    marks = torch.tensor([not any(c.isalnum() for c in token) for token in vocabulary])
    same = (tokens[:, :, None] == tokens[:, None, :]) & (key < query)  # (B, L, L)
    last = torch.where(same, key, -2).amax(-1)  # (B, L), of the last same token
    return {
        "itself": (key == query).expand(B, L, L),
        "previous": (key == query - 1).expand(B, L, L),
        "first": ((key == 0) & (query > 0)).expand(B, L, L),
        "induction": key == last[..., None] + 1,
        "punctuation": marks[tokens][:, None, :] & (key < query),
    }


def _loss(model: Transformer, texts: Tensor, start: int, off: Sequence = ()) -> float:
    losses = [
        _losses(model(text[:, :-1], off=off, need_weights=False).logits, text)[:, start:]
        for text in texts.split(BATCH)
    ]
    return torch.cat(losses).mean().item()


def _losses(logits: Tensor, text: Tensor) -> Tensor:
    return F.cross_entropy(logits.mT, text[:, 1:], reduction="none")  # (B, L)
