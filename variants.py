"""Other layers and masks: additive, linear, latent, gated and cross-attention; the gated delta
rule; sparse masks.

They keep the mask contract of attention.py, and its names for sizes.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention import (
    QUERY_CHUNK,
    Device,
    KVCache,
    Lengths,
    MultiHeadAttention,
    Placement,
    as_list,
    check_alike,
    check_counts,
    check_forward,
    check_probability,
    check_scores_like,
    check_tensor,
    check_width,
    fused_attention,
    masked_softmax,
    rotate,
    without_autocast,
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
    """Multi-head attention with a kernel instead of softmax: time linear in length.

    Oᵢ = φ(qᵢ)ᵀ Σⱼ φ(kⱼ) vⱼᵀ / φ(qᵢ)ᵀ Σⱼ φ(kⱼ),  φ = elu + 1        (Katharopoulos et al. 2020)

    The two sums are the state. A decoder hands it on instead of a cache, and it never grows.
    """

    def __init__(self, embed_dim: int, num_heads: int, *, bias: bool = True) -> None:
        super().__init__(embed_dim, num_heads, bias=bias)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        return_attention: bool = False,
        *,
        context: Tensor | None = None,
        is_causal: bool = False,
        state: Tensor | None = None,
        return_state: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """x (..., L, E) -> (..., L, E), with ``return_state`` also the state for the next call.

        ``mask`` hides keys from all queries alike, (..., 1, S). ``state`` (B, H, D, D + 1) holds
        the sums over earlier keys, in float32 or wider. ``return_attention`` returns the weights
        φ(qᵢ)ᵀ φ(kⱼ) / Σⱼ φ(qᵢ)ᵀ φ(kⱼ), (..., H, L, S), too: in time and memory of the matrix,
        and without a state, whose keys they couldn't show.
        """
        check_forward(self, x, None, return_attention, context=context)
        if x.is_nested:
            raise TypeError("x is nested: pad it, and hide the padding with mask=")
        if is_causal and context is not None:
            raise ValueError("context excludes is_causal: a causal layer attends to itself")
        if return_attention and (return_state or state is not None):
            raise ValueError("return_attention excludes state: it has no weights for earlier keys")
        query, key, value = self.project(x, context)
        wide = torch.promote_types(query.dtype, torch.float32)
        q, k = (F.elu(t.to(wide)) + 1 for t in (query, key))  # φ, (..., H, L, D)
        v = F.pad(value.to(wide), (0, 1), value=1.0)  # the last column sums φ(k), the denominator
        check_scores_like("mask", mask, query, (*k.shape[:-2], 1, k.shape[-2]))
        if mask is not None:
            k = k.masked_fill(~torch.atleast_2d(mask).mT, 0.0)
        if return_attention:
            with without_autocast(x.device.type):  # it would narrow the products
                weights = _scaled(q @ k.mT, is_causal)  # (..., H, L, S)
                output = (weights @ value.to(wide)).to(query.dtype)
            output = self.merge(output, x)
            return output, weights.to(query.dtype).reshape(*x.shape[:-2], *weights.shape[-3:])

        sums = (*k.shape[:-2], k.shape[-1], v.shape[-1])
        if state is None:
            state = k.new_zeros(sums)
        check_tensor("state", state)
        if state.shape != sums:
            raise ValueError(f"state must be {sums}, got {tuple(state.shape)}")
        state = state.to(wide)
        check_alike("x", k, "state", state)
        with without_autocast(x.device.type):  # it would narrow the sums
            output, state = _running(q, k, v, state, is_causal)
        total = output[..., -1:]
        output = output[..., :-1] / total.masked_fill(total == 0, 1.0)  # every key hidden: 0
        output = self.merge(output.to(query.dtype), x)
        return (output, state) if return_state else output


def _running(
    q: Tensor, k: Tensor, v: Tensor, state: Tensor, is_causal: bool
) -> tuple[Tensor, Tensor]:
    """Return each query's sums, (..., H, L, D + 1), and the state after the last token."""
    if not is_causal:
        state = state + k.mT @ v
        return q @ state, state
    outputs = []
    for q_, k_, v_ in zip(*(t.split(QUERY_CHUNK, -2) for t in (q, k, v)), strict=True):
        outputs.append((q_ @ k_.mT).tril() @ v_ + q_ @ state)
        state = state + k_.mT @ v_
    return torch.cat(outputs, dim=-2), state


