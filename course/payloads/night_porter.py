"""Short nights of coffees and payments, and what trained layers say that two guests owe."""

from itertools import product
from typing import Any

import torch
from torch import Tensor

from models.beyond.task import COFFEE, OWES, PAY, Porter, Text
from models.beyond.train import load

GUESTS = ["Ann", "Ben"]  # the models' guests 0 and 1
TOKENS = [(0, COFFEE), (1, COFFEE), (0, PAY)]  # a guest and a word each, as the texts have them
MOST = 6  # tokens of a night
LAYERS = {
    "adds, fades, plain": "a table that adds and fades",
    "corrects, fades": "a table that corrects and fades",
    "softmax": "softmax",
}


def nights(length: int) -> Tensor:
    """Return all nights of so many tokens as places in TOKENS, (3 ** length, length)."""
    count = len(TOKENS)
    return torch.tensor([*product(range(count), repeat=length)]).view(count**length, length)


@torch.no_grad()
def says(model: Porter, night: Tensor, guest: int) -> list[int]:
    """Return what the layer says that the guest owes at the end of each night (B, L)."""
    asked = torch.tensor([guest, OWES]).expand(len(night), 1, 2)
    guests, words = torch.cat([torch.tensor(TOKENS)[night.long()], asked], 1).unbind(-1)
    return model(Text(guests, words, torch.empty(0)))[:, -1].argmax(-1).tolist()


def payload() -> dict[str, Any]:
    """Return for each layer and guest a digit a night: the shorter first, in the order of TOKENS.

    Raises: ValueError if a layer says more than 9.
    """
    layers = []
    for kind, name in LAYERS.items():
        model, all_say = load("tab", kind), []
        for guest in range(len(GUESTS)):
            said = [one for length in range(MOST + 1) for one in says(model, nights(length), guest)]
            if max(said) > 9:
                raise ValueError(f"one digit a night, but {name} says {max(said)}")
            all_say.append("".join(map(str, said)))
        layers.append({"kind": kind, "name": name, "says": all_say})
    # "a": coffee for Ann, "b": coffee for Ben, "p": all pay
    return {"guests": GUESTS, "most": MOST, "start": "apa", "layers": layers}
