"""widgets/softmax-slope.js: weights, slopes and nudges against NumPy."""

import numpy as np
import pytest

from tests.lessons.page_text import in_order
from tests.widgets.js import module

JS = module("softmax-slope.js")
DATA = {
    "words": ["a", "b", "c"],
    "scores": [1.5, 12, -3],
    "nudge": 0.1,
    "divisors": [1, 3, 8, 90],
    "names": ["1", "3", "8", "√8100"],
}


def weights(by, nudge=0.0):
    first, *others = DATA["scores"]
    powers = np.exp(np.array([first + nudge, *others]) / by)
    return powers / powers.sum()


@pytest.mark.parametrize("by", range(len(DATA["divisors"])))
def test_each_divisor(by):
    code = "((model) => ({...model, says: m.sentence(model)}))(m.onTheCurve(x[0], {by: x[1]}))"
    got = JS.run(code, [DATA, by])
    divisor = DATA["divisors"][by]
    now = weights(divisor)
    assert [word["weight"] for word in got["words"]] == pytest.approx(now.tolist())
    assert [word["gap"] for word in got["words"]] == pytest.approx(np.log(now / (1 - now)).tolist())
    slopes = (weights(divisor, 1e-5 * divisor) - weights(divisor, -1e-5 * divisor))[0] / 2e-5
    assert got["words"][0]["slope"] == pytest.approx(slopes, rel=1e-5)
    moves = [(weights(one, 0.1) - weights(one))[0] for one in DATA["divisors"]]
    assert got["moves"] == pytest.approx(moves, rel=0.06)
    assert got["moved"] == got["moves"][by] == pytest.approx(got["input"] * slopes, rel=1e-5)
    assert got["input"] == pytest.approx(0.1 / divisor)
    shown = DATA["names"][by] if by else "Undivided", f"{0.1 / divisor:.2g}"
    assert in_order(got["says"], *shown)
    decimals = np.format_float_positional(got["moved"], precision=2, fractional=False)
    assert got["says"].endswith(f"by about {decimals}.")
