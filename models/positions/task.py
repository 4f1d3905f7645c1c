"""One task about order, for causal models with five kinds of positions, and one without.

A row of random digits and letters. At each position the model answers two questions: which
sign stood BACK positions before, and which letter came last (here or before)? The first asks for a
distance, the second for the nearest of a kind; only looking there helps.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention import MultiHeadAttention
from positions import LearnedRelativeBias, Rotary, alibi_bias, sinusoidal_positions

DIGITS = LETTERS = 10
SIGNS, LETTER_SHARE, BACK = DIGITS + LETTERS, 0.25, 3
LENGTH, LONGEST = 16, 64  # trained at, tested to
WIDTH, HEADS, LAYERS, HIDDEN = 32, 4, 2, 64
QUESTIONS = ("back", "last")


class Kind(NamedTuple):
    """A way to tell positions: its title, and what makes its part of the model."""

    title: str
    embedding: Callable = lambda: None  # the model's: positions (L,) -> what is added to signs
    bias: Callable = lambda: None  # a layer's: L -> what is added to scores, (HEADS, L, L)
    rotary: Callable = lambda: None  # a layer's: turns queries and keys


KINDS = {
    "none": Kind("no positions"),
    "sinusoidal": Kind("sinusoidal", lambda: lambda at: sinusoidal_positions(LONGEST, WIDTH)[at]),
    "learned": Kind("learned", lambda: nn.Embedding(LONGEST, WIDTH)),
    "relative": Kind("relative bias", bias=lambda: LearnedRelativeBias(HEADS, LENGTH - 1)),
    "alibi": Kind("ALiBi", bias=lambda: partial(alibi_bias, HEADS)),
    "rotary": Kind("rotary", rotary=lambda: Rotary(WIDTH // HEADS)),
}


class Answers(NamedTuple):
    """The right signs, and the positions that have a question; both (B, L)."""

    signs: Tensor
    asked: Tensor


def examples(
    count: int, length: int, draw: torch.Generator | None = None
) -> tuple[Tensor, dict[str, Answers]]:
    """Make signs (B, L), letters first, and the answers of each question.

    The last letter is asked for only if it stands less than LENGTH positions back, so that longer
    rows ask for no untrained distance.
    """
    is_letter = torch.rand(count, length, generator=draw) < LETTER_SHARE
    which = torch.randint(DIGITS, (count, length), generator=draw)
    signs = torch.where(is_letter, which, LETTERS + which)
    positions = torch.arange(length)
    back = Answers(signs.roll(BACK, 1), (positions >= BACK).expand(count, -1))
    latest = torch.where(is_letter, positions, -LENGTH).cummax(1).values  # (B, L)
    last = Answers(signs.gather(1, latest.clamp(min=0)), positions - latest < LENGTH)
    return signs, {"back": back, "last": last}


class Reader(nn.Module):
    """Signs, positions of one kind, two causal layers, and an answer to each question.

    ``scale`` squeezes a rotary model's positions (position interpolation); ``base`` changes its
    angles (NTK-aware). Both may be set after training. ``slopes``, one a head, replace ALiBi's own.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.scale = 1.0
        self.sign = nn.Embedding(SIGNS, WIDTH)
        self.position = KINDS[kind].embedding()
        self.layers = nn.ModuleList(Layer(KINDS[kind]) for _ in range(LAYERS))
        self.answer = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * SIGNS))

    def forward(
        self, signs: Tensor, start: int = 0, *, window: int | None = None
    ) -> dict[str, Tensor]:
        """signs (B, L), the first at position ``start`` -> scores of the answers, (B, L, SIGNS).

        ``window``: how many signs each sees, itself the last.
        """
        x, positions = self.embed(signs, start), torch.arange(start, start + signs.shape[1])
        for layer in self.layers:
            x = layer(x, positions * self.scale, window)
        return dict(zip(QUESTIONS, self.answer(x).chunk(2, dim=-1), strict=True))

    def embed(self, signs: Tensor, start: int = 0) -> Tensor:
        """Return what the first layer reads, (B, L, WIDTH): signs, plus added positions."""
        x, at = self.sign(signs), torch.arange(start, start + signs.shape[1])
        return x if self.position is None else x + self.position(at)

    def set_base(self, base: float) -> None:
        for layer in self.layers:
            layer.attention.rotary = Rotary(WIDTH // HEADS, base=base)

    def set_slopes(self, slopes: tuple[float, ...]) -> None:
        def bias(length: int) -> Tensor:
            at = torch.arange(length)
            return -torch.tensor(slopes)[:, None, None] * (at - at[:, None]).abs()

        for layer in self.layers:
            layer.bias = bias


class Layer(nn.Module):
    """Attention and an MLP, each of which reads what is normed and adds to it."""

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.attention = MultiHeadAttention(WIDTH, HEADS, rotary=kind.rotary())
        self.bias = kind.bias()
        self.mlp = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH)
        )

    def forward(self, x: Tensor, positions: Tensor, window: int | None = None) -> Tensor:
        options = self.options(positions)
        x = x + self.attention(self.norm(x), is_causal=True, window=window, **options)
        return x + self.mlp(x)

    def options(self, positions: Tensor) -> dict[str, Tensor]:
        """Return attention's arguments about positions."""
        if self.bias is not None:
            return {"bias": self.bias(len(positions))}
        return {} if self.attention.rotary is None else {"position_ids": positions}
