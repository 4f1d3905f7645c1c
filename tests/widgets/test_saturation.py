"""widgets/saturation.js: weights against attention.py, slopes against 80 digits."""

import random

import pytest
import torch

from tests.lessons.page_text import in_order
from tests.widgets.js import module
from tests.widgets.truth_saturation import DRAWS, PRODUCTS, SIZES, exact_slope, expected

JS = module("saturation.js")


DATA = {"sizes": SIZES, "products": PRODUCTS}


def test_rows_are_attention_pys():
    choose = random.Random(0)
    states = [
        {"size": size, "divide": divide, "spread": spread, "draw": choose.randrange(DRAWS)}
        for size in range(len(SIZES))
        for divide in (False, True)
        for spread in (0.25, 1, 1.35, 2)
    ]
    code = """x[1].map((state) => m.saturation(x[0], state)).map((model, i) =>
      ({...model, sentence: m.sentence(model, {state: x[1][i]})}))"""
    models = JS.run(code, [DATA, states])
    for state, got in zip(states, models, strict=True):
        scores, weights = expected(**state)
        assert got["size"] == SIZES[state["size"]]
        assert got["scores"] == pytest.approx(scores.tolist(), rel=1e-12)
        assert got["weights"] == pytest.approx(weights.tolist(), rel=1e-9, abs=1e-300)
        assert got["deviation"] == pytest.approx(scores.std(correction=0).item(), rel=1e-12)
        assert got["slope"] == pytest.approx(exact_slope(scores), rel=1e-9)
        texts = str(got["size"]), f"{weights.max():.2f}", str(DRAWS), str(got["saturated"])
        assert in_order(got["sentence"], *texts)


def test_the_slope_is_the_gradient_of_the_largest_weight():
    rows = (torch.randn(200, 8, generator=torch.Generator().manual_seed(5)) * 2).double()
    leaf = rows.clone().requires_grad_()
    leaf.softmax(-1).amax(-1).sum().backward()
    want = leaf.grad.gather(-1, rows.argmax(-1, keepdim=True)).flatten()
    assert JS.run("x.map(m.slopeOfLargest)", rows.softmax(-1)) == pytest.approx(want.tolist())


@pytest.mark.parametrize("spread", [1.0, 1.5])
def test_the_cloud_holds_every_draw_and_its_mean(spread):
    clouds = JS.run(
        """m.cloud(x.data, x.spread).map(({divide, ...series}) => ({
          ...series, divide, chosen: x.data.sizes.map((_, size) =>
            m.saturation(x.data, {size, divide, spread: x.spread, draw: 0}).saturated)
        }))""",
        {"data": DATA, "spread": spread},
    )
    for divide, series in zip((False, True), clouds, strict=True):
        assert series["divide"] == divide
        for i, got in enumerate(series["slopes"]):
            want = [exact_slope(expected(i, divide, spread, n)[0]) for n in range(DRAWS)]
            assert got == pytest.approx(want, rel=1e-9)
            assert series["means"][i] == pytest.approx(sum(want) / DRAWS, rel=1e-9)
            count = sum(slope < 0.01 for slope in want)
            assert series["saturated"][i] == series["chosen"][i] == count
            assert max(got) <= 0.25, "the axis ends there"
