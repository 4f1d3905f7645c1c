"""A small transformer with all wirings that the course's models need.

Sizes in shape comments are those of attention.py; N is the number of layers, V of words.
widgets/lib/transformer.js computes the same in a page.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention import MultiHeadAttention, check_counts, scaled_dot_product_attention
from positions import LearnedRelativeBias, Rotary

POSITIONS = ("learned", "relative", "query-key", "rotary")


@dataclass(frozen=True)
class Config:
    """A model's settings; stored as JSON in the metadata of its weights file.

    ``positions``: "learned" adds a vector for each position to the words, as usual; "query-key"
        adds it only to the input of queries and keys, so that values don't contain it;
        "relative" adds a learned number for each head and distance to the scores; "rotary" turns
        queries and keys by their positions (positions.Rotary) and has no parameters.
    ``raw_values``: for each layer, whether values read the plain word embeddings, while queries
        and keys read the context. An ordinary layer doesn't.
    ``num_heads``: a number, or one for each layer. ``mlp_dim``: 0 = no MLP.
    ``norm``: layer norm before attention, MLP and unembedding.
    """

    vocabulary: Sequence[str]
    max_len: int
    embed_dim: int
    num_heads: int | Sequence[int]
    num_layers: int
    mlp_dim: int = 0
    norm: bool = False
    positions: str = "learned"
    is_causal: bool = False
    raw_values: Sequence[bool] = ()

    def __post_init__(self) -> None:
        check_counts(max_len=self.max_len, embed_dim=self.embed_dim, num_layers=self.num_layers)
        if self.positions not in POSITIONS:
            raise ValueError(f"positions must be one of {POSITIONS}, got {self.positions!r}")
        if not self.vocabulary or len(set(self.vocabulary)) != len(self.vocabulary):
            raise ValueError("vocabulary must have words, each of them once")
        n, heads = self.num_layers, self.num_heads
        settled = {
            "vocabulary": tuple(self.vocabulary),
            "num_heads": (heads,) * n if isinstance(heads, int) else tuple(heads),
            "raw_values": tuple(self.raw_values) or (False,) * n,
        }
        for name, values in settled.items():
            if name != "vocabulary" and len(values) != n:
                raise ValueError(f"{name} must have one entry for each of {n} layers, got {values}")
            object.__setattr__(self, name, values)


class Run(NamedTuple):
    """All values that a forward pass computes. The weights of a head switched off are 0."""

    logits: Tensor  # (B, L, V)
    weights: list[Tensor | None]  # N of (B, H, L, L)
    residual: list[Tensor]  # N + 1 of (B, L, E): before the first layer, then after each


class Transformer(nn.Module):
    """Embedding, layers, and the transposed embedding with a bias as unembedding."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.ids = {word: i for i, word in enumerate(config.vocabulary)}
        E, V = config.embed_dim, len(config.vocabulary)
        self.embedding = nn.Parameter(torch.randn(V, E) * E**-0.5)
        if config.positions in ("learned", "query-key"):
            self.positions = nn.Parameter(torch.randn(config.max_len, E) * E**-0.5)
        self.layers = nn.ModuleList(Layer(config, i) for i in range(config.num_layers))
        self.norm = _norm(config)
        self.unembedding_bias = nn.Parameter(torch.zeros(V))

    def encode(self, words: Sequence[str]) -> Tensor:
        """Convert words to tokens (1, L). Raises: ValueError that names the unknown words."""
        if unknown := [word for word in dict.fromkeys(words) if word not in self.ids]:
            known = f"the model knows {len(self.ids)} words, {self.config.vocabulary[0]!r} first"
            raise ValueError(f"unknown: {', '.join(map(repr, unknown))}; {known}")
        return torch.tensor([[self.ids[word] for word in words]], dtype=torch.int64)

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, *,
        off: Iterable[tuple[int, int]] = (), need_weights: bool = True,
    ) -> Run:  # fmt: skip
        """Shapes: tokens (B, L), int64; mask bool, broadcast to (B, H, L, L), True = may attend.

        ``off``: heads that are switched off, as pairs (layer, head), counted from 0.
        ``need_weights=False`` leaves the run's weights None, and ordinary layers use PyTorch's
        fused attention.
        """
        self._check_tokens(tokens)
        words = self.embedding[tokens]  # (B, L, E)
        positions = self.positions[: tokens.shape[1]] if hasattr(self, "positions") else None
        x = words
        if self.config.positions == "learned":
            x, positions = words + positions, None
        weights, residual = [], [x]
        for layer, head_mask in zip(self.layers, self._masks(mask, off), strict=True):
            x, attention = layer(x, words, positions, head_mask, need_weights)
            weights.append(attention)
            residual.append(x)
        logits = F.linear(self.norm(x), self.embedding, self.unembedding_bias)
        return Run(logits, weights, residual)

    def _masks(self, mask: Tensor | None, off: Iterable[tuple[int, int]]) -> list[Tensor | None]:
        """Switch heads off by masks that hide all keys, so that those heads write 0."""
        masks = [mask] * self.config.num_layers
        for layer, head in off:
            if layer not in range(len(masks)) or head not in range(self.config.num_heads[layer]):
                raise ValueError(f"no head {(layer, head)}: heads are {self.config.num_heads}")
            numbers = torch.arange(self.config.num_heads[layer], device=self.embedding.device)
            on = (numbers != head)[None, :, None, None]  # (1, H, 1, 1)
            masks[layer] = on if masks[layer] is None else masks[layer] & on
        return masks

    def _check_tokens(self, tokens: Tensor) -> None:
        if tokens.ndim != 2 or tokens.dtype != torch.int64:
            raise TypeError(f"tokens must be int64 (B, L), got {tokens.dtype} {(*tokens.shape,)}")
        if not 1 <= tokens.shape[1] <= self.config.max_len:
            most = self.config.max_len
            raise ValueError(f"a sequence has 1 to {most} tokens, this one has {tokens.shape[1]}")
        if tokens.numel() and not 0 <= tokens.min() <= tokens.max() < len(self.ids):
            bounds = f"{tokens.min()} ... {tokens.max()}"
            raise ValueError(f"tokens must lie in 0 ... {len(self.ids) - 1}, got {bounds}")


