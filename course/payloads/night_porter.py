"""Short nights of coffees and payments, and what trained layers say that two guests owe."""

from itertools import product
from typing import Any

import torch
from torch import Tensor

from course.page.numbers import rounded
from models.beyond.task import COFFEE, OWES, PAY, Porter, Text
from models.beyond.train import alpha_beta, load

GUESTS = ["Ann", "Ben"]  # the models' guests 0 and 1
TOKENS = [(0, COFFEE), (1, COFFEE), (0, PAY)]  # a guest and a word each, as the texts have them
MOST = 6  # tokens of a night
LAYERS = {"corrects, fades": "a table that corrects and fades", "softmax": "softmax"}
COUNTS = 1  # the head of the table that counts


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


@torch.no_grad()
def inside(model: Porter) -> dict[str, Any]:
    """Return what decides the weights of softmax, or what stands in a table, at these tokens.

    One layer reads each token alone, so that its numbers don't depend on the night. Of softmax:
    the scores of each guest's question, by head and guest, with the coffees, *all pay* and the
    question itself, before the bias against distance; and how steep this is. Of a table, in the
    head that counts: α and β, the dot products of keys, and for each guest how much of the value
    of the guest's coffee each value has.
    """
    asks = [(guest, OWES) for guest in range(len(GUESTS))]
    guests, words = torch.tensor([TOKENS + asks]).unbind(-1)
    layer, text, count = model.layers[0], Text(guests, words, torch.empty(0)), len(TOKENS)
    x = layer.norm(model.embed(text))
    if layer.kind == "softmax":
        query, key, _ = layer.mixer.project(x)[:3]
        scores = (query @ key.mT / query.shape[-1] ** 0.5)[0]  # (H, tokens, tokens)
        seen = [
            [[*head[count + guest, :count], head[count + guest, count + guest]] for guest in (0, 1)]
            for head in scores
        ]
        return rounded({"scores": torch.tensor(seen), "slopes": layer.slopes.flatten()}, 5)
    alpha, beta = alpha_beta(model, text)
    _, key, value, _ = layer.mixer._project(x, layer.mixer.new_state(x).recent)
    key, value = key[0, COUNTS, :count], value[0, COUNTS, :count]
    coffees = value[: len(GUESTS)]
    inner = {
        "alpha": alpha[0, COUNTS, :count],
        "beta": beta[0, COUNTS, :count],
        "keys": key @ key.mT,
        "values": coffees @ value.mT / coffees.square().sum(-1, keepdim=True),
    }
    return rounded(inner, 5)


def payload() -> dict[str, Any]:
    """Return for each layer and guest a digit a night: the shorter first, in the order of TOKENS.

    Besides what ``inside`` says of the layer.

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
        layers.append({"kind": kind, "name": name, "says": all_say, **inside(model)})
    # "a": coffee for Ann, "b": coffee for Ben, "p": all pay
    return {"guests": GUESTS, "most": MOST, "start": "apa", "layers": layers}
