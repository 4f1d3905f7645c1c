"""The porters: texts whose answers are known, shipped scores found again, and what they keep."""

import json

import pytest
import torch

from models.beyond import train
from models.beyond.chosen import ChosenAttention
from models.beyond.task import (
    COUNTS,
    DAYS,
    KEPT,
    KINDS,
    LEAVE,
    MANY,
    STACKS,
    TASKS,
    Layer,
    Porter,
    numbers_kept,
    texts,
)
from tests.conftest import ROOT

SCORES = json.loads((ROOT / "models/beyond/scores.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("guests", [*COUNTS, MANY])
def test_answers_are_what_a_porter_with_a_book_would_say(task, guests):
    text = texts(task, guests, 20, torch.Generator().manual_seed(1))
    questions = text.answers.shape[1]
    assert questions == min(guests, 16)
    for i in range(20):
        book = {}
        for guest, room in zip(
            text.guests[i][:-questions], text.rooms[i][:-questions], strict=True
        ):
            if int(room) == LEAVE:
                book = {}
            else:
                book[int(guest)] = int(room)
        asked = [int(guest) for guest in text.guests[i][-questions:]]
        assert len(set(asked)) == questions
        assert [book.get(guest) for guest in asked] == text.answers[i].tolist()
        assert text.asks[i].sum() == questions
        assert (text.rooms[i] == LEAVE).sum() == DAYS[task] - 1


CASES = [(task, kind) for task in TASKS for kind in train.kinds_of(task)]


@pytest.mark.parametrize(("task", "kind"), CASES)
def test_shipped_scores_are_found_again(task, kind):
    model = train.load(task, kind)
    found = [train.score(model, task, count) for count in COUNTS]
    assert found == pytest.approx(SCORES["right"][task][kind][0], abs=0.003)


def best_rate(tuned):
    return float(max(tuned, key=tuned.get))


def test_every_seed_has_a_score_and_every_kind_the_best_rate():
    seeds = len(train.SEEDS)
    assert SCORES["seeds"] == list(train.SEEDS)
    for task in TASKS:
        for kind in KINDS:
            assert len(SCORES["right"][task][kind]) == seeds
            tuned = SCORES["tuned"][task][kind]
            assert set(tuned) == {str(rate) for rate in train.RATES}
            assert SCORES["rates"][task][kind] == best_rate(tuned)
    for name in STACKS:
        assert len(SCORES["stacks"][name]) == seeds
        tuned = SCORES["stacks tuned"][name]
        best = best_rate(tuned)
        assert SCORES["stack rates"][name] == best
        assert train.RATES[0] < best < train.RATES[-1]


def test_the_smallest_stack_is_trained_again(tmp_path):
    run, name = train.Run(tmp_path, lambda *_: None), "one softmax"
    [found] = run.stack(STACKS[name], range(1), SCORES["stack rates"][name])
    assert found == pytest.approx(SCORES["stacks"][name][0], abs=0.01)


def test_what_is_kept_is_counted():
    for kind, kept in SCORES["kept"].items():
        layer = Layer(kind).mixer
        for guests, numbers in zip(COUNTS, kept, strict=True):
            x = torch.randn(1, 2 * guests, 32)
            if kind in ("softmax", "chosen"):
                assert numbers == sum(part.numel() for part in layer._project(x)[1:])
            elif kind == "window":
                assert numbers == 2 * 32 * min(KEPT, 2 * guests)
            else:
                assert numbers == layer.new_state(x).table.numel()
    for name, kinds in STACKS.items():
        assert SCORES["stacks kept"][name] == numbers_kept(kinds, 2 * MANY)
    assert SCORES["parameters"]["adds"] == sum(p.numel() for p in Porter(["adds"]).parameters())


def test_a_layer_that_chooses_sees_so_many_tokens_and_no_later_one():
    torch.manual_seed(0)
    layer = ChosenAttention(32, 2, kept=3).eval()
    x = torch.randn(1, 12, 32, requires_grad=True)
    for i in (0, 2, 11):
        [grad] = torch.autograd.grad(layer(x)[0, i].sum(), x)
        seen = (grad[0].abs().sum(1) > 1e-9).nonzero().flatten().tolist()
        index = layer.index(x)[0, i, : i + 1]
        best = index.topk(min(3, i + 1)).indices.tolist()
        assert sorted({*best, i}) == seen  # its own vector makes the query
    layer.train()
    layer(x)
    layer.index_loss.backward()
    assert layer.index_query.weight.grad.abs().max() > 0
    assert layer.qkv_proj.weight.grad is None


def test_weights_are_small():
    files = list((ROOT / "models/beyond/weights").glob("*.safetensors"))
    assert len(files) == len(CASES)
    assert sum(file.stat().st_size for file in files) < 500_000
