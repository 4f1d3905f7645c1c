"""m11's new score and its currency: every number against fractions, which are never rounded."""

from fractions import Fraction

import pytest

from tests.lessons.page_text import in_order
from tests.widgets.js import module

JS = module("new-score.js")
CHOICES = [0, 1, 2, 3, 4, 5, 6, 2000]
THIRD = {
    "scores": [0, 1, 3, 2], "values": [10, 20, 30, 40], "value": 50, "choices": CHOICES, "at": 5,
}  # fmt: skip


def in_units_of(top, scores, values):
    """The powers' sum and mix, as they are, divided by the unit."""
    powers = [Fraction(2) ** score for score in scores]
    mix = sum(power * value for power, value in zip(powers, values, strict=True))
    return sum(powers) / Fraction(2) ** top, mix / Fraction(2) ** top


@pytest.mark.parametrize("score", CHOICES)
def test_sum_and_mix_are_the_powers_own_in_units_of_the_largest(score):
    state, top = {"score": CHOICES.index(score)}, max(3, score)
    model = JS.call("withNewScore", THIRD, state)
    old, all_ = THIRD["scores"], [*THIRD["scores"], score]
    values = [*THIRD["values"], THIRD["value"]]
    kinds = {"before": (3, old), "converted": (top, old), "after": (top, all_)}
    for kind, (unit, scores) in kinds.items():
        want = in_units_of(unit, scores, values[: len(scores)])
        assert model[kind]["top"] == unit
        assert (model[kind]["sum"], model[kind]["mix"]) == tuple(map(float, want)), kind
        assert model[kind]["parts"] == [float(Fraction(2) ** (s - unit)) for s in scores]
    rate = Fraction(2) ** (3 - top)
    assert model["rate"] == float(rate)
    assert model["output"] == pytest.approx(float(want[1] / want[0]), rel=1e-15)

    # The whole row at once agrees until it overflows, of 64 bits.
    total, mix = in_units_of(0, all_, values)
    sentence, output = JS.call("sentence", model), f"{float(mix / total):.2f}"
    if score < 1024:
        assert (model["atOnce"]["sum"], model["atOnce"]["mix"]) == (float(total), float(mix))
        assert in_order(sentence, *([f"1/{1 / rate}"] if score > 3 else []), output, output)
    else:
        assert model["atOnce"]["sum"] == float("inf")
        assert model["output"] == THIRD["value"]
        assert "overflows" in sentence


def test_the_score_of_the_pencil_s_third_piece_gives_what_the_page_says():
    after = JS.call("withNewScore", THIRD, {"score": CHOICES.index(4)})["after"]
    assert (after["sum"], after["mix"]) == (1.9375, 78.125)
