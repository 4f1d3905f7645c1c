"""The induction model's circuits, computed from its matrices without any text."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.transformer import Layer, Transformer


def head_matrices(layer: Layer, head: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return W_Q, W_K, W_V (E, D) and W_O (D, E) of one head: x @ W_Q is its query."""
    attention = layer.attention
    E, D = attention.embed_dim, attention.head_dim
    own = slice(head * D, (head + 1) * D)
    query, key, value = attention.qkv_proj.weight.split(E)
    return query[own].T, key[own].T, value[own].T, attention.out_proj.weight[:, own].T


def scaled_by(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    """Apply a layer norm to a part of its input, without the bias and without the division,
    which is one number for each position."""
    return (x - x.mean(-1, keepdim=True)) * norm.weight


@torch.no_grad()
def match_and_copy(model: Transformer, earlier: int = 1, later: int = 0) -> tuple[Tensor, Tensor]:
    """Two tables, tokens × tokens, of head ``earlier`` of layer 1 and ``later`` of layer 2.

    match: how well the query of a token fits the key from the mark "after …" of each token.
    copy: how much each token's guess rises if the head looks at a token.
    """
    first, second = model.layers
    _, _, W_V, W_O = head_matrices(first, earlier)
    mark = first.norm(model.embedding) @ W_V @ W_O  # written of each token
    W_Q, W_K, W_V, W_O = head_matrices(second, later)
    tokens = second.norm(model.embedding)
    keys = scaled_by(second.norm, mark) @ W_K
    match = (tokens @ W_Q) @ keys.T / W_Q.shape[1] ** 0.5
    copy = scaled_by(model.norm, tokens @ W_V @ W_O) @ model.embedding.T
    return match, copy


def on_diagonal(table: Tensor) -> int:
    """Count the rows whose largest number stands on the diagonal."""
    return int((table.argmax(1) == torch.arange(len(table))).sum())
