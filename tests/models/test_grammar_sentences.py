"""What the generator says of a sentence, against sentences whose truth was written by hand."""

import re
from random import Random

import pytest

from models.grammar import scores
from models.grammar import sentences as grammar
from models.grammar.sentences import (
    MAX_LEN,
    agreement,
    bank,
    is_held_out_pair,
    it_sentence,
    lone_it,
    pairs_of,
    plain,
    sentences,
)
from models.grammar.words import HELD_OUT, NOUNS, PEOPLE, VOCABULARY, split
from tests.conftest import ROOT

ODD_PLURALS = {"men", "women", "children", "mice"}
# Each word that something is true of is marked: *subject* *verb*, _it_ _what it stands for_,
# +adjective+ +noun+ for what is said beside it or after "is", =clue= =bank= =what is said=.
BY_HAND = """
the *key* near the houses *shines*
the *boys* behind the fox *sleep*
the fox saw the key
the _cat_ sat on the mat because _it_ was tired
the cat sat on the _mat_ because _it_ was warm
the _animal_ did not cross the street because _it_ was too tired
the animal did not cross the _street_ because _it_ was too wide
the _trophy_ did not fit in the suitcase because _it_ was too big
the trophy did not fit in the _suitcase_ because _it_ was too small
the ball broke the _window_ because _it_ was too thin
the girl liked the _horse_ because _it_ was tired
the man saw the =boat= at the =bank= . the bank was =wet=
at the =bank= the man found the =money= . the bank was =closed=
"""


def spots(line, mark):
    return [i for i, word in enumerate(line.split()) if word.startswith(mark)]


@pytest.fixture(scope="module")
def generated():
    """Sentences by their words; of few words, so that those written by hand are among them."""
    rng, texts = Random(5), []
    with pytest.MonkeyPatch.context() as few:
        few.setattr(grammar, "BEINGS", {"boy": "boys", "fox": "foxes"})
        few.setattr(grammar, "THINGS", {"key": "keys"})
        few.setattr(grammar, "CONTAINERS", {})
        few.setattr(grammar, "PLACES", {"house": "houses"})
        few.setattr(grammar, "NOUNS", {one: NOUNS[one] for one in ("boy", "fox", "key", "house")})
        few.setattr(grammar, "PEOPLE", {"girl": "girls", "man": "men"})
        few.setattr(grammar, "SAW", ["saw", "found", "liked"])
        few.setattr(grammar, "is_held_out_pair", lambda *_: False)
        texts += [agreement(rng, distractors=1) for _ in range(40_000)]
        texts += [make(rng) for make in (plain, lone_it, bank) for _ in range(10_000)]
    texts += [
        it_sentence(rng, held, answer=False) for held in (None, "pairs") for _ in range(15_000)
    ]
    return {str(one).removesuffix(" ."): one for one in texts}


@pytest.mark.parametrize("line", BY_HAND.strip().splitlines())
def test_the_truth_of_a_sentence_is_what_a_reader_would_say(generated, line):
    sentence = generated["".join(c for c in line if c not in "*_+=")]
    links = dict.fromkeys(("verb", "it", "bank", "sense"))
    links |= {name: (start, end) for name, start, end in sentence.links}
    if subject := spots(line, "*"):
        assert links["verb"] == (subject[1], subject[0])
    if it := spots(line, "_"):
        assert links["it"] == (it[1], it[0])
    if clue := spots(line, "="):
        *both, sense = clue
        assert links["bank"] in (tuple(both), tuple(reversed(both)))
        assert sentence.words[links["bank"][0]] == "bank"
        assert links["sense"] == (sense, links["bank"][1])
    marked = (subject and "verb", it and "it", clue and "bank", clue and "sense")
    assert {name for name in links if links[name]} == {name for name in marked if name}


def is_plural(noun):
    return noun in ODD_PLURALS or noun.endswith("s")


def test_verbs_agree_and_adjectives_stand_by_their_nouns():
    for sentence in sentences(7, 3000):
        assert len(sentence.words) <= MAX_LEN
        assert set(sentence.words) <= set(VOCABULARY)
        for relation, start, end in sentence.links:
            word, other = sentence.words[start], sentence.words[end]
            if relation == "verb":
                assert word in sentence.right[start]
                assert (word == "are" or not word.endswith("s")) == is_plural(other)
            if relation == "adjective":
                assert (start + 1, sentence.words[start - 1]) == (end, "the")
            if relation == "predicate":
                assert sentence.words[start - 1] in ("is", "are")
        for position, right in sentence.right.items():
            assert sentence.words[position] in right


