"""The translators: their data, their scores found again, and what the control shows."""

import json
import random

import pytest
import torch

from models.alignment.data import ADJECTIVES, END, NOUNS, NUMBERS, examples, is_held_out, kind
from models.alignment.model import Translator, trained
from models.alignment.train import HERE, SEEDS, VARIANTS, scores, train_one

TASKS = ["reversal", "phrases"]


def record(name):
    return json.loads((HERE / "scores" / f"{name}.json").read_text())


def example(source, draw=None):
    """The one phrase among many with these English words."""
    draw = random.Random(0)
    while True:
        found = examples("phrases", draw, 1, held_out=draw.random() < 0.5)[0]
        if [kind(word) for word in found.source] == source:
            return found


def test_each_french_word_has_the_english_word_that_it_comes_from():
    for source, target, alignment in examples("phrases", random.Random(1), 200):
        assert sorted(alignment) == list(range(len(source)))
        assert len(source) == len(target)
        for word, place in zip(target, alignment, strict=True):
            english = source[place]
            if english in NOUNS:
                assert word == NOUNS[english][0]
            elif english in ADJECTIVES:
                noun = target[target.index(word) - 1]
                gender = dict(NOUNS.values())[noun]
                assert word == ADJECTIVES[english][gender]
            elif english in NUMBERS or english == END:
                assert word == NUMBERS.get(english, END)


def test_adjectives_swap_and_numbers_stay():
    source = ["determiner", "number", "adjective", "noun", "end"]
    assert example(source).alignment == [0, 1, 3, 2, 4]


def test_training_never_shows_what_is_held_out():
    for held_out in (False, True):
        for found in examples("phrases", random.Random(2), 300, held_out=held_out):
            pairs = [
                is_held_out(word, noun)
                for word, noun in zip(found.source, found.source[1:], strict=False)
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
    written = record(task)
    found, want = scores(trained(task), task), written["seeds"][str(written["shipped"])]
    kinds = found.pop("aligned_by_kind", {})
    assert kinds == pytest.approx(want.pop("aligned_by_kind", {}), abs=2e-3)
    assert found == pytest.approx(want, abs=2e-3)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_seed_has_its_scores(name):
    written = record(name)
    assert list(written["seeds"]) == [str(seed) for seed in SEEDS]
    task, mixes = VARIANTS[name]
    assert written["weights"] == sum(p.numel() for p in Translator(task, mixes=mixes).parameters())


def test_what_the_lesson_says_of_the_scores():
    for task in TASKS:
        for seed in record(task)["seeds"].values():
            assert min(seed["exact"], seed["aligned"]) > 0.99
    mixed = record("phrases-mixed")["seeds"].values()
    assert min(seed["exact"] for seed in mixed) > 0.99
    assert min(seed["aligned"] for seed in mixed) < 0.7


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
    torch.testing.assert_close(weights[0, :size, :size], alone)


@pytest.mark.slow
def test_training_again_from_the_seed_learns_the_same(tmp_path):
    """A short run twice: bit for bit the same, and the loss goes down."""
    losses = []
    models = [
        train_one(
            "reversal", 0, tmp_path / f"{i}.pt", lambda *r: losses.append(r[-1]), steps=20
        )
        for i in range(2)
    ]  # fmt: skip
    first, second = (list(model.parameters()) for model in models)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert losses[19] < losses[0]
