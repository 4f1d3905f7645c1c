"""Where the words of m02's sentences look, in float64 from the committed weights."""

from functools import cache

import torch

from course.payloads.token_focus import EXAMPLES, FOLDER
from models.weights import load

TEXTS = [text.split() for text, *_ in EXAMPLES]


@cache
def model_of(name):
    return load(FOLDER / "weights" / f"{name}.safetensors").double()


@cache
def maps(name, sentence):
    """(heads and, last, their mean; L, L), in float64 from the committed weights."""
    model = model_of(name)
    heads = torch.cat(model(model.encode(TEXTS[sentence])).weights, dim=1)[0].detach()
    return torch.cat([heads, heads.mean(0, keepdim=True)])
