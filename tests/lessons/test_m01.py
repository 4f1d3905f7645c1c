"""m01: its sentences against numbers computed here."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from torch.utils.flop_counter import FlopCounterMode

from attention import MultiHeadAttention
from models.bottleneck.model import Recall, encode
from models.bottleneck.train import MODELS, shipped
from models.grammar.sentences import sentences
from models.weights import load
from tests.lessons.page_text import output, shows
from tests.numbers import numbers
from tests.scores import scores_of
from tests.widgets.js import module

PAGE = "modules/m01_why_attention/lesson.html"
WORDS = "the cat sat on the mat because it was tired".split()
CAT, IT = 1, 7
FLOW = module("flow-map.js")


@pytest.fixture(scope="module")
def recall():
    scores = scores_of("bottleneck", "recall")
    at = scores["lengths"].index
    return {
        name: {n: [s["right"][at(n)] for s in model["seeds"].values()] for n in scores["lengths"]}
        for name, model in scores["models"].items()
    }


def static_rows(page: BeautifulSoup, widget: str) -> list[list[str]]:
    rows = page.select(f"{widget} .fallback tbody tr")
    return [[cell.get_text(strip=True) for cell in row.select("td, th")] for row in rows]


# ---- Paths ---------------------------------------------------------------------------------------


STEPS = {
    "Recurrent": lambda d: d + 1,
    "Attention": lambda d: 1,
}


def test_the_fallback_counts_the_same(page):
    one_way = {"Recurrent"}
    for name, there, back in static_rows(page, "#path-tracer"):
        assert int(there) == STEPS[name](IT - CAT)
        assert back == ("no path" if name in one_way else str(STEPS[name](IT - CAT)))


def test_a_linear_recurrence_in_rounds(page):
    """ "Ten words take four rounds", and give the same states."""
    assert output(page, "rounds") == "the same: True"
    assert math.ceil(math.log2(10)) == 4


# ---- Flow ----------------------------------------------------------------------------------------


def test_what_arrives(page):
    for j, (word, state, share) in enumerate(static_rows(page, "#flow-map")):
        assert word == WORDS[j]
        assert state == ("no path" if j < CAT else f"{0.7 ** (j - CAT):.2f}")
        assert share == f"{30 / 39:.2f}"


def test_half_of_the_first_word_takes_99_hundredths_kept(page):
    enough = [f"{decay}" for decay in FLOW.run("m.DECAYS") if decay ** (len(WORDS) - 1) > 0.5]
    assert shows(page, "#sec-flow", *enough, f"{0.9 ** (len(WORDS) - 1):.2f}")


def test_a_small_lead_in_score_tells_a_word_from_a_hundred_times_as_many(page):
    weight, others = 1000 / (1000 + len(WORDS) - 1), 999
    ratio = others * weight / (1 - weight)
    scores = torch.zeros(1 + others, dtype=torch.float64)
    scores[3] = math.log(ratio)
    assert scores.softmax(-1)[3].item() == pytest.approx(weight)
    shown = f"{weight:.2f}", f"{others}", f"{ratio:,.0f}", f"{math.log(ratio):.1f}"
    assert shows(page, "#sec-flow", *shown)
    assert shows(page, "#sec-flow", "1,000", f"{math.log(1000):.1f}")


def test_the_way_into_the_net_does_not_decay():
    """Of the 10 steps from the first word to the last, nine multiply by what is kept."""
    assert all(STEPS["Recurrent"](d) == d + 1 for d in range(10))


def test_the_shares_to_repair_are_all_alike(page):
    """Divided by columns, all are a tenth, and rows sum to 1 all the same; causal ones don't."""
    assert numbers(output(page, "bug-check")) == [0.1, 0.1]
    counts = np.ones((10, 10))
    counts[:, CAT] = 30
    assert np.allclose(counts / counts.sum(axis=0), 0.1)
    assert np.allclose((counts / counts.sum(axis=1, keepdims=True))[IT, CAT], 30 / 39)
    causal = np.tril(counts)
    assert not np.allclose((causal / causal.sum(axis=0)).sum(axis=1), 1)


def test_the_toy_by_pencil(page):
    far = len(WORDS) - 1 - CAT
    text = " ".join(page.select_one("#sec-flow").get_text().split())
    assert f"≈ {0.7**far:.2f} at tired" in text
    assert f"30/(30 + 9) ≈ {30 / (30 + len(WORDS) - 1):.2f}" in text


