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


@torch.no_grad()
def score_parts(words, after_change=lambda added, at: None, lends=False, unseen=False, asks=None):
    """What each known part of a score of trophy, suitcase and it is, one by one: {word: parts}.

    ``after_change(added, at)`` may change, in place, what each word adds in head 4 to the vector of
    the one at 1; ``lends``: that one asks with the query of the word at 7 there; ``unseen``: it
    can't see the last word in layer 1; ``asks``: the sentence that the pronoun's query is from, if
    it is another.
    """
    model = model_of("masked")
    (one, two), it = model.layers, words.index("it")
    x = model.embedding[model.encode(words)[0]]
    heads = [part.split(16, dim=-1) for part in one.attention.qkv_proj(x).chunk(3, dim=-1)]
    out = one.attention.out_proj.weight.split(16, dim=-1)
    brought = []  # of each head: from → to → what it adds
    for h in range(4):
        q, k, v = (part[h].clone() for part in heads)
        if lends and h == 3:
            q[1] = q[7]
        scores = q @ k.T / 4 + one.relative(len(words))[h]
        if unseen:
            scores[1, -1] = -torch.inf
        brought.append(scores.softmax(-1)[..., None] * (v @ out[h].T))
    after_change(brought[3][1], lambda word: (model.embedding[model.ids[word]], out[3]))
    after = x + one.attention.out_proj.bias + sum(head.sum(1) for head in brought)
    qkv = two.attention.qkv_proj
    if asks:
        after = model(model.encode(asks)).residual[1][0]
    query = after[asks.index("it") if asks else it] @ qkv.weight[:32].T + qkv.bias[:32]

    def score(vector):
        return (vector @ qkv.weight[64:96].T @ query / 32**0.5).item()

    found = {}
    for at, word in enumerate(words):
        if word in ("trophy", "suitcase", "it"):
            four = brought[3][at]
            others = [i for i in range(len(words) - 1) if words[i] != "did"]
            found[word] = [
                score(x[at]),
                score(one.attention.out_proj.bias) + (qkv.bias[64:96] @ query / 32**0.5).item(),
                sum(score(head[at].sum(0)) for head in brought[:3]),
                score(four[words.index("did")]),
                sum(score(four[i]) for i in others),
                two.relative(len(words))[0, it, at].item(),
                score(four[-1]),
            ]
    return found
