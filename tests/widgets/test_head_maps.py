"""m06's heads side by side: maps and their mean are PyTorch's."""

import re

import pytest
import torch

from tests.widgets.js import module

JS = module("head-maps.js")
LENGTHS = [6, 13, 1]


def random_maps(layers, heads, length, generator):
    spread = torch.randn(layers, heads, length, length, generator=generator).double() * 4
    weights = spread.softmax(-1)
    weights[..., 0] = 0 if length > 1 else 1  # a weight of exactly 0 has no logarithm
    return weights / weights.sum(-1, keepdim=True)


@pytest.fixture(scope="module")
def sentences():
    generator = torch.Generator().manual_seed(0)
    return [
        {
            "tokens": [f"w{i}" for i in range(length)],
            "trained": random_maps(2, 3, length, generator),
            "random": random_maps(2, 3, length, generator),
        }
        for length in LENGTHS
    ]


def state(**changes):
    return {"sentence": 0, "layer": 0, "head": 0, "row": 0, "untrained": False} | changes


@pytest.mark.parametrize("untrained", [False, True])
@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("sentence", range(len(LENGTHS)))
def test_every_number(sentences, sentence, layer, untrained):
    given = sentences[sentence]["random" if untrained else "trained"]
    want = torch.cat([given[layer], given[layer].mean(0, keepdim=True)])
    for head in range(4):
        row = (5 * head) % LENGTHS[sentence]
        chosen = state(sentence=sentence, layer=layer, head=head, row=row, untrained=untrained)
        got = JS.call("compareHeads", {"sentences": sentences}, chosen)
        assert [m["name"] for m in got["maps"]] == ["head 1", "head 2", "head 3", "mean"]
        found = torch.tensor([m["weights"] for m in got["maps"]], dtype=torch.float64)
        torch.testing.assert_close(found, want, rtol=1e-12, atol=1e-12)
        assert [look["weight"] for look in got["looks"]] == pytest.approx(want[head, row].tolist())
        assert got["chosen"] == got["maps"][head]
        assert got["source"] == ("random" if untrained else "trained")


def test_a_sentence_without_the_chosen_word_shows_its_last(sentences):
    got = JS.call("compareHeads", {"sentences": sentences}, state(row=12))
    assert got["query"] == 5
    longer = JS.call("compareHeads", {"sentences": sentences}, state(row=12, sentence=1))
    assert longer["query"] == 12


def test_the_sentence(sentences):
    got = JS.call("compareHeads", {"sentences": sentences}, state(layer=1, head=3, row=2))
    said = JS.call("summarize", got)
    assert said.startswith("Layer 2, mean, trained weights: w2 looks at w0 0\u202f%, w1 ")
    shares = [int(share) for share in re.findall(r"(\d+)\u202f%", said)]
    want = sentences[0]["trained"][1].mean(0)[2]
    assert all(abs(a - 100 * b) <= 0.5 + 1e-9 for a, b in zip(shares, want.tolist(), strict=True))
