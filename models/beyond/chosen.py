"""Softmax attention to a few keys, which a cheaper score has chosen.

After DeepSeek-V3.2's sparse attention: index score I(t, s) = Σⱼ w(t, j) ReLU(q(t, j) · k(s)), with
few numbers in q and k. A query attends to the ``kept`` keys with the largest index scores.
Choosing has no gradient, so the index learns from a loss of its own: its softmax is to be the mean
of the heads' weights.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention import MultiHeadAttention, create_causal_mask, scaled_dot_product_attention

INDEX_HEADS, INDEX_DIM = 2, 4


class ChosenAttention(MultiHeadAttention):
    """``dense``: attend to all keys, while the index learns; else to the chosen ones alone."""

    def __init__(self, embed_dim: int, num_heads: int, *, kept: int, **options: object) -> None:
        super().__init__(embed_dim, num_heads, **options)
        self.kept, self.dense = kept, False
        self.index_query = nn.Linear(embed_dim, INDEX_HEADS * INDEX_DIM)
        self.index_key = nn.Linear(embed_dim, INDEX_DIM)
        self.index_weight = nn.Linear(embed_dim, INDEX_HEADS)
        self.index_loss = torch.zeros(())

    def index(self, x: Tensor) -> Tensor:
        """Index scores (B, L, L), -inf where a key comes later."""
        x = x.detach()  # the index learns from a loss of its own, from which nothing else learns
        query = self.index_query(x).unflatten(-1, (INDEX_HEADS, INDEX_DIM)).transpose(1, 2)
        pairs = F.relu(query @ self.index_key(x)[:, None].mT)  # (B, J, L, L)
        scores = (self.index_weight(x).mT[..., None] * pairs).sum(1)
        return scores.masked_fill(~create_causal_mask(x.shape[1]), -torch.inf)

    def forward(self, x: Tensor, *, bias: Tensor | None = None, is_causal: bool = True) -> Tensor:
        """x (B, L, E) -> (B, L, E); the index is told no distances, and sees no later key."""
        if not is_causal:
            raise ValueError("is_causal must be True: the index scores earlier keys only")
        query, key, value = self.project(x)
        index = self.index(x)
        seen = create_causal_mask(x.shape[1])
        if not self.dense:
            best = index.topk(min(self.kept, x.shape[1]), dim=-1).indices
            chosen = torch.zeros_like(index).scatter(-1, best, 1.0).bool()
            seen = (seen & chosen)[:, None]  # (B, 1, L, L)
        output, weights = scaled_dot_product_attention(query, key, value, seen, bias=bias)
        if self.training:
            told = weights.detach().mean(1)  # (B, L, L)
            shown = seen if self.dense else seen[:, 0]
            chances = index.masked_fill(~shown, -torch.inf).log_softmax(-1)
            chances = chances.masked_fill(told == 0, 0.0)
            self.index_loss = -(told * chances).sum(-1).mean()
        return self.merge(output, x)
