"""widgets/saturation.js: weights against attention.py."""

import random

import pytest

from tests.lessons.page_text import in_order, share
from tests.widgets.js import module
from tests.widgets.truth_saturation import DRAWS, PRODUCTS, SIZES, expected

JS = module("saturation.js")


DATA = {"sizes": SIZES, "products": PRODUCTS}


def test_rows_are_attention_pys():
    choose = random.Random(0)
    states = [
        {"size": size, "divide": divide, "draw": choose.randrange(DRAWS)}
        for size in range(len(SIZES))
        for divide in (False, True)
    ]
    code = """x[1].map((state) => m.saturation(x[0], state)).map((model, i) =>
      ({...model, sentence: m.sentence(model, {state: x[1][i]})}))"""
    models = JS.run(code, [DATA, states])
    for state, got in zip(states, models, strict=True):
        scores, weights = expected(**state)
        assert got["size"] == SIZES[state["size"]]
        assert got["scores"] == pytest.approx(scores.tolist(), rel=1e-12)
        assert got["weights"] == pytest.approx(weights.tolist(), rel=1e-9, abs=1e-300)
        assert got["largest"] == pytest.approx(weights.max().item(), rel=1e-9)
        top = share(weights.max(), 1) if weights.max() < 0.9995 else "99.9+"
        assert in_order(got["sentence"], str(got["size"]), top, str(DRAWS), str(got["saturated"]))


def test_the_cloud_holds_every_draw_and_its_mean():
    clouds = JS.run(
        """m.cloud(x).map(({divide, ...series}) => ({
          ...series, divide, chosen: x.sizes.map((_, size) =>
            m.saturation(x, {size, divide, draw: 0}).saturated)
        }))""",
        DATA,
    )
    for divide, series in zip((False, True), clouds, strict=True):
        assert series["divide"] == divide
        for i, got in enumerate(series["largest"]):
            want = [expected(i, divide, n)[1].max().item() for n in range(DRAWS)]
            assert got == pytest.approx(want, rel=1e-9)
            assert series["means"][i] == pytest.approx(sum(want) / DRAWS, rel=1e-9)
            count = sum(largest > 0.99 for largest in want)
            assert series["saturated"][i] == series["chosen"][i] == count