LEMMAS = {form: one for one, many in NOUNS.items() for form in (one, many)}
LEMMAS |= {word: word for word in ["trophy", "suitcase", "mat", "street", "road", "river"]}
LEMMAS |= {"field": "field", "bridge": "bridge", "rests": "rest", "rest": "rest"}


def rivals(text):
    """The words that compete: nouns up to the verb, or those that "it" could stand for."""
    if text.kind == "agreement":
        words = text.words[: text.link("verb")[0] + 1]
        first = LEMMAS[text.words[text.link("verb")[1]]]
    else:
        words = [w for w in text.words[: text.words.index("it")] if LEMMAS.get(w) not in PEOPLE]
        first = None
    lemmas = [LEMMAS[word] for word in words if word in LEMMAS]
    nouns = [word for word in lemmas if word != "rest"]
    if first:
        nouns.remove(first)
        nouns.insert(0, first)
    return lemmas, [(nouns[0], noun) for noun in nouns[1:]]


def test_training_never_has_what_is_held_out():
    compared = 0
    for sentence in sentences(8, 20_000):
        if sentence.kind in ("agreement", "it"):
            words, pairs = rivals(sentence)
            if pairs:
                compared += 1
                assert not HELD_OUT & set(words), sentence
                assert not any(is_held_out_pair(*pair) for pair in pairs), sentence
    assert compared > 10_000


@pytest.mark.parametrize("kind", ["words", "pairs"])
def test_what_is_held_out_is_in_every_test_sentence(kind):
    rng = Random(9)
    texts = [agreement(rng, kind, distractors) for distractors in (1, 2) for _ in range(300)]
    texts += [it_sentence(rng, kind) for _ in range(300)]
    for one in texts:
        words, pairs = rivals(one)
        assert bool(HELD_OUT & set(words)) == (kind == "words"), one
        assert kind == "words" or any(is_held_out_pair(*pair) for pair in pairs), one


def test_distractors_of_the_test_have_the_other_number():
    rng = Random(10)
    for _ in range(500):
        sentence = agreement(rng, "pairs", 2)
        verb, subject = sentence.link("verb")
        nouns = [word for word in sentence.words[:verb] if word in LEMMAS]
        numbers = {word: is_plural(word) for word in nouns if word != sentence.words[subject]}
        assert set(numbers.values()) == {not is_plural(sentence.words[subject])}, sentence


def test_a_minimal_pair_differs_in_what_decides_alone():
    rng = Random(11)
    for _ in range(300):
        first, second = pairs_of(it_sentence, rng, ({"means": 0}, {"means": 1}), answer=False)
        words = zip(first.words, second.words, strict=True)
        apart = [i for i, (one, other) in enumerate(words) if one != other]
        assert [first.words[i - 1] in ("was", "too") for i in apart] == [True]
        assert first.link("it")[0] == second.link("it")[0]
        assert first.link("it")[1] < second.link("it")[1]


def test_the_same_seed_gives_the_same_sentences():
    assert [*map(str, sentences(3, 200))] == [*map(str, sentences(3, 200))]
    assert [*map(str, sentences(3, 200))] != [*map(str, sentences(4, 200))]


def test_a_text_is_split_as_it_is_written():
    assert split("The trophy didn't fit.") == ["the", "trophy", "did", "not", "fit", "."]
    assert split("the dog [MASK] , it's") == ["the", "dog", "[mask]", ",", "it", "'", "s"]
    assert split(" \n") == []


def test_as_many_scored_sentences_stand_in_the_training_as_the_card_says():
    trained = {str(one) for one in sentences(seed=0, count=60_000)}
    held_out = [
        one
        for kinds in scores.held_out().values()
        for kind, some in kinds.items()
        if kind != "answer"
        for one in some
    ]
    draws, pair_draws = Random(scores.SEED + 2), Random(scores.SEED + 1)
    of_bank = [bank(draws) for _ in range(400)]
    pairs = [one for _ in range(400) for one in pairs_of(bank, pair_draws, scores.SENSES)]
    as_trained = list(sentences(scores.SEED + 3, 400))
    sets = of_bank + pairs, held_out + of_bank + as_trained, held_out + as_trained
    shares = [f"{sum(str(one) in trained for one in some) / len(some):.0%}" for some in sets]
    card = (ROOT / "models/grammar/card.md").read_text(encoding="utf-8")
    text = card.partition("made as in training")[2].replace(" %", "%").replace("\u202f%", "%")
    assert re.findall(r"\d+%", text)[:3] == shares
