"""m06's two heads side by side: maps and their mean are PyTorch's, answers those of the model."""

from itertools import product

import pytest
import torch

from course.payloads import two_heads
from models.grammar.sentences import is_held_out_pair
from models.grammar.words import VOCABULARY
from tests.lessons.page_text import in_order, share
from tests.widgets.js import assert_near, module
from tests.widgets.truth_heads import grammar_model, shares_in

JS = module("head-maps.js")
LENGTHS = [6, 13, 1]
WAYS = ["on", "off-1", "off-2", "mean"]


def random_maps(length, generator):
    spread = torch.randn(2, length, length, generator=generator).double() * 4
    weights = spread.softmax(-1)
    weights[..., 0] = 0 if length > 1 else 1
    return weights / weights.sum(-1, keepdim=True)


GENERATOR = torch.Generator().manual_seed(0)
SENTENCES = [
    {
        "tokens": [f"w{i}" for i in range(length)],
        "gap": length // 2,
        "right": "are",
        "maps": random_maps(length, GENERATOR),
        "guesses": {
            way: [{"token": word, "weight": 0.75}, {"token": "more", "weight": 0.125}]
            for way, word in zip(WAYS, ("are", "the", "is", "are"), strict=True)
        },
    }
    for length in LENGTHS
]
SET = {"on": [1, 1], "off-1": [0, 1], "off-2": [1, 0]}


def compared(**changes):
    state = {"sentence": 0, "row": 0, "way": "on"} | changes
    code = "((model) => ({...model, sentence: m.summarize(model)}))(m.compareHeads(...x))"
    return JS.run(code, [{"sentences": SENTENCES}, state])


def test_every_number():
    for sentence, way in product(range(3), WAYS):
        given, row = SENTENCES[sentence]["maps"], 5 % LENGTHS[sentence]
        if way == "mean":
            want = given.mean(0, keepdim=True).expand_as(given)
        else:
            want = given * torch.tensor(SET[way])[:, None, None]
        got = compared(sentence=sentence, row=row, way=way)
        assert [head["name"] for head in got["heads"]] == ["Head 1", "Head 2"]
        assert [head["isOff"] for head in got["heads"]] == [way == "off-1", way == "off-2"]
        for head, weights in zip(got["heads"], want, strict=True):
            assert_near(head["weights"], weights)
            assert_near([look["weight"] for look in head["looks"]], weights[row])
            if not head["isOff"]:
                assert in_order(got["sentence"], *map(share, weights[row]))
        says = SENTENCES[sentence]["guesses"][way]
        assert got["guesses"] == says
        assert got["isRight"] == (says[0]["token"] == "are")
        assert in_order(got["sentence"], says[0]["token"], share(0.75), "more", says[0]["token"])


def test_a_sentence_without_the_chosen_word_shows_its_last():
    assert compared(row=12)["query"] == 5
    assert compared(row=12, sentence=1)["query"] == 12


@pytest.mark.parametrize("sentence", two_heads.payload()["sentences"], ids=lambda s: s["right"])
@pytest.mark.parametrize("way", WAYS)
def test_the_answers_are_the_model_s_own(sentence, way):
    shares = shares_in(grammar_model("masked"), sentence["tokens"], sentence["gap"], way)
    best = shares.topk(len(sentence["guesses"][way]))
    shown = sentence["guesses"][way]
    assert [guess["token"] for guess in shown] == [VOCABULARY[i] for i in best.indices]
    assert_near([guess["weight"] for guess in shown], best.values, atol=2e-6)


def test_the_maps_are_those_of_layer_2():
    model = grammar_model("masked")
    for sentence in two_heads.payload()["sentences"]:
        words = ["[mask]" if word == "▢" else word for word in sentence["tokens"]]
        want = model(model.encode(words)).weights[1][0]
        assert_near(sentence["maps"], want.detach().double(), atol=2e-6)


def test_two_of_the_sentences_lose_the_verb_with_one_map_and_one_keeps_it():
    plural, singular, kept = two_heads.payload()["sentences"]
    best = {way: plural["guesses"][way][0]["token"] for way in WAYS}
    assert best == {"on": "are", "off-1": "the", "off-2": "is", "mean": "the"}
    assert [s["guesses"]["mean"][0]["token"] for s in (singular, kept)] == ["the", "are"]
    assert is_held_out_pair("lion", "window")
