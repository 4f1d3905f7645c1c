"""A byte-level BPE: any text as tokens of a vocabulary that was learned from books.

widgets/lib/tokenizer.js computes the same in a page. Inside, text is UTF-8, each byte written as
the character of its number, so that a regular expression reads bytes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

# Readers' keyboards write these; the books have plain ones.
PLAIN = str.maketrans(
    dict(zip("‘’“”—…\u00a0", ["'", "'", '"', '"', "--", "...", " "], strict=True))
)
SPACE = " \t\n\r"
# Tokens never cross the bounds of these pieces: a contraction's end, a word, a digit, marks or
# spaces; the first three of them, and marks, with the space before.
PIECES = re.compile(
    "'(?:s|t|re|ve|ll|d|m)(?![A-Za-z])| ?[A-Za-z\x80-\xff]+| ?[0-9]"
    f"| ?[^A-Za-z0-9\x80-\xff{SPACE}]+|[{SPACE}]+(?![^{SPACE}])|[{SPACE}]+"
)
BYTES = tuple(map(chr, range(256)))


def to_bytes(text: str) -> str:
    """Half of a surrogate pair, which no UTF-8 has, becomes U+FFFD, as it does in browsers."""
    units = text.translate(PLAIN).encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le", "replace").encode().decode("latin-1")


def learn(texts: Iterable[str], size: int) -> tuple[str, ...]:
    """Learn a vocabulary: the 256 bytes, then joins of the most frequent neighbours in turn."""
    counts = Counter(piece for text in texts for piece in PIECES.findall(to_bytes(text)))
    parts = {piece: list(piece) for piece in counts}
    pairs, pieces = Counter(), defaultdict(set)  # by their join
    for piece in parts:
        _count(parts[piece], counts[piece], piece, pairs, pieces)
    vocabulary = [*BYTES]
    while len(vocabulary) < size:
        # Of equals the first in the alphabet, so that a vocabulary can be learned again.
        most = min(pairs, key=lambda join: (-pairs[join], join), default=None)
        if most is None or pairs[most] < 1:
            raise ValueError(f"the texts have joins for {len(vocabulary)} tokens, not for {size}")
        vocabulary.append(most)
        for piece in [*pieces[most]]:
            _count(parts[piece], -counts[piece], piece, pairs, pieces)
            parts[piece] = _join(parts[piece], most)
            _count(parts[piece], counts[piece], piece, pairs, pieces)
    return tuple(vocabulary)


class Tokenizer:
    """Encode text: the neighbours whose join was learned first are joined first."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        if tuple(vocabulary[:256]) != BYTES:
            raise ValueError("a vocabulary of bytes begins with the 256 bytes")
        self.vocabulary = vocabulary
        self.ids = {token: i for i, token in enumerate(vocabulary)}
        self.known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        return [token for piece in PIECES.findall(to_bytes(text)) for token in self._piece(piece)]

    def decode(self, tokens: Iterable[int]) -> str:
        whole = "".join(self.vocabulary[token] for token in tokens)
        return whole.encode("latin-1").decode(errors="replace")

    def name(self, token: int) -> str:
        """Return the text of a token; a byte that is no character by itself is U+EE00 + byte.

        So that a page can say which byte it is; lone surrogates, Python's own way, have no UTF-8.
        """
        text = self.vocabulary[token].encode("latin-1").decode(errors="surrogateescape")
        return text.translate({0xDC00 + byte: 0xEE00 + byte for byte in range(0x80, 0x100)})

    def _piece(self, piece: str) -> list[int]:
        if piece not in self.known:
            parts = list(piece)
            while joins := [a + b for a, b in pairwise(parts) if a + b in self.ids]:
                parts = _join(parts, min(joins, key=self.ids.__getitem__))
            self.known[piece] = [self.ids[part] for part in parts]
        return self.known[piece]


def _count(parts: list[str], count: int, piece: str, pairs: Counter, pieces: dict) -> None:
    for join in map("".join, pairwise(parts)):
        pairs[join] += count
        pieces[join].add(piece)


def _join(parts: list[str], join: str) -> list[str]:
    """Replace the neighbours that make ``join`` by it, from the left."""
    joined, i = [], 0
    while i < len(parts):
        both = "".join(parts[i : i + 2])
        joined.append(join if both == join else parts[i])
        i += 2 if both == join else 1
    return joined
