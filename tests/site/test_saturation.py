"""The saturation explorer of m04 in the browser: bars, dots and lines stand where axes say."""

import re

import pytest
import torch

from tests.numbers import number
from tests.site.numbers import payloads
from tests.site.settling import assert_shows, settle
from tests.widgets.truth_saturation import DRAWS, PRODUCTS, SIZES, expected

PAGE = "modules/m04_softmax_and_scale/lesson.html"
WIDGET = "#saturation"
FIRST = 3


def assert_shows_attention_pys(page, **state):
    settle(page)
    for name, numbers in zip(("score", "weight"), expected(**state), strict=True):
        texts = page.locator(f"{WIDGET} text.{name}").all_text_contents()
        for shown, exact in zip(texts, numbers.tolist(), strict=True):
            assert_shows(shown, exact, f"{name}, {state}")


AXIS = """(svg) => Object.fromEntries([...svg.querySelectorAll("line.tick")].map((line, i) =>
  [svg.querySelectorAll("text.tick")[i].textContent, +line.getAttribute("y1")]))"""


def assert_is_drawn_to_scale(page, **state):
    weights = expected(**state)[1]
    plot = page.locator(f"{WIDGET} .rows")
    ticks = {number(label): y for label, y in plot.evaluate(AXIS).items()}

    def value(y):
        return (ticks[0] - float(y)) / (ticks[0] - ticks[1])

    marker = plot.locator("circle.now").get_attribute("cy")
    assert value(marker) == pytest.approx(weights.max().item(), abs=1e-5)
    for divide, name in ((False, "raw"), (True, "divided")):
        largest = torch.tensor([
            [expected(i, divide, draw)[1].max() for draw in range(DRAWS)] for i in range(len(SIZES))
        ])  # fmt: skip
        dots = plot.locator(f".{name} .draws").get_attribute("d")
        got = [value(y) for y in re.findall(r"M[\d.]+,([\d.]+)h0", dots)]
        assert got == pytest.approx(largest.flatten().tolist(), abs=6e-4)  # 1/20 of a pixel
        line = plot.locator(f".{name} .mean").get_attribute("d")
        means = [value(point.split(",")[1]) for point in line[1:].split("L")]
        assert means == pytest.approx(largest.mean(1).tolist(), abs=5e-5)


def test_the_drawing_follows_every_control(open_page):
    with open_page(f"{PAGE}{WIDGET}", has_touch=True) as page:
        page.locator(f"{WIDGET} .step-slider input").focus()
        for key in 5 * ["ArrowRight"] + ["ArrowLeft"]:
            page.keyboard.press(key)
        for _ in range(2):
            page.get_by_role("button", name="Another row").tap()
        assert_shows_attention_pys(page, size=FIRST + 4, draw=2)
        page.locator(f"{WIDGET} input[type=checkbox]").tap()
        page.locator(f"{WIDGET} .step-ticks button").last.tap()
        settle(page)
        assert_is_drawn_to_scale(page, size=8, divide=True, draw=2)
        page.locator(f"{WIDGET} .widget-live").evaluate("(e) => e.set({draw: 39})")
        page.get_by_role("button", name="Another row").click()
        assert_shows_attention_pys(page, size=8, divide=True, draw=0)


def test_the_products_are_those_of_the_draws(read):
    published = payloads(read(PAGE))["random_keys"]
    got = torch.tensor(published["products"], dtype=torch.float64)
    torch.testing.assert_close(got, PRODUCTS, rtol=0, atol=0.0010001)
    assert (published["sizes"], published["size"]) == (SIZES, FIRST)
