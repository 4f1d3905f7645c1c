"""m01: its sentences against numbers computed here."""

import json
import math
from itertools import pairwise, product

import numpy as np
import pytest
from bs4 import BeautifulSoup

from models.bottleneck.model import encode
from models.bottleneck.train import shipped
from models.grammar.sentences import sentences
from tests.conftest import ROOT
from tests.lessons.reading import numbers, output
from tests.paths import steps_by_gaps

PAGE = "modules/m01_why_attention/lesson.html"
WORDS = "the cat sat on the mat because it was tired".split()
CAT, IT = 1, 7


@pytest.fixture(scope="module")
def recall():
    found = json.loads((ROOT / "models/bottleneck/scores/recall.json").read_text())
    at = found["lengths"].index
    return {
        name: {n: [s["right"][at(n)] for s in model["seeds"].values()] for n in found["lengths"]}
        for name, model in found["models"].items()
    }


def static_rows(page: BeautifulSoup, widget: str) -> list[list[str]]:
    rows = page.select(f"{widget} .static-form tbody tr")
    return [[cell.get_text(strip=True) for cell in row.select("td, th")] for row in rows]


# ---- Paths ---------------------------------------------------------------------------------------


def longest_to_the_right(steps_between):
    return max(steps_between(b - a) for a, b in product(range(10), repeat=2) if a <= b)


STEPS = {
    "Recurrent": lambda d: d + 1,
    "Convolution, 3 wide": lambda d: max(1, d),
    "Convolution, gaps that double": steps_by_gaps,
    "Attention": lambda d: 1,
    "Attention, causal": lambda d: 1,
}


def test_the_longest_paths(page):
    shown = {
        line[:30].strip(): numbers(line[30:])[0] for line in output(page, "longest").splitlines()
    }
    assert shown == {name: longest_to_the_right(steps) for name, steps in STEPS.items()}
    assert shown["Attention"] == shown["Attention, causal"] == 1


def test_the_static_form_counts_the_same(page):
    one_way = {"Recurrent", "Attention, causal"}
    for name, there, back in static_rows(page, "#path-tracer"):
        assert int(there) == STEPS[name](IT - CAT)
        assert back == ("no path" if name in one_way else str(STEPS[name](IT - CAT)))


def test_the_price(page):
    """ "A recurrent net has 19 for ten words, attention has 100. Twice the words, four times." """
    text = page.select_one("#sec-path").get_text(" ")
    assert f"a recurrent net has {10 + 9} for ten words, attention has {10 * 10}" in text
    assert (2 * 10) ** 2 == 4 * 10**2


# ---- Flow ----------------------------------------------------------------------------------------


def test_what_arrives(page):
    for j, (word, state, share) in enumerate(static_rows(page, "#flow-map")):
        assert word == WORDS[j]
        assert state == ("no way" if j < CAT else f"{0.7 ** (j - CAT):.2f}")
        assert share == f"{30 / 39:.2f}"


def test_half_is_gone():
    """ "With a decay of 0.7, half is gone after two words; with 0.9, after seven." """
    assert math.ceil(math.log(0.5) / math.log(0.7)) == 2
    assert math.ceil(math.log(0.5) / math.log(0.9)) == 7


def test_the_levels_that_the_figure_names(page):
    alt = page.select_one("#fig-flow img")["alt"]
    assert numbers(alt.split("level")[1].rstrip(".")) == [
        round(times / (times + 9), 2) for times in (1, 10, 100)
    ]


def test_the_plot_to_repair_really_differs(page):
    assert numbers(output(page, "bug-check")) == [0.1, 1.0]


# ---- The bottleneck ------------------------------------------------------------------------------


def test_the_printed_scores_are_the_models(page, recall):
    rows = output(page, "recall").splitlines()[1:]
    printed = [numbers(row[23:].replace(",", "")) for row in rows]
    names = ["attention", "wider and longer", "wider", "without"]
    for (_, at_8, at_16), name in zip(printed, names, strict=True):
        assert at_8 == pytest.approx(np.mean(recall[name][8]), abs=0.0051)
        assert at_16 == pytest.approx(np.mean(recall[name][16]), abs=0.0051)


def test_attention_makes_the_difference_in_every_seed(recall):
    """Up to the longest lists in training; and wider and longer, in this order, help the others."""
    for length in (8, 10, 12, 14, 16):
        ranks = [
            recall[name][length] for name in ("without", "wider", "wider and longer", "attention")
        ]
        for worse, better in pairwise(ranks):
            assert max(worse) < min(better), length


def test_what_the_figure_says(recall):
    """ "Above 0.97 up to 16 letters …, then falls. Without, all three fall from 4 letters on." """
    assert min(min(recall["attention"][n]) for n in (2, 4, 6, 8, 10, 12, 14, 16)) > 0.97
    assert max(recall["attention"][24]) < min(recall["attention"][16]) - 0.05
    for name in ("without", "wider", "wider and longer"):
        means = [np.mean(recall[name][n]) for n in (4, 6, 8, 10, 12, 14, 16, 20, 24)]
        assert means == sorted(means, reverse=True)


def test_it_looks_at_the_letter_whose_turn_it_is(page):
    """ "Each row has its largest weight on the diagonal", for "hobgoblin"; and for every seed."""
    _, weights = shipped().say(encode("hobgoblin"))
    assert weights[0].argmax(-1).tolist() == list(range(9))
    found = json.loads((ROOT / "models/bottleneck/scores/recall.json").read_text())
    for seed in found["models"]["attention"]["seeds"].values():
        assert seed["looks at"]["0"] > 0.75


def test_the_list_would_fit():
    assert 16 * math.log2(16) == 64 < 32 * 32 / 4


# ---- Who is "it"? ------------------------------------------------------------------------------


def test_no_training_sentence_has_both_trophy_and_suitcase():
    for sentence in sentences(seed=0, count=60_000):
        assert not {"trophy", "suitcase"} <= set(sentence.words)


def test_it_looks_at_the_noun_that_is_meant(page):
    told = [line.removeprefix("… ") for line in output(page, "pairs").splitlines()]
    assert told[:4] == [
        f"{end}: it looks most at {noun}"
        for end, noun in [
            ("tired", "animal"),
            ("wide", "street"),
            ("tired", "cat"),
            ("soft", "mat"),
        ]
    ]
    rivers, money = (set(line.split(":")[1].split()) for line in told[4:])
    assert rivers <= {"muddy", "wet", "sandy", "green"}
    assert money <= {"closed", "open", "safe", "modern"}


def test_an_ordinary_model_answers_but_does_not_look():
    """ "Repeats the right noun almost as surely, yet no head … gives the noun half …" """
    found = json.loads((ROOT / "models/grammar/scores/masked-standard.json").read_text())
    for seed in found["seeds"].values():
        assert min(seed["accuracy"][held]["answer"] for held in ("pairs", "words")) > 0.9
        assert max(max(layer) for layer in seed["attention"]["it"]["heads"]) < 0.5


def test_the_answers_of_check_it():
    """Five layers that are 5 wide; 9 against nine others; shares."""
    assert math.ceil(9 / 2) == 5
    assert 9 / (9 + 9) == 1 / 2
