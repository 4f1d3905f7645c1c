"""m15's choice: its answers against the trained layer in PyTorch, which hides the other tokens."""

import json
from itertools import product

import pytest
import torch
import torch.nn.functional as F

from attention import scaled_dot_product_attention
from course.payloads.token_choice import book, payload
from models.beyond.task import ROOM, Text
from models.beyond.train import load
from tests.lessons.page_text import in_order
from tests.widgets.js import assert_near, module

JS = module("token-choice.js")
MODEL = load("moves", "chosen")
GUESTS, ROOMS, NAMES = book()


@pytest.fixture(scope="module", autouse=True)
def published():
    JS.run("(globalThis.data = x, null)", json.loads(json.dumps(payload())))


def chosen(asked, by, looks):
    code = "((model) => ({...model, told: m.sentence(model)}))(m.chosen(data, x))"
    return JS.run(code, {"asked": asked, "by": by, "looks": looks})


@torch.no_grad()
@pytest.mark.parametrize("guest", NAMES)
def test_answers_are_those_of_the_trained_layer(guest):
    """By the model's own layers: which tokens are looked at, and both heads' weights."""
    asked, layer = [*NAMES].index(guest), MODEL.layers[0]
    text = Text(torch.tensor([[*GUESTS, guest]]), torch.tensor([[*ROOMS, ROOM]]), torch.empty(0))
    stream = MODEL.embed(text)
    x = layer.norm(stream)
    query, key, value = layer.mixer.project(x)
    position = torch.arange(x.shape[1])
    bias = -layer.slopes * (position - position[:, None]).abs()
    causal = position <= position[:, None]
    weights = scaled_dot_product_attention(query, key, value, causal, bias=bias)[1][0, :, -1]
    ways = {"last": position, "cheap": layer.mixer.index(x)[0, -1], "full": weights.mean(0)}
    cheap = ways["cheap"].mul(10**6).round().tolist()
    ranks = [1 + sum((-b, j) < (-a, i) for j, b in enumerate(cheap)) for i, a in enumerate(cheap)]
    for by, looks in product(ways, [1, 2, 3, 8, 17, 25, 26, 33]):
        got = chosen(asked, by, looks)
        # A note that stands there twice has the same cheap score twice; the earlier goes first.
        best = ways[by].mul(10**6).round().argsort(descending=True, stable=True)[:looks]
        seen = torch.zeros(len(position)).bool().scatter(0, best, True)
        shown = torch.where(seen.expand(len(position), -1), bias, -torch.inf)[None]
        output = F.scaled_dot_product_attention(query, key, value, shown)
        scores = MODEL.answer(stream + layer.mixer.merge(output, x))[0, -1]  # the question's
        assert [token["isSeen"] for token in got["tokens"]] == seen.tolist()
        assert_near(got["missed"], weights.mean(0)[~seen].sum(), 2e-3)
        assert_near(got["scores"], scores, 0.05)  # of up to 20
        assert_near([token["weight"] for token in got["tokens"]], weights.mean(0), 2e-3)
        assert_near([token["heads"] for token in got["tokens"]], weights.T, 2e-3)
        assert [token["rank"] for token in got["tokens"]] == ranks
        if scores.topk(2).values.diff().abs() > 0.1:
            assert got["says"] == scores.argmax()
        room = ROOMS[len(GUESTS) - 1 - GUESTS[::-1].index(guest)]  # the later one
        verdict = ["right"] if got["says"] == room else ["wrong", str(room)]
        cost = {"last": looks * 32, "cheap": 33 * 8 + looks * 32, "full": 33 * 32}[by]
        told = NAMES[guest], str(looks), str(got["says"]), *verdict, f"{cost:,}", "1,056"
        own = [rank for rank, other in zip(ranks, GUESTS, strict=False) if other == guest]
        assert in_order(got["told"], *told, *map(str, own))
