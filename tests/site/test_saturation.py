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


def texts(page, selector):
    settle(page)
    return page.locator(f"{WIDGET} {selector}").all_text_contents()


def assert_shows_attention_pys(page, **state):
    scores, weights = expected(**state)
    for shown, exact in zip(texts(page, "text.weight"), weights.tolist(), strict=True):
        assert_shows(shown, exact, f"weight, {state}")
    for shown, exact in zip(texts(page, "text.score"), scores.tolist(), strict=True):
        assert_shows(shown, exact, f"score, {state}")
    [top] = texts(page, ".now-top")
    assert top == (f"{100 * weights.max():.1f}" if weights.max() < 0.9995 else "99.9+") + "\u202f%"


AXIS = """(svg) => Object.fromEntries([...svg.querySelectorAll("line.tick")].map((line, i) =>
  [svg.querySelectorAll("text.tick")[i].textContent, +line.getAttribute("y1")]))"""
SHARES = """(svg) => {
  const box = (e) => e.getBoundingClientRect();
  const [bottom, , top] = [...svg.querySelectorAll("line.tick")].map((e) => box(e).y);
  return [...svg.querySelectorAll(".key rect")].map((e) => box(e).height / (bottom - top));
}"""


def assert_is_drawn_to_scale(page, **state):
    weights = expected(**state)[1]
    bars = page.locator(f"{WIDGET} .weights-now").evaluate(SHARES)
    assert bars == pytest.approx(weights.tolist(), abs=0.012)
    plot = page.locator(f"{WIDGET} .rows")
    ticks = {number(label): y for label, y in plot.evaluate(AXIS).items()}

    def value(y):
        return (ticks[0] - float(y)) / (ticks[0] - ticks[1])

    assert all(value(y) == pytest.approx(label) for label, y in ticks.items())
    marker = plot.locator("circle.now").get_attribute("cy")
    assert value(marker) == pytest.approx(weights.max().item(), abs=1e-5)
    for divide, name in ((False, "raw"), (True, "divided")):
        largest = [
            expected(i, divide, draw)[1].max().item()
            for i in range(len(SIZES))
            for draw in range(DRAWS)
        ]
        dots = plot.locator(f".{name} .draws").get_attribute("d")
        got = [value(y) for y in re.findall(r"M[\d.]+,([\d.]+)h0", dots)]
        assert got == pytest.approx(largest, abs=6e-4)  # a twentieth of a pixel
        counts = plot.locator(f".{name} .count").all_text_contents()
        rows = [largest[i : i + DRAWS] for i in range(0, len(largest), DRAWS)]
        assert counts == [str(sum(weight > 0.99 for weight in row)) for row in rows]
        assert plot.locator(f".{name} .count").first.is_visible() == (divide == state["divide"])
        means = [sum(row) / DRAWS for row in rows]
        line = plot.locator(f".{name} .mean").get_attribute("d")
        assert [value(point.split(",")[1]) for point in line[1:].split("L")] == pytest.approx(
            means, abs=5e-5
        )


def mean_of_largest(size, divide):
    return sum(expected(size, divide, draw=draw)[1].max() for draw in range(DRAWS)) / DRAWS


@pytest.mark.slow
def test_the_drawing_follows_every_control(open_page):
    with open_page(PAGE, has_touch=True) as page:
        static = page.locator(f"{WIDGET} .fallback tbody tr").all_text_contents()
        for row, size in zip(static, range(0, 9, 2), strict=True):
            raw, divided = (f"{mean_of_largest(size, divide):.2f}" for divide in (False, True))
            assert row.split() == [str(SIZES[size]), raw, divided]

        page.locator(f"{WIDGET} .step-slider input").focus()
        for key in 5 * ["ArrowRight"] + ["ArrowLeft"]:
            page.keyboard.press(key)
        for _ in range(2):
            page.get_by_role("button", name="Another row").tap()
        assert_shows_attention_pys(page, size=FIRST + 4, draw=2)
        page.locator(f"{WIDGET} input[type=checkbox]").tap()
        page.locator(f"{WIDGET} .step-ticks button").last.tap()
        assert_is_drawn_to_scale(page, size=8, divide=True, draw=2)
        page.locator(f"{WIDGET} .widget-live").evaluate("(e) => e.set({draw: 39})")
        page.get_by_role("button", name="Another row").click()
        assert_shows_attention_pys(page, size=8, divide=True, draw=0)
        page.locator(f"{WIDGET} button", has_text="Reset").click()
        assert_shows_attention_pys(page, size=FIRST)


def test_the_products_are_those_of_the_draws(read):
    published = payloads(read(PAGE))["random_keys"]
    got = torch.tensor(published["products"], dtype=torch.float64)
    torch.testing.assert_close(got, PRODUCTS, rtol=0, atol=0.0010001)
    assert (published["sizes"], published["size"]) == (SIZES, FIRST)
