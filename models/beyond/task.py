"""A porter's book and a porter's tab: tasks for layers that keep a table, or everything.

A text is notes and questions. *Moves*: every guest is noted twice in the book, a room each time, in
any order; then guests are asked for, and the later room counts. *Crowd*: the same, more guests.
*Tab*: guests have coffees, now and then all pay, and questions in between ask how many a guest
owes. *Coffees*: the same, and nobody pays. *Both*: book and tab mixed at random; who pays keeps the
room. All is drawn by lot, so that only the text can say it.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention import MultiHeadAttention, create_causal_mask
from models.beyond.chosen import ChosenAttention
from variants import GatedDeltaNet

GUESTS, ROOMS, QUESTIONS = 64, 16, 16
PAY, COFFEE, OWES, ROOM = range(ROOMS, ROOMS + 4)  # words beside the rooms; two ask
NOT_ASKED = -100  # what cross-entropy leaves out
DRINKERS, COFFEES = 8, 6  # who has coffee, how many each
TAB = {"coffees": (2, 0), "tab": (2, 2), "both": (1, 2)}  # how often each is asked for, and all pay
TASKS = ("moves", "crowd", *TAB)
COUNTS = (4, 8, 16)  # guests in the book
MANY = 32  # of *both*
CROWDS = (8, 16, 32, 48)  # of *crowd*
WIDTH, HEADS, BUDGET = 32, 2, 8  # BUDGET: tokens that a query may see, the last or chosen
# Softmax heads count a token so much less for each token that lies between. Of nine pairs these
# let two layers of softmax keep the tab best.
SLOPES = (0.05, 0.0)
TABLES = {  # what GatedDeltaNet may do
    "adds": {"gated": False, "delta": False},
    "adds, fades": {"gated": True, "delta": False},
    "corrects": {"gated": False, "delta": True},
    "corrects, fades": {"gated": True, "delta": True},
}
KINDS = ("softmax", *TABLES)
PLAIN = "adds, plain"  # what is read from its table keeps its length
FADES_PLAIN = "adds, fades, plain"
OWN_LENGTH = {PLAIN: "adds", FADES_PLAIN: "adds, fades"}
SINK = "softmax, sink"  # a learned score in each row, whose weight goes nowhere
UNDIVIDED = "softmax, undivided"  # a sum of values, weighted by the exponentials of the scores
STACKS = {
    "two tables": ["corrects, fades"] * 2,
    "two softmax": ["softmax"] * 2,
    "two softmax with MLPs": ["softmax", "mlp"] * 2,
    "softmax, table": ["softmax", "corrects, fades"],
    "table, softmax": ["corrects, fades", "softmax"],
    "three tables, softmax": [*["corrects, fades"] * 3, "softmax"],
}


class Text(NamedTuple):
    """Tokens, a guest and a word each, and what is right at each."""

    guests: Tensor  # (B, L), 0 if all pay
    words: Tensor  # (B, L), a room, PAY, COFFEE, or a question: OWES, ROOM
    answers: Tensor  # (B, L), a room, a number of coffees, or NOT_ASKED


def texts(task: str, guests: int, count: int, draw: torch.Generator | None = None) -> Text:
    """Make ``count`` texts with ``guests`` guests in the book, and at most QUESTIONS questions."""
    if task in ("coffees", "tab"):
        return _tab(task, count, draw)
    notes, questions = _book(guests, count, draw)
    if task == "both":
        notes = _mixed(notes, _tab(task, count, draw), draw)
    return Text(*(torch.cat(pair, 1) for pair in zip(notes, questions, strict=True)))


def _book(guests: int, count: int, draw: torch.Generator | None) -> tuple[Text, Text]:
    """Make two notes of each guest, and questions for their rooms."""
    who = torch.rand(count, GUESTS, generator=draw).argsort(-1)[:, :guests]
    order = torch.rand(count, 2 * guests, generator=draw).argsort(-1) % guests
    rooms = torch.randint(ROOMS, order.shape, generator=draw)
    asked = torch.rand(count, guests, generator=draw).argsort(-1)[:, :QUESTIONS]
    is_asked = order[:, None] == asked[:, :, None]  # (B, questions, notes)
    last = torch.where(is_asked, torch.arange(order.shape[1]), -1).amax(-1)
    notes = Text(who.gather(1, order), rooms, torch.full_like(rooms, NOT_ASKED))
    return notes, Text(who.gather(1, asked), torch.full_like(asked, ROOM), rooms.gather(1, last))


def _tab(task: str, count: int, draw: torch.Generator | None) -> Text:
    """Coffees, payments and questions in random order."""
    times, pays = TAB[task]
    drinkers = torch.arange(DRINKERS)
    guests = torch.cat([drinkers.repeat(COFFEES + times), torch.zeros(pays).long()])
    sizes = torch.tensor([DRINKERS * COFFEES, DRINKERS * times, pays])
    words = torch.tensor([COFFEE, OWES, PAY]).repeat_interleave(sizes)
    order = torch.rand(count, len(words), generator=draw).argsort(-1)
    guests, words = guests[order], words[order]
    had = ((guests[..., None] == drinkers) & (words == COFFEE)[..., None]).cumsum(1)
    paid = torch.where((words == PAY)[..., None], had, 0).cummax(1).values
    owed = (had - paid).gather(-1, guests[..., None])[..., 0]
    return Text(guests, words, torch.where(words == OWES, owed, NOT_ASKED))


def _mixed(first: Text, second: Text, draw: torch.Generator | None) -> Text:
    """Mix the tokens of two texts at random; each keeps its own order."""
    lengths = [text.words.shape[1] for text in (first, second)]
    is_first = torch.rand(len(first.words), sum(lengths), generator=draw).argsort(-1) < lengths[0]
    first_at = is_first.cumsum(1) - 1
    second_at = (~is_first).cumsum(1) - 1
    pick = [first_at.clamp(min=0), second_at.clamp(min=0)]
    return Text(*(
        torch.where(is_first, a.gather(1, pick[0]), b.gather(1, pick[1]))
        for a, b in zip(first, second, strict=True)
    ))  # fmt: skip


class Porter(nn.Module):
    """Tokens as vectors, layers of the named kinds, and an answer to each question."""

    def __init__(self, kinds: list[str]) -> None:
        super().__init__()
        self.guest, self.word = nn.Embedding(GUESTS, WIDTH), nn.Embedding(ROOM + 1, WIDTH)
        self.layers = nn.ModuleList(Layer(kind) for kind in kinds)
        self.answer = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, ROOMS))

    def forward(self, text: Text) -> Tensor:
        """Return scores of the answers at every token, (B, L, ROOMS)."""
        x = self.embed(text)
        for layer in self.layers:
            x = x + layer(x)
        return self.answer(x)

    def embed(self, text: Text) -> Tensor:
        """Return what the first layer reads, (B, L, WIDTH)."""
        is_guest = (text.words != PAY)[..., None]
        return self.guest(text.guests) * is_guest + self.word(text.words)


class Layer(nn.Module):
    """One layer that mixes tokens, after a norm.

    A table has no short convolution here, because one token holds guest and word. Softmax heads get
    distances (ALiBi with other slopes), because the later of two notes counts.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.norm = kind, nn.LayerNorm(WIDTH)
        self.register_buffer("slopes", torch.tensor(SLOPES)[:, None, None], persistent=False)
        if kind == "mlp":
            inner = [nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)]
            self.mixer = nn.Sequential(*inner)
        elif kind in TABLES:
            self.mixer = GatedDeltaNet(WIDTH, HEADS, conv_size=1, chunk_size=16, **TABLES[kind])
        elif kind in OWN_LENGTH:
            self.mixer = GatedDeltaNet(WIDTH, HEADS, conv_size=1, **TABLES[OWN_LENGTH[kind]])
            self.mixer.norm = nn.Identity()
        elif kind == "chosen":
            self.mixer = ChosenAttention(WIDTH, HEADS, num_chosen=BUDGET)
        elif kind == SINK:
            self.mixer = MultiHeadAttention(WIDTH, HEADS, sinks=True)
        else:
            self.mixer = MultiHeadAttention(WIDTH, HEADS)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(x)
        if self.kind in (*TABLES, *OWN_LENGTH, "mlp"):
            return self.mixer(x)
        positions = torch.arange(x.shape[1])
        bias = -self.slopes * (positions - positions[:, None]).abs()  # (H, L, L)
        if self.kind == UNDIVIDED:
            return self._weighted_sum(x, bias)
        window = {"window": BUDGET} if self.kind == "window" else {}
        return self.mixer(x, bias=bias, is_causal=True, **window)

    def _weighted_sum(self, x: Tensor, bias: Tensor) -> Tensor:
        """Mix like softmax without its division; scores are capped against overflow."""
        query, key, value = self.mixer.project(x)
        scores = (query @ key.mT / query.shape[-1] ** 0.5 + bias).clamp(max=4)
        weights = scores.exp() / 8 * create_causal_mask(x.shape[1])
        return self.mixer.merge(weights @ value, x)


def numbers_kept(kinds: list[str], tokens: int) -> int:
    """Count the numbers that the layers store of so many tokens: keys and values, or tables."""
    pairs = {
        **dict.fromkeys(("softmax", SINK, UNDIVIDED, "chosen"), tokens),
        "window": min(tokens, BUDGET),
    }
    size = WIDTH // HEADS
    numbers = {kind: 2 * HEADS * size * tokens for kind, tokens in pairs.items()}
    numbers |= {"mlp": 0, **dict.fromkeys((*TABLES, *OWN_LENGTH), HEADS * size * size)}
    return sum(numbers[kind] for kind in kinds)
