"""m15's choice: its answers against the trained layer in PyTorch, which hides the other tokens."""

import json

import pytest
import torch
import torch.nn.functional as F

from attention import scaled_dot_product_attention
from course.payloads.token_choice import BOOK, asked, book, payload
from models.beyond.task import ROOM, Text
from models.beyond.train import load
from tests.widgets.js import module

JS = module("token-choice.js")
DATA = json.loads(json.dumps(payload()))
MODEL = load("moves", "chosen")
LOOKS = [1, 2, 3, 8, 17, 25, 26, 33]


def answered(guest, by, looks):
    """Rooms' scores, weight that is missed, tokens looked at, and both heads' weights among all
    tokens and among these, by the model's own layers.
    """
    guests, rooms, _ = book()
    text = Text(torch.tensor([[*guests, guest]]), torch.tensor([[*rooms, ROOM]]), torch.empty(0))
    layer, stream = MODEL.layers[0], MODEL.embed(text)
    x = layer.norm(stream)
    query, key, value = layer.mixer.project(x)
    place = torch.arange(x.shape[1])
    bias = -layer.slopes * (place - place[:, None]).abs()
    causal = place <= place[:, None]
    weights = scaled_dot_product_attention(query, key, value, causal, bias=bias)[1]
    both = weights[0, :, -1]
    weights = both.mean(0)
    of = {"last": place.float(), "cheap": layer.mixer.index(x)[0, -1], "full": weights}[by]
    # A note that stands there twice has the same cheap score twice; the earlier one goes first.
    best = of.mul(10**6).round().argsort(descending=True, stable=True)[:looks]
    seen = torch.zeros(len(of)).bool().scatter(0, best, True)
    hidden = seen.expand(len(of), -1)  # the last row is the question's
    output = F.scaled_dot_product_attention(
        query, key, value, torch.where(hidden, bias, -torch.inf)[None]
    )
    rooms = MODEL.answer(stream + layer.mixer.merge(output, x))[0, -1]
    anew = torch.where(seen, both, 0)
    anew = anew / anew.sum(-1, keepdim=True)
    return rooms, float(weights[~seen].sum()), seen.tolist(), both, anew


@torch.no_grad()
@pytest.mark.parametrize("by", ["last", "cheap", "full"])
def test_answers_are_those_of_the_trained_layer(by):
    names = book()[2]
    for i, (guest, name) in enumerate(names.items()):
        for looks in LOOKS:
            found = JS.call("chosen", DATA, {"asked": i, "by": by, "looks": looks})
            rooms, missed, seen, *both = answered(guest, by, looks)
            assert found["who"] == name
            assert [token["isSeen"] for token in found["tokens"]] == seen
            assert found["missed"] == pytest.approx(missed, abs=2e-3)
            assert found["scores"] == pytest.approx(rooms.tolist(), abs=0.05)  # of up to 20
            for field, weights in zip(("each", "anew"), both, strict=True):
                shown = torch.tensor(
                    [token[field] for token in found["tokens"]], dtype=torch.float32
                ).T
                torch.testing.assert_close(shown, weights, atol=2e-3, rtol=0)
            assert found["scores"][found["next"]] == sorted(found["scores"])[-2]
            if rooms.topk(2).values.diff().abs() > 0.1:
                assert found["says"] == rooms.argmax()


def test_the_room_is_the_later_one_and_numbers_are_counted():
    guests, rooms, names = book()
    for i, guest in enumerate(names):
        [_, later] = [place for place, one in enumerate(guests) if one == guest]
        found = JS.call("chosen", DATA, {"asked": i, "by": "cheap", "looks": 2})
        assert found["room"] == rooms[later]
        assert found["multiplied"] == 33 * 8 + 2 * 32
        assert found["everything"] == 33 * 32
    for by, count in [("last", 7 * 32), ("full", 33 * 32)]:
        found = JS.call("chosen", DATA, {"asked": 0, "by": by, "looks": 7})
        assert found["multiplied"] == count
    assert len(guests) == 2 * BOOK


def test_who_is_no_guest_is_refused():
    with pytest.raises(ValueError, match="guest must lie in 0"):
        asked(MODEL, 64)