class Layer(nn.Module):
    """Attention, then an optional MLP; each adds to the residual stream."""

    def __init__(self, config: Config, index: int) -> None:
        super().__init__()
        E, heads = config.embed_dim, config.num_heads[index]
        self.is_causal, self.raw_values = config.is_causal, config.raw_values[index]
        self.norm = _norm(config)
        rotary = Rotary(E // heads) if config.positions == "rotary" else None
        self.attention = MultiHeadAttention(E, heads, rotary=rotary)
        self.relative = None
        if config.positions == "relative":
            self.relative = LearnedRelativeBias(heads, max(1, config.max_len - 1))
        self.mlp = None
        if config.mlp_dim:
            # GPT-2's approximate GELU, which JavaScript computes alike.
            wide, gelu = nn.Linear(E, config.mlp_dim), nn.GELU(approximate="tanh")
            self.mlp = nn.Sequential(_norm(config), wide, gelu, nn.Linear(config.mlp_dim, E))

    def forward(
        self, x: Tensor, words: Tensor, positions: Tensor | None, mask: Tensor | None,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        reads = self.norm(x)
        values = words if self.raw_values else reads
        if positions is not None:
            reads = reads + positions
        bias = None if self.relative is None else self.relative(x.shape[-2])
        options = {"bias": bias, "is_causal": self.is_causal}
        if values is reads:
            result = self.attention(reads, mask, return_attention=need_weights, **options)
            out, weights = result if need_weights else (result, None)
        else:
            out, weights = _attend_apart(self.attention, reads, values, mask, **options)
        x = x + out
        return (x if self.mlp is None else x + self.mlp(x)), weights


def _attend_apart(
    layer: MultiHeadAttention, reads: Tensor, values: Tensor, mask: Tensor | None, **options: object
) -> tuple[Tensor, Tensor]:
    """Apply ``layer`` with values from other vectors than its queries and keys."""
    E, H, weight, bias = layer.embed_dim, layer.num_heads, *layer.qkv_proj.parameters()
    query_key = F.linear(reads, weight[: 2 * E], bias[: 2 * E])  # (B, L, 2E)
    value = F.linear(values, weight[2 * E :], bias[2 * E :])
    heads = torch.cat((query_key, value), -1).unflatten(-1, (3 * H, -1)).transpose(-3, -2)
    query, key, value = heads.chunk(3, dim=-3)
    if layer.rotary is not None:
        query, key = layer.rotary(query), layer.rotary(key)
    output, weights = scaled_dot_product_attention(query, key, value, mask, **options)
    return layer.out_proj(output.transpose(-3, -2).flatten(-2)), weights


def _norm(config: Config) -> nn.Module:
    return nn.LayerNorm(config.embed_dim) if config.norm else nn.Identity()