def test_the_toy_has_the_numbers_of_trained_models(page):
    """The weight is that of the tour's head; what is kept lies among what the reader keeps."""
    measured = scores_of("grammar", "masked")
    layer, head = measured["seeds"][str(measured["shipped"])]["attention"]["it"]["head"]
    model = load("models/grammar/weights/masked.safetensors")
    with torch.no_grad():
        weight = model(model.encode(WORDS)).weights[layer][0, head, IT, CAT].item()
    assert f"{weight:.2f}" == f"{1000 / 1009:.2f}"
    assert shows(page, "#sec-flow", f"{weight:.2f}")
    assert shows(page, "#sec-flow .answer", "1,000", f"{1000 / 1009:.2f}", f"{100 / 109:.2f}")
    seeds = scores_of("bottleneck", "recall")["models"]["without"]["seeds"].values()
    kept = [a / b for seed in seeds for a, b in pairwise(seed["moves, untrained"])]
    assert min(kept) < 0.7 <= round(max(kept), 1)
    assert shows(page, "#sec-flow", "0.06", f"{min(kept):.1f}", f"{max(kept):.1f}")


def test_the_slope_of_the_path_is_what_arrives(page):
    """Backpropagated: the chain rule's product from *tired* to *cat*, and at 1 a bare sum."""
    slopes = {}
    for kept in (0.7, 1.0):
        x = torch.zeros(len(WORDS), dtype=torch.float64, requires_grad=True)
        state = torch.zeros((), dtype=torch.float64)
        for word in x:
            state = kept * state + word
        state.backward()
        slopes[kept] = x.grad
    assert slopes[0.7][CAT].item() == pytest.approx(0.7 ** (len(WORDS) - 1 - CAT))
    assert shows(page, "#sec-flow", "0.7", f"{slopes[0.7][CAT].item():.2f}")
    assert (slopes[1.0] == 1).all()


# ---- The price -----------------------------------------------------------------------------------


def test_the_price(page):
    """Each count against PyTorch's layers; then what the sentences say of them."""
    rows = [[td.get_text() for td in tr.select("td")] for tr in page.select("#sec-price tbody tr")]
    shown = {
        int(n): dict(zip(("recurrent", "each word", "pairs", "in all"), cells, strict=True))
        for n, *cells in (numbers(" ".join(row)) for row in rows)
    }
    assert list(shown) == [100, 500, 1000, 2000]
    for n, millions in shown.items():
        flops = {name: 1e6 * count for name, count in millions.items()}
        assert flops["recurrent"] == recurrent_flops(n, 500)
        assert flops["in all"] == attention_flops(n, 500) == flops["each word"] + flops["pairs"]
        assert flops["each word"] == 2 * n * sum(
            p.numel() for p in MultiHeadAttention(500, 1, bias=False).parameters()
        )
        # "As long as a text has fewer words than a word has numbers"
        assert (flops["in all"] < flops["recurrent"]) == (n < 500)
    assert shown[2000]["pairs"] == 4 * shown[1000]["pairs"]
    assert shown[2000]["each word"] == 2 * shown[1000]["each word"]


def test_the_pairs_of_a_text_twice_as_long(page):
    answer = page.select_one("#predict-pairs").get_text()
    assert 2000**2 == 4 * 1000**2 == 4_000_000
    assert numbers(answer.split("Yes.")[1])[:4] == [1000, 1000, 2000, 2000]
    alt = page.select_one("#figure-pairs img")["alt"]
    assert numbers(alt) == [x for n in (4, 8) for x in (n, n, n * n)]


def recurrent_flops(n, d, kind=torch.nn.GRUCell):
    """Two for each number of each matrix, and each word."""
    return 2 * n * sum(matrix.numel() for matrix in kind(d, d, bias=False).parameters())


def attention_flops(n, d):
    layer, x = MultiHeadAttention(d, 1, bias=False).eval(), torch.zeros(1, n, d)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        layer(x, return_attention=True)  # without it the counter misses the pairs, on a CPU
    return counter.get_total_flops()


