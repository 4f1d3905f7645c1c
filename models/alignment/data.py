"""Generate two translation tasks of known alignment: reversed letters, English-French phrases.

Every example says which source word each target word comes from, so that the model's attention can
be scored. French phrases may be longer than English ones. Nothing is downloaded: the grammar below
makes every phrase.
"""

import random
from typing import NamedTuple

PAD, START, END = "[pad]", "[start]", "[end]"
LETTERS, LENGTH = "abcdefgh", 8

# English: (masculine, feminine). All plural, so that only adjectives change with the noun.
DETERMINERS = {"the": "les", "my": "mes", "our": "nos", "your": "vos", "these": "ces"}
NUMBERS = {"two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "ten": "dix"}
ADJECTIVES = {
    "red": ("rouges", "rouges"), "black": ("noirs", "noires"), "white": ("blancs", "blanches"),
    "green": ("verts", "vertes"), "heavy": ("lourds", "lourdes"), "slow": ("lents", "lentes"),
}  # fmt: skip
ANIMALS = {
    "dogs": ("chiens", 0), "cats": ("chats", 0), "pigs": ("cochons", 0),
    "cows": ("vaches", 1), "mice": ("souris", 1), "hens": ("poules", 1),
}  # fmt: skip
THINGS = {
    "books": ("livres", 0), "gardens": ("jardins", 0), "boats": ("bateaux", 0),
    "cars": ("voitures", 1), "houses": ("maisons", 1), "flowers": ("fleurs", 1),
    "horseshoes": ("fers à cheval", 0), "potatoes": ("pommes de terre", 1),
}  # fmt: skip
NOUNS = ANIMALS | THINGS
VERBS = {"see": "voient", "find": "trouvent", "want": "veulent", "draw": "dessinent"}
LINKS = VERBS | {"behind": "derrière", "with": "avec"}
NOT = "don't"  # "don't see": "ne voient pas"
KINDS = {
    "determiner": DETERMINERS, "number": NUMBERS, "adjective": ADJECTIVES, "noun": NOUNS,
    "link": LINKS, "not": [NOT],
}  # fmt: skip


class Example(NamedTuple):
    source: list[str]
    target: list[str]
    alignment: list[int]  # index of the source word of each target word


def kind(word: str) -> str:
    """Return an English word's kind: determiner, number, adjective, noun, link, not or end."""
    return next((name for name, words in KINDS.items() if word in words), "end")


def examples(
    task: str, draw: random.Random, count: int, *, held_out: bool = False
) -> list[Example]:
    """Make ``count`` examples of "reversal" or "phrases"; ``held_out`` ones are never trained on.

    Eight letters have 16 million orders, so those of another seed are new.
    """
    if task == "reversal":
        return [reversal(draw) for _ in range(count)]
    return [phrase(draw, held_out=held_out) for _ in range(count)]


def reversal(draw: random.Random) -> Example:
    source = draw.choices(LETTERS, k=LENGTH)
    return Example(source, source[::-1], list(range(LENGTH))[::-1])


def is_held_out(adjective: str, noun: str) -> bool:
    """True for the pairs that training never shows: one in six; each word is in other pairs."""
    return (list(ADJECTIVES).index(adjective) + list(NOUNS).index(noun)) % 6 == 0


def phrase(draw: random.Random, *, held_out: bool = False) -> Example:
    """Make one noun phrase, or two and a verb or preposition; ``held_out``: with an unseen pair."""
    while True:
        if draw.random() < 0.25:
            parts = [_noun_phrase(draw, NOUNS)]
        else:
            parts = [_noun_phrase(draw, ANIMALS), _link(draw), _noun_phrase(draw, NOUNS)]
        if any(unseen for *_, unseen in parts) == held_out:
            return _joined([*parts, ([END], [END], [0], False)])


_Part = tuple[list[str], list[str], list[int], bool]  # English, French, alignment, held out


def _link(draw: random.Random) -> _Part:
    """Make a verb or preposition; "don't" before a verb is two words around it in French."""
    link = draw.choice(list(LINKS))
    if link in VERBS and draw.random() < 0.4:
        return [NOT, link], ["ne", VERBS[link], "pas"], [0, 1, 0], False
    return [link], [LINKS[link]], [0], False


def _noun_phrase(draw: random.Random, nouns: dict[str, tuple[str, int]]) -> _Part:
    """Make a noun phrase: the adjective precedes its noun in English and follows it in French.

    Two nouns are three words in French.
    """
    determiner, noun = draw.choice(list(DETERMINERS)), draw.choice(list(nouns))
    number = draw.choice(list(NUMBERS)) if draw.random() < 0.4 else None
    adjective = draw.choice(list(ADJECTIVES)) if draw.random() < 0.6 else None
    english = [word for word in (determiner, number, adjective, noun) if word]
    order = [word for word in (determiner, number, noun, adjective) if word]
    name, gender = nouns[noun]
    words = DETERMINERS | NUMBERS | {noun: name}
    if adjective:
        words[adjective] = ADJECTIVES[adjective][gender]
    pairs = [(french, english.index(word)) for word in order for french in words[word].split()]
    french, alignment = ([*column] for column in zip(*pairs, strict=True))
    return english, french, alignment, adjective is not None and is_held_out(adjective, noun)


def _joined(parts: list[_Part]) -> Example:
    source, target, alignment = [], [], []
    for english, french, indices, _ in parts:
        alignment += [len(source) + index for index in indices]
        source, target = source + english, target + french
    return Example(source, target, alignment)


def _french() -> list[str]:
    forms = [form for both in ADJECTIVES.values() for form in both]
    names = [name for name, _ in NOUNS.values()]
    names = [word for name in names for word in name.split()]
    words = [*DETERMINERS.values(), *NUMBERS.values(), *forms, *names, *LINKS.values(), "ne", "pas"]
    return list(dict.fromkeys(words))  # "rouges" has one form for both


SOURCES = {
    "reversal": [PAD, *LETTERS],
    "phrases": [PAD, END, *(word for words in KINDS.values() for word in words)],
}
TARGETS = {"reversal": [PAD, START, *LETTERS], "phrases": [PAD, START, END, *_french()]}
