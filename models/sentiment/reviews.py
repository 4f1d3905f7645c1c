"""Generate short reviews with the truth about each: what it says of the work, and by which words.

A review has one verdict, on a film, a book or the like. Around it stand opinions on other things,
with the same adjectives, and remarks without an opinion: the verdict doesn't
follow from the adjectives, only from the noun that each belongs to. So a model needs positions.

Held out of training: nine of the 72 pairs of work and adjective, among them "superb film". All
tests are of such pairs.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

import torch
from torch import Tensor

WORKS = ("film", "book", "play", "song", "story", "show")
OTHERS = ("hall", "seat", "bus", "coffee", "soup", "street")
GOOD = ("good", "great", "lovely", "fine", "superb", "brilliant")
BAD = ("bad", "dull", "poor", "weak", "dreadful", "terrible")
ADJECTIVES = GOOD + BAD
TURNS = ("not", "never")
STRESSES = ("really", "quite", "rather")
REMARKS = (
    "we went on monday", "my sister came too", "it began at eight", "our friends had tickets",
    "i was there with my sister", "we had to wait", "it was late on monday", "they came at eight",
)  # fmt: skip
PAD, BLANK, READ = "[pad]", "[blank]", "[class]"
ANSWERS = ("[bad]", "[good]")
_OWN = ("the", "was", "it", "a", "and", ".")
_SAID = tuple(dict.fromkeys(" ".join(REMARKS).split()))
VOCABULARY = tuple(
    dict.fromkeys(
        (PAD, BLANK, READ, *ANSWERS, *_OWN, *WORKS, *OTHERS, *GOOD, *BAD, *TURNS, *STRESSES, *_SAID)
    )
)
INDEX = {word: i for i, word in enumerate(VOCABULARY)}
MAX_LEN = 24


@dataclass
class Review:
    """Words, the first of them READ; positions count from 0.

    ``decisive``: positions of the verdict's adjective, and of the word that turns it around, if
        one does. Without the first the answer is open; without the second it is the other one.
    ``lures``: the same words of opinions on other things.
    ``work``: the noun that the verdict is on; ``verdict``: all positions of its clause.
    """

    is_good: bool
    words: list[str] = field(default_factory=lambda: [READ])
    decisive: list[int] = field(default_factory=list)
    lures: list[int] = field(default_factory=list)
    work: int = 0
    verdict: range = range(0)

    def __str__(self) -> str:
        return " ".join(self.words[1:])


def review(rng: Random, *, held_out: bool = False) -> Review:
    while True:
        work, adjective = rng.choice(WORKS), rng.choice(GOOD + BAD)
        if is_held_out(work, adjective) == held_out:
            break
    clauses = [_opinion(rng, work, adjective)]
    clauses += [
        _opinion(rng, rng.choice(OTHERS), rng.choice(GOOD + BAD))
        for _ in range(rng.choice([0, 1, 1, 1, 2]))
    ]
    if len(clauses) == 1 or (len(clauses) == 2 and rng.random() < 0.5):
        clauses.append((rng.choice(REMARKS).split(), []))
    verdict = clauses[0]
    is_turned = len(verdict[1]) == 2
    result = Review((adjective in GOOD) != is_turned)
    rng.shuffle(clauses)
    for i, (words, at) in enumerate(clauses):
        if i:
            result.words.append("and")
        here = [len(result.words) + position for position in at]
        if words is verdict[0]:
            result.decisive, result.work = here, len(result.words) + words.index(work)
            result.verdict = range(len(result.words), len(result.words) + len(words))
        else:
            result.lures += here
        result.words += words
    result.words.append(".")
    assert len(result.words) <= MAX_LEN, result
    return result


def _opinion(rng: Random, noun: str, adjective: str) -> tuple[list[str], list[int]]:
    """Return the words of an opinion, and the positions of its negation and its adjective."""
    turn = rng.choice(TURNS) if rng.random() < 0.35 else None
    stress = rng.choice(STRESSES) if not turn and rng.random() < 0.5 else None
    extra = [word for word in (turn, stress) if word]
    if rng.random() < 0.5:
        words = ["the", noun, "was", *extra, adjective]
    else:
        words = ["it", "was", *extra, "a", adjective, noun]
    return words, [words.index(word) for word in (turn, adjective) if word]


def is_held_out(work: str, adjective: str) -> bool:
    return zlib.crc32(f"{work} {adjective}".encode()) % 6 == 0


def reviews(seed: int, count: int, *, held_out: bool = False) -> Iterator[Review]:
    rng = Random(seed)
    for _ in range(count):
        yield review(rng, held_out=held_out)


def swapped(review: Review, rng: Random) -> Review:
    """Make the same review with the other answer: another adjective in its verdict."""
    words, position = [*review.words], review.decisive[-1]
    words[position] = rng.choice(BAD if words[position] in GOOD else GOOD)
    return replace(review, is_good=not review.is_good, words=words)


def to_tensors(batch: list[Review]) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens (B, L), answers (B,) of 0 and 1, and which words decide, bool (B, L)."""
    longest = max(len(review.words) for review in batch)
    tokens = torch.full((len(batch), longest), INDEX[PAD])
    decides = torch.zeros(len(batch), longest, dtype=torch.bool)
    for row, review in enumerate(batch):
        tokens[row, : len(review.words)] = torch.tensor([INDEX[word] for word in review.words])
        decides[row, review.decisive] = True
    return tokens, torch.tensor([int(review.is_good) for review in batch]), decides
