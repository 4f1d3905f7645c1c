"""A decoder: attention.py's layer, rotary positions and a cache, for texts of any lengths."""

import torch
from torch import Tensor, nn

from attention import CausalMultiHeadAttention
from caching import RaggedKVCache
from positions import Rotary


class Block(nn.Module):
    def __init__(self, embed_dim: int) -> None:
        super().__init__()
        options = {"num_kv_heads": 2, "qk_norm": True, "rotary": Rotary(embed_dim // 4)}
        self.attention = CausalMultiHeadAttention(embed_dim, 4, 64, **options)
        self.mlp = nn.Sequential(nn.Linear(embed_dim, 128), nn.GELU(), nn.Linear(128, embed_dim))
        self.norms = nn.ModuleList(nn.RMSNorm(embed_dim) for _ in range(2))

    def forward(self, x: Tensor, **past: object) -> Tensor:
        x = x + self.attention(self.norms[0](x), **past)
        return x + self.mlp(self.norms[1](x))


class Decoder(nn.Module):
    def __init__(self, vocabulary: int, embed_dim: int = 32, num_layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embed_dim)
        self.blocks = nn.ModuleList(Block(embed_dim) for _ in range(num_layers))

    def forward(self, tokens: Tensor, cache=None, lengths=None) -> Tensor:
        x = self.embedding(tokens)  # (B, L, E)
        for i, block in enumerate(self.blocks):
            x = block(x, cache=None if cache is None else cache[i], lengths=lengths)
        return x @ self.embedding.weight.T  # (B, L, V)

    def start(self, prompts: list[list[int]], side: str) -> tuple[RaggedKVCache, Tensor]:
        """Read prompts of any lengths; return the cache and each one's next logits (B, V)."""
        shape = (len(prompts), 2, 64, self.embedding.embedding_dim // 4)
        cache = RaggedKVCache(*shape, num_layers=len(self.blocks), padding_side=side)
        lengths = [len(prompt) for prompt in prompts]
        pads = [[0] * (max(lengths) - n) for n in lengths]
        pairs = zip(*((prompts, pads) if side == "right" else (pads, prompts)), strict=True)
        logits = self(torch.tensor([[*a, *b] for a, b in pairs]), cache, lengths)  # (B, L, V)
        last = torch.tensor(lengths) - 1 if side == "right" else -1
        return cache, logits[torch.arange(len(prompts)), last]

    @torch.no_grad()
    def generate(self, prompts: list[list[int]], count: int, side: str = "right") -> Tensor:
        cache, logits = self.start(prompts, side)
        tokens = [logits.argmax(-1)]
        while len(tokens) < count:
            tokens.append(self(tokens[-1][:, None], cache)[:, -1].argmax(-1))
        return torch.stack(tokens, 1)  # (B, count)
