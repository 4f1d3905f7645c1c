"""The saturation explorer of m04: its numbers, its axes, its controls, its look in every state."""

import json
import re
from decimal import Decimal, getcontext

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.site.conftest import THEMES, WIDTHS
from tests.site.geometry import assert_legible
from tests.site.reading import (
    assert_shows,
    axe_violations,
    in_module,
    moving,
    number,
    settle,
    static_rows,
)

PAGE = "modules/m04_softmax_and_scale/lesson.html"
WIDGET = "#saturation"
SIZES = [8, 16, 32, 64, 128, 256, 512, 1024, 2048]
DRAWS = 40
CORNERS = [(0, False, 1.0), (8, False, 1.0), (8, True, 1.0), (8, False, 2.0), (0, True, 0.25)]


def address(size=0, divide=False, spread=1.0, draw=0):
    state = {"size": size, "divide": int(divide), "spread": spread, "draw": draw}
    return f"{PAGE}?" + "&".join(f"saturation.{name}={x}" for name, x in state.items())


@pytest.fixture(scope="module")
def published(site):
    html = (site / PAGE).read_text(encoding="utf-8")
    values = {
        one["name"]: one["value"]
        for text in re.findall(r'<script type="ojs-define">(.*?)</script>', html, re.S)
        for one in json.loads(text)["contents"]
    }
    return values["random_keys"]


def expected(published, size=0, divide=False, spread=1.0, draw=0):
    """Scores and weights by attention.py, of the very products that the page has."""
    products = torch.tensor(published["products"][size][draw], dtype=torch.float64)
    factor = spread**2 / (SIZES[size] ** 0.5 if divide else 1)
    one, keys = torch.ones(1, 1, dtype=torch.float64), products[:, None]
    return products * factor, scaled_dot_product_attention(one, keys, keys, scale=factor)[1][0]


def exact_norm(scores):
    """The Jacobian's norm in 80 digits: in 64 bits, 1 − w has none left near w = 1."""
    getcontext().prec = 80
    e = [Decimal(s).exp() for s in scores.tolist()]
    w = [x / sum(e) for x in e]
    squares = ((a * ((i == j) - b)) ** 2 for i, a in enumerate(w) for j, b in enumerate(w))
    return float(sum(squares).sqrt())


def text(page, selector):
    settle(page)
    return page.locator(f"{WIDGET} {selector}").inner_text()


def texts(page, selector):
    settle(page)
    return page.locator(f"{WIDGET} {selector}").all_text_contents()


def assert_shows_attention_pys(page, published, **state):
    scores, weights = expected(published, **state)
    for shown, exact in zip(texts(page, "text.weight"), weights.tolist(), strict=True):
        assert_shows(shown, exact, f"weight, {state}")
    for shown, exact in zip(texts(page, "text.score"), scores.tolist(), strict=True):
        assert_shows(shown, exact, f"score, {state}")
    assert_shows(text(page, ".now-spread"), scores.std(correction=0).item(), f"spread, {state}")
    assert_shows(text(page, ".now-top"), weights.max().item(), f"largest, {state}")
    norm, want = text(page, ".now-norm"), exact_norm(scores)
    if "e" in norm:
        assert number(norm) == pytest.approx(want, rel=0.051)
    else:
        assert_shows(norm, want, f"norm, {state}")


def slider(page):
    return page.locator(f"{WIDGET} .step-slider input[type=range]")


# ---- Its numbers -------------------------------------------------------------------------------


def test_the_products_are_those_of_the_draws(published):
    rng = torch.Generator().manual_seed(28)
    q = torch.randn(DRAWS, 1, 2048, generator=rng, dtype=torch.float64)
    k = torch.randn(DRAWS, 8, 2048, generator=rng, dtype=torch.float64)
    want = torch.stack([torch.einsum("nqd,nkd->nk", q[..., :d], k[..., :d]) for d in SIZES])
    got = torch.tensor(published["products"], dtype=torch.float64)
    torch.testing.assert_close(got, want, rtol=0, atol=0.0005001)
    assert published["sizes"] == SIZES


def test_default_numbers(open_page, published):
    with open_page(PAGE) as page:
        assert_shows_attention_pys(page, published)


