"""The porters: texts whose answers are known, shipped scores found again, and what they keep."""

import itertools
import json

import pytest
import torch

from models.beyond import train
from models.beyond.chosen import ChosenAttention
from models.beyond.task import (
    BUDGET,
    COFFEE,
    COUNTS,
    DRINKERS,
    MANY,
    OWES,
    PAY,
    ROOM,
    STACKS,
    TAB,
    TASKS,
    UNDIVIDED,
    Layer,
    Porter,
    numbers_kept,
    texts,
)
from tests.scores import scores_of

SCORES = scores_of("beyond")
SHIPPED = [(task, name) for task in train.SHIPPED for name in train.JOBS[task]]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("guests", [*COUNTS, MANY])
def test_answers_are_what_a_porter_with_a_pencil_would_say(task, guests):
    text = texts(task, guests, 20, torch.Generator().manual_seed(1))
    for row in zip(*text, strict=True):
        book, tab, rooms, owed = {}, dict.fromkeys(range(DRINKERS), 0), 0, 0
        for guest, word, answer in zip(*(part.tolist() for part in row), strict=True):
            if word == PAY:
                tab = dict.fromkeys(tab, 0)
            elif word == COFFEE:
                tab[guest] += 1
            elif word == OWES:
                owed += 1
                assert answer == tab[guest]
            elif word == ROOM:
                rooms += 1
                assert answer == book[guest]
            else:
                book[guest] = word
            assert word in (OWES, ROOM) or answer < 0
        has_book = task in ("moves", "crowd", "both")
        assert rooms == (min(guests, 16) if has_book else 0)
        assert owed == DRINKERS * TAB.get(task, (0, 0))[0]
        assert len(book) == (guests if has_book else 0)


@pytest.mark.parametrize(("task", "name"), SHIPPED)
def test_shipped_scores_are_found_again(task, name):
    model, want = train.load(task, name), SCORES[task][name]
    assert train.scores_of(model, task) == pytest.approx(want["right"][0], abs=0.003)
    assert want["parameters"] == sum(p.numel() for p in model.parameters())
    if "alone" in want:
        assert train.alone(model) == pytest.approx(want["alone"][0], abs=0.003)
    if "held open" in want:
        opened = train.scores_of(train.held(model, PAY, keep=1.0), task)
        assert opened == pytest.approx(want["held open"][0], abs=0.003)


def test_a_question_alone_stands_after_all_notes_and_no_other_question():
    asked = list(train.one_asked(4))
    whole = train.unseen_texts("moves", 4)
    assert len(asked) == 4
    for i, text in enumerate(asked):
        assert text.words.shape == (train.TESTS, 9)
        assert (text.words == ROOM).sum(1).eq(1).all()
        for part, long in zip(text, whole, strict=True):
            assert part[:, :8].equal(long[:, :8])
            assert part[:, -1].equal(long[:, 8 + i])


@pytest.mark.slow
@pytest.mark.parametrize(("task", "kind"), [("tab", "softmax"), ("coffees", "adds")])
def test_a_layer_is_trained_again(task, kind, tmp_path):
    want = SCORES[task][kind]
    run = train.Run(tmp_path, task, [kind])
    [model] = run.models(train.best(want["tuned"]), [1])
    assert train.scores_of(model, task) == pytest.approx(want["right"][1], abs=0.02)


def test_what_is_kept_is_counted():
    x = torch.randn(1, 2 * COUNTS[-1], 32)
    for kind in set(train.JOBS["moves"]) - set(STACKS):
        layer = Layer(kind).mixer
        if kind in ("softmax", "chosen"):
            count = sum(part.numel() for part in layer.project(x)[1:])
        else:
            count = 2 * 32 * BUDGET if kind == "window" else layer.new_state(x).table.numel()
        assert SCORES["moves"][kind]["kept"] == count
    notes_and_tab = 2 * MANY + DRINKERS * (6 + 1) + 2  # coffees, questions, payments
    for name in train.JOBS["both"]:
        assert SCORES["both"][name]["kept"] == numbers_kept(STACKS[name], notes_and_tab)
    assert numbers_kept(["mlp"], 10) == 0
    assert Porter(["mlp"])(texts("tab", 0, 2)).shape == (2, 66, 16)


def test_an_undivided_layer_is_softmax_without_its_division():
    torch.manual_seed(0)
    layer, x = Layer(UNDIVIDED), torch.randn(2, 9, 32)
    x = layer.norm(x)
    query, key, value = layer.mixer.project(x)
    mixed = torch.zeros_like(query)
    for b, h, i in itertools.product(range(2), range(2), range(9)):
        for j in range(i + 1):
            score = query[b, h, i] @ key[b, h, j] / 4 - layer.slopes[h, 0, 0] * (i - j)
            mixed[b, h, i] += score.clamp(max=4).exp() / 8 * value[b, h, j]
    expected = layer.mixer.out_proj(mixed.transpose(1, 2).flatten(2))
    place = torch.arange(9)
    bias = -layer.slopes * (place - place[:, None]).abs()
    torch.testing.assert_close(layer._weighted_sum(x, bias), expected)


def test_a_layer_that_chooses_sees_so_many_tokens_and_no_later_one():
    torch.manual_seed(0)
    layer = ChosenAttention(32, 2, num_chosen=3).eval()
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


def test_a_second_training_varies_as_much_as_is_told():
    again = json.loads((train.FOLDER / "again.json").read_text())
    rooms = sorted(right[0] for right in again["softmax, table"])
    assert rooms[0] < 0.1 < 0.95 < rooms[1]
    assert min(rooms for rooms, _ in again["two tables, longer"]) > 0.6