def _scaled(products: Tensor, is_causal: bool) -> Tensor:
    """Scale rows to sum to 1, or to 0 if every key is hidden."""
    products = products.tril() if is_causal else products
    total = products.sum(-1, keepdim=True)
    return products / total.masked_fill(total == 0, 1.0)


class ContextKV(NamedTuple):
    """A layer's keys and values of a context, computed once for all steps of a decoder."""

    key: Tensor  # (B, Hkv, S, D)
    value: Tensor  # (B, Hkv, S, D)

    def reorder(self, index: Lengths) -> "ContextKV":
        """Let sequence b go on with the context of sequence ``index[b]``: for beams."""
        order, batch = as_list("index", index), len(self.key)
        if not all(0 <= b < batch for b in order):
            raise ValueError(f"index must be numbers in 0 ... {batch - 1}, got {order}")
        index = torch.tensor(order, dtype=torch.int64, device=self.key.device)
        return ContextKV(self.key.index_select(0, index), self.value.index_select(0, index))


class CrossAttention(MultiHeadAttention):
    """Multi-head attention to a context that may have other widths, and is projected once.

    ``kdim`` and ``vdim`` are PyTorch's: the widths that keys and values are projected from, by
    default embed_dim. The projections are three, ``q_proj``, ``k_proj`` and ``v_proj``.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        *,
        kdim: int | None = None,
        vdim: int | None = None,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        bias: bool = True,
        qk_norm: bool = False,
        scale: float | None = None,
    ) -> None:
        options = {"num_kv_heads": num_kv_heads, "head_dim": head_dim, "bias": bias}
        options |= {"qk_norm": qk_norm, "scale": scale}
        super().__init__(embed_dim, num_heads, dropout, **options)
        kdim, vdim = (self.embed_dim if width is None else width for width in (kdim, vdim))
        check_counts(kdim=kdim, vdim=vdim)
        self.kdim, self.vdim = int(kdim), int(vdim)
        del self.qkv_proj
        self.q_proj = nn.Linear(self.embed_dim, self.query_dim, bias=bias)
        self.k_proj = nn.Linear(self.kdim, self.kv_dim, bias=bias)
        self.v_proj = nn.Linear(self.vdim, self.kv_dim, bias=bias)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, kdim={self.kdim}, vdim={self.vdim}"

    def project_context(self, context: Tensor, value: Tensor | None = None) -> ContextKV:
        """Keys and values of a context, to hand to ``forward`` again and again.

        Shapes: context (..., S, kdim); value (..., S, vdim) if values come from other vectors.
        """
        source = context if value is None else value
        check_width("context", context, "kdim", self.kdim)
        check_width("value" if value is not None else "context", source, "vdim", self.vdim)
        check_alike("layer", self.out_proj.weight, "context", context)
        check_alike("layer", self.out_proj.weight, "value", source)
        if context.shape[:-1] != source.shape[:-1]:
            shapes = f"context {tuple(context.shape)}, value {tuple(source.shape)}"
            raise ValueError(f"batch or length differs: {shapes}")
        key, value = self._heads(self.k_proj(context)), self._heads(self.v_proj(source))
        key = key if self.key_norm is None else self.key_norm(key).type_as(value)
        return ContextKV(key, value)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        return_attention: bool = False,
        *,
        context: Tensor | ContextKV,
        bias: Tensor | None = None,
        is_causal: bool = False,
        window: int | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """As ``MultiHeadAttention.forward``; ``context`` is a tensor, or its ContextKV."""
        options = {"context": context, "bias": bias, "is_causal": is_causal, "window": window}
        return super().forward(x, mask, return_attention, **options)

    def project(self, x: Tensor, context: Tensor | ContextKV) -> tuple[Tensor, ...]:
        """Query heads (..., H, L, D), key and value heads (..., Hkv, S, D)."""
        if not isinstance(context, ContextKV):
            context = self.project_context(context)
        key, value = context
        check_alike("layer", self.out_proj.weight, "context", key)
        query = self._heads(self.q_proj(x))
        if query.shape[:-3] != key.shape[:-3]:
            batches = f"x {tuple(x.shape[:-2])}, context {tuple(key.shape[:-3])}"
            raise ValueError(f"batch differs: {batches}")
        query = query if self.query_norm is None else self.query_norm(query).type_as(value)
        return query, key, value


class LatentAttention(nn.Module):
    """Keys and values of all heads come from one short vector a token, and only that is cached.

    c = x W_C;  kₕ = [c Kₕ, r],  vₕ = c Vₕ,  with r = R(x W_R), the one part that has a position
    (DeepSeek-V2, 2024, §2.1: multi-head latent attention).

    A score is q · c K = (q Kᵀ) · c. So the latents serve as they are, as key and value of a single
    head that all query heads share, and the mix of latents is turned into values: (w c) V.

    ``rotary`` (positions.py) turns queries and r; its head_dim is their size, R. The cache is
    ``KVCache(B, 1, max_seq_len, latent_dim, value_dim=R)``: latent_dim + R numbers a token and
    layer, and a multi-head layer 2 · num_heads · head_dim.

    ``value_dim``: of a head's values, by default head_dim. ``query_latent_dim``: queries come
        from a short vector, too. ``norm_eps``: both latents are normed to a root mean square of 1,
        times a weight. ``scale``: by default 1/√(head_dim + R). DeepSeek-V3 has them all
        (interchange.py loads it).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        latent_dim: int,
        *,
        rotary: nn.Module,
        head_dim: int | None = None,
        value_dim: int | None = None,
        query_latent_dim: int | None = None,
        norm_eps: float | None = None,
        scale: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_counts(embed_dim=embed_dim, num_heads=num_heads, latent_dim=latent_dim)
        head_dim = embed_dim // num_heads if head_dim is None else head_dim
        value_dim = head_dim if value_dim is None else value_dim
        check_counts(head_dim=head_dim, value_dim=value_dim)
        check_probability("dropout", dropout)
        # int(): NumPy's integers are taken, and none of them goes further.
        embed_dim, num_heads = int(embed_dim), int(num_heads)
        latent_dim, head_dim, value_dim = int(latent_dim), int(head_dim), int(value_dim)
        self.embed_dim, self.num_heads, self.latent_dim = embed_dim, num_heads, latent_dim
        self.head_dim, self.value_dim, self.query_latent_dim = head_dim, value_dim, query_latent_dim
        self.rotary, self.dropout = rotary, dropout
        self.scale = (head_dim + rotary.head_dim) ** -0.5 if scale is None else scale

        def norm(size: int) -> nn.RMSNorm | None:
            return None if norm_eps is None else nn.RMSNorm(size, eps=norm_eps)

        query_from = embed_dim
        self.query_down = self.query_norm = None
        if query_latent_dim is not None:
            check_counts(query_latent_dim=query_latent_dim)
            query_from = self.query_latent_dim = int(query_latent_dim)
            self.query_down = nn.Linear(embed_dim, query_from, bias=False)
            self.query_norm = norm(query_from)
        self.q_proj = nn.Linear(query_from, num_heads * (head_dim + rotary.head_dim), bias=False)
        self.latent_proj = nn.Linear(embed_dim, latent_dim + rotary.head_dim, bias=False)
        self.latent_norm = norm(latent_dim)
        self.k_up = nn.Parameter(torch.randn(num_heads, latent_dim, head_dim) * latent_dim**-0.5)
        self.v_up = nn.Parameter(torch.randn(num_heads, latent_dim, value_dim) * latent_dim**-0.5)
        self.out_proj = nn.Linear(num_heads * value_dim, embed_dim, bias=False)

    def extra_repr(self) -> str:
        sizes = f"latent_dim={self.latent_dim}, head_dim={self.head_dim}, dropout={self.dropout}"
        return f"{self.embed_dim}, num_heads={self.num_heads}, {sizes}"

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        cache: KVCache | None = None,
        lengths: Lengths | None = None,
    ) -> Tensor:
        """x (B, L, E) -> (B, L, E); mask broadcasts to (B, H, L, S)."""
        check_tensor("x", x)
        if x.is_nested:
            raise TypeError("x must not be nested: pad it, and hide the padding with mask=")
        check_width("x", x, "embed_dim", self.embed_dim)
        check_alike("layer", self.out_proj.weight, "x", x)
        if x.ndim != 3:
            raise ValueError(f"x must be (B, L, {self.embed_dim}), got {tuple(x.shape)}")
        if lengths is not None and cache is None:
            raise ValueError("lengths need a cache; without it, mask=create_padding_mask(lengths)")
        placement = Placement(0, x.shape[-2], is_causal, None)
        if cache is not None:
            placement = cache.placement(x.shape[-2], lengths, is_causal=is_causal)
        scores = (x.shape[0], self.num_heads, x.shape[1], placement.key_len)
        check_scores_like("mask", mask, x, scores)
        if placement.mask is not None:
            mask = placement.mask if mask is None else mask & placement.mask
        source = x if self.query_down is None else self.query_down(x)
        source = source if self.query_norm is None else self.query_norm(source)
        query = self.q_proj(source).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        query, turned = query.split([self.head_dim, self.rotary.head_dim], dim=-1)
        latent = self.latent_proj(x).unsqueeze(1)  # (B, 1, L, latent_dim + R), one head for all
        latent, shared = latent.split([self.latent_dim, self.rotary.head_dim], dim=-1)
        latent = latent if self.latent_norm is None else self.latent_norm(latent)
        turned = rotate(self.rotary, turned, placement.positions)
        shared = rotate(self.rotary, shared, placement.positions)
        if cache is not None:
            latent, shared = cache.append(latent, shared, lengths)

        query = torch.cat([query @ self.k_up.mT, turned], dim=-1)  # (B, H, L, latent_dim + R)
        key = torch.cat([latent, shared], dim=-1)  # (B, 1, S, latent_dim + R)
        mixed = fused_attention(
            query,
            key,
            latent,
            mask,
            is_causal=placement.is_causal,
            window=placement.window,
            scale=self.scale,
            dropout_p=self.dropout if self.training else 0.0,
        )  # (B, H, L, latent_dim)
        heads = mixed @ self.v_up  # (B, H, L, value_dim)
        return self.out_proj(heads.transpose(1, 2).flatten(-2))


