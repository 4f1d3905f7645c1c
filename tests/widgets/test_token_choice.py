"""m15's choice: its answers against the trained layer in PyTorch, which hides the other tokens."""

import json
from itertools import product

import pytest
import torch
import torch.nn.functional as F

from attention import scaled_dot_product_attention
from course.payloads.token_choice import BOOK, ask, book, payload
from models.beyond.task import ROOM, Text
from models.beyond.train import load
from tests.widgets.js import assert_near, module

JS = module("token-choice.js")
MODEL = load("moves", "chosen")
LOOKS = [1, 2, 3, 8, 17, 25, 26, 33]


@pytest.fixture(scope="module", autouse=True)
def published():
    JS.run("(globalThis.data = x, null)", json.loads(json.dumps(payload())))


def chosen(*states):
    """Of each (asked, by, looks)."""
    call = "x.map(([asked, by, looks]) => m.chosen(data, {asked, by, looks}))"
    return JS.run(call, states)


@torch.no_grad()
def test_answers_are_those_of_the_trained_layer():
    """By the model's own layers: which tokens are looked at, and both heads' weights."""
    guests, rooms, names = book()
    layer = MODEL.layers[0]
    for i, (guest, name) in enumerate(names.items()):
        text = Text(
            torch.tensor([[*guests, guest]]), torch.tensor([[*rooms, ROOM]]), torch.empty(0)
        )
        stream = MODEL.embed(text)
        x = layer.norm(stream)
        query, key, value = layer.mixer.project(x)
        position = torch.arange(x.shape[1])
        bias = -layer.slopes * (position - position[:, None]).abs()
        causal = position <= position[:, None]
        weights = scaled_dot_product_attention(query, key, value, causal, bias=bias)[1][0, :, -1]
        ways = {"last": position, "cheap": layer.mixer.index(x)[0, -1], "full": weights.mean(0)}
        states = [*product(ways, LOOKS)]
        for (by, looks), got in zip(states, chosen(*((i, *s) for s in states)), strict=True):
            # A note that stands there twice has the same cheap score twice; the earlier goes first.
            best = ways[by].mul(10**6).round().argsort(descending=True, stable=True)[:looks]
            seen = torch.zeros(len(position)).bool().scatter(0, best, True)
            shown = torch.where(seen.expand(len(position), -1), bias, -torch.inf)[None]
            output = F.scaled_dot_product_attention(query, key, value, shown)
            # The last row is the question's.
            scores = MODEL.answer(stream + layer.mixer.merge(output, x))[0, -1]
            anew = torch.where(seen, weights, 0)
            anew = anew / anew.sum(-1, keepdim=True)
            tokens = got["tokens"]
            assert got["who"] == name
            assert [token["isSeen"] for token in tokens] == seen.tolist()
            assert_near(got["missed"], weights.mean(0)[~seen].sum(), 2e-3)
            assert_near(got["scores"], scores, 0.05)  # of up to 20
            assert_near([token["each"] for token in tokens], weights.T, 2e-3)
            assert_near([token["anew"] for token in tokens], anew.T, 2e-3)
            assert got["scores"][got["next"]] == sorted(got["scores"])[-2]
            if scores.topk(2).values.diff().abs() > 0.1:
                assert got["says"] == scores.argmax()


def test_the_room_is_the_later_one_and_numbers_are_counted():
    guests, rooms, names = book()
    assert len(guests) == 2 * BOOK
    for i, guest in enumerate(names):
        [_, later] = [position for position, one in enumerate(guests) if one == guest]
        [got] = chosen((i, "cheap", 2))
        assert got["room"] == rooms[later]
        assert (got["multiplied"], got["everything"]) == (33 * 8 + 2 * 32, 33 * 32)
    last, full = chosen((0, "last", 7), (0, "full", 7))
    assert (last["multiplied"], full["multiplied"]) == (7 * 32, 33 * 32)


def test_who_is_no_guest_is_refused():
    with pytest.raises(ValueError, match="guest must lie in 0"):
        ask(MODEL, 64)
