"""Questions to a trained layer that chooses its tokens, with all numbers that answers need."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from course.page.numbers import rounded
from models.beyond.task import GUESTS, HEADS, ROOM, Porter, Text, texts
from models.beyond.train import load

# The text, found by search, and how many guests its notes have: two tokens are enough for all
# guests but one, whose new note has only the fourth best cheap score.
SEED, BOOK = 22, 16
NAMES = "Ann Ben Cleo Dan Eve Finn Gus Hal Ida Jon Kim Leo Mia Ned Ola Pia".split()
FIRST = 44  # the guest who is called Ann; the others follow as they come in the book


def book() -> tuple[list[int], list[int], dict[int, str]]:
    """Return the guests of the notes, their rooms, and the guests' names."""
    guests, rooms, _ = (
        part[0, : 2 * BOOK].tolist()
        for part in texts("moves", BOOK, 1, torch.Generator().manual_seed(SEED))
    )
    order = dict.fromkeys([FIRST, *guests])
    return guests, rooms, dict(zip(order, NAMES, strict=True))


class Question(NamedTuple):
    """The layer's numbers at a question, which is the last token."""

    stream: Tensor  # (E,) what the layer adds to
    scores: Tensor  # (H, L) of the question, with the bias against distance
    cheap: Tensor  # (L,)
    values: Tensor  # (H, L, D)


@torch.no_grad()
def ask(model: Porter, guest: int) -> Question:
    """Ask for ``guest`` after all notes."""
    guests, rooms, _ = book()
    if guest not in range(GUESTS):
        raise ValueError(f"guest must lie in 0 ... {GUESTS - 1}, got {guest}")
    text = Text(torch.tensor([[*guests, guest]]), torch.tensor([[*rooms, ROOM]]), torch.empty(0))
    layer, stream = model.layers[0], model.embed(text)
    x = layer.norm(stream)
    query, key, value = layer.mixer.project(x)
    back = torch.arange(x.shape[1] - 1, -1, -1)
    scores = query[0, :, -1:] @ key[0].mT / query.shape[-1] ** 0.5 - layer.slopes * back
    return Question(stream[0, -1], scores[:, 0], layer.mixer.index(x)[0, -1], value[0])


def payload() -> dict[str, Any]:
    """Return notes, guests, and for each guest a question; the layer's last matrices."""
    model = load("moves", "chosen")
    guests, rooms, names = book()
    questions = {guest: ask(model, guest) for guest in names}
    values = questions[FIRST].values[:, :-1]  # those of the notes are the same for all questions
    norm, read = model.answer
    out = model.layers[0].mixer.out_proj
    return {
        "notes": [
            {"who": names[guest], "room": room} for guest, room in zip(guests, rooms, strict=True)
        ],
        "questions": [
            {
                "who": names[guest],
                "room": rooms[len(guests) - 1 - guests[::-1].index(guest)],
                "stream": rounded(question.stream, 3),
                "scores": rounded(question.scores, 3),
                "cheap": rounded(question.cheap, 6),
                "value": rounded(question.values[:, -1], 3),
            }
            for guest, question in questions.items()
        ],
        "values": rounded(values, 3),
        "out": {"rows": rounded(out.weight, 3), "bias": rounded(out.bias, 3)},
        # The norm's own numbers go into the matrix that reads the answer.
        "read": {
            "rows": rounded(read.weight * norm.weight, 3),
            "bias": rounded(read.bias + read.weight @ norm.bias, 3),
        },
        "size": values.shape[-1] * HEADS,
        "cheapSize": model.layers[0].mixer.index_query.out_features,
    }
