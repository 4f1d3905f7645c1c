"""What the tests of widgets' JavaScript rely on: what goes in, what comes out, what fails."""

import math

import numpy as np
import pytest
import torch

from tests.widgets.js import JSException, module

JS = module("lib/attention.js")


def test_values_survive_both_ways():
    given = [0.1 + 0.2, 5e-324, -1, math.inf, -math.inf, None, "é\u2028\ud83d", {"a": [1]}]
    assert JS.run("x", given) == given
    assert math.copysign(1, JS.run("x", -0.0)) == -1
    assert math.isnan(JS.run("({deep: [x]})", math.nan)["deep"][0])
    given = [torch.tensor([[1.5, 2]]), np.arange(3), b"\x00\xff"]
    assert JS.run("x", given) == [[[1.5, 2]], [0, 1, 2], [0, 255]]
    assert JS.run("[new Float32Array([1, Infinity]), {two: () => 2}]") == [[1, math.inf], {}]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("new Map()", "has no JSON"), ("[Promise.resolve(1)]", "has no JSON"),
        ("m.softmax(null)", r"TypeError(?s:.*)widgets/lib/attention\.js:\d+:"),
        ("1 +", "SyntaxError"), ("(() => {throw 'no head 3'})()", "^no head 3$"),
    ],
)  # fmt: skip
def test_what_is_thrown_or_would_be_lost_is_told(code, says):
    with pytest.raises(JSException, match=says):
        JS.run(code)


def test_an_endless_loop_ends_and_the_page_goes_on(monkeypatch):
    monkeypatch.setattr("tests.widgets.js.SECONDS", 0.2)
    with pytest.raises(JSException, match=r"no answer within 0\.2 s"):
        JS.run("(() => {for (;;);})()")
    assert JS.run("1 + 1") == 2
