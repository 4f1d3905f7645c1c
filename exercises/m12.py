"""Inference: complete each function, then run

    python3 -m course exercise m12

A function counts as begun when its "..." is gone.
"""

import numpy as np
import torch


def cached_step(x, W_q, W_k, W_v, keys, values):
    """Add a cache.

    A new word comes, `x`. Make its query, key and value, keep the key and the value behind those of
    the words before it, and attend to all of them, the new one included. Scores are divided by √D,
    and may still be as large as 1,000, or as low as −1,000.

    Shapes: `x` (E,); `W_q` and `W_k` (E, D), `W_v` (E, Dv); `keys` (S, D) and `values` (S, Dv) are
    those of the words before.
    Return: the output (Dv,), the keys (S + 1, D) and the values (S + 1, Dv).
    """
    ...


def grouped_query(q, k, v):
    """Let groups of heads share keys and values.

    There are G heads of keys and values for H heads of queries, and G divides H. Neighbours share:
    of 4 query heads and 2 key heads, query heads 0 and 1 read key head 0. Divide by √D; no mask.
    Scores may be as large as 1,000, or as low as −1,000.

    Shapes: `q` (H, L, D), `k` (G, S, D), `v` (G, S, Dv).
    Return: the output (H, L, Dv).
    """
    ...


def local_mask(query_len, key_len, window, first):
    """Write the mask of a window that also keeps the first words.

    A query sees itself and the words before it, `window` of them in all, and beside them the
    `first` words of the text; never what comes later. The queries are the *last* `query_len` of
    `key_len` positions. True means *may attend*.

    Return: a bool array (query_len, key_len).
    """
    ...


def write_story(model, tokens, count):
    """Capstone: a decoder with a cache.

    Let `model` go on with the list `tokens` by `count` tokens, each the likeliest. No token may
    go through a layer's `qkv_proj` or `mlp` twice: the model refuses that. So read the beginning
    at once, then a token at a time, and keep the keys and values of every layer (or let a
    `KVCache` keep them).

    The parts, for vectors `x` (L, E) and each `layer` of `model.layers`:

    - `model.embedding[torch.tensor(tokens)]` is x at first.
    - `layer.attention.qkv_proj(layer.norm(x))` is (L, 3 · E): queries, then keys, then values, each
      of H heads side by side, where H is `layer.attention.num_heads`.
    - `layer.attention.rotary(heads, offset)` turns queries, and keys, (H, L, D), by their
      positions; `offset` is the position of the first of them.
    - `layer.attention.out_proj` takes the heads' outputs, side by side again, (L, E). Add what it
      gives to x, and then `layer.mlp(x)`.
    - `model.norm(x) @ model.embedding.T + model.unembedding_bias` scores the next token.

    Return: a list of the `count` new tokens, and the last layer's keys (H, S, D), turned, where S
    is `len(tokens) + count - 1`: the last new token is never read.

    When it passes, let the storyteller write with it: `python3 -m modules.m12_inference.story`.
    """
    ...
