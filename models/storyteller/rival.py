"""What the storyteller must beat: n-grams with modified Kneser–Ney smoothing (Chen & Goodman 1999).

`python3 -m models.storyteller.rival DIR` finds scores/rival.json again. It counts the same tokens
of the same books. An n-gram is a whole number, ten bits a token, so NumPy sorts all at once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from models.storyteller.books import VOCABULARY, prepare

BITS, LONGEST = 10, 6  # a key of six tokens has 60 bits
SCORES = Path(__file__).parent / "scores" / "rival.json"


class KneserNey:
    """Interpolated; the lower orders count different tokens before, and not how often.

    p(w | h) = (c(hw) − D(c)) / c(h·) + γ(h) p(w | h'),  γ(h) = Σ_w D(c(hw)) / c(h·)

    where h' is h without its first token, and D is D₁, D₂ or D₃ for counts of 1, 2, and 3 or more.
    """

    def __init__(self, tokens: np.ndarray, order: int) -> None:
        if order not in range(1, LONGEST + 1) or tokens.min() < 0 or tokens.max() >= 2**BITS:
            raise ValueError(f"order must be 1 to {LONGEST}, and tokens below {2**BITS}")
        self.order, self.vocabulary = order, VOCABULARY
        keys, counts = np.unique(ngrams(tokens, order), return_counts=True)
        self.tables = []
        for n in range(order, 0, -1):
            self.tables.insert(0, Table(keys, counts))
            # One entry for each different token before: how many there are is the next count.
            keys, counts = np.unique(keys & ((1 << BITS * (n - 1)) - 1), return_counts=True)

    def probabilities(self, tokens: np.ndarray) -> np.ndarray:
        """Return each token's probability from the second on, after at most order − 1 others."""
        longest = np.full(len(tokens) - 1, 1 / self.vocabulary)
        for n, table in enumerate(self.tables, 1):
            keys = ngrams(tokens, n)[max(0, 2 - n) :]
            longest[-len(keys) :] = table.mix(keys, longest[-len(keys) :])
        return longest


class Table:
    """The n-grams of one length, with the sums over those that share their first n − 1 tokens."""

    def __init__(self, keys: np.ndarray, counts: np.ndarray) -> None:
        self.keys, self.counts = keys, counts
        n1, n2, n3, n4 = (np.count_nonzero(counts == k) for k in (1, 2, 3, 4))
        y = n1 / (n1 + 2 * n2) if n1 else 0.0
        ratios = (0, n2 / max(1, n1), n3 / max(1, n2), n4 / max(1, n3))
        self.discounts = np.array(
            [0.0] + [max(0.0, k - (k + 1) * y * ratios[k]) for k in (1, 2, 3)]
        )
        self.contexts, context = np.unique(keys >> BITS, return_inverse=True)
        self.totals = np.bincount(context, counts)
        self.left = np.bincount(context, self._discount(counts)) / self.totals

    def mix(self, keys: np.ndarray, lower: np.ndarray) -> np.ndarray:
        context, is_known = find(self.contexts, keys >> BITS)
        ngram, occurs = find(self.keys, keys)
        counts = np.where(occurs, self.counts[ngram], 0)
        own = (counts - self._discount(counts)) / self.totals[context]
        return np.where(is_known, own + self.left[context] * lower, lower)

    def _discount(self, counts: np.ndarray) -> np.ndarray:
        return self.discounts[np.minimum(counts, 3)]


def ngrams(tokens: np.ndarray, n: int) -> np.ndarray:
    keys = np.zeros(len(tokens) - n + 1, dtype=np.int64)
    for i in range(n):
        keys = keys << BITS | tokens[i : len(tokens) - n + 1 + i]
    return keys


def find(ordered: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each key's index in ``ordered``, and whether it occurs there."""
    indices = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    return indices, ordered[indices] == keys


def main(folder: Path) -> None:
    vocabulary, tokens, held = prepare(folder)
    sizes = np.array([len(token) for token in vocabulary])
    rates = {}  # bits per byte
    for order in range(1, LONGEST + 1):
        model = KneserNey(tokens.numpy(), order)
        bits = {
            name: -np.log2(model.probabilities(book.numpy())).sum() for name, book in held.items()
        }
        size = {name: sizes[book.numpy()[1:]].sum() for name, book in held.items()}
        rates[str(order)] = {name: round(float(bits[name] / size[name]), 4) for name in held}
        rates[str(order)]["all"] = round(float(sum(bits.values()) / sum(size.values())), 4)
        print(order, rates[str(order)], flush=True)
    SCORES.parent.mkdir(exist_ok=True)
    SCORES.write_text(json.dumps({"bits per byte, by order": rates}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
