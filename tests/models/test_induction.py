"""The induction models: their data, their scores, and that their weights have those scores."""

from functools import cache
from math import log
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from models.induction import card, train
from models.induction.scores import PERIOD, held_out, score
from models.induction.sequences import LENGTH, PERIODS, VOCABULARY, sequences
from models.transformer import Run
from models.weights import load
from tests.models.small import assert_all_near
from tests.scores import scores_of

HERE = Path(train.__file__).parent


@cache
def history(name, seed):
    return scores_of("induction", name)["seeds"][seed]["history"]


def test_sequences_repeat_different_tokens_from_end_to_end():
    periods = set()
    for row in sequences(200).tolist():
        period = next(p for p in PERIODS if row[p:] == row[:-p])
        assert len(set(row[:period])) == period
        periods.add(period)
    assert periods == set(PERIODS)
    assert torch.equal(held_out()[:, :PERIOD], held_out()[:, PERIOD:])


class Ideal:
    """Looks back one token, then to what came after; knows what repeats and guesses the rest."""

    def __call__(self, tokens, off=()):
        at = torch.arange(LENGTH)
        previous = F.one_hot((at - 1).clamp(min=0), LENGTH).float()
        after_the_same = F.one_hot((at - PERIOD + 1).clamp(min=0), LENGTH).float()
        knows = (at >= PERIOD)[:, None] & (not off)
        logits = 100.0 * F.one_hot(tokens.roll(-1, 1), len(VOCABULARY)) * knows
        maps = [w.expand(len(tokens), 1, -1, -1) for w in (previous, after_the_same)]
        return Run(logits, maps, [])


def test_scores_of_a_model_that_does_it_all():
    scores = score(Ideal())
    assert scores["first_loss"] == pytest.approx(log(32), abs=1e-4)
    assert scores["repeated_loss"] == pytest.approx(0, abs=1e-4)
    first, second = scores["heads"]
    assert (first["layer"], first["head"], second["layer"], second["head"]) == (0, 0, 1, 0)
    assert (first["previous"], first["induction"]) == (1, 0)
    assert second["induction"] == 1
    assert second["previous"] == pytest.approx(1 / (PERIOD - 1), abs=1e-4)  # of token 1, by chance
    assert first["repeated_loss_off"] == pytest.approx(log(32), abs=1e-4)


@pytest.mark.parametrize("kind", ["previous", "induction"])
@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_the_named_heads_are_where_they_should_be_and_matter(seed, kind):
    scores = history("two-layers", seed)[-1]
    head = card.named_heads(scores)[kind]
    assert head["layer"] == ["previous", "induction"].index(kind)
    assert head[kind] >= {"previous": 0.4, "induction": 0.8}[kind]
    assert head["repeated_loss_off"] >= 5 * scores["repeated_loss"]


@pytest.mark.parametrize("file", sorted((HERE / "weights").iterdir()), ids=lambda file: file.stem)
def test_committed_weights_have_the_committed_scores(file):
    name, step = file.stem.rsplit("-", 1)
    points = history(name, str(train.SHIPPED))
    (want,) = (point for point in points if point["step"] == int(step))
    got = score(load(file))
    assert_all_near(got, {key: want[key] for key in got}, 1e-3)
