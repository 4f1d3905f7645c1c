"""The recall models: what they can read, their printed scores, and the same trend again."""

import random

import pytest
import torch

from models.bottleneck.model import LETTERS, START, Config, Recall, decode, encode
from models.bottleneck.train import (
    BY_POSITION,
    LENGTHS,
    MODELS,
    SHIPPED,
    moves,
    score,
    shipped,
    train_one,
    untrained,
)
from tests.scores import scores_of

SCORES = scores_of("bottleneck", "recall")


@pytest.fixture(params=[True, False], ids=["attention", "without"])
def model(request):
    torch.manual_seed(0)
    return Recall(Config(8, attention=request.param)).eval()


# ---- The models ----------------------------------------------------------------------------------


def test_without_attention_only_the_last_state_is_read(model):
    state, letters = torch.randn(1, 2, 8), torch.randint(16, (2, 3))
    one, other = (model.write(letters, state, torch.randn(2, 5, 8))[0] for _ in range(2))
    assert torch.equal(one, other) == (not model.config.attention)


def test_saying_equals_being_told_where_it_is_right(model):
    """Letter by letter with its own letters, or all at once with the same letters: equal."""
    letters = torch.randint(16, (3, 7))
    answer, weights = model.say(letters)
    memory, last = model.reader(model.embedding(letters))
    before = torch.cat((torch.full((3, 1), START), answer[:, :-1]), 1)
    logits, _, at_once = model.write(before, last, memory)
    assert torch.equal(logits.argmax(-1), answer)
    torch.testing.assert_close(weights, at_once)


def test_weights_are_shares_and_lists_come_back_as_text():
    _, weights = shipped().say(encode("abcabc"))
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 6))
    text = "".join(random.Random(0).choices(LETTERS, k=20))
    assert decode(encode(text)[0]) == text
    for other in ("", "abz", "Ab", "a b"):
        with pytest.raises(ValueError, match="letters"):
            encode(other)


# ---- The scores ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_printed_moves_are_of_the_models_that_training_starts_from():
    for name in BY_POSITION:
        for seed, run in SCORES["models"][name]["seeds"].items():
            again = moves(untrained(MODELS[name][0], int(seed)))
            assert run["moves, untrained"] == pytest.approx(again, abs=2e-3)


def test_a_letter_that_is_not_kept_moves_nothing():
    """A reader that keeps nothing of the state before is moved by the last letter alone."""
    model = untrained(Config(8, attention=False), 0)
    with torch.no_grad():
        model.reader.weight_hh_l0.zero_()
        model.reader.bias_ih_l0[8:16] = -100.0  # the update gate: never keep the state before
    assert max(moves(model)[:-1]) < 1e-3
    assert 0.9 < moves(model)[-1] < 1.2


def test_who_reads_backwards_says_the_list_from_its_start():
    torch.manual_seed(0)
    forwards, backwards = (Recall(Config(8, attention=False, backwards=b)).eval() for b in (0, 1))
    backwards.load_state_dict(forwards.state_dict())
    letters = torch.randint(16, (3, 7))
    answer = forwards.say(letters)[0]
    assert torch.equal(backwards.say(letters.flip(1))[0], answer)
    assert not torch.equal(backwards.say(letters)[0], answer)


def test_the_shipped_weights_have_the_printed_scores():
    printed = SCORES["models"]["attention"]["seeds"][str(SHIPPED)]
    again = score(shipped())
    assert again["right"] == pytest.approx(printed["right"], abs=2e-3)
    assert again["looks at"] == pytest.approx(printed["looks at"], abs=2e-3)


@pytest.mark.slow
def test_a_short_training_finds_the_same_trend(tmp_path):
    """A third of the training: with attention most letters of 10 are right, without few."""
    short = {}
    for name in ("attention", "without"):
        model = train_one(MODELS[name][0], 0, 500, tmp_path / f"{name}.pt", lambda *_: None)
        short[name] = dict(zip(LENGTHS, score(model, lists=100)["right"], strict=True))
    assert short["attention"][2] > 0.95
    assert short["without"][2] > 0.9  # a short list fits through the bottleneck
    assert short["attention"][10] > 0.75
    assert short["without"][10] < 0.4
