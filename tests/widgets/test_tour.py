"""m00's widgets: what counts as a swipe; every number of the small figures is PyTorch's."""

import re
from itertools import product

import pytest
import torch

from tests.lessons.page_text import in_order
from tests.numbers import number
from tests.widgets import truth_tour_figures as truth
from tests.widgets.js import assert_near, module
from tests.widgets.truth_tour_figures import ENDINGS, GAP, LIONS, NAMES, OF_MAT, QKV, WORDS

TOUR, FIGURES = module("tour.js"), module("tour-figures.js")


def test_a_swipe_goes_far_and_across():
    moves = {(-120, 10): 1, (120, -10): -1, (-120, 200): 0, (-30, 0): 0, (60, 30): -1, (59, 0): 0}
    swiped = "m.swiped({clientX: 9, clientY: 5}, {clientX: 9 + x, clientY: 5 + y})"
    assert TOUR.run(f"x.map(([x, y]) => {swiped})", [*moves]) == [*moves.values()]


# ---- Three words ---------------------------------------------------------------------------------


def look_at(name, names, word, key, mat):
    """The tables of the figure are right; return the decimals that it says."""
    tokens = [["The", noun, "sat"] for noun in ("cat", "mat")]
    worked = [{"tokens": tokens[0], **QKV}, {"tokens": tokens[1], **OF_MAT}]
    figure = FIGURES.call(name, worked, {"word": word, "key": key, "mat": mat})
    grids = {grid["name"]: grid["cells"] for pair in figure["pairs"] for grid in pair}
    assert [*grids] == names
    for grid, cells in grids.items():
        assert_near(cells, truth.exact(is_causal=False, of=OF_MAT if mat else QKV)[grid])
    says = "".join(figure["says"])
    assert in_order(says, tokens[mat][word], tokens[mat][key])
    return [number(x) for x in re.findall(r"[−-]?\d+\.\d+", says)]


@pytest.mark.parametrize(("word", "key"), [*product(range(3), repeat=2)])
@pytest.mark.parametrize("mat", [False, True], ids=["cat", "mat"])
def test_the_arithmetic_of_a_score_and_of_a_mix(word, key, mat):
    want = truth.exact(is_causal=False, of=OF_MAT if mat else QKV)
    scaled, weights, output = (want[name][word] for name in ("scaled", "weights", "output"))
    said = look_at("scoring", ["query", "key", "scores", "scaled"], word, key, mat)
    (a, b), (c, d) = want["query"][word], want["key"][key]
    assert_near(said, [a, c, b, d, want["scores"][word, key], scaled[key]], 0.0051)

    said = look_at("sharing", ["scaled", "weights", "value", "output"], word, key, mat)
    parts = scaled.exp()
    share = [scaled[key], *scaled, parts[key], parts.sum(), weights[key]]
    assert_near(said[:7], share, 0.051)
    assert_near(said[-2:], output, 0.0051)
    # Done by hand from what is shown, the mix comes out as shown.
    by_hand = torch.tensor(said[7::3][:3], dtype=torch.float64) @ want["value"]
    assert_near(said[-2:], by_hand, 0.0061)


# ---- A trained model -----------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "source"), [*product(range(2), ["trained", "random"])])
def test_where_the_words_look(ending, source):
    tokens, heads = [*WORDS, ENDINGS[ending]], truth.maps()[ENDINGS[ending], source]
    data = {"names": NAMES, "sentences": [{"tokens": tokens, source: heads}] * 2}
    for head, row in product(range(6), range(10)):
        state = {"ending": ending, "untrained": source == "random", "head": head, "row": row}
        got, (weights, most) = FIGURES.call("looking", data, state), heads[:, row].max(-1)
        assert_near([one["weight"] for one in got["look"]], heads[head, row])
        assert_near([one["weight"] for one in got["most"]], weights)
        assert [one["token"] for one in got["most"]] == [tokens[i] for i in most]


@pytest.mark.parametrize(("plural", "head", "off"), [*product((False, True), range(6), (0, 1))])
def test_what_the_model_fills_in_with_a_head_on_and_off(plural, head, off):
    """A head of layer 1 changes both maps of layer 2; one of layer 2 changes no other."""
    runs, tokens = truth.fillings(LIONS[plural]), LIONS[plural].replace("[mask]", "▢").split()
    tops = [sorted(chances.items(), key=lambda item: -item[1])[:3] for _, chances in runs]
    published = {"tokens": tokens, "first": runs[0][0][:4], "runs": [
        {"second": maps[4:], "guesses": top} for (maps, _), top in zip(runs, tops, strict=True)
    ]}  # fmt: skip
    data = {"names": NAMES, "gap": GAP, "sentences": [published] * 2}
    state = {"plural": plural, "head": head, "off": bool(off)}
    got, told = FIGURES.run(
        "((model) => [model, m.fillSentence(model)])(m.filling(...x))", [data, state]
    )
    run = off and head + 1
    heads, ((best, chance), *_) = runs[run][0], tops[run]
    assert_near(got["maps"], heads)
    assert_near([one["weight"] for one in got["look"]], heads[head, GAP])
    differ = (heads - runs[0][0]).abs().amax((1, 2)) > 0.005
    assert got["isChanged"] == differ.tolist()
    assert differ.sum() == off * (3 if NAMES[head].startswith("layer 1") else 1)
    assert in_order(told, NAMES[head][1:], "off" if off else "on", best, f"{chance:.2f}")
