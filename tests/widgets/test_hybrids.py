"""m14's widgets: what layers keep by costs.py and by tensors, and what they say."""

import json
from dataclasses import replace
from itertools import product

import pytest
import torch

from attention import scaled_dot_product_attention
from course.page.costs import MODELS, cache_bytes
from course.payloads.night_porter import payload
from models.beyond.task import COFFEE, OWES, PAY, Text
from models.beyond.train import alpha_beta, load, looked_at
from tests.lessons.page_text import in_order, share
from tests.widgets.js import module
from variants import GatedDeltaNet

COFFEES, STACK = module("coffee-count.js"), module("stack-designer.js")
PORTER = module("night-porter.js")
SOFTMAX_FOR_ANN = {"shown": "softmax", "asked": "Ann"}
WORDS = {"a": (0, COFFEE), "b": (1, COFFEE), "p": (0, PAY)}
NIGHTS = ["", "a", "p", "ab", "pb", "apaba", "aapa", "bbbbb", "paaaa", "abpabp", "ppppp", "aabbpa"]


@pytest.fixture(scope="module")
def night_data():
    return json.loads(json.dumps(payload()))


@torch.no_grad()
@pytest.mark.parametrize("night", NIGHTS)
def test_a_night_s_answers_are_those_of_the_trained_layers(night_data, night):
    got = PORTER.told("nightOf", night_data, SOFTMAX_FOR_ANN | {"tokens": night})
    owed = []
    for token in "ab":
        owed.append(0)
        for one in night:
            owed[-1] = 0 if one == "p" else owed[-1] + (one == token)
    assert got["right"] == owed
    assert len(got["layers"]) == 2
    told = [str(coffees) for coffees in owed]
    for layer in got["layers"]:
        model = load("tab", layer["kind"])
        for guest, said in enumerate(layer["answers"]):
            tokens = torch.tensor([[*(WORDS[token] for token in night), (guest, OWES)]])
            scores = model(Text(*tokens.unbind(-1), torch.empty(0)))[0, -1]
            if scores.topk(2).values.diff().abs() > 0.05:
                assert said == scores.argmax()
            assert layer["isRight"][guest] == (said == owed[guest])
            told += [str(said), "right" if layer["isRight"][guest] else "wrong"]
    assert in_order(got["says"], *told)


def test_every_night_of_a_few_tokens_has_an_answer(night_data):
    nights = ["".join(night) for n in range(7) for night in product("abp", repeat=n)]
    assert PORTER.run("x.map(m.placeOf)", nights) == [*range(len(nights))]
    for layer in night_data["layers"]:
        assert [len(says) for says in layer["says"]] == [len(nights)] * 2
        assert layer["name"].removeprefix("a table that ").replace(" and ", ", ") == layer["kind"]
    assert len(json.dumps(night_data)) < 6_000


def asked(night, guest):
    """The night and the question for a guest, as the models read it."""
    guests, words = torch.tensor([[*(WORDS[token] for token in night), (guest, OWES)]]).unbind(-1)
    return Text(guests, words, torch.empty(0))


@torch.no_grad()
@pytest.mark.parametrize("guest", [0, 1])
@pytest.mark.parametrize("night", NIGHTS)
def test_a_question_s_weights_are_those_of_the_trained_softmax(night_data, night, guest):
    state = SOFTMAX_FOR_ANN | {"tokens": night, "asked": "AnnBen"[3 * guest :][:3]}
    got = PORTER.told("nightOf", night_data, state)
    weights = looked_at(load("tab", "softmax"), asked(night, guest))[1][0, :, -1]  # (H, tokens)
    assert [row["token"] for row in got["inside"]] == [*night, "?"]
    shown = torch.tensor([row["weights"] for row in got["inside"]]).float().T
    torch.testing.assert_close(shown, weights, atol=1e-4, rtol=0)
    told = [f"{one:.2f}" for row in got["inside"] for one in row["weights"]]
    assert in_order(got["says"].split("gives these weights")[1], *told)


