"""m15's choice: its answers against the trained layer in PyTorch, which hides the other tokens."""

import json

import pytest
import torch
import torch.nn.functional as F

from attention import scaled_dot_product_attention
from course.payloads.token_choice import BOOK, asked, book, payload
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


class Asked:
    """One question, by the model's own layers."""

    def __init__(self, guest):
        guests, rooms, _ = book()
        text = Text(
            torch.tensor([[*guests, guest]]), torch.tensor([[*rooms, ROOM]]), torch.empty(0)
        )
        self.layer, self.stream = MODEL.layers[0], MODEL.embed(text)
        self.x = self.layer.norm(self.stream)
        self.query, self.key, self.value = self.layer.mixer.project(self.x)
        place = torch.arange(self.x.shape[1])
        self.bias = -self.layer.slopes * (place - place[:, None]).abs()
        causal = place <= place[:, None]
        _, weights = scaled_dot_product_attention(
            self.query, self.key, self.value, causal, bias=self.bias
        )
        self.both = weights[0, :, -1]
        cheap = self.layer.mixer.index(self.x)[0, -1]
        self.ways = {"last": place.float(), "cheap": cheap, "full": self.both.mean(0)}

    def answered(self, by, looks):
        """Rooms' scores, which tokens are looked at, and both heads' weights among these."""
        # A note that stands there twice has the same cheap score twice; the earlier goes first.
        best = self.ways[by].mul(10**6).round().argsort(descending=True, stable=True)[:looks]
        seen = torch.zeros(len(self.x[0])).bool().scatter(0, best, True)
        # The last row is the question's.
        bias = torch.where(seen.expand(len(seen), -1), self.bias, -torch.inf)[None]
        output = F.scaled_dot_product_attention(self.query, self.key, self.value, bias)
        rooms = MODEL.answer(self.stream + self.layer.mixer.merge(output, self.x))[0, -1]
        anew = torch.where(seen, self.both, 0)
        return rooms, seen, anew / anew.sum(-1, keepdim=True)


@torch.no_grad()
@pytest.mark.parametrize("by", ["last", "cheap", "full"])
def test_answers_are_those_of_the_trained_layer(by):
    for i, (guest, name) in enumerate(book()[2].items()):
        question = Asked(guest)
        for looks, found in zip(LOOKS, chosen(*((i, by, n) for n in LOOKS)), strict=True):
            rooms, seen, anew = question.answered(by, looks)
            tokens = found["tokens"]
            assert found["who"] == name
            assert [token["isSeen"] for token in tokens] == seen.tolist()
            missed = question.both.mean(0)[~seen].sum().item()
            assert found["missed"] == pytest.approx(missed, abs=2e-3)
            assert_near(found["scores"], rooms, 0.05)  # of up to 20
            assert_near([token["each"] for token in tokens], question.both.T, 2e-3)
            assert_near([token["anew"] for token in tokens], anew.T, 2e-3)
            assert found["scores"][found["next"]] == sorted(found["scores"])[-2]
            if rooms.topk(2).values.diff().abs() > 0.1:
                assert found["says"] == rooms.argmax()


def test_the_room_is_the_later_one_and_numbers_are_counted():
    guests, rooms, names = book()
    assert len(guests) == 2 * BOOK
    for i, guest in enumerate(names):
        [_, later] = [place for place, one in enumerate(guests) if one == guest]
        [found] = chosen((i, "cheap", 2))
        assert found["room"] == rooms[later]
        assert (found["multiplied"], found["everything"]) == (33 * 8 + 2 * 32, 33 * 32)
    last, full = chosen((0, "last", 7), (0, "full", 7))
    assert (last["multiplied"], full["multiplied"]) == (7 * 32, 33 * 32)


def test_who_is_no_guest_is_refused():
    with pytest.raises(ValueError, match="guest must lie in 0"):
        asked(MODEL, 64)
