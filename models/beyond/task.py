"""A porter's notes, and questions: two tasks for layers that keep a table, or everything.

A text is notes, each of a guest and a room in one token, and then questions, a guest each.
*Moves*: every guest is noted twice, in any order, and the later room counts. *Four days*: the same
on each of four days, with guests drawn anew; between two days all leave, and only the last day's
guests are asked for. Guests and rooms are drawn by lot, so that only the text can say who is where.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention import MultiHeadAttention
from models.beyond.chosen import ChosenAttention
from variants import GatedDeltaNet

GUESTS, ROOMS, QUESTIONS = 64, 16, 16
LEAVE = ROOMS  # the token at which all guests leave
DAYS = {"moves": 1, "four days": 4}
TASKS = tuple(DAYS)
COUNTS = (4, 8, 16)  # guests of a day
MANY = 32  # for the stacks of layers
WIDTH, HEADS, KEPT = 32, 2, 8  # KEPT: tokens that a query may see, the last ones or chosen
SLOPES = (0.5, 0.1)  # softmax heads count a token so much less for each token that lies between
TABLES = {  # what GatedDeltaNet may do
    "adds": {"gated": False, "delta": False},
    "adds, fades": {"gated": True, "delta": False},
    "corrects": {"gated": False, "delta": True},
    "corrects, fades": {"gated": True, "delta": True},
}
KINDS = ("softmax", *TABLES)
STACKS = {
    "one table": ["corrects, fades"],
    "four tables": ["corrects, fades"] * 4,
    "three tables, one softmax": [*["corrects, fades"] * 3, "softmax"],
    "one softmax": ["softmax"],
    "four softmax": ["softmax"] * 4,
}


class Text(NamedTuple):
    """Tokens as a guest and a room each, and the right answers of the last ones."""

    guests: Tensor  # (B, L), 0 where all leave
    rooms: Tensor  # (B, L), LEAVE where all leave, 0 where a question stands
    asks: Tensor  # (B, L), bool
    answers: Tensor  # (B, questions)


def texts(task: str, guests: int, count: int, draw: torch.Generator | None = None) -> Text:
    """``count`` texts with so many guests a day; at most QUESTIONS of the last are asked for."""
    days = [_day(guests, count, draw) for _ in range(DAYS[task])]
    who, noted, last_rooms = days[-1]
    asked = torch.rand(count, guests, generator=draw).argsort(-1)[:, :QUESTIONS]
    is_asked = noted[:, None] == asked[:, :, None]  # (B, questions, notes)
    last = torch.where(is_asked, torch.arange(noted.shape[1]), -1).amax(-1)
    notes, rooms = [], []
    for who_today, noted_today, rooms_today in days:
        if notes:
            notes.append(torch.zeros(count, 1, dtype=torch.long))
            rooms.append(torch.full((count, 1), LEAVE))
        notes.append(who_today.gather(1, noted_today))
        rooms.append(rooms_today)
    questions = who.gather(1, asked)
    before = torch.cat(notes, 1)
    asks = torch.cat([torch.zeros_like(before), torch.ones_like(questions)], 1).bool()
    return Text(
        torch.cat([before, questions], 1),
        torch.cat([*rooms, torch.zeros_like(questions)], 1),
        asks,
        last_rooms.gather(1, last),
    )


def _day(guests: int, count: int, draw: torch.Generator | None) -> tuple[Tensor, Tensor, Tensor]:
    """Draw the guests (B, guests), and of each note which of them (B, notes), and the room."""
    who = torch.rand(count, GUESTS, generator=draw).argsort(-1)[:, :guests]
    noted = torch.rand(count, 2 * guests, generator=draw).argsort(-1) % guests
    return who, noted, torch.randint(ROOMS, noted.shape, generator=draw)


class Porter(nn.Module):
    """Tokens as vectors, layers of the named kinds, and an answer to each question."""

    def __init__(self, kinds: list[str]) -> None:
        super().__init__()
        self.guest, self.room = nn.Embedding(GUESTS, WIDTH), nn.Embedding(LEAVE + 1, WIDTH)
        self.ask = nn.Parameter(torch.randn(WIDTH))
        self.layers = nn.ModuleList(Layer(kind) for kind in kinds)
        self.answer = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, ROOMS))

    def forward(self, text: Text) -> Tensor:
        """Return scores of the answers, (B, questions, ROOMS)."""
        x = self.embed(text)
        for layer in self.layers:
            x = x + layer(x)
        return self.answer(x[:, -text.answers.shape[1] :])

    def embed(self, text: Text) -> Tensor:
        """Return what the first layer reads, (B, L, WIDTH)."""
        room = torch.where(text.asks[..., None], self.ask, self.room(text.rooms))
        return self.guest(text.guests) * (text.rooms != LEAVE)[..., None] + room


class Layer(nn.Module):
    """One layer that mixes tokens, after a norm.

    A table has no short convolution here, for guest and room stand in one token; softmax heads are
    told distances (ALiBi, with slopes of their own), as the later of two notes counts.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.norm = kind, nn.LayerNorm(WIDTH)
        self.register_buffer("slopes", torch.tensor(SLOPES)[:, None, None], persistent=False)
        if kind in TABLES:
            self.mixer = GatedDeltaNet(WIDTH, HEADS, conv_size=1, chunk_size=32, **TABLES[kind])
        elif kind == "chosen":
            self.mixer = ChosenAttention(WIDTH, HEADS, kept=KEPT)
        else:
            self.mixer = MultiHeadAttention(WIDTH, HEADS)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        if self.kind in TABLES:
            return self.mixer(x)
        place = torch.arange(x.shape[1])
        bias = -self.slopes * (place - place[:, None]).abs()  # (H, L, L)
        window = {"window": KEPT} if self.kind == "window" else {}
        return self.mixer(x, bias=bias, is_causal=True, **window)


def numbers_kept(kinds: list[str], tokens: int) -> int:
    """What the layers hold after so many tokens: keys and values, or a table for each head."""
    pairs = {"softmax": tokens, "chosen": tokens, "window": min(tokens, KEPT)}
    size = WIDTH // HEADS
    return sum(HEADS * size * (2 * pairs[k] if k in pairs else size) for k in kinds)
