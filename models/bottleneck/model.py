"""A recurrent net reads a list of letters and another repeats it, with or without attention.

Sizes in shape comments: B lists, L letters, E size of the state.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from variants import AdditiveAttention

LETTERS = "abcdefghijklmnop"
START = len(LETTERS)  # input of the second net before its first letter


@dataclass(frozen=True)
class Config:
    state: int  # size of the state
    attention: bool
    backwards: bool = False  # reads the list from its end; says it from its start all the same


class Recall(nn.Module):
    """Two GRUs. Without attention, the second gets only the last state of the first.

    With attention, it attends to every state of the first: with the score of Bahdanau et al.
    (2015), after the recurrent step as in Luong et al. (2015).
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, E = config, config.state
        self.embedding = nn.Embedding(len(LETTERS) + 1, 16)
        self.reader = nn.GRU(16, E, batch_first=True)
        self.writer = nn.GRU(16, E, batch_first=True)
        self.attention = AdditiveAttention(E, E, E) if config.attention else None
        self.letter = nn.Linear(2 * E if config.attention else E, len(LETTERS))

    def forward(self, letters: Tensor) -> Tensor:
        """Return logits (B, L, letters) for lists (B, L), after the right letters so far."""
        memory, last = self.read(letters)
        start = torch.full_like(letters[:, :1], START)
        logits, _, _ = self.write(torch.cat((start, letters[:, :-1]), 1), last, memory)
        return logits

    def read(self, letters: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states after each letter (B, L, E), and the last state."""
        in_order = letters.flip(1) if self.config.backwards else letters
        return self.reader(self.embedding(in_order))

    def write(
        self, letters: Tensor, state: Tensor, memory: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits after each letter of ``letters`` (B, T), the last state and the weights."""
        states, state = self.writer(self.embedding(letters), state)  # (B, T, E)
        weights = states.new_zeros(*letters.shape, 0)
        if self.attention is not None:
            context, weights = self.attention(states, memory, memory)
            states = torch.cat((states, context), -1)  # (B, T, 2E)
        return self.letter(states), state, weights

    @torch.no_grad()
    def say(self, letters: Tensor) -> tuple[Tensor, Tensor]:
        """Repeat the lists (B, L) from its own letters; returns letters and weights (B, L, L)."""
        memory, state = self.read(letters)
        outputs, rows = [torch.full_like(letters[:, :1], START)], []
        for _ in range(letters.shape[1]):
            logits, state, weights = self.write(outputs[-1], state, memory)
            outputs.append(logits.argmax(-1))
            rows.append(weights)
        return torch.cat(outputs[1:], 1), torch.cat(rows, 1)


def encode(text: str) -> Tensor:
    """Convert "cab" to (1, 3). Raises: ValueError for an empty list or an unknown letter."""
    if not text or set(text) - set(LETTERS):
        raise ValueError(f"a list has letters from {LETTERS!r}, and at least one; got {text!r}")
    return torch.tensor([[LETTERS.index(letter) for letter in text]])


def decode(letters: Tensor) -> str:
    """Convert (L,) to "cab"."""
    return "".join(LETTERS[i] for i in letters.tolist())
