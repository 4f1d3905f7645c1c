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
def scores_with_hidden(last, unseen):
    """The score of each word with the pronoun in layer 2, head 1, by hand.

    The sentence ends with ``last``, which words at ``unseen`` can't see in any head of layer 1.
    """
    after = after_hiding(last, unseen)
    return scores_after(after, after)


@torch.no_grad()
def after_hiding(last, unseen):
    """The words' vectors after layer 1, of which those at ``unseen`` can't see the last word."""
    model, words = model_of("masked"), [*TEXTS[1][:-1], last]
    one = model.layers[0]
    x = model.embedding[model.encode(words)[0]]
    q, k, v = one.attention.qkv_proj(x).unflatten(-1, (3, 4, 16)).permute(1, 2, 0, 3)
    scores = q @ k.mT / 4 + one.relative(13)
    scores[:, unseen, 12] = -torch.inf
    return x + one.attention.out_proj((scores.softmax(-1) @ v).transpose(0, 1).flatten(1))


@torch.no_grad()
def scores_after(asks, found):
    """The pronoun's scores in layer 2, head 1: its query from ``asks``, the keys from ``found``."""
    two = model_of("masked").layers[1]
    (q, _, _), (_, k, _) = (
        two.attention.qkv_proj(x).unflatten(-1, (3, 2, 32))[:, :, 0].unbind(1)
        for x in (asks, found)
    )
    return q[9] @ k.T / 32**0.5 + two.relative(13)[0, 9]
