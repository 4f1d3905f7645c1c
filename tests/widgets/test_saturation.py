"""widgets/saturation.js: weights against attention.py, slopes against 80 digits."""

import random
from decimal import Decimal, getcontext

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.site.reading import numbers
from tests.widgets.js import module

JS = module("saturation.js")
SIZES = [2**i for i in range(3, 12)]
DRAWS = 40


def draws():
    """The products q·k that m04 publishes, (sizes, draws, keys)."""
    rng = torch.Generator().manual_seed(28)
    q = torch.randn(DRAWS, 1, 2048, generator=rng, dtype=torch.float64)
    k = torch.randn(DRAWS, 8, 2048, generator=rng, dtype=torch.float64)
    return torch.stack([torch.einsum("nqd,nkd->nk", q[..., :d], k[..., :d]) for d in SIZES])


PRODUCTS = draws().round(decimals=3)
DATA = {"sizes": SIZES, "products": PRODUCTS}


def expected(size=0, divide=False, spread=1.0, draw=0):
    """Scores and weights of one row by attention.py."""
    products = PRODUCTS[size, draw]
    factor = spread**2 / (SIZES[size] ** 0.5 if divide else 1)
    one, keys = torch.ones(1, 1, dtype=torch.float64), products[:, None]
    return products * factor, scaled_dot_product_attention(one, keys, keys, scale=factor)[1][0]


def exact_slope(scores):
    """w(1 − w) of the largest weight w, in 80 digits: 64 bits have none left near 1."""
    getcontext().prec = 80
    e = sorted(Decimal(s).exp() for s in scores.tolist())
    return float(e[-1] * sum(e[:-1]) / sum(e) ** 2)


def test_rows_are_attention_pys():
    choose = random.Random(0)
    states = [
        {"size": size, "divide": divide, "spread": spread, "draw": choose.randrange(DRAWS)}
        for size in range(len(SIZES))
        for divide in (False, True)
        for spread in (0.25, 1, 1.35, 2)
    ]
    models = JS.run(
        "x.states.map((state) => m.saturation(x.data, state))", {"states": states, "data": DATA}
    )
    for state, model in zip(states, models, strict=True):
        scores, weights = expected(**state)
        assert model["size"] == SIZES[state["size"]]
        assert model["scores"] == pytest.approx(scores.tolist(), rel=1e-12)
        assert model["weights"] == pytest.approx(weights.tolist(), rel=1e-9, abs=1e-300)
        assert model["deviation"] == pytest.approx(scores.std(correction=0).item(), rel=1e-12)
        assert model["slope"] == pytest.approx(exact_slope(scores), rel=1e-9)


def test_the_slope_is_the_gradient_of_the_largest_weight():
    rows = (torch.randn(200, 8, generator=torch.Generator().manual_seed(5)) * 2).double()
    leaf = rows.clone().requires_grad_()
    leaf.softmax(-1).amax(-1).sum().backward()
    want = leaf.grad.gather(-1, rows.argmax(-1, keepdim=True)).flatten()
    assert JS.run("x.map(m.slopeOfLargest)", rows.softmax(-1)) == pytest.approx(want.tolist())
    extremes = JS.run("x.map(m.slopeOfLargest)", [[0.5, 0.5], [1, 0], [1e-300, 1], [1]])
    assert extremes == pytest.approx([0.25, 0, 1e-300, 0], rel=1e-12)


def test_no_slope_is_steeper_than_the_axis_goes():
    rows = torch.linspace(0, 1, 1001).double()
    slopes = JS.run("x.map(m.slopeOfLargest)", torch.stack([rows, 1 - rows], -1))
    assert max(slopes) == pytest.approx(0.25)


@pytest.mark.parametrize("spread", [1.0, 1.5])
def test_the_cloud_holds_every_draw_and_its_mean(spread):
    raw, divided = JS.call("cloud", DATA, spread)
    assert (raw["divide"], divided["divide"]) == (False, True)
    for series in (raw, divided):
        want = [
            [exact_slope(expected(i, series["divide"], spread, n)[0]) for n in range(DRAWS)]
            for i in range(len(SIZES))
        ]
        for got, exact in zip(series["slopes"], want, strict=True):
            assert got == pytest.approx(exact, rel=1e-9)
        assert series["means"] == pytest.approx([sum(all_) / DRAWS for all_ in want], rel=1e-9)
        assert max(map(max, series["slopes"])) <= 0.25, "the axis ends there"


def test_the_sentence_says_the_size_the_division_and_the_slopes():
    def said(**state):
        given = [DATA, {"spread": 1, "draw": 0, **state}]
        return JS.run("m.sentence(m.saturation(x[0], x[1]), {state: x[1]})", given)

    for size, divide in ((8, True), (8, False), (0, False)):
        scores, weights = expected(size, divide)
        spread, largest = scores.std(correction=0).item(), weights.max().item()
        slopes = [exact_slope(expected(size, divide, 1, n)[0]) for n in range(DRAWS)]
        text = said(size=size, divide=divide)
        width, _, told_spread, told_largest, *slope, of, flat, _ = numbers(text)
        assert ("not divided" in text) != divide
        assert (width, of, flat) == (SIZES[size], DRAWS, sum(slope < 0.01 for slope in slopes))
        assert [told_spread, told_largest] == pytest.approx([spread, largest], rel=0.01)
        if slopes[0] > 1e-4:  # a smaller one is written with its power of ten
            assert slope == pytest.approx([slopes[0]], abs=5.1e-5)
