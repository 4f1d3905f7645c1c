"""The small figures of the tour: every number is PyTorch's; tests/site has the mask's."""

import re

import pytest
import torch

from attention import scaled_dot_product_attention
from models.transformer import Transformer
from models.weights import load
from tests.conftest import ROOT
from tests.lessons.reading import in_order
from tests.site.reading import number
from tests.widgets.js import assert_near, module

TOKENS = ["The", "cat", "sat"]
X = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]], dtype=torch.float64)
TABLES = {
    "query": [[1, 0.5], [-0.5, 2], [2, 1], [0.5, 0]],
    "key": [[0, 1], [1.5, 0], [0.5, 1], [0.5, 0.5]],
    "value": [[-1, 1], [1, 0.5], [0.5, 1.5], [1, 0]],
}
QKV = {name: X @ torch.tensor(table, dtype=torch.float64) for name, table in TABLES.items()}
WORDS = "the cat sat on the mat because it was".split()
ENDINGS = ["tired", "warm"]
NAMES = [*(f"layer 1, head {h}" for h in range(1, 5)), "layer 2, head 1", "layer 2, head 2"]
FIGURES = module("tour-figures.js")


def exact(*, is_causal):
    output, weights = scaled_dot_product_attention(*QKV.values(), is_causal=is_causal)
    scores = QKV["query"] @ QKV["key"].T
    scaled = scores / 2**0.5
    masked = scaled.masked_fill(torch.ones(3, 3).triu(1).bool() & is_causal, -torch.inf)
    return {**QKV, "scores": scores, "scaled": scaled, "masked": masked,
            "weights": weights, "output": output}  # fmt: skip


def read(name, word, key):
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
    grids, told = read("scoring", word, key)
    assert grids == ["scores", "scaled"]
    q, k = want["query"][word].tolist(), want["key"][key].tolist()
    scaled = want["scaled"][word].tolist()
    pairs = [q[0], k[0], q[1], k[1], want["scores"][word, key].item(), scaled[key]]
    assert told == pytest.approx(pairs, abs=0.0051)

    grids, told = read("sharing", word, key)
    assert grids == ["weights", "output"]
    e, weights = want["scaled"][word].exp(), want["weights"][word]
    parts = [scaled[key], *scaled, e[key].item(), e.sum().item(), weights[key].item()]
    assert told[:7] == pytest.approx(parts, abs=0.051)
    assert told[-2:] == pytest.approx(want["output"][word].tolist(), abs=0.0051)
    # Done by hand from what is shown, the mix comes out as shown.
    by_hand = torch.tensor(told[7::3][:3], dtype=torch.float64) @ want["value"]
    assert told[-2:] == pytest.approx(by_hand.tolist(), abs=0.0061)


@pytest.fixture(scope="module")
def maps():
    """(last word, source) -> (heads, words, words), those of layer 1 first."""
    trained = load(ROOT / "models/grammar/weights/masked.safetensors")
    torch.manual_seed(0)
    models = {"trained": trained, "random": Transformer(trained.config).eval()}
    with torch.no_grad():
        return {
            (end, source): torch.cat(model(model.encode([*WORDS, end])).weights, dim=1)[0].double()
            for end in ENDINGS
            for source, model in models.items()
        }


def test_where_the_words_look(maps):
    """So that the last word decides what "it" means: in head 5 it looks at that noun."""
    sentences = [
        {"tokens": [*WORDS, end], **{source: maps[end, source] for source in ("trained", "random")}}
        for end in ENDINGS
    ]
    data = {"names": NAMES, "sentences": sentences, "it": 7, "head": 4}
    for (end, source), heads in maps.items():
        words, at = [*WORDS, end], {"ending": ENDINGS.index(end), "untrained": source == "random"}
        states = [at | {"head": head, "row": row} for head in range(6) for row in range(10)]
        found = FIGURES.run("x[1].map((state) => m.looking(x[0], state))", [data, states])
        for state, got in zip(states, found, strict=True):
            row = heads[:, state["row"]]
            assert [one["token"] for one in got["look"]] == words
            assert [one["weight"] for one in got["look"]] == row[state["head"]].tolist()
            assert [one["token"] for one in got["most"]] == [words[i] for i in row.argmax(-1)]
            assert (got["source"], got["tokens"]) == (source, words)
        if source == "trained":
            assert words[heads[4, 7].argmax()] == {"tired": "cat", "warm": "mat"}[end]