def test_attention_is_cheaper_than_a_gru_while_words_are_fewer_than_numbers():
    for n, d in ((1, 8), (7, 8), (8, 8), (9, 8), (40, 8)):
        assert (attention_flops(n, d) < recurrent_flops(n, d)) == (n < d)
        assert (attention_flops(n, d) > recurrent_flops(n, d)) == (n > d)
        assert attention_flops(n, d) > recurrent_flops(n, d, torch.nn.RNNCell)  # "however short"


# ---- The bottleneck ------------------------------------------------------------------------------


BY_SKILL = ("without", "wider", "wider and longer", "widest and longer", "attention")


def test_the_printed_scores_are_the_models(page, recall):
    rows = output(page, "recall").splitlines()[1:]
    printed = [numbers(row[25:]) for row in rows]
    names = ["attention", *reversed(BY_SKILL[:-1])]
    for (_, at_8, at_16, worst, best), name in zip(printed, names, strict=True):
        assert at_8 == pytest.approx(np.mean(recall[name][8]), abs=0.0051)
        assert at_16 == pytest.approx(np.mean(recall[name][16]), abs=0.0051)
        assert worst == pytest.approx(min(recall[name][16]), abs=0.0051)
        assert best == pytest.approx(max(recall[name][16]), abs=0.0051)
    parameters = [row[0] for row in printed]
    models = scores_of("bottleneck", "recall")["models"]
    assert parameters == [models[name]["weights"] for name in names]
    for name in ("attention", "without", "wider", "widest and longer"):
        config = MODELS[name][0]
        assert models[name]["weights"] == sum(p.numel() for p in Recall(config).parameters())
    assert models["widest and longer"]["steps"] == 4 * models["attention"]["steps"]


def test_a_larger_state_helps_and_attention_more_in_every_seed(recall):
    for length in (10, 12, 14, 16):
        for worse, better in pairwise(recall[name][length] for name in BY_SKILL):
            assert max(worse) < min(better), length


def test_what_the_figure_says(recall):
    """ "Above 0.97 up to 16 letters …, then falls. Without, all four fall earlier." """
    assert min(min(recall["attention"][n]) for n in (2, 4, 6, 8, 10, 12, 14, 16)) > 0.97
    assert max(recall["attention"][24]) < min(recall["attention"][16]) - 0.05
    for name in BY_SKILL[:-1]:
        means = [np.mean(recall[name][n]) for n in (4, 6, 8, 10, 12, 14, 16, 20, 24)]
        assert means == sorted(means, reverse=True)


def test_the_first_letters_survive_whichever_way_they_are_read():
    """The prediction, its figure, and "about four of the sixteen"."""
    scores = scores_of("bottleneck", "recall")
    for name in ("without", "backwards"):
        for seed in scores["models"][name]["seeds"].values():
            right = seed["by place"]
            assert right[0] > 0.9
            assert max(right[10:]) < 0.15  # nearly guesses: 1/16
            assert sum(right[:4]) > sum(right) / 2  # "most of them among the first"
            assert right[:6] == sorted(right[:6], reverse=True)
            assert 4 < sum(right) < 5.1
    assert scores["models"]["without"]["steps"] * 64 == 96_000
    assert MODELS["without"][0].state == 32


def test_from_the_tenth_on_it_hardly_guesses_better():
    scores = scores_of("bottleneck", "recall")
    seeds = scores["models"]["without"]["seeds"].values()
    assert max(np.mean([seed["by place"] for seed in seeds], axis=0)[9:]) < 1 / 16 + 0.03


def test_told_each_letter_it_says_about_eight_and_the_first_ones_best():
    scores = scores_of("bottleneck", "recall")
    for name in ("without", "backwards"):
        for seed in scores["models"][name]["seeds"].values():
            shares = seed["by place, told"]
            assert 7.4 < sum(shares) < 8.7
            assert shares[0] > 0.9
            assert min(shares[:4]) > max(shares[4:])


def test_it_looks_at_the_letter_whose_turn_it_is():
    """ "Each row has its largest weight on the diagonal", for "hobgoblin"; and for every seed."""
    _, weights = shipped().say(encode("hobgoblin"))
    assert weights[0].argmax(-1).tolist() == list(range(9))
    scores = scores_of("bottleneck", "recall")
    for seed in scores["models"]["attention"]["seeds"].values():
        assert 0.81 <= round(seed["looks at"]["0"], 2) <= 0.90
    # The second "o" looks at the second, and hardly at the first.
    assert weights[0, 4, 4] > 0.9
    assert weights[0, 4, 1] < 0.005