@pytest.mark.parametrize("divide", [False, True], ids=["raw", "divided"])
def test_numbers_of_every_size(open_page, published, divide):
    with open_page(address(divide=divide)) as page:
        for size in range(len(SIZES)):
            page.locator(f"{WIDGET} .step-ticks button").nth(size).click()
            assert_shows_attention_pys(page, published, size=size, divide=divide)


def test_numbers_of_other_draws_and_spreads(open_page, published):
    with open_page(address(size=3, draw=38)) as page:
        for draw in (39, 0, 1):
            page.get_by_role("button", name="Another draw").click()
            assert_shows_attention_pys(page, published, size=3, draw=draw)
        for spread in ("0.25", "1.35", "2"):
            page.locator(f"{WIDGET} input[type=number]").fill(spread)
            assert_shows_attention_pys(page, published, size=3, draw=1, spread=float(spread))
        page.locator(f"{WIDGET} button", has_text="Reset").click()
        assert_shows_attention_pys(page, published)


def test_the_norm_is_that_of_autograd(open_page):
    rows = (torch.randn(200, 8, generator=torch.Generator().manual_seed(5)) * 2).double()
    with open_page(PAGE) as page:
        got, extremes = (
            in_module(page, "saturation.js", "x.map(m.jacobianNorm)", weights)
            for weights in (rows.softmax(-1).tolist(), [[0.5, 0.5], [1, 0], [1, 1e-300], [1]])
        )
    want = [
        torch.autograd.functional.jacobian(lambda s: s.softmax(-1), row).norm().item()
        for row in rows
    ]
    assert got == pytest.approx(want, rel=1e-9)
    assert extremes == pytest.approx([0.5, 0, 2e-300, 0], rel=1e-12)


# ---- Its axes ----------------------------------------------------------------------------------

AXIS = """(svg) => Object.fromEntries([...svg.querySelectorAll("line.tick")].map((line, i) =>
  [svg.querySelectorAll("text.tick")[i].textContent, +line.getAttribute("y1")]))"""


@pytest.mark.parametrize(("size", "divide", "spread"), CORNERS)
def test_bars_and_dots_stand_where_the_axes_say(open_page, published, size, divide, spread):
    state = {"size": size, "divide": divide, "spread": spread}
    with open_page(address(**state)) as page:
        bars = page.locator(f"{WIDGET} .key rect")
        heights = [bar.bounding_box()["height"] for bar in bars.all()]
        axis = page.locator(f"{WIDGET} .weights-now line.tick")
        bottom, top = (axis.nth(i).bounding_box()["y"] for i in (0, 2))
        plot = page.locator(f"{WIDGET} .norms")
        ticks = {number(label): y for label, y in plot.evaluate(AXIS).items()}
        marker = number(plot.locator("circle.now").get_attribute("cy"))
        paths = [plot.locator(f".{name} .draws").get_attribute("d") for name in ("raw", "divided")]
    scores, weights = expected(published, **state)
    for height, weight in zip(heights, weights.tolist(), strict=True):
        assert height / (bottom - top) == pytest.approx(weight, abs=0.012)
    value = lambda y: (ticks[0] - y) / (ticks[0] - ticks[0.5]) / 2  # noqa: E731
    assert all(value(y) == pytest.approx(label) for label, y in ticks.items())
    assert value(marker) == pytest.approx(exact_norm(scores), abs=1e-6)
    for divided, path in zip((False, True), paths, strict=True):
        got = [value(float(y)) for y in re.findall(r"M[\d.]+,([\d.]+)h0", path)]
        want = [
            exact_norm(expected(published, i, divided, spread, draw)[0])
            for i in range(len(SIZES))
            for draw in range(DRAWS)
        ]
        assert got == pytest.approx(want, abs=3e-4)  # a twentieth of a pixel
        assert max(got) <= 0.5


