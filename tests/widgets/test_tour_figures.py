"""The small figures of the tour: every number is PyTorch's; tests/site has the mask's."""

import re

import pytest
import torch

from tests.lessons.page_text import in_order
from tests.numbers import number
from tests.widgets.js import assert_near, module
from tests.widgets.truth_tour_figures import ENDINGS, NAMES, QKV, WORDS, exact, maps

TOKENS = ["The", "cat", "sat"]
FIGURES = module("tour-figures.js")


def look_at(name, word, key):
    """The tables of the figure are right, {name: numbers}; and what it says has these decimals."""
    says, grids = FIGURES.run(
        f"""(({{grids, says}}) => [says.join(""),
          grids.map(({{name, cells}}) => [name, cells])])(m.{name}(...x))""",
        [{"tokens": TOKENS, **QKV}, {"word": word, "key": key}],
    )
    for grid, cells in grids:
        assert_near(cells, exact(is_causal=False)[grid])
    assert in_order(says, TOKENS[word], TOKENS[key])
    return [grid for grid, _ in grids], [number(x) for x in re.findall(r"[−-]?\d+\.\d+", says)]


@pytest.mark.parametrize("word", range(3))
@pytest.mark.parametrize("key", range(3))
def test_the_three_words(word, key):
    want = exact(is_causal=False)
    grids, numbers_read = look_at("scoring", word, key)
    assert grids == ["scores", "scaled"]
    q, k = want["query"][word].tolist(), want["key"][key].tolist()
    scaled = want["scaled"][word].tolist()
    pairs = [q[0], k[0], q[1], k[1], want["scores"][word, key].item(), scaled[key]]
    assert numbers_read == pytest.approx(pairs, abs=0.0051)

    grids, numbers_read = look_at("sharing", word, key)
    assert grids == ["weights", "output"]
    e, weights = want["scaled"][word].exp(), want["weights"][word]
    parts = [scaled[key], *scaled, e[key].item(), e.sum().item(), weights[key].item()]
    assert numbers_read[:7] == pytest.approx(parts, abs=0.051)
    assert numbers_read[-2:] == pytest.approx(want["output"][word].tolist(), abs=0.0051)
    # Done by hand from what is shown, the mix comes out as shown.
    by_hand = torch.tensor(numbers_read[7::3][:3], dtype=torch.float64) @ want["value"]
    assert numbers_read[-2:] == pytest.approx(by_hand.tolist(), abs=0.0061)


def test_where_the_words_look():
    """So that the last word decides what "it" means: in head 5 it looks at that noun."""
    sentences = [
        {
            "tokens": [*WORDS, end],
            **{source: maps()[end, source] for source in ("trained", "random")},
        }
        for end in ENDINGS
    ]
    data = {"names": NAMES, "sentences": sentences, "it": 7, "head": 4}
    for (end, source), heads in maps().items():
        words, at = [*WORDS, end], {"ending": ENDINGS.index(end), "untrained": source == "random"}
        states = [at | {"head": head, "row": row} for head in range(6) for row in range(10)]
        models = FIGURES.run("x[1].map((state) => m.looking(x[0], state))", [data, states])
        for state, got in zip(states, models, strict=True):
            row = heads[:, state["row"]]
            assert [one["token"] for one in got["look"]] == words
            assert [one["weight"] for one in got["look"]] == row[state["head"]].tolist()
            assert [one["token"] for one in got["most"]] == [words[i] for i in row.argmax(-1)]
            assert [one["weight"] for one in got["most"]] == row.max(-1).values.tolist()
            assert (got["source"], got["tokens"]) == (source, words)
        if source == "trained":
            assert words[heads[4, 7].argmax()] == {"tired": "cat", "warm": "mat"}[end]
