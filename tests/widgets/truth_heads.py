"""m06's layer and its tensors, made by PyTorch; and trained models, changed from outside."""

from contextlib import contextmanager
from unittest import mock

import torch

from attention import MultiHeadAttention, scaled_dot_product_attention
from models.grammar.words import VOCABULARY
from models.weights import load
from tests.conftest import ROOT

OFF = {"off-1": ((1, 0),), "off-2": ((1, 1),)}  # the switches of models/transformer.py


def layer_of(heads, width=64):
    return MultiHeadAttention(width, heads).eval()


def real_shapes(layer, *, batch=2, length=10, width=64):
    """Every shape, in the page's order, taken from the tensors that a layer makes."""
    x = torch.randn(batch, length, width)
    split = dict(zip("QKV", layer.project(x, None), strict=True))
    output, weights = layer(x, return_attention=True)
    matrices = dict(zip("QKV", layer.qkv_proj.weight.split(width), strict=True))
    heads = weights @ split["V"]
    tensors = {"x": x}
    for name, t in split.items():
        tensors |= {f"W_{name}": matrices[name].T, name: t.transpose(1, 2).flatten(2)}
    tensors |= {f"{name} split": t for name, t in split.items()}
    tensors |= {"weights": weights, "outputs": heads, "merged": heads.transpose(1, 2).flatten(2)}
    tensors |= {"W_O": layer.out_proj.weight.T, "output": output}
    return {name: list(t.shape) for name, t in tensors.items()}


def real(heads, split_blind, merge_blind):
    """Q, heads and merged, by PyTorch's own view, transpose and reshape."""
    Q = torch.arange(24).view(1, 3, 8)
    size = 8 // heads
    right = Q.view(1, 3, heads, size).transpose(1, 2)
    split = Q.view(1, heads, 3, size) if split_blind else right
    merged = split.reshape(1, 3, 8) if merge_blind else split.transpose(1, 2).reshape(1, 3, 8)
    return Q, split, merged


def grammar_model(name):
    return load(ROOT / f"models/grammar/weights/{name}.safetensors")


@contextmanager
def one_map(times=1):
    """Inside it both heads of a layer with raw values average by the mean of their weights."""

    def shared(query, key, value, *args, **options):
        _, weights = scaled_dot_product_attention(query, key, value, *args, **options)
        both = (weights[:, :1] + weights[:, 1:]) / 2
        return times * torch.cat([both @ value[:, :1], both @ value[:, 1:]], 1), weights

    with mock.patch("models.transformer.scaled_dot_product_attention", shared):
        yield


@torch.no_grad()
def shares_of(model, rows, way="on", off=()):
    """The probabilities (rows, V) of all words at each gap; a row is words and its gap."""
    longest = max(len(words) for words, _ in rows)
    texts = [
        ["[mask]" if i == gap else word for i, word in enumerate(words)]
        + ["[pad]"] * (longest - len(words))
        for words, gap in rows
    ]
    tokens = torch.cat([model.encode(text) for text in texts])
    real = (tokens != VOCABULARY.index("[pad]"))[:, None, None]
    if way.startswith("mean"):
        with one_map(2 if way == "mean, doubled" else 1):
            logits = model(tokens, real).logits
    else:
        logits = model(tokens, real, off=off or OFF.get(way, ())).logits
    return logits[range(len(rows)), [gap for _, gap in rows]].double().softmax(-1)


def shares_in(model, words, gap, way):
    return shares_of(model, [(words, gap)], way)[0]


def likeliest(shares):
    return VOCABULARY[shares.argmax()]
