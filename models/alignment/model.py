"""A translator with one head of cross-attention, small enough to read its weights."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from attention import CausalMultiHeadAttention, MultiHeadAttention, create_padding_mask
from models.alignment.data import PAD, SOURCES, START, TARGETS
from models.weights import load_into

WIDTH, LONGEST = 48, 16


class Translator(nn.Module):
    """Each target word attends to those before it, then to the source words.

    Source words don't mix before that, so a word's information is at its own position only.
    ``mixes`` adds self-attention over the source, as in larger models: the control.
    """

    def __init__(self, task: str, *, mixes: bool = False) -> None:
        super().__init__()
        self.sources, self.targets = SOURCES[task], TARGETS[task]
        self.source_words = nn.Embedding(len(self.sources), WIDTH)
        self.target_words = nn.Embedding(len(self.targets), WIDTH)
        self.source_places = nn.Embedding(LONGEST, WIDTH)
        self.target_places = nn.Embedding(LONGEST, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(4))
        self.around = MultiHeadAttention(WIDTH, num_heads=4) if mixes else None
        self.back = CausalMultiHeadAttention(WIDTH, num_heads=4, max_seq_len=LONGEST)
        self.across = MultiHeadAttention(WIDTH, num_heads=1)
        self.words = nn.Linear(WIDTH, len(self.targets))

    def forward(self, source: Tensor, target: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Shapes: source (B, S), target so far (B, L), source lengths (B,).

        Returns: logits of the next words (B, L, V), cross-attention weights (B, L, S).
        """
        mask = create_padding_mask(lengths, source.shape[1])  # (B, 1, 1, S)
        context = self.source_words(source) + self.source_places.weight[: source.shape[1]]
        if self.around is not None:
            context = context + self.around(self.norms[0](context), mask)
        x = self.target_words(target) + self.target_places.weight[: target.shape[1]]
        x = x + self.back(self.norms[1](x))
        mixed, weights = self.across(self.norms[2](x), mask, True, context=context)
        return self.words(self.norms[3](x + mixed)), weights[:, 0]

    def batch(
        self, sources: Sequence[list[str]], targets: Sequence[list[str]]
    ) -> tuple[Tensor, ...]:
        """Convert words to padded tensors: source, target so far, target, source lengths."""
        so_far = _padded([[START, *words[:-1]] for words in targets], self.targets)
        lengths = torch.tensor([len(words) for words in sources])
        return _padded(sources, self.sources), so_far, _padded(targets, self.targets), lengths

    @torch.no_grad()
    def weights(self, source: list[str], target: list[str]) -> Tensor:
        """Return the cross-attention weights (L, S) for an example."""
        source_ids, so_far, _, lengths = self.batch([source], [target])
        return self(source_ids, so_far, lengths)[1][0]

    @torch.no_grad()
    def translate(self, sources: Sequence[list[str]], length: int) -> list[list[str]]:
        """Write ``length`` words for each source, the likeliest each time."""
        source_ids, so_far, _, lengths = self.batch(sources, [[START]] * len(sources))
        for _ in range(length):
            logits, _ = self(source_ids, so_far, lengths)
            so_far = torch.cat([so_far, logits[:, -1:].argmax(-1)], dim=1)
        return [[self.targets[i] for i in row[1:]] for row in so_far.tolist()]


def trained(task: str) -> Translator:
    """Load the model of ``task``, "reversal" or "phrases", from the weights beside this file."""
    return load_into(Translator(task), Path(__file__).parent / "weights" / f"{task}.safetensors")


def _padded(rows: Sequence[list[str]], words: list[str]) -> Tensor:
    number = {word: i for i, word in enumerate(words)}
    longest = max(map(len, rows))
    return torch.tensor([[number[w] for w in row + [PAD] * (longest - len(row))] for row in rows])
