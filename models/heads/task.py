"""Ask one attention layer one, two or four questions at once, to see what more heads give.

At each position the model names the words 1, 2, 3 or 4 positions back. The words are random, so
only attending there helps.
"""

import torch
from torch import Tensor, nn

from attention import MultiHeadAttention, scaled_dot_product_attention

WORDS, LENGTH, WIDTH, HIDDEN = 10, 12, 32, 64
QUESTIONS = {"1": [1], "2": [1, 3], "4": [1, 2, 3, 4]}  # number of questions -> distance of each
HEADS = [1, 2, 4, 8]


class Recall(nn.Module):
    """Embed words and positions, attend once, and read the answers off with one linear layer.

    ``mlp``: read them off with an MLP of ``hidden`` units instead. ``by_position``: queries and
    keys read only positions, so that the weights don't depend on words.
    """

    def __init__(
        self, num_heads: int, num_questions: int, *,
        mlp: bool = False, hidden: int = HIDDEN, by_position: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.word, self.position = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.attention = MultiHeadAttention(WIDTH, num_heads)
        answers = num_questions * WORDS
        self.answer = nn.Linear(WIDTH, answers)
        if mlp:
            self.answer = nn.Sequential(
                nn.Linear(WIDTH, hidden), nn.ReLU(), nn.Linear(hidden, answers)
            )
        self.by_position = by_position

    def forward(self, words: Tensor) -> Tensor:
        """words (B, L) -> scores of the answers (B, L, questions, WORDS)."""
        x = self.word(words) + self.position.weight
        mixed = self._attend_by_position(x) if self.by_position else self.attention(x)
        return self.answer(mixed).unflatten(-1, (-1, WORDS))

    def _attend_by_position(self, x: Tensor) -> Tensor:
        query, key, _ = self.attention.project(self.position.weight.expand_as(x))
        value = self.attention.project(x)[2]
        return self.attention.merge(scaled_dot_product_attention(query, key, value)[0], x)


def examples(
    count: int, back: list[int], draw: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Make words (B, L) and right answers (B, L - max(back), questions) of the last positions."""
    words = torch.randint(WORDS, (count, LENGTH), generator=draw)
    start = max(back)
    answers = [words[:, start - distance : LENGTH - distance] for distance in back]
    return words, torch.stack(answers, dim=-1)