class GatedAttention(MultiHeadAttention):
    """Multi-head attention whose token decides, for each number of a head, how much gets out.

    Y = (σ(x W_G) ⊙ Concat(head₁, …, head_H)) W_O        (Qiu et al. 2025, "SDPA output gate")

    Without ``sinks`` softmax hands on a whole mix as soon as it sees a key, even if none fits. A
    gate near 0 hands on nothing. Weights that are returned are those before the gate.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, **options: Any
    ) -> None:
        super().__init__(embed_dim, num_heads, dropout, **options)
        like = self.out_proj.weight
        self.gate_proj = nn.Linear(
            self.embed_dim, self.query_dim, bias=options.get("bias", True),
            device=like.device, dtype=like.dtype,
        )  # fmt: skip

    def merge(self, heads: Tensor, x: Tensor) -> Tensor:
        """As ``MultiHeadAttention.merge``, each number times its gate first."""
        gate = self.gate_proj(x).sigmoid()  # (..., L, H · D)
        return super().merge(heads * self._heads(gate), x)


class DeltaState(NamedTuple):
    """A ``GatedDeltaNet``'s memory of all earlier tokens; its size is the same for any length."""

    table: Tensor  # (B, H, D, Dv), in float32 or wider
    recent: Tensor  # (B, channels, conv_size - 1): what the convolution still needs


