"""models/heads: the task is what it says, training learns it, and its scores are found again."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from models.heads import train
from models.heads.task import LENGTH, QUESTIONS, Recall, examples

SCORES = json.loads(train.SCORES.read_text())


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_the_words_so_far_back(name):
    back = QUESTIONS[name]
    words, answers = examples(7, back, torch.Generator().manual_seed(0))
    start = max(back)
    assert answers.shape == (7, LENGTH - start, len(back))
    assert len(back) == int(name)
    for token in range(start, LENGTH):
        for question, distance in enumerate(back):
            assert torch.equal(answers[:, token - start, question], words[:, token - distance])


@cache
def trained(num_heads, mlp=False):
    """Train for two questions from seed 0; return the model and its losses."""
    losses = []
    with TemporaryDirectory() as folder:
        model = train.train_one(
            QUESTIONS["2"], 0, train.STEPS, Path(folder) / "m.pt",
            lambda *report: losses.append(report[-1]), num_heads=num_heads, mlp=mlp,
        )  # fmt: skip
    return model, losses


@pytest.mark.parametrize("heads", [1, 2])
def test_a_seed_s_score_is_found_again(heads):
    model, losses = trained(heads)
    assert losses[-1] < 0.8 * losses[0]
    # Other processors round otherwise, so the score is near, not equal.
    committed = SCORES["accuracy"]["2"][str(heads)][0]
    assert train.score(model, QUESTIONS["2"]) == pytest.approx(committed, abs=0.1)


@pytest.mark.slow
def test_one_head_with_an_mlp_answers_two_questions_in_as_many_steps():
    assert train.score(trained(1, mlp=True)[0], QUESTIONS["2"]) > 0.9


def test_by_position_no_word_has_a_say_in_the_weights():
    torch.manual_seed(0)
    model = Recall(1, 2, by_position=True)
    words, _ = examples(5, [1, 3], torch.Generator().manual_seed(0))
    with torch.no_grad():
        x = model.word(words) + model.position.weight
        query, key, _ = model.attention.project(model.position.weight[None])
        weights = (query @ key.mT / model.attention.head_dim**0.5).softmax(-1)  # (1, 1, L, L)
        want = model.attention.merge(weights @ model.attention.project(x)[2], x)
        torch.testing.assert_close(model._attend_by_position(x), want)


def test_a_model_that_guesses_scores_by_chance():
    torch.manual_seed(0)
    assert train.score(Recall(2, 2), QUESTIONS["2"]) < 0.05


def test_one_seed_s_looks_are_found_again():
    got = torch.tensor(train.looks(trained(2)[0], QUESTIONS["2"]))
    want = torch.tensor(SCORES["weights"]["2 heads"][0])
    torch.testing.assert_close(got, want, atol=0.1, rtol=0)
