"""The small figures of the tour: every number is PyTorch's; tests/site has the mask's."""

import re

import pytest
import torch

from tests.lessons.page_text import in_order
from tests.numbers import number
from tests.widgets.js import assert_near, module
from tests.widgets.truth_tour_figures import (
    ALL_HEADS,
    ENDINGS,
    GAP,
    LIONS,
    NAMES,
    OF_MAT,
    QKV,
    WORDS,
    exact,
    fillings,
    maps,
)

TOKENS, TOKENS_OF_MAT = ["The", "cat", "sat"], ["The", "mat", "sat"]
WORKED = [{"tokens": TOKENS, **QKV}, {"tokens": TOKENS_OF_MAT, **OF_MAT}]
FIGURES = module("tour-figures.js")


def look_at(name, word, key, mat):
    """The tables of the figure are right, {name: numbers}; and what it says has these decimals."""
    tokens, says, grids = FIGURES.run(
        f"""(({{tokens, pairs, says}}) => [tokens, says.join(""),
          pairs.flat().map(({{name, cells}}) => [name, cells])])(m.{name}(...x))""",
        [WORKED, {"word": word, "key": key, "mat": mat}],
    )
    assert tokens == (TOKENS_OF_MAT if mat else TOKENS)
    for grid, cells in grids:
        assert_near(cells, exact(is_causal=False, of=OF_MAT if mat else QKV)[grid])
    assert in_order(says, tokens[word], tokens[key])
    return [grid for grid, _ in grids], [number(x) for x in re.findall(r"[−-]?\d+\.\d+", says)]


@pytest.mark.parametrize("mat", [False, True], ids=["cat", "mat"])
@pytest.mark.parametrize("word", range(3))
@pytest.mark.parametrize("key", range(3))
def test_the_three_words(word, key, mat):
    want = exact(is_causal=False, of=OF_MAT if mat else QKV)
    grids, numbers_read = look_at("scoring", word, key, mat)
    assert grids == ["query", "key", "scores", "scaled"]
    q, k = want["query"][word].tolist(), want["key"][key].tolist()
    scaled = want["scaled"][word].tolist()
    pairs = [q[0], k[0], q[1], k[1], want["scores"][word, key].item(), scaled[key]]
    assert numbers_read == pytest.approx(pairs, abs=0.0051)

    grids, numbers_read = look_at("sharing", word, key, mat)
    assert grids == ["scaled", "weights", "value", "output"]
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


def test_what_the_model_fills_in():
    """Each head off, in both sentences: the maps, which of them differ, and what the gap gets."""
    data = {"names": NAMES, "gap": GAP, "head": 5, "sentences": []}
    for sentence in LIONS:
        runs = fillings(sentence)
        words = [sorted(chances.items(), key=lambda item: -item[1])[:3] for _, chances in runs]
        data["sentences"].append({
            "tokens": sentence.replace("[mask]", "▢").split(), "first": runs[0][0][:4],
            "runs": [{"second": heads[4:], "guesses": top}
                     for (heads, _), top in zip(runs, words, strict=True)],
        })  # fmt: skip
    states = [
        {"plural": plural, "head": head, "off": off}
        for plural in (False, True)
        for head in range(6)
        for off in (False, True)
    ]
    models = FIGURES.run(
        "x[1].map((state) => [m.filling(x[0], state), m.fillSentence(m.filling(x[0], state))])",
        [data, states],
    )
    for state, (got, says) in zip(states, models, strict=True):
        runs = fillings(LIONS[state["plural"]])
        heads, chances = runs[state["head"] + 1 if state["off"] else 0]
        assert_near(got["maps"], heads)
        differ = [(a - b).abs().max() > 0.005 for a, b in zip(heads, runs[0][0], strict=True)]
        assert got["isChanged"] == differ
        # A head of layer 1 changes both of layer 2; one of layer 2 changes no other.
        layer = ALL_HEADS[state["head"]][0]
        assert sum(differ) == (0 if not state["off"] else 3 if layer == 0 else 1)
        best = max(chances, key=chances.get)
        assert (got["guesses"][0]["token"], len(got["guesses"])) == (best, 3)
        assert f"{best} {chances[best]:.2f}" in says
        assert f"{NAMES[state['head']][1:]}, {'off' if state['off'] else 'on'}:" in says
        assert [one["weight"] for one in got["look"]] == pytest.approx(
            heads[state["head"], GAP].tolist()
        )
