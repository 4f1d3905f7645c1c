"""Generate simple English sentences with the truth about each: subjects, and nouns of "it".

Held out of training, so that a test asks for more than memory, are
- words: those of ``HELD_OUT`` never stand beside a distractor, nor in a sentence with "it";
- pairs: one in five pairs of subject and distractor, or of the two nouns that "it" may mean.
The trophy and the suitcase are among the pairs, and the animal and the street.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from models.grammar.words import (
    ADJECTIVES,
    ANIMALS,
    ANIMATE_VERBS,
    BANKS,
    BEINGS,
    CONTAINERS,
    FRAMES,
    HELD_OUT,
    NEAR,
    NOUNS,
    OFTEN,
    ONLY_SINGULAR,
    OPENERS,
    PATHS,
    PEOPLE,
    PLACES,
    PLURAL_VERBS,
    SAT,
    SAW,
    SINGULAR_VERBS,
    THING_VERBS,
    THINGS,
    VERBS,
)

MAX_LEN = 24
Held = str | None  # "words" or "pairs": the kind held out; None: as in training


@dataclass
class Sentence:
    """Words, and the truth about them. Positions count from 0.

    ``links``: (relation, from, to): "verb" to its subject, "it" to its noun, "adjective" to the
        noun beside it, "predicate" (after "is") to its subject, "bank" to the word that decides
        its sense, and "sense", the predicate of the bank, to the same word.
    ``right``: for each position that the rest of the sentence decides, the words right there.
    """

    kind: str
    words: list[str] = field(default_factory=list)
    links: list[tuple[str, int, int]] = field(default_factory=list)
    right: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def add(self, text: str) -> int:
        """Append words; return the position of the last."""
        self.words += text.split()
        return len(self.words) - 1

    def link(self, relation: str) -> tuple[int, int]:
        return next((start, end) for name, start, end in self.links if name == relation)

    def __str__(self) -> str:
        return " ".join(self.words)


def sentences(seed: int, count: int) -> Iterator[Sentence]:
    """Make training data: half agreement, a third "it", the rest plain or about a bank."""
    rng = Random(seed)
    makers = {agreement: 50, it_sentence: 27, lone_it: 8, plain: 10, bank: 5}
    for make in rng.choices([*makers], weights=[*makers.values()], k=count):
        yield make(rng)


def agreement(rng: Random, held: Held = None, distractors: int | None = None) -> Sentence:
    """Make "the keys near the box are red": the verb agrees with its subject, not the nearest noun.

    With ``held`` each distractor has the other number, so that only the subject tells the verb.
    """
    if distractors is None:
        distractors = rng.choices([0, 1, 2], weights=[25, 50, 25])[0]
    while True:
        nouns = [rng.choice([*BEINGS, *THINGS, *CONTAINERS])]
        nouns += [rng.choice([*NOUNS]) for _ in range(distractors)]
        subject, plural = nouns[0], rng.random() < 0.5
        verbs = ANIMATE_VERBS if subject in BEINGS else THING_VERBS
        verb = rng.choice([*verbs]) if rng.random() < 0.75 else "are"
        if (not held and not distractors) or _fits(
            [*nouns, verb], [(subject, noun) for noun in nouns[1:]], held
        ):
            break
    sentence = Sentence("agreement")
    numbers = [plural] + [not plural if held else rng.random() < 0.5 for _ in nouns[1:]]
    if distractors and rng.random() < 0.15:  # "near the trees the dog ..."
        sentence.add(rng.choice(NEAR))
        _phrase(sentence, rng, nouns.pop(), numbers.pop())
    elif rng.random() < 0.3:
        sentence.add(rng.choice(OPENERS))
    noun_position = _phrase(sentence, rng, subject, plural)
    for noun, number in zip(nouns[1:], numbers[1:], strict=True):
        clause = subject in BEINGS and rng.random() < 0.25
        sentence.add(f"that {rng.choice(SAW)}" if clause else rng.choice(NEAR))
        _phrase(sentence, rng, noun, number)
    if verb != "are" and rng.random() < 0.3:
        sentence.add(rng.choice(OFTEN))
    position = sentence.add(verb if plural else VERBS[verb])
    sentence.links.append(("verb", position, noun_position))
    sentence.right[position] = PLURAL_VERBS if plural else SINGULAR_VERBS
    if verb == "are":
        sentence.links.append(
            ("predicate", sentence.add(rng.choice(_adjectives(subject))), noun_position)
        )
    elif rng.random() < 0.4:
        sentence.add(rng.choice(["there", f"{rng.choice(NEAR)} the {rng.choice([*PLACES])}"]))
    return _end(sentence, rng)


def it_sentence(
    rng: Random, held: Held = None, means: int | None = None, answer: bool | None = None
) -> Sentence:
    """Make "the trophy did not fit in the suitcase because it was too big . the trophy was big ."

    ``means``: 0 if "it" is the first noun, 1 if it is the second.
    """
    means = rng.randrange(2) if means is None else means
    while True:
        frame = rng.choice(FRAMES)
        pair = [rng.choice(nouns) for nouns in frame.nouns]
        if pair[0] != pair[1] and _fits(pair, [tuple(pair)], held):
            break
    adjective = [rng.choice(words) for words in frame.adjectives][means]
    sentence = Sentence("it")
    if rng.random() < 0.3:
        sentence.add(rng.choice(OPENERS))
    nouns = [_phrase(sentence, rng, pair[0], False)]
    before, after = frame.says.split("{}")
    sentence.add(before)
    nouns.append(_phrase(sentence, rng, pair[1], False))
    sentence.add(f"{after} {adjective}")
    sentence.links.append(("it", sentence.words.index("it"), nouns[means]))
    answer = rng.random() < 0.6 if answer is None else answer
    return _answer(sentence, rng, pair[means], adjective, answer)


def lone_it(rng: Random) -> Sentence:
    """Make "the girl liked the old bridge because it was long": "it" can be only one noun.

    So every noun is an "it" somewhere, and those of ``HELD_OUT`` only here.
    """
    frame, means = rng.choice(FRAMES), rng.randrange(2)
    adjective, noun = rng.choice(frame.adjectives[means]), rng.choice(frame.nouns[means])
    sentence = Sentence("it")
    if noun in ANIMALS and rng.random() < 0.5:
        noun_position = _phrase(sentence, rng, noun, False)
        sentence.add(rng.choice(SAT))
    else:
        _phrase(sentence, rng, rng.choice([*PEOPLE]), False)
        sentence.add(rng.choice(SAW))
        noun_position = _phrase(sentence, rng, noun, False)
    sentence.links.append(("it", sentence.add("because it"), noun_position))
    sentence.add(f"was {adjective}")
    return _answer(sentence, rng, noun, adjective, rng.random() < 0.6)


def bank(rng: Random, sense: str | None = None) -> Sentence:
    """Make "the man saw the boat at the bank . the bank was muddy": the boat decides the sense."""
    sense = sense or rng.choice([*BANKS])
    clue, adjective = (rng.choice(words) for words in BANKS[sense])
    sentence, clue_first = Sentence("bank"), rng.random() < 0.5
    saw = f"the {rng.choice([*PEOPLE])} {rng.choice(SAW)} the {clue}"
    if clue_first:
        decides, position = sentence.add(saw), sentence.add("at the bank")
    else:
        position, decides = sentence.add("at the bank"), sentence.add(saw)
    predicate = sentence.add(f". the bank was {adjective}")
    sentence.links += [("bank", position, decides), ("sense", predicate, decides)]
    sentence.right[predicate] = tuple(BANKS[sense][1])
    return _end(sentence, rng)


def plain(rng: Random) -> Sentence:
    """Make "the cat sat on the mat" or "the boys followed the old dog", from all words."""
    sentence = Sentence("plain")
    if rng.random() < 0.2:
        sentence.add(rng.choice(OPENERS))
    _phrase(sentence, rng, rng.choice([*BEINGS]), rng.random() < 0.3)
    if rng.random() < 0.5:
        sentence.add(f"{rng.choice(SAT)} {rng.choice(['on', *NEAR])}")
        _phrase(sentence, rng, rng.choice([*PLACES, *PATHS, "mat"]), rng.random() < 0.2)
    else:
        sentence.add(rng.choice(SAW))
        nouns = [*BEINGS, *THINGS, *CONTAINERS, "trophy", "suitcase"]
        _phrase(sentence, rng, rng.choice(nouns), rng.random() < 0.3)
    return _end(sentence, rng)


def pairs_of(make: Callable[..., Sentence], rng: Random, values: tuple, **options: object) -> list:
    """Make a minimal pair: the same sentence for each value of the deciding choice."""
    state, pair = rng.getstate(), []
    for value in values:
        rng.setstate(state)
        pair.append(make(rng, **options, **value))
    return pair


def is_held_out_pair(first: str, second: str) -> bool:
    named = (first, second) in {("trophy", "suitcase"), ("animal", "street")}
    return named or zlib.crc32(f"{first} {second}".encode()) % 5 == 0


def _fits(words: list[str], pairs: list[tuple[str, str]], held: Held) -> bool:
    new_word = not HELD_OUT.isdisjoint(words)
    new_pair = any(is_held_out_pair(*pair) for pair in pairs)
    if held == "pairs":
        return new_pair and not new_word
    return new_word if held == "words" else not (new_word or new_pair)


def _adjectives(noun: str) -> list[str]:
    return next((words for nouns, words in ADJECTIVES if noun in nouns), [])


def _phrase(sentence: Sentence, rng: Random, noun: str, plural: bool) -> int:
    """Append "the old house" or the like; return the noun's position."""
    adjective = rng.choice(_adjectives(noun)) if rng.random() < 0.35 else None
    spoken = NOUNS[noun] if plural and noun not in ONLY_SINGULAR else noun
    noun_position = sentence.add(f"the {adjective} {spoken}" if adjective else f"the {spoken}")
    if adjective:
        sentence.links.append(("adjective", noun_position - 1, noun_position))
    return noun_position


def _answer(sentence: Sentence, rng: Random, noun: str, adjective: str, answered: bool) -> Sentence:
    if answered:
        sentence.right[sentence.add(f". the {noun}")] = (noun,)
        sentence.add(f"was {adjective}")
    return _end(sentence, rng)


def _end(sentence: Sentence, rng: Random) -> Sentence:
    if rng.random() < 0.5:
        sentence.add(".")
    assert len(sentence.words) <= MAX_LEN, sentence
    return sentence
