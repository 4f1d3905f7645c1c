"""widgets/learning-rate.js: the ends of m04's trainings, counted here."""

import json

import numpy as np
import pytest

from modules.m04_softmax_and_scale.training import RATES, SCORES
from tests.lessons.page_text import in_order
from tests.widgets.js import module

JS = module("learning-rate.js")
TRAINING = json.loads(SCORES.read_text(encoding="utf-8"))
KINDS = "divided", "undivided"


@pytest.mark.parametrize("rate", range(len(RATES)))
def test_the_ends_of_both_kinds(rate):
    data = {
        name: {
            "right": list(TRAINING[name].values()),
            "stuck": list(TRAINING["stuck"][name].values()),
        }
        for name in KINDS
    }
    code = "((model) => ({...model, says: m.sentence(model)}))(m.trainings(x[0], x[1]))"
    got = JS.run(code, [{"rates": RATES, "every": 20, **data}, {"rate": rate}])
    assert got["rate"] == RATES[rate]
    shown, left = [], []
    for name in KINDS:
        curves = np.array(TRAINING[name][str(RATES[rate])])
        assert curves.shape == (3, 25), "500 steps, 20 to a value"
        ends = curves[:, -5:].mean(1)
        assert got[name]["right"] == curves.tolist()
        stuck = np.array(TRAINING["stuck"][name][str(RATES[rate])])
        assert got[name]["stuck"] == stuck.tolist()
        left += [f"{100 * stuck[:, -5:].mean():.0f}"]
        assert got[name]["ends"] == pytest.approx([ends.min(), ends.max()])
        shown += dict.fromkeys(f"{100 * end:.0f}" for end in (ends.min(), ends.max()))
    assert in_order(got["says"], *shown, "100", *left)
