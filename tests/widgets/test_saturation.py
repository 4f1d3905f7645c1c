"""widgets/saturation.js: weights against attention.py, what a nudge moves against 80 digits."""

import math
import random
from decimal import Decimal, getcontext

import pytest
import torch

from attention import scaled_dot_product_attention
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


def exact_move(scores):
    """How far 0.1 more moves the largest weight, in 80 digits: 64 bits have none left near 1."""
    getcontext().prec = 80
    e = sorted(Decimal(s).exp() for s in scores.tolist())
    nudged = e[-1] * Decimal("0.1").exp()
    return float(nudged / (sum(e[:-1]) + nudged) - e[-1] / sum(e))


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
        assert model["moved"] == pytest.approx(exact_move(scores), rel=1e-9)


def test_a_nudge_moves_the_largest_weight_as_pytorch_says():
    rows = (torch.randn(200, 8, generator=torch.Generator().manual_seed(5)) * 2).double()
    best = torch.nn.functional.one_hot(rows.argmax(-1), 8)
    want = ((rows + 0.1 * best).softmax(-1) - rows.softmax(-1)).amax(-1)
    assert JS.run("x.map(m.movedByNudge)", rows.softmax(-1)) == pytest.approx(want.tolist())
    extremes = JS.run("x.map(m.movedByNudge)", [[0.5, 0.5], [1, 0], [1e-300, 1], [1]])
    grown = math.expm1(0.1)
    assert extremes == pytest.approx(
        [1 / (1 + math.exp(-0.1)) - 0.5, 0, 1e-300 * grown / (1 + grown), 0], rel=1e-12
    )


def test_a_nudge_never_moves_a_weight_further_than_the_axis_goes():
    assert math.tanh(0.1 / 4) <= 0.025
    rows = torch.linspace(0, 1, 1001).double()
    moved = JS.run("x.map(m.movedByNudge)", torch.stack([rows, 1 - rows], -1))
    assert max(moved) <= math.tanh(0.1 / 4)


@pytest.mark.parametrize("spread", [1.0, 1.5])
def test_the_cloud_holds_every_draw_and_its_mean(spread):
    raw, divided = JS.call("cloud", DATA, spread)
    assert (raw["divide"], divided["divide"]) == (False, True)
    for series in (raw, divided):
        want = [
            [exact_move(expected(i, series["divide"], spread, n)[0]) for n in range(DRAWS)]
            for i in range(len(SIZES))
        ]
        for got, exact in zip(series["moves"], want, strict=True):
            assert got == pytest.approx(exact, rel=1e-9)
        assert series["means"] == pytest.approx([sum(all_) / DRAWS for all_ in want], rel=1e-9)
        assert max(map(max, series["moves"])) <= 0.025, "the axis ends there"


def test_the_sentence_says_the_size_the_division_and_three_numbers():
    def sentence(**state):
        return JS.run("m.sentence(m.saturation(x[0], x[1]), {state: x[1]})", [DATA, state])

    scores, weights = expected(8, True)
    assert sentence(size=8, divide=True, spread=1, draw=0) == (
        f"Keys of 2048 numbers, divided by √2048. The spread of the scores is "
        f"{scores.std(correction=0):.2f}, the largest weight is {weights.max():.2f}. "
        f"A nudge of 0.1 moves it by {exact_move(scores):.4f}."
    )
    assert "not divided by √8." in sentence(size=0, divide=False, spread=1, draw=0)