def test_the_list_would_fit():
    """ "Four yes-or-no answers, so a list takes 64: 32 numbers, two answers in each number." """
    assert math.log2(16) == 4
    assert 16 * math.log2(16) == 64 == 2 * MODELS["without"][0].state
    assert 16 * MODELS["attention"][0].state == 512


def test_what_is_said_first_survives_although_it_is_the_freshest():
    """Both curves of the figure fall alike, whichever end was read last."""
    models = scores_of("bottleneck", "recall")["models"]
    forth, back = (
        np.mean([seed["by place"] for seed in models[name]["seeds"].values()], axis=0)
        for name in ("without", "backwards")
    )
    assert abs(forth - back).max() < 0.15
    assert abs(forth.sum() - back.sum()) < 0.6  # "nearly the same part"


# ---- What moves the state ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moved():
    scores = scores_of("bottleneck", "recall")
    return list(scores["models"]["without"]["seeds"].values())


def test_before_training_each_further_letter_leaves_less(moved):
    """ "Only 0.5 to 0.7 of the move", in each of five models and at each place."""
    for seed in moved:
        untrained = seed["moves, untrained"]
        for earlier, later in pairwise(untrained):
            assert 0.5 <= round(earlier / later, 1) <= 0.7
        assert (untrained[0] < 0.001, round(untrained[-1], 1)) == (True, 0.9)


def test_training_turns_it_round(moved):
    for seed in moved:
        assert seed["moves"] == sorted(seed["moves"], reverse=True)
        assert 0.75 < seed["moves"][0] < 0.85
        assert seed["moves"][-1] < 0.035


def test_it_is_the_letter_said_first_that_moves_the_state_most():
    """Of those that read from the end too: not the one that was read first."""
    scores = scores_of("bottleneck", "recall")
    for seed in scores["models"]["backwards"]["seeds"].values():
        assert seed["moves"] == sorted(seed["moves"], reverse=True)


# ---- Who is "it"? ------------------------------------------------------------------------------


def test_no_training_sentence_has_both_trophy_and_suitcase():
    for sentence in sentences(seed=0, count=60_000):
        assert not {"trophy", "suitcase"} <= set(sentence.words)


def test_it_looks_at_the_noun_that_is_meant(page):
    lines = [line.removeprefix("… ") for line in output(page, "pairs").splitlines()]
    assert lines[:4] == [
        f"{end}: it looks most at {noun}"
        for end, noun in [
            ("tired", "animal"),
            ("wide", "street"),
            ("tired", "cat"),
            ("soft", "mat"),
        ]
    ]
    rivers, money = (set(line.split(":")[1].split()) for line in lines[4:])
    assert rivers <= {"muddy", "wet", "sandy", "green"}
    assert money <= {"closed", "open", "safe", "modern"}


def test_it_looks_at_the_trophy_and_with_small_at_the_suitcase(page):
    """The open text says so; the figure's numbers are the look of the last layer."""
    numbered = page.select_one("#cell-figure-it").find_next_sibling()
    rows = [[td.get_text() for td in tr.select("td")] for tr in numbered.select("tbody tr")]
    for column, noun in ((1, "trophy"), (2, "suitcase")):
        assert max(rows, key=lambda row: float(row[column]))[0] == noun


def test_the_it_of_new_pairs():
    """ "Both times in 97 to 100 of a hundred such pairs", for each seed."""
    scores = scores_of("grammar", "masked")
    flips = [seed["attention"]["it"]["flips"] for seed in scores["seeds"].values()]
    assert (len(flips), round(min(flips), 2), round(max(flips), 2)) == (3, 0.97, 1.0)


def test_an_ordinary_model_answers_but_does_not_look(page):
    """ "Nearly as well", and no head gives the noun a quarter of what "it" gives away."""
    scores = scores_of("grammar", "masked-standard")
    lines = output(page, "ordinary").splitlines()
    for line, seed in zip(lines, scores["seeds"].values(), strict=True):
        right = min(seed["accuracy"][kind]["answer"] for kind in ("pairs", "words"))
        share = max(max(layer) for layer in seed["attention"]["it"]["heads"])
        assert numbers(line)[1:] == pytest.approx([right, share], abs=0.0051)
        assert right > 0.9
        assert share < 0.25
