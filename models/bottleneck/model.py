"""A list of letters, read by one recurrent net, said again by another; with or without attention.

Sizes in shape comments: B lists, L letters, E size of the state.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from variants import AdditiveAttention

LETTERS = "abcdefghijklmnop"
START = len(LETTERS)  # what the second net reads before its first letter


@dataclass(frozen=True)
class Config:
    state: int  # numbers in the state
    attention: bool


class Recall(nn.Module):
    """Two GRUs. All that the second gets of the list is the first's last state, without attention.

    With it, the second looks back at every state of the first: the score is that of Bahdanau et
    al. (2015), at the place where Luong et al. (2015) put theirs, after the recurrent step.
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
        """The list (B, L) and its right beginnings -> logits (B, L, letters), for training."""
        memory, last = self.reader(self.embedding(letters))
        start = torch.full_like(letters[:, :1], START)
        logits, _, _ = self.write(torch.cat((start, letters[:, :-1]), 1), last, memory)
        return logits

    def write(self, said: Tensor, state: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What comes after each letter of ``said`` (B, T): logits, the last state, the weights."""
        states, state = self.writer(self.embedding(said), state)  # (B, T, E)
        weights = states.new_zeros(*said.shape, 0)
        if self.attention is not None:
            context, weights = self.attention(states, memory, memory)
            states = torch.cat((states, context), -1)  # (B, T, 2E)
        return self.letter(states), state, weights

    @torch.no_grad()
    def say(self, letters: Tensor) -> tuple[Tensor, Tensor]:
        """The list said again (B, L), each letter after its own last one; the weights (B, L, L)."""
        memory, state = self.reader(self.embedding(letters))
        said, rows = [torch.full_like(letters[:, :1], START)], []
        for _ in range(letters.shape[1]):
            logits, state, weights = self.write(said[-1], state, memory)
            said.append(logits.argmax(-1))
            rows.append(weights)
        return torch.cat(said[1:], 1), torch.cat(rows, 1)


def encode(text: str) -> Tensor:
    """ "cab" -> (1, 3). Raises: ValueError for an empty list, or for what is no letter of ours."""
    if not text or set(text) - set(LETTERS):
        raise ValueError(f"a list has letters from {LETTERS!r}, and at least one; got {text!r}")
    return torch.tensor([[LETTERS.index(letter) for letter in text]])


def decode(letters: Tensor) -> str:
    """(L,) -> "cab"."""
    return "".join(LETTERS[i] for i in letters.tolist())
