"""Two other ways to weigh: a small network for the score, and a kernel in place of softmax.

They keep the mask contract of attention.py, and its names for sizes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention import (
    QUERY_CHUNK,
    MultiHeadAttention,
    check_alike,
    check_counts,
    check_scores_like,
    check_width,
    masked_softmax,
)


class AdditiveAttention(nn.Module):
    """Score each pair with a small network: the first attention, before the dot product.

    score(q, k) = vᵀ tanh(W_q q + W_k k)        (Bahdanau et al. 2015, §A.1.2)

    Query and key may differ in size. It holds (..., L, S, hidden_dim) in memory.
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int) -> None:
        super().__init__()
        check_counts(query_dim=query_dim, key_dim=key_dim, hidden_dim=hidden_dim)
        self.query_proj = nn.Linear(query_dim, hidden_dim)
        self.key_proj = nn.Linear(key_dim, hidden_dim, bias=False)  # the sum needs one bias
        self.score = nn.Linear(hidden_dim, 1, bias=False)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """query (..., L, Dq), key (..., S, Dk), value (..., S, Dv) -> (..., L, Dv), (..., L, S)."""
        check_width("query", query, "query_dim", self.query_proj.in_features)
        check_width("key", key, "key_dim", self.key_proj.in_features)
        check_alike("layer", self.query_proj.weight, "query", query)
        check_alike("query", query, "key", key)
        check_alike("query", query, "value", value)
        if query.shape[:-2] != key.shape[:-2] or key.shape[:-1] != value.shape[:-1]:
            shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}"
            raise ValueError(f"batch or key length differs: {shapes}, value {tuple(value.shape)}")
        pairs = self.query_proj(query).unsqueeze(-2) + self.key_proj(key).unsqueeze(-3)
        weights = masked_softmax(self.score(pairs.tanh()).squeeze(-1), mask)  # (..., L, S)
        return weights @ value, weights


class LinearAttention(MultiHeadAttention):
    """Multi-head attention with a kernel in place of softmax: time linear in length.

    Oᵢ = φ(qᵢ)ᵀ Σⱼ φ(kⱼ) vⱼᵀ / φ(qᵢ)ᵀ Σⱼ φ(kⱼ),  φ = elu + 1        (Katharopoulos et al. 2020)

    The two sums are the state. A decoder hands it on in place of a cache, and it never grows.
    """

    def __init__(self, embed_dim: int, num_heads: int, *, bias: bool = True) -> None:
        super().__init__(embed_dim, num_heads, bias=bias)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, return_state: bool = False, *,
        context: Tensor | None = None, is_causal: bool = False, state: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
        """x (..., L, E) -> (..., L, E), with ``return_state`` also the state for the next call.

        ``mask`` hides keys from all queries alike, (..., 1, S). ``state`` (B, H, D, D + 1) holds
        the sums over earlier keys, in float32 or wider.
        """
        if is_causal and context is not None:
            raise ValueError("context excludes is_causal: a causal layer attends to itself")
        query, key, value = self._project(x, context)
        wide = torch.promote_types(query.dtype, torch.float32)
        q, k = (F.elu(t.to(wide)) + 1 for t in (query, key))  # φ
        v = F.pad(value.to(wide), (0, 1), value=1.0)  # the last column sums φ(k), the denominator
        check_scores_like("mask", mask, query, (*k.shape[:-2], 1, k.shape[-2]))
        if mask is not None:
            k = k.masked_fill(~torch.atleast_2d(mask).mT, 0.0)
        sums = (*k.shape[:-2], k.shape[-1], v.shape[-1])
        if state is not None and state.shape != sums:
            raise ValueError(f"state must be {sums}, got {tuple(state.shape)}")
        state = k.new_zeros(sums) if state is None else state
        if is_causal:
            outputs = []
            for q_, k_, v_ in zip(*(t.split(QUERY_CHUNK, -2) for t in (q, k, v)), strict=True):
                outputs.append((q_ @ k_.mT).tril() @ v_ + q_ @ state)
                state = state + k_.mT @ v_
            output = torch.cat(outputs, dim=-2)
        else:
            state = state + k.mT @ v
            output = q @ state
        total = output[..., -1:]
        output = output[..., :-1] / total.masked_fill(total == 0, 1.0)  # every key hidden: 0
        output = self._merge(output.to(query.dtype), x)
        return (output, state) if return_state else output