class GatedDeltaNet(nn.Module):
    """A layer whose state is a table that it corrects and fades (Yang et al. 2025).

    Sₜ = αₜ (I − βₜ kₜ kₜᵀ) Sₜ₋₁ + βₜ kₜ vₜᵀ,  oₜ = Sₜᵀ qₜ

    αₜ = exp(−A softplus(x W_α + b)) fades the whole table, βₜ = σ(x W_β) says how far the entry
    under kₜ is put right. Queries and keys are divided by their length, √(|k|² + ε). A short
    convolution over the last ``conv_size`` tokens (1: only the token itself) and SiLU come before;
    after it each head is normed and gated by SiLU(x W_G). Always causal.

    ``gated=False`` fades nothing (DeltaNet, Schlag et al. 2021; Yang et al. 2024).
    ``delta=False`` adds and corrects nothing: with the gate as Mamba-2's (Dao and Gu 2024), without
        it linear attention without a denominator.
    ``head_dim``: of queries and keys, ``value_dim``: of values; by default embed_dim / num_heads.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        head_dim: int | None = None,
        value_dim: int | None = None,
        conv_size: int = 4,
        gated: bool = True,
        delta: bool = True,
        chunk_size: int = 64,
    ) -> None:
        super().__init__()
        check_counts(embed_dim=embed_dim, num_heads=num_heads)
        if (head_dim is None or value_dim is None) and embed_dim % num_heads:
            raise ValueError(f"num_heads={num_heads} must divide embed_dim={embed_dim}")
        head_dim = embed_dim // num_heads if head_dim is None else head_dim
        value_dim = embed_dim // num_heads if value_dim is None else value_dim
        check_counts(head_dim=head_dim, value_dim=value_dim, conv_size=conv_size)
        check_counts(chunk_size=chunk_size)
        self.embed_dim, self.num_heads = int(embed_dim), int(num_heads)
        self.head_dim, self.value_dim = int(head_dim), int(value_dim)
        self.delta, self.chunk_size = delta, int(chunk_size)
        widths = [self.num_heads * d for d in (self.head_dim, self.head_dim, self.value_dim)]
        self.channels = sum(widths)
        self.qkv_proj = nn.Linear(self.embed_dim, self.channels, bias=False)
        taps = torch.empty(self.channels, conv_size).uniform_(-1, 1) * conv_size**-0.5
        self.conv_weight = nn.Parameter(taps)  # the last tap is the token's own
        self.beta_proj = nn.Linear(self.embed_dim, self.num_heads, bias=False)
        self.decay_proj = None
        if gated:  # begins as Mamba-2 does: some heads fade fast, some slowly
            self.decay_proj = nn.Linear(self.embed_dim, self.num_heads, bias=False)
            self.log_rate = nn.Parameter(torch.empty(self.num_heads).uniform_(1, 16).log())
            step = torch.empty(self.num_heads).uniform_(math.log(1e-3), math.log(0.1)).exp()
            self.decay_bias = nn.Parameter(step.expm1().log())  # its softplus is the step
        self.gate_proj = nn.Linear(self.embed_dim, widths[2], bias=False)
        self.norm = nn.RMSNorm(self.value_dim, eps=1e-6)
        self.out_proj = nn.Linear(widths[2], self.embed_dim, bias=False)

    def extra_repr(self) -> str:
        kind = f"gated={self.decay_proj is not None}, delta={self.delta}"
        sizes = f"head_dim={self.head_dim}, value_dim={self.value_dim}"
        return f"{self.embed_dim}, num_heads={self.num_heads}, {sizes}, {kind}"

    def forward(
        self, x: Tensor, *, state: DeltaState | None = None, return_state: bool = False
    ) -> Tensor | tuple[Tensor, DeltaState]:
        """x (B, L, E) -> (B, L, E); ``state`` is what an earlier call returned."""
        check_width("x", x, "embed_dim", self.embed_dim)
        check_alike("layer", self.out_proj.weight, "x", x)
        if x.ndim != 3:
            raise ValueError(f"x must be (B, L, {self.embed_dim}), got {tuple(x.shape)}")
        state = self._checked(state, x)
        query, key, value, recent = self._project(x, state.recent)
        log_decay, beta = self._gates(x)
        with without_autocast(x.device.type):  # it would narrow the table's sums
            heads, table = gated_delta_rule(
                query, key, value, log_decay, beta,
                state=state.table, delta=self.delta, chunk_size=self.chunk_size,
            )  # fmt: skip
        heads = self.norm(heads.transpose(1, 2).contiguous().to(x.dtype))  # (B, L, H, Dv)
        gate = F.silu(self.gate_proj(x)).unflatten(-1, (self.num_heads, -1))
        output = self.out_proj((heads * gate).flatten(-2))
        return (output, DeltaState(table, recent)) if return_state else output

    def new_state(self, x: Tensor) -> DeltaState:
        """An empty table for sequences like ``x`` (B, L, E)."""
        wide = torch.promote_types(x.dtype, torch.float32)
        table = x.new_zeros(len(x), self.num_heads, self.head_dim, self.value_dim, dtype=wide)
        return DeltaState(table, x.new_zeros(len(x), self.channels, self.conv_weight.shape[1] - 1))

    def _checked(self, state: DeltaState | None, x: Tensor) -> DeltaState:
        empty = self.new_state(x)
        if state is None:
            return empty
        for name, part, expected in zip(DeltaState._fields, state, empty, strict=True):
            check_tensor(name, part)
            if part.shape != expected.shape:
                shapes = f"{tuple(expected.shape)}, got {tuple(part.shape)}"
                raise ValueError(f"state.{name} must be {shapes}")
            check_alike("x", expected, f"state.{name}", part)
        return state

    def _project(self, x: Tensor, recent: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Query and key (B, H, L, D), value (B, H, L, Dv), and what the next call needs."""
        inputs = torch.cat([recent.mT, self.qkv_proj(x)], 1)  # (B, conv_size - 1 + L, channels)
        # Sums of products: a depthwise convolution is slow on a CPU.
        mixed = sum(
            inputs[:, i : i + x.shape[1]] * self.conv_weight[:, i]
            for i in range(self.conv_weight.shape[1])
        )
        mixed = F.silu(mixed).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        wide = torch.promote_types(x.dtype, torch.float32)
        sizes = [self.head_dim, self.head_dim, self.value_dim]
        # Contiguous, because a CPU is slow at sums and products over strided heads.
        query, key, value = (t.contiguous() for t in mixed.to(wide).split(sizes, -1))
        return _unit(query), _unit(key), value, inputs[:, inputs.shape[1] - recent.shape[-1] :].mT

    def _gates(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """log αₜ and βₜ, (B, H, L) each."""
        wide = torch.promote_types(x.dtype, torch.float32)
        beta = self.beta_proj(x).to(wide).sigmoid().mT
        if self.decay_proj is None:
            return torch.zeros_like(beta), beta
        step = F.softplus(self.decay_proj(x).to(wide) + self.decay_bias.to(wide))  # (B, L, H)
        return (-self.log_rate.to(wide).exp() * step).mT, beta


def _unit(heads: Tensor) -> Tensor:
    return heads * (heads.square().sum(-1, keepdim=True) + 1e-6).rsqrt()


def gated_delta_rule(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    log_decay: Tensor,
    beta: Tensor,
    *,
    state: Tensor | None = None,
    delta: bool = True,
    chunk_size: int | None = 64,
) -> tuple[Tensor, Tensor]:
    """Write each value into a table under its key, and read it with each query.

    Sₜ = αₜ (I − βₜ kₜ kₜᵀ) Sₜ₋₁ + βₜ kₜ vₜᵀ,  oₜ = Sₜᵀ qₜ        (Yang et al. 2025)

    Shapes: query and key (..., L, D), value (..., L, Dv), log_decay = log α and beta (..., L),
        state S₀ (..., D, Dv), by default zeros. Returns: output (..., L, Dv), and S after the
        last token. ``delta=False`` leaves out the product with kₜ kₜᵀ: it adds.

    ``chunk_size=None`` goes token by token, as the formula says. With chunks the work within one is
    a few matrix products and a triangular system (the WY form, Yang et al. 2024), which on a CPU
    needs float32 or wider. With chunks, a token whose log α is below −50, −∞ too, leaves 2e-22
    of the table.
    """
    _check_delta_rule(query, key, value, log_decay, beta)
    sizes = (*key.shape[:-2], key.shape[-1], value.shape[-1])
    state = key.new_zeros(sizes) if state is None else state
    if tuple(state.shape) != sizes:
        raise ValueError(f"state must be {sizes}, got {tuple(state.shape)}")
    check_alike("key", key, "state", state)
    if chunk_size is not None:
        check_counts(chunk_size=chunk_size)
    if chunk_size is not None:
        return _write_chunks(query, key, value, log_decay, beta, state, delta, chunk_size)
    parts = [t.split(1, -2) for t in (query, key, value)]
    parts += [t.split(1, -1) for t in (log_decay, beta)]
    outputs = []
    for part in zip(*parts, strict=True):
        output, state = _write_one(*part, state, delta)
        outputs.append(output)
    return torch.cat(outputs, -2), state


def _write_one(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, state: Tensor, delta: bool
) -> tuple[Tensor, Tensor]:
    """One token, (..., 1, D): fade, ask what its key has, write the difference, read."""
    state = log_decay.exp()[..., None] * state
    new = v - k @ state if delta else v
    state = state + k.mT @ (beta[..., None] * new)
    return q @ state, state


def _write_chunks(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, state: Tensor, delta: bool,
    chunk_size: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """C tokens at once. What token i writes, uᵢ, depends on what those before it in the chunk have
    written: uᵢ = βᵢ (vᵢ − what kᵢ had before the chunk − Σⱼ₍ⱼ<ᵢ₎ (kᵢ·kⱼ) fade(j → i) uⱼ).

    This is linear in the table before the chunk, u = W − R S: W and R are solved for all chunks
    together, and only the tables are worked out one chunk after the other.
    """
    length = k.shape[-2]
    size = min(chunk_size, length)
    blank = -length % size  # tokens that write nothing and fade nothing
    q, k, v = (F.pad(t, (0, 0, 0, blank)).unflatten(-2, (-1, size)) for t in (q, k, v))
    log_decay, beta = (F.pad(t, (0, blank)).unflatten(-1, (-1, size)) for t in (log_decay, beta))
    fade, start, left = _fades(log_decay, k)
    written = beta[..., None] * v
    if delta:
        corrected = beta[..., None] * k
        read = start * corrected
        ties = corrected @ k.mT * fade
        # Of ``ties`` only what lies below the diagonal is read.
        solved = torch.linalg.solve_triangular(
            ties, torch.cat([written, read], -1), upper=False, unitriangular=True
        )
        written, read = solved.split([v.shape[-1], k.shape[-1]], -1)
        reads_of = read.unbind(-3)
    writes_of, keys, stays = (
        part.unbind(-3) for part in (written, (left * k).mT, start[..., -1:, :])
    )
    tables, writes = [], []
    for n in range(k.shape[-3]):
        tables.append(state)
        writes.append(writes_of[n] - reads_of[n] @ state if delta else writes_of[n])
        state = stays[n] * state + keys[n] @ writes[n]
    tables, written = (torch.stack(chunks, -3) for chunks in (tables, writes))
    output = start * (q @ tables) + (q @ k.mT * fade) @ written
    return output.flatten(-3, -2)[..., :length, :], state


def _fades(log_decay: Tensor, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return what fading leaves within chunks (..., C), as shares between 0 and 1.

    At token i of what token j has written, (..., C, C), and of the table before the chunk,
    (..., C, 1); and at the chunk's end of what j has written, (..., C, 1).
    """
    # exp(−50) is 2e-22: nothing stays, and −∞ − (−∞) isn't a number. The sum is wider than its
    # terms, for in float32 a few falls of 50 would drown the small ones after them.
    wide = log_decay.dtype if log_decay.device.type == "mps" else torch.float64
    faded = log_decay.clamp(min=-50).to(wide).cumsum(-1)  # since the chunk began
    size = faded.shape[-1]
    later = torch.full((size, size), -torch.inf, dtype=like.dtype, device=like.device).triu(1)
    between = (faded[..., :, None] - faded[..., None, :]).to(like.dtype)  # at most 0, but if later
    fade = (between + later).exp()
    return fade, *(t.to(like.dtype).exp()[..., None] for t in (faded, faded[..., -1:] - faded))


def _check_delta_rule(
    query: Tensor, key: Tensor, value: Tensor, log_decay: Tensor, beta: Tensor
) -> None:
    tensors = {"query": query, "key": key, "value": value, "log_decay": log_decay, "beta": beta}
    for name, tensor in tensors.items():
        check_tensor(name, tensor)
    for name, tensor in tensors.items():
        check_alike("key", key, name, tensor)
    if key.ndim < 2 or key.shape[-2] == 0:
        raise ValueError(f"key must be (..., L, D) with at least one token, got {(*key.shape,)}")
    shapes = {"query": key.shape, "value": (*key.shape[:-1], *value.shape[-1:])}
    shapes |= {"log_decay": key.shape[:-1], "beta": key.shape[:-1]}
    for name, shape in shapes.items():
        if tensors[name].shape != tuple(shape):
            misfit = f"{(*tensors[name].shape,)} doesn't fit key {(*key.shape,)}"
            raise ValueError(f"{name} {misfit}: it must be {tuple(shape)}")


# --- Parts of the keys ---------------------------------------------------------------------------


def merge_attention(outputs: Sequence[Tensor], lses: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Join attention to parts of the keys into attention to all of them.

    Shapes: outputs (..., L, Dv) and lses (..., L), a pair for each part, as ``fused_attention``
        gives with ``return_lse=True``. Returns output and log-sum-exp over all keys.

    Each part counts by its share of the sum of exp(score): a ring of devices, a prefix that many
    texts share, or tiles (FlashAttention, Dao et al. 2022) need no more. A sink belongs to only
    one part.
    """
    lse = torch.stack(list(lses))  # (parts, ..., L)
    highest = lse.detach().amax(0)
    highest = highest.masked_fill(highest == -torch.inf, 0.0)  # a query that sees nothing
    sums = (lse - highest).exp()
    total = sums.sum(0)
    empty = total == 0
    total = total.masked_fill(empty, 1.0)
    shares = (sums / total)[..., None]
    output = sum(o * share.to(o.dtype) for o, share in zip(outputs, shares, strict=True))
    return output, (highest + total.log()).masked_fill(empty, -torch.inf)


# --- Sparse masks: True = may attend; combine them with & and | ---------------------------------


def create_strided_mask(
    query_len: int, key_len: int | None = None, device: Device = None, *, stride: int
) -> Tensor:
    """Let each query see every ``stride``-th position, counted from its own.  (L, S), bool.

    With a window of ``stride`` it reaches all others in two layers:
    ``create_causal_mask(n) & (create_window_mask(n, window=s) | create_strided_mask(n, stride=s))``
    (Child et al. 2019, "strided"). The ends of query and key are aligned.
    """
    key_len = query_len if key_len is None else key_len
    check_counts(query_len=query_len, key_len=key_len, stride=stride)
    queries = torch.arange(key_len - query_len, key_len, device=device)[:, None]  # (L, 1)
    return (torch.arange(key_len, device=device) - queries) % stride == 0


def create_block_sparse_mask(
    blocks: Tensor, block_size: int, query_len: int, key_len: int | None = None
) -> Tensor:
    """Let whole blocks of queries see whole blocks of keys.  (..., L, S), bool.

    ``blocks`` (..., ⌈L / block_size⌉, ⌈S / block_size⌉), bool: True if the block of queries
    sees the block of keys, counted from the first. The last blocks may be cut short. With a
    dimension for heads before, each head has its own blocks.
    """
    key_len = query_len if key_len is None else key_len
    check_counts(block_size=block_size, query_len=query_len, key_len=key_len)
    if not isinstance(blocks, Tensor) or blocks.dtype != torch.bool:
        kind = blocks.dtype if isinstance(blocks, Tensor) else type(blocks).__name__
        raise TypeError(f"blocks must be a bool tensor, got {kind}")
    expected = (-(-query_len // block_size), -(-key_len // block_size))
    if tuple(blocks.shape[-2:]) != expected:
        raise ValueError(
            f"blocks must be (..., {expected[0]}, {expected[1]}), got {(*blocks.shape,)}"
        )
    mask = blocks.repeat_interleave(block_size, -2).repeat_interleave(block_size, -1)
    return mask[..., :query_len, :key_len]
