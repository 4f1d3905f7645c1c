"""The vocabulary of the grammar models, in groups.

No word is in two groups, except "weak" and "bank", on purpose.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PAD, MASK = "[pad]", "[mask]"


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("/") for pair in text.split())


# singular -> plural
ANIMALS = _pairs(
    "cat/cats dog/dogs bird/birds fox/foxes lion/lions rabbit/rabbits cow/cows mouse/mice "
    "animal/animals horse/horses"
)
PEOPLE = _pairs(
    "boy/boys girl/girls man/men woman/women child/children farmer/farmers teacher/teachers "
    "doctor/doctors"
)
THINGS = _pairs("key/keys book/books ball/balls cup/cups toy/toys stone/stones lamp/lamps")
CONTAINERS = _pairs("box/boxes bag/bags drawer/drawers cabinet/cabinets basket/baskets")
PLACES = _pairs(
    "tree/trees house/houses table/tables door/doors garden/gardens wall/walls window/windows "
    "chair/chairs"
)
NOUNS = ANIMALS | PEOPLE | THINGS | CONTAINERS | PLACES
BEINGS = ANIMALS | PEOPLE
PATHS = "street road river field bridge".split()
ONLY_SINGULAR = ["trophy", "suitcase", "mat", "bank", *PATHS]

# "they ..." -> "it ..."
ANIMATE_VERBS = _pairs("sleep/sleeps play/plays wait/waits hide/hides run/runs rest/rests")
THING_VERBS = _pairs("shine/shines fall/falls stand/stands")
BE = _pairs("are/is")
VERBS = ANIMATE_VERBS | THING_VERBS | BE
PLURAL_VERBS, SINGULAR_VERBS = tuple(VERBS), tuple(VERBS.values())
SAT = "sat slept stood waited".split()
SAW = "saw chased found followed liked".split()

# The adjectives that a noun takes.
ADJECTIVES = [
    (ANIMALS, "furry hungry wild tame".split()),
    (PEOPLE, "kind clever young proud".split()),
    (THINGS | CONTAINERS | {"trophy": "", "suitcase": ""}, "red wooden shiny broken".split()),
    (PLACES | dict.fromkeys(["mat", *PATHS], ""), "old dark quiet pretty".split()),
]


class Frame(NamedTuple):
    """A statement about two nouns, and the adjectives by which "it" is the first or the second."""

    says: str
    adjectives: tuple[list[str], list[str]]
    nouns: tuple[list[str], list[str]]


def _frame(says: str, first: str, second: str, *nouns: list[str]) -> Frame:
    return Frame(says, (first.split(), second.split()), nouns)


FRAMES = [
    _frame(
        "did not fit in {} because it was too",
        *("big large long tall", "small little tiny short"),
        *([*THINGS, "trophy"], [*CONTAINERS, "suitcase"]),
    ),
    _frame(
        "did not cross {} because it was too",
        *("tired weak slow ill", "wide deep busy long"),
        *([*ANIMALS], PATHS),
    ),
    _frame(
        "did not climb {} because it was too",
        *("tired weak slow ill", "high steep tall"),
        *([*ANIMALS], ["tree", "wall", "chair", "table", "house"]),
    ),
    _frame(
        "broke {} because it was too",
        *("heavy hard fast", "thin weak"),
        *([*THINGS, "trophy"], ["window", "lamp", "cup", "chair", "door", "toy", "box"]),
    ),
    _frame(
        "sat on {} because it was",
        *("tired sleepy cold", "soft warm dry"),
        *([*ANIMALS], ["mat", "chair", "box", "wall", "table", "stone"]),
    ),
]

# The two senses of "bank": the words that decide each, and its predicates.
BANKS = {
    "river": ("boat fish duck swimmer".split(), "muddy wet sandy green".split()),
    "money": ("money clerk coin loan".split(), "closed open safe modern".split()),
}

NEAR = "near behind under".split()
OPENERS = ["today", "now"]
OFTEN = ["often", "always"]
FUNCTION = "the that it was too because did not fit cross climb broke in on at there .".split()

# Never in a training sentence with a distractor or with "it": see sentences.py.
HELD_OUT = frozenset("horse doctor lamp basket bridge chair rest".split())


def _vocabulary() -> tuple[str, ...]:
    words = [PAD, MASK, *FUNCTION, *NEAR, *OPENERS, *OFTEN]
    words += [word for pair in (NOUNS | VERBS).items() for word in pair] + ONLY_SINGULAR
    words += SAT + SAW + [word for _, adjectives in ADJECTIVES for word in adjectives]
    words += [word for frame in FRAMES for half in frame.adjectives for word in half]
    for clues, adjectives in BANKS.values():
        words += clues + adjectives
    return tuple(dict.fromkeys(words))


VOCABULARY = _vocabulary()
INDEX = {word: number for number, word in enumerate(VOCABULARY)}


def split(text: str) -> list[str]:
    """Split a text into words and marks: "The cat didn't." -> the, cat, did, not, full stop."""
    text = re.sub(r"(?<=[a-z])n[’']t\b", " not", text.lower())
    return re.findall(r"\[(?:mask|pad)\]|[^\W_]+|[^\w\s]", text)