@torch.no_grad()
@pytest.mark.parametrize("guest", [0, 1])
@pytest.mark.parametrize("night", NIGHTS)
def test_what_stands_for_a_guest_stands_in_the_trained_table(night_data, night, guest):
    """The layer's own state, asked with the key of a coffee, beside the value of that coffee."""
    kind = "corrects, fades"
    state = {"tokens": night, "shown": kind, "asked": "AnnBen"[3 * guest :][:3]}
    got = PORTER.told("nightOf", night_data, state)
    assert [row["token"] for row in got["inside"]] == [*night]
    model = load("tab", kind)
    mixer, norm = model.layers[0].mixer, model.layers[0].norm
    coffee = norm(model.embed(Text(torch.tensor([[guest]]), torch.tensor([[COFFEE]]), None)))
    _, key, value, _ = mixer._project(coffee, mixer.new_state(coffee).recent)
    key, value = key[0, 1, 0], value[0, 1, 0]  # of the second head, which counts
    for length, row in enumerate(got["inside"], 1):
        text = asked(night[:length], guest)
        x = norm(model.embed(text))[:, :-1]
        table = mixer(x, return_state=True)[1].table[0, 1]
        stands = (key @ table @ value / value.square().sum()).item()
        assert row["stands"] == pytest.approx(stands, abs=1e-4)
        alpha, beta = alpha_beta(model, text)
        gates = alpha[0, 1, length - 1].item(), beta[0, 1, length - 1].item()
        assert (row["alpha"], row["beta"]) == pytest.approx(gates, abs=1e-4)
        scores = model(text)[0, -1]
        if scores.topk(2).values.diff().abs() > 0.05:
            assert row["answer"] == scores.argmax()
    told = [
        str(row[name]) if name == "answer" else f"{row[name]:.2f}".replace("-0.00", "0.00")
        for row in got["inside"]
        for name in ("alpha", "beta", "stands", "answer")
    ]
    assert in_order(got["says"].split("In the table")[-1].replace("−", "-"), *told)


def test_the_trained_table_counts_as_the_pencil_does_and_forgets_what_is_paid(night_data):
    state = {"tokens": "aaapa", "shown": "corrects, fades", "asked": "Ann"}
    stands = [row["stands"] for row in PORTER.told("nightOf", night_data, state)["inside"]]
    pencil = [1 - 0.9**count for count in (1, 2, 3)]
    assert stands == pytest.approx([*pencil, 0, pencil[0]], abs=0.005)


def test_goals_are_met_by_some_nights_and_not_by_the_first(night_data):
    nights = ["".join(night) for n in range(7) for night in product("abp", repeat=n)]
    code = """x[1].map((tokens) =>
        Object.values(m.GOALS).map((g) => g(m.nightOf(x[0], {...x[2], tokens}))))"""
    goals = PORTER.run(code, [night_data, nights, SOFTMAX_FOR_ANN])
    met = dict(zip(nights, goals, strict=True))
    assert not any(met[night_data["start"]])
    assert not any(met[""])
    misled, again = (sum(goals) for goals in zip(*met.values(), strict=True))
    assert 50 < again < 250
    assert 3 < misled < 30
    assert met["ab"][0]
    assert not any("p" in night for night in nights if met[night][0]), "nobody pays"
    assert all(night.count("a") == 1 for night in nights if met[night][0])


@pytest.mark.parametrize("coffees", [1, 3, 8])
@pytest.mark.parametrize("others", [0, 1, 8])
def test_softmax_says_the_mean_and_a_table_the_sum(coffees, others):
    model = COFFEES.call("counted", {"most": 8}, {"coffees": coffees, "others": others})
    for one, had in [(model, coffees), (model["next"], coffees + 1), (model["every"][7], 8)]:
        value = torch.cat([torch.ones(had, 1), torch.zeros(others, 1)]).double()
        output, weights = scaled_dot_product_attention(0 * value[:1], 0 * value, value)
        assert one["mean"] == pytest.approx(output.item(), abs=1e-12)
        assert one["weight"] == pytest.approx(weights[0, 0].item(), abs=1e-12)
        assert one["sum"] == had


LLAMA = replace(next(m for m in MODELS if m.name == "Llama 3 8B"), layers=1)
DATA = {"layers": 32, "kvHeads": 8, "size": 128, "window": 4096}
KINDS = ["softmax", "window", "table"]
TABLE = GatedDeltaNet(8 * 128, 8).new_state(torch.zeros(1, 1, 8 * 128, dtype=torch.bfloat16)).table


def kept_by(kind, tokens):
    if kind == "table":
        return TABLE.nbytes
    return cache_bytes(LLAMA, tokens, window=4096 if kind == "window" else None)


@pytest.mark.parametrize("block", [*product(KINDS, repeat=4)][::7])
def test_a_stack_is_the_sum_of_its_layers(block):
    slots = dict(zip(["first", "second", "third", "fourth"], block, strict=True))
    model = STACK.told("stackOf", DATA, slots)
    for row in model["rows"]:
        tokens = row["tokens"]
        kept = [8 * kept_by(kind, tokens) * block.count(kind) for kind in KINDS]
        plain = 32 * kept_by("softmax", tokens)
        assert (row["parts"], row["kept"], row["keptPlain"]) == (kept, sum(kept), plain)
    of_kept = share(max(0.01, sum(kept) / plain))
    assert in_order(model["says"], *(str(8 * block.count(kind)) for kind in KINDS), of_kept)
