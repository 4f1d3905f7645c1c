"""m01: its claims against numbers computed here."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention import MultiHeadAttention
from models.bottleneck.model import Recall, encode
from models.bottleneck.train import MODELS, shipped
from models.grammar.sentences import sentences
from models.weights import load
from tests.lessons.page_text import cells, output, shows
from tests.numbers import numbers
from tests.scores import scores_of
from tests.widgets.truth_flow_map import DECAYS

PAGE = "modules/m01_why_attention/lesson.html"
WORDS = "the cat sat on the mat because it was tired".split()
CAT, IT = 1, 7
RECALL = scores_of("bottleneck", "recall")
BY_SKILL = ("without", "wider", "wider and longer", "widest and longer", "attention")


def of_seeds(model, field):
    """A row for each training of the model."""
    return np.array([seed[field] for seed in RECALL["models"][model]["seeds"].values()])


def right(model):
    """Length -> the share of right letters of each training."""
    return dict(zip(RECALL["lengths"], of_seeds(model, "right").T, strict=True))


def test_the_list_would_fit_into_the_state():
    assert 16 * math.log2(16) == 64 == 2 * MODELS["without"][0].state, "two answers in each number"
    assert RECALL["models"]["without"]["steps"] * 64 == 96_000


def test_the_first_letters_survive_whichever_way_they_are_read(page):
    assert page.select_one("#predict-letters")["data-right"] == "3"
    forth, back = (of_seeds(name, "by place") for name in ("without", "backwards"))
    for seed in (*forth, *back):
        assert seed[0] > 0.9
        assert 4 < seed.sum() < 5.1
        assert seed[:4].sum() > seed.sum() / 2, "most of them from the beginning"
        assert (np.diff(seed[:6]) < 0).all()
        assert seed[10:].max() < 0.15, "nearly guesses: 1/16"
    assert forth.mean(0)[9:].max() < 1 / 16 + 0.03, "guessing from about the tenth on"
    assert abs(forth.mean(0) - back.mean(0)).max() < 0.15, "both curves fall alike"
    for told in (*of_seeds("without", "by place, told"), *of_seeds("backwards", "by place, told")):
        assert 7.4 < told.sum() < 8.7, "corrected after each letter, about eight"
        assert told[:4].min() > told[4:].max(), "and the first ones are still the best"


def test_larger_states_and_more_training_help_and_attention_more_in_every_seed(page):
    for length in (10, 12, 14, 16):
        for worse, better in pairwise(right(name)[length] for name in BY_SKILL):
            assert worse.max() < better.min(), length
    steps = {name: model["steps"] for name, model in RECALL["models"].items()}
    assert steps["widest and longer"] == 4 * steps["attention"]
    printed = {numbers(row[25:])[0] for row in output(page, "recall").splitlines()[1:]}
    assert printed == {sum(p.numel() for p in Recall(MODELS[name][0]).parameters())
                       for name in BY_SKILL}  # fmt: skip


def test_with_attention_most_letters_are_right_up_to_the_longest_lists_in_training():
    attention = right("attention")
    assert min(attention[n].min() for n in range(2, 17, 2)) > 0.97
    assert attention[24].max() < attention[16].min() - 0.05
    for name in BY_SKILL[:-1]:
        means = [right(name)[n].mean() for n in (4, 6, 8, 10, 12, 14, 16, 20, 24)]
        assert means == sorted(means, reverse=True), "without it, all fall earlier"


def test_it_looks_at_the_letter_whose_turn_it_is():
    _, weights = shipped().say(encode("hobgoblin"))
    assert weights[0].argmax(-1).tolist() == list(range(9))
    assert weights[0, 4, 4] > 0.9 > 0.005 > weights[0, 4, 1], "the second o isn't the first"


def test_training_turns_round_which_letter_moves_the_state_most(page):
    """Before it, the last one; after it, the one that is said first, whichever way it is read."""
    untrained, trained = (of_seeds("without", name) for name in ("moves, untrained", "moves"))
    kept = untrained[:, :-1] / untrained[:, 1:]
    least, most = kept.min().round(1), kept.max().round(1)
    assert least == 0.5
    assert most == 0.7 == DECAYS[1], "what the toy keeps is what untrained readers keep"
    assert shows(page, "#sec-flow", "0.06", f"{least}", f"{most}")
    assert shows(page, "#sec-flow", f"{least}", f"{most}", "1994")  # of the box
    assert (untrained[:, 0] < 0.001).all()
    assert (untrained[:, -1].round(1) == 0.9).all()
    for seed in (*trained, *of_seeds("backwards", "moves")):
        assert (np.diff(seed) <= 0).all()
    assert 0.75 < trained[:, 0].min() < trained[:, 0].max() < 0.85
    assert trained[:, -1].max() < 0.035


def test_a_linear_recurrence_can_be_taken_in_rounds(page):
    assert output(page, "rounds") == "the same: True"
    assert math.ceil(math.log2(10)) == 4, "ten words take four"


def test_what_arrives_and_the_slope_on_the_way_back(page):
    """By autograd: the chain rule's product from *tired* to *cat*, and at 1 a bare sum."""
    slopes = {}
    for kept in (0.7, 0.9, 1.0):
        x = torch.zeros(len(WORDS), dtype=torch.float64, requires_grad=True)
        state = torch.zeros((), dtype=torch.float64)
        for word in x:
            state = kept * state + word
        state.backward()
        slopes[kept] = x.grad
    assert shows(page, "#sec-flow", "0.49", f"{slopes[0.7][CAT]:.2f}")
    assert shows(page, "#sec-flow", "0.7", f"{slopes[0.7][CAT]:.2f}")
    assert shows(page, "#sec-flow", "30", "30", "9", f"{30 / 39:.2f}")
    assert (slopes[1.0] == 1).all()
    enough = [f"{decay}" for decay in DECAYS if decay**9 > 0.5]
    assert shows(page, "#sec-flow", *enough, f"{slopes[0.9][0]:.2f}")


