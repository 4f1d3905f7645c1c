"""m11's new score and its currency: every number against fractions, which are never rounded."""

import math
from fractions import Fraction

import pytest

from tests.widgets.js import module

JS = module("new-score.js")
CHOICES = [0, 1, 2, 3, 4, 5, 6, 2000]
THIRD = {
    "scores": [0, 1, 3, 2], "values": [10, 20, 30, 40], "value": 50, "choices": CHOICES, "at": 5,
}  # fmt: skip
KINDS = ("before", "converted", "after")


def shown(score):
    return JS.call("withNewScore", THIRD, {"score": CHOICES.index(score)})


def in_units_of(top, scores, values):
    """The powers' sum and mix, as they are, divided by the unit."""
    powers = [Fraction(2) ** score for score in scores]
    mix = sum(power * value for power, value in zip(powers, values, strict=True))
    return sum(powers) / Fraction(2) ** top, mix / Fraction(2) ** top


@pytest.mark.parametrize("score", CHOICES)
def test_sum_and_mix_are_the_powers_own_in_units_of_the_largest(score):
    found, top = shown(score), max(3, score)
    old = THIRD["scores"], THIRD["values"]
    new = [*old[0], score], [*old[1], THIRD["value"]]
    wants = in_units_of(3, *old), in_units_of(top, *old), in_units_of(top, *new)
    for kind, unit, want in zip(KINDS, (3, top, top), wants, strict=True):
        assert found[kind]["top"] == unit
        assert (found[kind]["sum"], found[kind]["mix"]) == tuple(map(float, want)), kind
        parts = [float(Fraction(2) ** (s - unit)) for s in (new if kind == "after" else old)[0]]
        assert found[kind]["parts"] == parts
    assert found["rate"] == float(Fraction(2) ** (3 - top))
    assert found["output"] == pytest.approx(float(wants[2][1] / wants[2][0]), rel=1e-15)


@pytest.mark.parametrize("score", CHOICES)
def test_the_whole_row_at_once_agrees_until_it_overflows(score):
    found = shown(score)
    said = JS.call("sentence", found)
    if score < 1024:  # of 64 bits
        at_once = found["atOnce"]
        assert at_once["mix"] / at_once["sum"] == pytest.approx(found["output"], rel=1e-15)
        want = in_units_of(0, [*THIRD["scores"], score], [*THIRD["values"], THIRD["value"]])
        assert (at_once["sum"], at_once["mix"]) == tuple(map(float, want))
        assert f"The whole row at once gives {float(want[1] / want[0]):.2f}, too." in said
    else:
        assert JS.run("m.withNewScore(...x).atOnce.sum === Infinity",
                      [THIRD, {"score": CHOICES.index(score)}])  # fmt: skip
        assert found["output"] == THIRD["value"]
        assert "isn’t a number" in said


@pytest.mark.parametrize("score", CHOICES)
def test_a_larger_score_converts_and_no_other(score):
    said = JS.call("sentence", shown(score))
    assert ("the unit stays" in said) == (score <= 3)
    if 3 < score < 1024:
        assert f"worth 1/{2 ** (score - 3)} of the new one" in said
    assert math.isfinite(shown(score)["after"]["sum"])


def test_the_score_of_the_pencil_s_third_piece_gives_what_the_page_says():
    after = shown(4)["after"]
    assert (after["sum"], after["mix"]) == (1.9375, 78.125)
