"""The translators: their data, their scores found again, and what the control shows."""

import random

import pytest
import torch

from models.alignment.data import (
    ADJECTIVES,
    END,
    LINKS,
    NOT,
    NOUNS,
    NUMBERS,
    examples,
    is_held_out,
)
from models.alignment.model import trained
from models.alignment.train import scores
from tests.models.small import assert_all_near
from tests.scores import scores_of

TASKS = ["reversal", "phrases"]


def test_each_french_word_has_the_english_word_that_it_comes_from():
    for source, target, alignment in examples("phrases", random.Random(1), 200):
        assert sorted(set(alignment)) == list(range(len(source)))
        assert len(target) == len(alignment)
        stay = [at for at in alignment if source[at] not in (*ADJECTIVES, NOT)]
        assert stay == sorted(stay)
        for position, english in enumerate(source):
            at = [i for i, come_from in enumerate(alignment) if come_from == position]
            french = " ".join(target[i] for i in at)
            if english in NOUNS:
                assert french == NOUNS[english][0]
                noun, gender = NOUNS[english]
            elif english in NUMBERS or english in LINKS or english == END:
                assert french == (NUMBERS | LINKS | {END: END})[english]
            elif english == NOT:
                assert french == "ne pas"
                assert alignment[at[0] + 1] == position + 1 == alignment[at[1] - 1]
        for position, english in enumerate(source):
            if english in ADJECTIVES:
                noun, gender = NOUNS[source[position + 1]]
                [at] = [i for i, come_from in enumerate(alignment) if come_from == position]
                assert target[at] == ADJECTIVES[english][gender]
                assert target[at - len(noun.split()) : at] == noun.split()


def test_training_never_shows_what_is_held_out():
    for held_out in (False, True):
        for pair in examples("phrases", random.Random(2), 300, held_out=held_out):
            pairs = [
                is_held_out(word, noun)
                for word, noun in zip(pair.source, pair.source[1:], strict=False)
                if word in ADJECTIVES
            ]
            assert any(pairs) == held_out


def test_every_adjective_and_every_noun_is_trained():
    for adjective in ADJECTIVES:
        assert not all(is_held_out(adjective, noun) for noun in NOUNS)
    for noun in NOUNS:
        assert not all(is_held_out(adjective, noun) for adjective in ADJECTIVES)


@pytest.mark.parametrize("task", TASKS)
def test_the_shipped_scores_are_found_again(task):
    written = scores_of("alignment", task)
    got, want = scores(trained(task), task), written["seeds"][str(written["shipped"])]
    assert_all_near(got, want, 2e-3)


def test_blanks_get_no_weight_and_change_nothing():
    model = trained("phrases")
    few = sorted(examples("phrases", random.Random(5), 60), key=lambda e: len(e.source))
    short, long = few[0], few[-1]
    source, so_far, _, lengths = model.batch(
        [short.source, long.source], [short.target, long.target]
    )
    with torch.no_grad():
        _, weights = model(source, so_far, lengths)
    size = len(short.source)
    assert size < len(long.source)
    assert (weights[0, :, size:] == 0).all()
    alone = model.weights(short.source, short.target)
    torch.testing.assert_close(weights[0, : len(short.target), :size], alone)
