"""m06's heads side by side: maps and their mean are PyTorch's."""

from itertools import product

import torch

from tests.lessons.page_text import in_order, share
from tests.widgets.js import assert_near, module

JS = module("head-maps.js")
LENGTHS = [6, 13, 1]


def random_maps(length, generator):
    spread = torch.randn(2, 3, length, length, generator=generator).double() * 4
    weights = spread.softmax(-1)
    weights[..., 0] = 0 if length > 1 else 1  # a weight of exactly 0 has no logarithm
    return weights / weights.sum(-1, keepdim=True)


GENERATOR = torch.Generator().manual_seed(0)
SENTENCES = [
    {
        "tokens": [f"w{i}" for i in range(length)],
        **{source: random_maps(length, GENERATOR) for source in ("trained", "random")},
    }
    for length in LENGTHS
]


def compared(**changes):
    state = {"sentence": 0, "layer": 0, "head": 0, "row": 0, "untrained": False} | changes
    code = "((model) => ({...model, sentence: m.summarize(model)}))(m.compareHeads(...x))"
    return JS.run(code, [{"sentences": SENTENCES}, state])


def test_every_number():
    for sentence, layer, untrained, head in product(range(3), range(2), (False, True), range(4)):
        source = "random" if untrained else "trained"
        given, row = SENTENCES[sentence][source], (5 * head) % LENGTHS[sentence]
        want = torch.cat([given[layer], given[layer].mean(0, keepdim=True)])
        got = compared(sentence=sentence, layer=layer, head=head, row=row, untrained=untrained)
        assert [m["name"] for m in got["maps"]] == ["head 1", "head 2", "head 3", "mean"]
        assert_near([m["weights"] for m in got["maps"]], want)
        assert_near([look["weight"] for look in got["looks"]], want[head, row])
        assert got["chosen"] == got["maps"][head]
        assert got["source"] == source
        assert in_order(got["sentence"], str(layer + 1), *map(share, want[head, row]))


def test_a_sentence_without_the_chosen_word_shows_its_last():
    assert compared(row=12)["query"] == 5
    assert compared(row=12, sentence=1)["query"] == 12
