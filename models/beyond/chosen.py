"""Softmax attention to a few keys, which a cheaper score has chosen.

After DeepSeek-V3.2's sparse attention: index score I(t, s) = Σⱼ w(t, j) ReLU(q(t, j) · k(s)), with
few numbers in q and k. A query attends to the ``num_chosen`` keys with the largest index scores.
Choosing has no gradient, so the index learns from a loss of its own: its softmax is to be the mean
of the heads' weights.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention import MultiHeadAttention, create_causal_mask, scaled_dot_product_attention

INDEX_HEADS, INDEX_DIM = 2, 4


class ChosenAttention(MultiHeadAttention):
    """``dense``: attend to all keys, while the index learns; otherwise only to the chosen ones."""

    def __init__(
        self, embed_dim: int, num_heads: int, *, num_chosen: int, **options: object
    ) -> None:
        super().__init__(embed_dim, num_heads, **options)
        self.num_chosen, self.dense = num_chosen, False
        self.index_query = nn.Linear(embed_dim, INDEX_HEADS * INDEX_DIM)
        self.index_key = nn.Linear(embed_dim, INDEX_DIM)
        self.index_weight = nn.Linear(embed_dim, INDEX_HEADS)
        self.index_loss = torch.zeros(())

    def index(self, x: Tensor) -> Tensor:
        """Return index scores (B, L, L), -inf for later keys."""
        x = x.detach()  # the index learns from a loss of its own, from which nothing else learns
        query = self.index_query(x).unflatten(-1, (INDEX_HEADS, INDEX_DIM)).transpose(1, 2)
        pairs = F.relu(query @ self.index_key(x)[:, None].mT)  # (B, J, L, L)
        scores = (self.index_weight(x).mT[..., None] * pairs).sum(1)
        return scores.masked_fill(~create_causal_mask(x.shape[1]), -torch.inf)

    def forward(self, x: Tensor, *, bias: Tensor | None = None, is_causal: bool = True) -> Tensor:
        """x (B, L, E) -> (B, L, E); the index gets no distances, and sees no later key."""
        if not is_causal:
            raise ValueError("is_causal must be True: the index scores earlier keys only")
        query, key, value = self.project(x)
        index = self.index(x)
        mask = create_causal_mask(x.shape[1])
        if not self.dense:
            best = index.topk(min(self.num_chosen, x.shape[1]), dim=-1).indices
            chosen = torch.zeros_like(index).scatter(-1, best, 1.0).bool()
            mask = (mask & chosen)[:, None]  # (B, 1, L, L)
        output, weights = scaled_dot_product_attention(query, key, value, mask, bias=bias)
        if self.training:
            target = weights.detach().mean(1)  # (B, L, L)
            visible = mask if self.dense else mask[:, 0]
            chances = index.masked_fill(~visible, -torch.inf).log_softmax(-1)
            chances = chances.masked_fill(target == 0, 0.0)
            self.index_loss = -(target * chances).sum(-1).mean()
        return self.merge(output, x)