def test_a_trained_head_gives_cat_as_much_as_a_word_that_counts_1_000_times(page):
    measured = scores_of("grammar", "masked")
    layer, head = measured["seeds"][str(measured["shipped"])]["attention"]["it"]["head"]
    model = load("models/grammar/weights/masked.safetensors")
    weight = model(model.encode(WORDS)).weights[layer][0, head, IT, CAT]
    assert f"{weight:.2f}" == f"{1000 / 1009:.2f}"
    assert shows(page, "#sec-flow", f"{weight:.2f}")
    assert shows(page, "#sec-flow .answer", "1,000", f"{weight:.2f}", f"{100 / 109:.2f}")


def test_a_small_lead_in_score_tells_a_word_from_a_hundred_times_as_many(page):
    weight, others = 1000 / 1009, 999
    ratio = others * weight / (1 - weight)
    scores = torch.zeros(1 + others, dtype=torch.float64)
    scores[3] = math.log(ratio)
    assert scores.softmax(-1)[3].item() == pytest.approx(weight)
    told = f"{weight:.2f}", f"{others}", f"{ratio:,.0f}", f"{math.log(ratio):.1f}"
    assert shows(page, "#sec-flow", *told)
    assert shows(page, "#sec-flow", "1,000", f"{math.log(1000):.1f}")


def flops_of(n, d, kind):
    """Of a recurrent layer: two for each number of each matrix, and each word."""
    return 2 * n * sum(matrix.numel() for matrix in kind(d, d, bias=False).parameters())


def test_attention_costs_less_than_a_gru_while_words_are_fewer_than_numbers(page):
    """By PyTorch's counter, for short texts; and each number of the table by the same formulas."""
    for n, d in ((1, 8), (7, 8), (8, 8), (9, 8), (40, 8)):
        layer, x = MultiHeadAttention(d, 1, bias=False).eval(), torch.zeros(1, n, d)
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            layer(x, return_attention=True)  # without it the counter misses the pairs, on a CPU
        attention, gru = counter.get_total_flops(), flops_of(n, d, torch.nn.GRUCell)
        assert (attention, gru) == (8 * n * d**2 + 4 * n**2 * d, 12 * n * d**2)
        assert np.sign(attention - gru) == np.sign(n - d)
        assert attention > flops_of(n, d, torch.nn.RNNCell), "however short"
    for row in cells(page, "price"):
        n, *millions = numbers(" ".join(row))
        parts = 12 * n * 500**2, 8 * n * 500**2, 4 * n**2 * 500
        assert millions == [x / 1e6 for x in (*parts, parts[1] + parts[2])]


def test_the_pairs_of_a_text_twice_as_long(page):
    question = page.select_one("#predict-pairs")
    assert question["data-right"] == "2"
    assert numbers(question.get_text().split("Yes.")[1])[:4] == [1000, 1000, 2000, 2000]
    alt = page.select_one("#figure-pairs img")["alt"]
    assert numbers(alt) == [x for n in (4, 8) for x in (n, n, n * n)]


def test_the_shares_to_repair_are_all_alike(page):
    """Divided by columns, all are a tenth, and rows sum to 1 all the same; causal ones don't."""
    assert numbers(output(page, "bug-check")) == [0.1, 0.1]
    counts = np.ones((10, 10))
    counts[:, CAT] = 30
    assert np.allclose(counts / counts.sum(axis=0), 0.1)
    causal = np.tril(counts)
    assert not np.allclose((causal / causal.sum(axis=0)).sum(axis=1), 1)


def test_no_training_sentence_has_both_trophy_and_suitcase():
    for sentence in sentences(seed=0, count=60_000):
        assert not {"trophy", "suitcase"} <= set(sentence.words)


def test_it_looks_at_the_noun_that_is_meant(page):
    numbered = page.select_one("#cell-figure-it").find_next_sibling()
    rows = [[td.get_text() for td in tr.select("td")] for tr in numbered.select("tbody tr")]
    found = [max(rows, key=lambda row, c=column: float(row[c]))[0] for column in (1, 2)]
    assert found == ["trophy", "suitcase"], "with big, and with small"
    *looks, rivers, money = (line.split(": ") for line in output(page, "pairs").splitlines())
    assert [line[1].split()[-1] for line in looks] == ["animal", "street", "cat", "mat"]
    assert {*rivers[1].split()} <= {"muddy", "wet", "sandy", "green"}
    assert {*money[1].split()} <= {"closed", "open", "safe", "modern"}
    seeds = scores_of("grammar", "masked")["seeds"].values()
    flips = [round(seed["attention"]["it"]["flips"], 2) for seed in seeds]
    assert (min(flips), max(flips)) == (0.97, 1), "97 to 100 of a hundred pairs"


def test_an_ordinary_model_answers_but_does_not_look():
    for seed in scores_of("grammar", "masked-standard")["seeds"].values():
        assert min(seed["accuracy"][kind]["answer"] for kind in ("pairs", "words")) > 0.9
        assert max(max(layer) for layer in seed["attention"]["it"]["heads"]) < 0.25
