"""widgets/exchanged-values.js: what is found at each noun, what is told of it, and its goals."""

import pytest

from tests.lessons.page_text import in_order
from tests.widgets.js import module

JS = module("exchanged-values.js")
ONE = {"first": "is", "chance": 0.31, "one": [0.31, 0.52], "several": [0.01, 0.03]}
SEVERAL = {"first": "are", "chance": 0.24, "one": [0.02, 0.04], "several": [0.24, 0.45]}
NOUNS = {
    "words": ["the", "cat", "near", "dogs"],
    "nouns": [1, 3],
    "weights": [0.11, 0.72, 0.04, 0.13],
}
DATA = {
    "sentences": [
        {**NOUNS, "own": ONE, "exchanged": SEVERAL},
        {**NOUNS, "own": SEVERAL, "exchanged": ONE},
        {**NOUNS, "own": ONE, "exchanged": {**ONE, "chance": 0.29}},
    ]
}


def told(sentence, exchange):
    return JS.told("withValues", DATA, {"sentence": sentence, "exchange": exchange})


@pytest.mark.parametrize("exchange", [False, True])
def test_an_exchange_changes_what_is_found_and_guessed_and_no_weight(exchange):
    m = told(0, exchange)
    assert m["weights"] == NOUNS["weights"]
    assert m["found"] == ([3, 1] if exchange else [1, 3])
    now, other = (SEVERAL, ONE) if exchange else (ONE, SEVERAL)
    assert [m["now"], m["before"]] == [now, ONE]
    guess = now["chance"], now["one"][1], now["several"][1]
    before = (ONE["chance"], ONE["one"][1]) if exchange else ()
    assert in_order(m["says"], "0.72", "0.13", *(f"{x:.2f}" for x in (*guess, *before)))
    assert ("value of dogs" in m["says"]) == exchange
    assert f"guess is {now['first']}" in m["says"]
    assert f"guess is {other['first']}" not in m["says"]


def test_goals_ask_for_the_exchange_and_for_its_guess():
    states = [{"sentence": i, "exchange": on} for i in range(3) for on in (False, True)]
    met = "x[1].map((state) => m.GOALS[x[2]](m.withValues(x[0], state)))"
    assert JS.run(met, [DATA, states, "turn"]) == [False, False, False, True, False, False]
    assert JS.run(met, [DATA, states, "keep"]) == [False, False, False, False, False, True]
