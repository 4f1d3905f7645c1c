"""m00: its sentences against numbers computed here."""

import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from models.grammar.scores import COUNT
from models.transformer import Transformer
from models.weights import load
from tests.conftest import ROOT
from tests.lessons.reading import numbers, output

PAGE = "modules/m00_tour/lesson.html"
WORDS = "the cat sat on the mat because it was".split()
WITH_CARDS = {"#step-why", "#step-roles", "#step-mask"}
IT_HEAD = 4  # layer 2, head 1, after the four of layer 1
Q = torch.tensor([[1, 0.5], [0, 2], [2, 1]], dtype=torch.float64)
K = torch.tensor([[0, 1], [2, 0.5], [0.5, 1]], dtype=torch.float64)
V = torch.tensor([[-1, 1], [2, 0.5], [0.5, 1.5]], dtype=torch.float64)


@pytest.fixture(scope="module")
def maps():
    """Last word -> the weights of all heads, (heads, words, words), those of layer 1 first."""
    model = load(ROOT / "models/grammar/weights/masked.safetensors")
    return {
        end: torch.cat(model(model.encode([*WORDS, end])).weights, dim=1)[0].detach()
        for end in ("tired", "warm")
    }


def test_eight_steps_each_with_all_its_parts(page):
    links = page.select("#tour li a")
    assert len(links) == 8
    for link in links:
        step = page.select_one(f"section{link['href']}")
        assert step.h2.get_text()
        for part in (".widget .source", "pre.python", ".cell-output-stdout", ".insight"):
            assert step.select_one(part), (link["href"], part)
        cards = [card.get_text() for card in step.select(".tour-cards > p")]
        starts = ("In everyday life", "In an LLM") if link["href"] in WITH_CARDS else ()
        assert all(card.startswith(start) for card, start in zip(cards, starts, strict=True)), (
            link["href"],
            cards,
        )
    asked = [step.select_one(".prediction") for step in page.select("section.level2")[:7]]
    assert all(asked)  # each but the last asks what comes next


def test_the_last_word_decides(page, maps):
    for line, (end, heads) in zip(output(page, "why").splitlines(), maps.items(), strict=True):
        look = heads[IT_HEAD, 7]
        noun = {"tired": "cat", "warm": "mat"}[end]
        assert WORDS[look.argmax()] == noun
        assert line == f"{end}: “it” looks at {noun}, {look.max():.2f} of 1"


def test_the_last_word_gets_its_look_elsewhere(maps):
    """ "Hardly gets a look here": this head. "It does elsewhere": it gets most in other heads."""
    for heads in maps.values():
        assert heads[IT_HEAD, 7, 9] < 0.15
        assert sum(head[7].argmax() == 9 for head in heads) > 1


def test_the_pencil_s_numbers(page):
    scores = Q @ K.T
    want = F.scaled_dot_product_attention(Q[None], K[None], V[None])[0]
    scaled, weights = scores / math.sqrt(2), (scores / math.sqrt(2)).softmax(-1)
    raw, shown = output(page, "scores").split("→")
    assert numbers(raw) == scores[2].tolist() == [1, 4.5, 2]  # the answer to the prediction too
    np.testing.assert_allclose(numbers(shown), scaled[2], atol=0.0051)
    first, second = output(page, "softmax").splitlines()
    of_sat, out = first.split("output:")
    np.testing.assert_allclose(numbers(of_sat), weights[2], atol=0.0051)
    np.testing.assert_allclose(numbers(out), want[2], atol=0.0051)
    assert second.endswith("16,384,000,000 weights")


def test_causal_rows(page):
    want = (Q @ K.T / math.sqrt(2)).masked_fill(torch.ones(3, 3).triu(1).bool(), -torch.inf)
    shown = np.reshape(numbers(output(page, "mask").replace(".]", ".0]")), (3, 3))
    np.testing.assert_allclose(shown, want.softmax(-1), atol=0.0051)
    assert shown[0].tolist() == [1, 0, 0]


def test_first_the_clue_then_the_noun(page, maps):
    said = dict(line.split(" looks at ") for line in output(page, "heads").splitlines())
    words = [[*WORDS, "tired"][look.argmax()] for look in maps["tired"][:, 7]]
    assert said["it"] == ", ".join(words)
    from_it = said["it"].split(", ")
    assert from_it[:4].count("tired") > 2  # "most heads of the first layer"
    assert from_it[4:] == ["cat", "cat"]


def test_five_lines_are_the_layer(page):
    code = page.select_one("#code pre, #cell-code pre").get_text().strip().splitlines()
    assert len(code) == 1 + 5
    shape, difference = output(page, "layer").splitlines()
    assert shape.endswith("(2, 4, 10, 8)")
    assert float(difference.split(": ")[1]) < 1e-6
    scope = {"torch": torch}
    exec("\n".join(code), scope)
    q, k, v = (torch.randn(2, 3, 7, 4) for _ in range(3))
    want = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(scope["attention"](q, k, v), want)


def test_a_head_switched_off(page):
    """Weight and accuracy are both of hidden verbs: one question, one setting."""
    found = json.loads((ROOT / "models/grammar/scores/masked.json").read_text())["seeds"]["0"]
    head = found["attention"]["verb, guessed"]
    weight, fits = output(page, "patterns").splitlines()
    assert weight == f"layer 2, head 2 gives the noun {head['weight']:.2f}"
    assert head["head"] == found["attention"]["verb"]["head"] == [1, 1]  # the one switched off
    right, without = numbers(fits)
    assert right > 95
    assert abs(without - 50) < 6  # "as often as a coin tossed"
    assert COUNT >= 200  # "hundreds of such sentences"


def test_the_lion_is_tame():
    """The shipped model fills the gap of the sentence shown, and its head finds the noun."""
    model = load(ROOT / "models/grammar/weights/masked.safetensors")
    words = "the lion near the old windows [mask] tame .".split()
    with torch.no_grad():
        told = model(model.encode(words))
    assert model.config.vocabulary[told.logits[0, 6].argmax()] == "is"
    assert told.weights[1][0, 1, 6].argmax() == 1


def test_the_picked_rows(page):
    """The output's last line: cat's query is the sum of two rows of W_Q."""
    last = output(page, "roles").splitlines()[-1].replace(". ", ".0 ").replace(".]", ".0]")
    noun, alive, query = np.reshape(numbers(last), (3, 2))
    assert (noun + alive).tolist() == query.tolist() == Q[1].tolist()


def test_before_training_shares_are_nearly_even(page):
    """The answer to the last prediction: "about a tenth", in every head, from any seed."""
    config = load(ROOT / "models/grammar/weights/masked.safetensors").config
    for seed in range(5):
        torch.manual_seed(seed)
        untrained = Transformer(config).eval()
        for layer in untrained(untrained.encode([*WORDS, "tired"])).weights:
            assert (layer - 0.1).abs().max() < 0.005
    rows = [row.get_text(" ", strip=True) for row in page.select("#tour-patterns tbody tr")]
    assert rows
    for row in rows:
        trained, untrained = numbers(row)
        assert untrained < 0.25 < trained


def test_the_bug_is_silent_and_leaks(page):
    first = numbers(output(page, "bug-check"))[0]
    scaled = (Q @ K.T / math.sqrt(2))[0]
    want = (scaled * torch.tensor([1, 0, 0])).softmax(-1)[0]
    assert first == pytest.approx(want.item(), abs=0.0051)


def test_every_source_is_cited(page):
    keys = ["vaswani2017", "brown2020", "devlin2019", "radford2019", "clark2019", "olsson2022"]
    assert all(page.select_one(f"#ref-{key}") for key in keys)
