"""models/positions: the task is what it says, training learns it, its scores are found again."""

import json

import pytest
import torch

from course.payloads.moved_pair import head_that_looks_back, pair_scores
from models.positions import further, train
from models.positions.task import BACK, KINDS, LENGTH, LETTERS, LONGEST, QUESTIONS, examples
from positions import Rotary

SCORES = json.loads(train.SCORES.read_text())


def test_answers_by_a_loop_over_places():
    signs, answers = examples(20, 40, torch.Generator().manual_seed(0))
    for row in range(20):
        letter = None
        for position, sign in enumerate(signs[row].tolist()):
            letter = position if sign < LETTERS else letter
            back, last = (answers[name] for name in QUESTIONS)
            assert back.asked[row, position] == (position >= BACK)
            if position >= BACK:
                assert back.signs[row, position] == signs[row, position - BACK]
            near = letter is not None and position - letter < LENGTH
            assert last.asked[row, position] == near
            if near:
                assert last.signs[row, position] == signs[row, letter]


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_model_s_scores_are_found_again(kind):
    scores = train.by_position([train.load(kind)])
    for name in QUESTIONS:
        want = torch.tensor(SCORES["right"][kind][name][0])
        torch.testing.assert_close(torch.tensor(scores[name][0]), want, atol=0.01, rtol=0)


@pytest.mark.parametrize("kind", ["none", "relative", "rotary", "alibi"])
def test_rows_that_start_elsewhere_are_the_same_to_models_of_distance(kind):
    model = train.load(kind)
    signs, _ = examples(10, LENGTH, torch.Generator().manual_seed(1))
    with torch.no_grad():
        here, there = model(signs), model(signs, 40)
    for name in QUESTIONS:
        torch.testing.assert_close(here[name], there[name], atol=1e-3, rtol=1e-3)


@pytest.mark.slow
def test_two_thirds_of_a_training_learn_what_rotary_learned(tmp_path, monkeypatch):
    monkeypatch.setattr(train, "STEPS", 400)
    run = train.Run(tmp_path, lambda *_: None)
    model = run.model("rotary", 0, SCORES["rate"]["rotary"])
    for name in QUESTIONS:
        assert train.right(model, LENGTH)[name].nanmean() > 0.95


@pytest.mark.slow
def test_a_hand_of_225_degrees_falls_and_is_mended_by_holding_it():
    scores = further.score_hand_2(15, 0, SCORES["rate"]["rotary"])
    assert min(scores["as trained"].values()) > 0.97
    assert scores["longer"]["back"] < 0.2 < 0.8 < scores["hand 2 held"]["back"]
    assert scores["hand 3 held"]["back"] < 0.2


def test_the_hand_of_a_larger_base_makes_its_cliff():
    for seed in further.BASES[500_000.0]:
        scores = json.loads(further.FURTHER.read_text())[f"base 500000, seed {seed}"]
        assert scores["rows of 128"][-1] < 0.1 < 0.95 < scores["hand 2 held"]["back"]


@pytest.mark.parametrize("kind", KINDS)
def test_pair_scores_are_those_of_the_layer(kind):
    """The weights of a row with those two signs are the softmax of these scores."""
    model, query, key, position = train.load(kind), LETTERS + 7, 2, 9
    head = head_that_looks_back(model)
    scores = pair_scores(model, query, key, head, LENGTH)
    signs = torch.full((1, position + 1), key)
    signs[0, position] = query
    with torch.no_grad():
        layer = model.layers[0]
        options = layer.options(torch.arange(position + 1))
        x = layer.norm(model.embed(signs))
        _, weights = layer.attention(x, return_attention=True, **options)
    own = pair_scores(model, query, query, head, LENGTH)[position, position]
    row = torch.cat((scores[position, :position], own[None])).softmax(-1)
    torch.testing.assert_close(weights[0, head, position], row, atol=1e-5, rtol=1e-4)


def test_stretched_angles_are_the_papers():
    model = train.load("rotary")
    slow, size = train.BEYOND["NTK-aware"]["base"], train.HEAD
    before, slowest = (base ** (-(size - 2) / size) for base in (10000.0, slow))
    assert slowest == pytest.approx(before * LENGTH / LONGEST)
    heads = torch.randn(5, size)
    stretched = train.stretched(model, train.BEYOND["NTK-aware"])
    for some, base in ((model, 10000), (stretched, slow)):
        for layer in some.layers:
            turn = Rotary(size, base=base)
            torch.testing.assert_close(layer.attention.rotary(heads), turn(heads))
