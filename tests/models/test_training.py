"""The training loop repeats and resumes exactly, and each recipe's short training learns."""

from functools import cache

import pytest
import torch
import torch.nn.functional as F

from models.alignment import train as alignment
from models.grammar import train as grammar
from models.grammar.scores import to_tensors
from models.grammar.sentences import sentences
from models.induction import train as induction
from models.storyteller.muon import Muon
from models.training import fit
from tests.models.small import small

TOKENS = torch.randint(7, (500,), generator=torch.Generator().manual_seed(0))
RATES = {"rate": 1e-3, "decay": 0.1}


def muon(model):
    return Muon(model, matrix_rate=0.02, **RATES)


def train(saved, optimizer=None, *, steps=6, stop=None):
    """Return the parameters, and the numbers of the steps that were taken."""
    model, numbers = small(is_causal=True, positions="rotary", mlp_dim=16), []

    def loss():
        rows = TOKENS[torch.randint(len(TOKENS) - 9, (4, 1)) + torch.arange(9)]
        logits = model(rows[:, :-1]).logits
        return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())

    def after(step, _):
        numbers.append(step)
        if step == stop:
            raise KeyboardInterrupt

    stepper = optimizer and optimizer(model)
    fit(model, loss, steps=steps, saved=saved, after=after, optimizer=stepper, **RATES)
    return list(model.parameters()), numbers


@pytest.mark.parametrize("optimizer", [None, muon], ids=["AdamW", "Muon"])
def test_an_interrupted_training_ends_as_one_that_was_not(tmp_path, monkeypatch, optimizer):
    whole, _ = train(tmp_path / "whole.pt", optimizer)
    monkeypatch.setattr("models.training.SAVE_EVERY", -1.0)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "half.pt", optimizer, stop=4)
    rest, numbers = train(tmp_path / "half.pt", optimizer)
    assert numbers == [4, 5, 6]  # the fourth was interrupted before it was saved
    assert all(torch.equal(one, other) for one, other in zip(whole, rest, strict=True))


def test_other_settings_start_afresh(tmp_path):
    train(tmp_path / "one.pt", steps=3)
    assert train(tmp_path / "one.pt", steps=4)[1] == [1, 2, 3, 4]


# ---- Recipes ------------------------------------------------------------------------------------


@cache
def few_sentences():
    return to_tensors(list(sentences(0, 2000)))


def of_grammar(name):
    return lambda seed, folder, after, steps: grammar.train_one(
        name, seed, few_sentences(), folder / "model.pt", after, steps
    )


RECIPES = {  # how to train, and after how many steps the loss is which share of the first ones
    "alignment": (
        lambda seed, folder, after, steps: alignment.train_one(
            "reversal", seed, folder / "model.pt", after, steps=steps
        ),
        60,
        0.97,
    ),
    "induction": (
        lambda seed, folder, after, steps: induction.train_one(
            "two-layers", seed, folder, after, steps=steps
        ),
        30,
        0.87,
    ),
    "grammar, masked": (of_grammar("masked"), 100, 0.85),
    "grammar, causal": (of_grammar("causal"), 40, 0.85),
    "grammar, masked-standard": (of_grammar("masked-standard"), 40, 0.85),
}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_short_training_lowers_the_loss_and_its_seed_decides(tmp_path, recipe):
    run, steps, share = RECIPES[recipe]

    def losses(seed, steps, folder):
        values = []
        (tmp_path / folder).mkdir()
        run(seed, tmp_path / folder, lambda *report: values.append(report[-1]), steps)
        return values

    long = losses(0, steps, "long")
    assert len(long) == steps
    assert sum(long[-5:]) < share * sum(long[:5])
    few = losses(0, 3, "short")
    assert few == losses(0, 3, "again")
    assert few != losses(1, 3, "another seed")
