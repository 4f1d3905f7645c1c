"""models/heads: the task is what it says, training learns it, and its scores are found again."""

import json

import pytest
import torch

from models.heads import train
from models.heads.task import HEADS, LENGTH, QUESTIONS, Recall, examples

SCORES = json.loads(train.SCORES.read_text())


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_the_words_so_far_back(name):
    back = QUESTIONS[name]
    words, answers = examples(7, back, torch.Generator().manual_seed(0))
    start = max(back)
    assert answers.shape == (7, LENGTH - start, len(back))
    assert len(back) == int(name)
    for place in range(start, LENGTH):
        for question, distance in enumerate(back):
            assert torch.equal(answers[:, place - start, question], words[:, place - distance])


@pytest.mark.parametrize("name", QUESTIONS)
def test_all_models_of_a_task_have_as_many_parameters(name):
    counts = {
        sum(p.numel() for p in Recall(heads, len(QUESTIONS[name])).parameters()) for heads in HEADS
    }
    assert counts == {SCORES["parameters"][name]}


@pytest.mark.parametrize(("name", "heads"), [("2", 1), ("2", 2)])
def test_a_seed_s_score_is_found_again(tmp_path, name, heads):
    losses = []
    model = train.train_one(
        heads, QUESTIONS[name], 0, tmp_path / "m.pt", lambda *told: losses.append(told[-1])
    )
    assert losses[-1] < 0.8 * losses[0]
    # Other processors round otherwise, so the score is near, not equal.
    committed = SCORES["accuracy"][name][str(heads)][0]
    assert train.score(model, QUESTIONS[name]) == pytest.approx(committed, abs=0.1)


def test_a_model_that_guesses_scores_by_chance():
    torch.manual_seed(0)
    assert train.score(Recall(2, 2), QUESTIONS["2"]) < 0.05


def test_scores_are_complete():
    assert SCORES["accuracy"].keys() == QUESTIONS.keys()
    for by_heads in SCORES["accuracy"].values():
        assert list(by_heads) == [str(n) for n in HEADS]
        assert all(len(shares) == len(SCORES["seeds"]) == 5 for shares in by_heads.values())
