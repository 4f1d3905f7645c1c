"""What the tests of widgets' JavaScript rely on: what goes in, what comes out, what fails."""

import math

import numpy as np
import pytest
import torch

from tests.widgets.js import JSException, module

JS = module("lib/attention.js")


def test_values_survive_both_ways():
    given = [0.1 + 0.2, 5e-324, 1.7e308, -1, math.inf, -math.inf, -0.0, None, "é\u2028\ud83d"]
    got = JS.run("x", given)
    assert got == given
    assert math.copysign(1, got[6]) == -1
    assert math.isnan(JS.run("x", {"deep": [math.nan]})["deep"][0])
    assert JS.run("x.map(Number.isNaN)", [math.nan, 1]) == [True, False]
    assert JS.run("x", torch.tensor([[1.5, 2]])) == [[1.5, 2]]
    assert JS.run("x", np.arange(3)) == [0, 1, 2]
    assert JS.run("x", b"\x00\xff") == [0, 255]
    assert JS.run("new Float32Array([1, -0, Infinity])") == [1, 0, math.inf]
    assert JS.run("undefined") is None
    assert JS.run("({one: 1, two: () => 2})") == {"one": 1}


def test_what_json_would_lose_is_refused():
    for code in ("new Map()", "[new Set()]", "[Promise.resolve(1)]"):
        with pytest.raises(JSException, match="has no JSON"):
            JS.run(code)


def test_a_module_is_imported_once_and_may_keep_state():
    assert JS.run("(await import('/widgets/lib/attention.js')).softmax === m.softmax") is True
    assert JS.run("(globalThis.state = x, null)", 5) is None
    assert module("lib/arcs.js").run("state") == 5


def test_what_is_thrown_is_told_with_file_and_line():
    for code, says in {
        "m.softmax(null)": r"TypeError(?s:.*)widgets/lib/attention\.js:\d+:",
        "1 +": "SyntaxError",
        "(() => {throw 'no head 3'})()": r"^no head 3$",
        "await import('/widgets/none.js')": r"widgets/none\.js",
    }.items():
        with pytest.raises(JSException, match=says):
            JS.run(code)


def test_an_endless_loop_ends_and_the_page_goes_on(monkeypatch):
    monkeypatch.setattr("tests.widgets.js.SECONDS", 0.2)
    with pytest.raises(JSException, match=r"no answer within 0\.2 s"):
        JS.run("(() => {for (;;);})()")
    assert JS.run("1 + 1") == 2