def test_the_lines_are_the_means(open_page, published):
    with open_page(address(spread=1.5)) as page:
        plot = page.locator(f"{WIDGET} .norms")
        ticks = {number(label): y for label, y in plot.evaluate(AXIS).items()}
        lines = [plot.locator(f".{name} .mean").get_attribute("d") for name in ("raw", "divided")]
    for divided, line in zip((False, True), lines, strict=True):
        ys = [float(point.split(",")[1]) for point in line[1:].split("L")]
        for i, y in enumerate(ys):
            norms = [exact_norm(expected(published, i, divided, 1.5, n)[0]) for n in range(DRAWS)]
            got = (ticks[0] - y) / (ticks[0] - ticks[0.5]) / 2
            assert got == pytest.approx(sum(norms) / DRAWS, abs=1e-4)


# ---- Its controls ------------------------------------------------------------------------------


def test_all_by_keyboard(open_page, published):
    with open_page(PAGE) as page:
        slider(page).focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        settle(page)
        assert slider(page).get_attribute("aria-valuetext") == "3 of 8: 64"
        assert_shows_attention_pys(page, published, size=3)
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert_shows_attention_pys(page, published, size=3, divide=True)
        page.locator(f"{WIDGET} form.range input[type=range]").focus()
        page.keyboard.press("ArrowRight")
        assert_shows_attention_pys(page, published, size=3, divide=True, spread=1.05)


def test_touch(open_page, published):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        page.locator(f"{WIDGET} .step-ticks button").last.tap()
        page.locator(f"{WIDGET} input[type=checkbox]").tap()
        page.get_by_role("button", name="Another draw").tap()
        assert_shows_attention_pys(page, published, size=8, divide=True, draw=1)


def test_the_address_keeps_a_view_and_back_goes_back(open_page, published):
    with open_page(PAGE) as page:
        page.locator(f"{WIDGET} .step-ticks button").nth(4).click()
        page.wait_for_url("**saturation.size=4**")
        page.locator(f"{WIDGET} input[type=checkbox]").check()
        page.wait_for_url("**saturation.divide=1**")
        page.reload()
        page.wait_for_selector(f"{WIDGET} .widget-live")
        assert_shows_attention_pys(page, published, size=4, divide=True)
        page.go_back()
        assert_shows_attention_pys(page, published, size=4)


@pytest.mark.parametrize(
    "damage", ["size=9", "size=-1", "divide=2", "spread=1e309", "spread=0", "draw=40", "draw=x"]
)
def test_a_damaged_address_falls_back(open_page, published, damage):
    with open_page(f"{PAGE}?saturation.{damage}") as page:
        assert_shows_attention_pys(page, published)


# ---- Its look ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_legible_in_every_state(open_page, width):
    heights = set()
    for size, divide, spread in CORNERS:
        with open_page(address(size, divide, spread), width=width) as page:
            for _ in range(3):
                assert_legible(page, WIDGET)
                heights.add(round(page.locator(WIDGET).bounding_box()["height"]))
                page.get_by_role("button", name="Another draw").click()
                settle(page)
    assert max(heights) - min(heights) <= 1, "the page below jumps"


@pytest.mark.parametrize("theme", THEMES)
def test_no_axe_violation_in_any_state(open_page, theme):
    with open_page(address(8, True, 2.0), theme=theme) as page:
        assert not axe_violations(page, WIDGET)


def test_the_static_form_stands_without_javascript_and_prints(open_page, published):
    rows = static_rows(open_page, PAGE, WIDGET)
    for row, size in zip(rows, range(0, 9, 2), strict=True):
        d, raw, divided = map(number, row.split("\t"))
        assert d == SIZES[size]
        assert raw == pytest.approx(expected(published, size)[1].max().item(), abs=0.0055)
        assert divided == pytest.approx(expected(published, size, True)[1].max().item(), abs=0.0055)


def test_the_sentence_for_screen_readers_follows(open_page, published):
    with open_page(address(8, True)) as page:
        scores, weights = expected(published, 8, True)
        assert text(page, ".summary") == (
            f"Keys of 2048 numbers, divided by √2048. The scores spread by "
            f"{scores.std(correction=0):.2f}, the largest weight is {weights.max():.2f}, "
            f"the Jacobian's norm is {exact_norm(scores):.3f}."
        )


def test_nothing_moves_where_motion_is_not_wanted(open_page):
    with open_page(PAGE, reduced_motion="reduce") as page:
        assert not moving(page, WIDGET)
