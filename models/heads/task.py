"""Ask one attention layer one, two or four questions at once, to see how many heads help.

At each position the model names the words 1, 2, 3 or 4 places back. The words are random, so only
attending there helps. All but the number of heads is equal: width, weights, steps, data.
"""

import torch
from torch import Tensor, nn

from attention import MultiHeadAttention

WORDS, LENGTH, WIDTH = 10, 12, 32
QUESTIONS = {"1": [1], "2": [1, 3], "4": [1, 2, 3, 4]}  # number of questions -> distance of each
HEADS = [1, 2, 4, 8]


class Recall(nn.Module):
    """Embeddings of words and positions, one attention layer, one linear layer."""

    def __init__(self, num_heads: int, num_questions: int) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.attention = MultiHeadAttention(WIDTH, num_heads)
        self.answer = nn.Linear(WIDTH, num_questions * WORDS)

    def forward(self, words: Tensor) -> Tensor:
        """words (B, L) -> scores of the answers (B, L, questions, WORDS)."""
        x = self.attention(self.word(words) + self.place.weight)
        return self.answer(x).unflatten(-1, (-1, WORDS))


def examples(
    count: int, back: list[int], draw: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Make words (B, L) and right answers (B, L - max(back), questions) of the last positions."""
    words = torch.randint(WORDS, (count, LENGTH), generator=draw)
    start = max(back)
    answers = [words[:, start - distance : LENGTH - distance] for distance in back]
    return words, torch.stack(answers, dim=-1)
