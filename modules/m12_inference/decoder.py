"""A decoder with a cache, and one that reads what something cheap has written ahead.

Lessons show these functions, and run them on the storyteller.
"""

from collections.abc import Callable

import torch

from attention import KVCache
from models.transformer import Transformer


def new_cache(model: Transformer, most: int = 256):  # room for so many tokens
    heads, width = model.layers[0].attention.num_heads, model.config.embed_dim
    return KVCache(batch_size=1, num_kv_heads=heads, max_seq_len=most,
                   head_dim=width // heads, num_layers=len(model.layers),
                   dtype=model.embedding.dtype)  # fmt: skip


@torch.no_grad()
def read(model: Transformer, tokens: list[int], cache: KVCache):
    x = model.embedding[torch.tensor([tokens])]
    for i, layer in enumerate(model.layers):
        # attention adds the new keys and values to cache[i], and reads it all
        x = x + layer.attention(layer.norm(x), is_causal=True, cache=cache[i])
        x = x + layer.mlp(x)  # mlp has a norm of its own inside
    # norm brings a vector to one scale; the bias is a number for each token
    guess = model.norm(x) @ model.embedding.T + model.unembedding_bias
    return guess[0]  # a score for each token that could come next


def write(model: Transformer, tokens: list[int], count: int):
    story, cache = list(tokens), new_cache(model)
    new = tokens  # at first the whole beginning
    for _ in range(count):
        scores = read(model, new, cache)  # the cache grows
        new = [scores[-1].argmax().item()]  # the likeliest one
        story += new
    return story


Draft = Callable[[list[int]], list[int]]  # the text so far -> tokens that may come next


def write_ahead(model, tokens: list[int], count: int, draft: Draft):
    text, new, readings = list(tokens), list(tokens), []
    cache, end = new_cache(model), len(text) + count
    while len(text) < end:
        drafted = draft(text)[: end - len(text) - 1]
        scores = read(model, new + drafted, cache)[-len(drafted) - 1 :]
        own = scores.argmax(-1).tolist()  # what the model writes there
        kept = 0
        while kept < len(drafted) and drafted[kept] == own[kept]:
            kept += 1
        text += own[: kept + 1]  # the kept ones, and one more
        cache.crop(len(text) - 1)  # forget what was thrown away
        new = text[-1:]  # not read yet
        readings.append((len(drafted), kept))
    return text, readings


def copied(text: list[int], most: int = 4) -> list[int]:
    for i in reversed(range(1, len(text) - 1)):
        if text[i - 1 : i + 1] == text[-2:]:  # they stood here before
            return text[i + 1 : i + 1 + most]
    return []


@torch.no_grad()
def first_layers(model: Transformer, text: list[int], most: int = 4):
    drafted: list[int] = []
    while len(drafted) < most:
        x = model.embedding[torch.tensor([text + drafted])]
        for layer in model.layers[:2]:
            x = x + layer.attention(layer.norm(x), is_causal=True)
            x = x + layer.mlp(x)
        scores = model.norm(x[0, -1]) @ model.embedding.T
        scores = scores + model.unembedding_bias
        drafted.append(scores.argmax().item())
    return drafted
