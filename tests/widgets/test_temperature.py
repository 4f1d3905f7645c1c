"""widgets/temperature.js: every stop of its slider against attention.py."""

import math
import random

import pytest
import torch

from analysis import entropy
from tests.lessons.page_text import in_order
from tests.widgets.js import assert_near, module
from tests.widgets.truth_temperature import KEY, QUERY, STOPS, expected

JS = module("temperature.js")
TOKENS = ["The", "cat", "sat", "on", "the", "mat"]


def heat(temperature, query=QUERY, key=KEY):
    state = {"stop": STOPS.index(temperature), "cell": (2, 1), "query": query, "key": key}
    data = {"tokens": TOKENS, "query": QUERY, "key": KEY}
    return JS.run("((row) => ({...row, sentence: m.sentence(row)}))(m.heat(...x))", [data, state])


@pytest.mark.parametrize("temperature", STOPS)
def test_the_numbers_of_a_stop_are_attention_pys(temperature):
    draw = random.Random(temperature)
    drawn = [[[draw.uniform(-9, 9) for _ in range(4)] for _ in range(6)] for _ in "qk"]
    for source, matrices in (("constructed", [QUERY, KEY]), ("random", drawn)):
        got, want = heat(temperature, *matrices), expected(*matrices, temperature)
        assert_near(got["weights"], want, atol=1e-13, rtol=1e-11)
        assert_near(got["entropies"], entropy(want), rtol=1e-9)
        assert (got["T"], got["source"]) == (temperature, source)
        assert got["keys"] == pytest.approx(entropy(want)[2].exp().item())
        assert in_order(got["sentence"], *(f"{x:.2f}" for x in [*want[2], got["keys"]]), "6")


def test_the_limits_are_exact_and_ties_share():
    assert JS.run("m.STOPS") == STOPS
    scores = torch.tensor(QUERY).double() @ torch.tensor(KEY).double().T
    largest = scores == scores.max(dim=-1, keepdim=True).values
    assert heat(0)["weights"] == (largest / largest.sum(dim=-1, keepdim=True)).tolist()
    assert heat(0)["weights"][1] == [0.5, 0, 0, 0, 0.5, 0]
    assert heat(math.inf)["weights"] == [[1 / 6] * 6] * 6
