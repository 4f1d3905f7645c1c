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


def subsets(words):
    """Every choice of them; word i is in choice n if bit i of n is set."""
    return [
        [word for bit, word in enumerate(words) if n >> bit & 1] for n in range(2 ** len(words))
    ]


@torch.no_grad()
def found_with_hidden(last, unseen):
    """What the pronoun gives each word in layer 2, head 1, by hand.

    The sentence ends with ``last``, which words at ``unseen`` can't see in any head of layer 1.
    """
    model, words = model_of("masked"), [*TEXTS[1][:-1], last]
    one, two = model.layers
    x = model.embedding[model.encode(words)[0]]
    q, k, v = one.attention.qkv_proj(x).unflatten(-1, (3, 4, 16)).permute(1, 2, 0, 3)
    scores = q @ k.mT / 4 + one.relative(13)
    scores[:, unseen, 12] = -torch.inf
    after = x + one.attention.out_proj((scores.softmax(-1) @ v).transpose(0, 1).flatten(1))
    q, k, _ = two.attention.qkv_proj(after).unflatten(-1, (3, 2, 32))[:, :, 0].unbind(1)
    return (q[9] @ k.T / 32**0.5 + two.relative(13)[0, 9]).softmax(-1)
