"""The temperature map of m04: its numbers, its limits, its controls, its look in every state."""

import random
import re
from urllib.parse import parse_qs, urlsplit

import pytest
import torch

from analysis import entropy
from attention import scaled_dot_product_attention
from tests.site.conftest import ALL_LIVE, THEMES, WIDTHS
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
WIDGET = "#temperature"
TOKENS = ["The", "cat", "sat", "on", "the", "mat"]
TEMPERATURES = [0.0, *(i / 10 for i in range(1, 31)), float("inf")]
KEY = [[2, 0, 0, 0], [0, 2, 0, 1], [0, 0, 2, 0], [0, 0, 0.5, -1], [2, 0, 0, 0], [0, 2, 0, -1]]
QUERY = [
    [0, 2, 0, 1], [2, 0, 1.5, 0], [0, 1.5, 0, 2], [0, 1.5, 0, -1.5], [0, 2, 0, 1], [1.5, 0, 0, -1]
]  # fmt: skip


def address(query):
    return f"{PAGE}?{query}"


def expected(query, key, temperature):
    """By attention.py; the limits by a temperature too small to matter, and by a scale of 0."""
    q, k = (torch.tensor(m, dtype=torch.float64) for m in (query, key))
    scale = 0.0 if temperature == float("inf") else k.shape[-1] ** -0.5 / (temperature or 1e-9)
    return scaled_dot_product_attention(q, k, k, scale=scale)[1]


def slider(page):
    return page.locator(f"{WIDGET} input[type=range]")


def go_to(page, stop):
    slider(page).evaluate(
        "(e, stop) => { e.value = stop; e.dispatchEvent(new Event('input', {bubbles: true})); }",
        stop,
    )
    settle(page)


def cell(page, row, col):
    return page.locator(f"{WIDGET} table.weights tbody tr").nth(row).locator("td").nth(col)


def texts(page, selector):
    settle(page)
    return page.locator(f"{WIDGET} {selector}").all_inner_texts()


def shown(page):
    cells = texts(page, "table.weights td")
    return [cells[i : i + 6] for i in range(0, 36, 6)]


def assert_shows_attention_pys(page, query, key, temperature, row):
    want = expected(query, key, temperature)
    for text_row, wanted in zip(shown(page), want.tolist(), strict=True):
        for text, exact in zip(text_row, wanted, strict=True):
            assert_shows(text, exact, f"T = {temperature}")
    for text, exact in zip(texts(page, ".shares .share"), want[row].tolist(), strict=True):
        assert_shows(text, exact, f"the bars at T = {temperature}")
    nats, bits, most, most_bits = (x for x in re.findall(r"\d+\.\d+", texts(page, ".entropy")[0]))
    assert_shows(nats, entropy(want[row]).item(), "nats")
    assert_shows(bits, entropy(want[row], unit="bits").item(), "bits")
    assert_shows(most, torch.tensor(6.0).log().item(), "the most in nats")
    assert_shows(most_bits, torch.tensor(6.0).log2().item(), "the most in bits")


# ---- Its numbers -------------------------------------------------------------------------------


def test_numbers_at_every_temperature(open_page):
    with open_page(PAGE) as page:
        assert slider(page).input_value() == "10"
        for stop, temperature in enumerate(TEMPERATURES):
            go_to(page, stop)
            assert_shows_attention_pys(page, QUERY, KEY, temperature, row=2)


def test_random_numbers(open_page):
    with open_page(PAGE) as page:
        before = shown(page)
        page.get_by_role("button", name="Random numbers").click()
        page.wait_for_url("**heat.query=**")
        state = parse_qs(urlsplit(page.url).query)
        query, key = (
            [[float(x) for x in row.split(",")] for row in state[f"heat.{name}"][0].split(";")]
            for name in ("query", "key")
        )
        for stop in (0, 1, 10, 30, 31):
            go_to(page, stop)
            for row in (0, 5):
                cell(page, row, 3).click()
                assert_shows_attention_pys(page, query, key, TEMPERATURES[stop], row)
        page.locator(f"{WIDGET} button", has_text="Reset").click()
        assert shown(page) == before


def test_the_limits_are_exact_and_ties_share(open_page):
    with open_page(address("heat.stop=0&heat.cell=1.0")) as page:
        assert shown(page)[1] == ["0.50", "0.00", "0.00", "0.00", "0.50", "0.00"]
        assert "1.000 bits" in texts(page, ".entropy")[0]
        body = "[0, 31].map((stop) => m.heat({...x, stop}).weights)"
        zero, infinite = in_module(page, "temperature.js", body, {"query": QUERY, "key": KEY})
    scores = torch.tensor(QUERY).double() @ torch.tensor(KEY).double().T
    largest = scores == scores.max(dim=-1, keepdim=True).values
    assert zero == (largest / largest.sum(dim=-1, keepdim=True)).tolist()
    assert infinite == [[1 / 6] * 6] * 6


def test_the_model_equals_attention_py_to_the_last_digits(open_page):
    draw = random.Random(0)
    cases = [
        {
            "query": [[draw.uniform(-9, 9) for _ in range(4)] for _ in range(6)],
            "key": [[draw.uniform(-9, 9) for _ in range(4)] for _ in range(6)],
            "stop": draw.randrange(1, 31),
        }
        for _ in range(100)
    ]
    body = "x.map((c) => m.heat(c)).map(({weights, entropies}) => ({weights, entropies}))"
    with open_page(PAGE) as page:
        got = in_module(page, "temperature.js", body, cases)
    for case, model in zip(cases, got, strict=True):
        want = expected(case["query"], case["key"], TEMPERATURES[case["stop"]])
        have = torch.tensor(model["weights"], dtype=torch.float64)
        torch.testing.assert_close(have, want, rtol=1e-11, atol=1e-13)
        have = torch.tensor(model["entropies"], dtype=torch.float64)
        torch.testing.assert_close(have, entropy(want), rtol=1e-9, atol=1e-12)


# ---- Its controls ------------------------------------------------------------------------------


def test_each_button_is_where_the_slider_takes_its_value(open_page):
    with open_page(PAGE) as page:
        for name, temperature in (("→ 0", 0), ("0.5", 0.5), ("1.0", 1), ("2.0", 2), ("→ ∞", None)):
            button = page.locator(f"{WIDGET} .step-ticks button", has_text=name)
            button.click()
            settle(page)
            stop = TEMPERATURES.index(float("inf") if temperature is None else temperature)
            assert slider(page).input_value() == str(stop)
            assert "current" in button.get_attribute("class")
            track, box = slider(page).bounding_box(), button.bounding_box()
            thumb = track["x"] + 8 + (track["width"] - 16) * stop / 31
            assert abs(box["x"] + box["width"] / 2 - thumb) < 1


def test_all_by_keyboard(open_page):
    with open_page(PAGE) as page:
        slider(page).focus()
        page.keyboard.press("Home")
        assert texts(page, ".says") == ["T → 0: the largest score takes all; equal ones share."]
        assert slider(page).get_attribute("aria-valuetext") == "0 of 31: → 0"
        page.keyboard.press("ArrowRight")
        assert texts(page, ".says") == ["T = 0.1: every score divided by 0.1."]
        page.keyboard.press("End")
        assert texts(page, ".says") == ["T → ∞: every key gets the same."]
        for _ in range(3):  # two buttons, then the chosen cell
            page.keyboard.press("Tab")
        page.keyboard.press("ArrowUp")
        assert texts(page, ".of-row") == ["Where cat looks"]
        assert page.locator(f"{WIDGET} .lit").count() == 6
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid"


def test_mouse_and_touch_choose_a_row(open_page):
    with open_page(PAGE) as page:
        cell(page, 3, 5).click()
        assert texts(page, ".of-row") == ["Where on looks"]
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        cell(page, 5, 0).tap()
        assert texts(page, ".of-row") == ["Where mat looks"]
        page.locator(f"{WIDGET} .step-ticks button").first.tap()
        assert [number(t) for t in texts(page, ".share")] == [0.5, 0, 0, 0, 0.5, 0]


def test_the_badge_follows_the_numbers(open_page):
    with open_page(PAGE) as page:
        badge = page.locator(f"{WIDGET} .source:visible")
        assert badge.all_inner_texts() == ["constructed"]
        page.get_by_role("button", name="Random numbers").click()
        settle(page)
        assert badge.all_inner_texts() == ["random"]
        page.locator(f"{WIDGET} button", has_text="Reset").click()
        settle(page)
        assert badge.all_inner_texts() == ["constructed"]


# ---- Its address -------------------------------------------------------------------------------


def test_the_address_keeps_a_view_and_back_goes_back(open_page):
    with open_page(PAGE) as page:
        go_to(page, 5)
        page.wait_for_url("**heat.stop=0.5**")
        cell(page, 1, 4).click()
        page.wait_for_url("**heat.cell=1.4**")
        view, url = shown(page), page.url
        page.goto(url)
        page.wait_for_function(ALL_LIVE)
        assert shown(page) == view
        assert texts(page, ".of-row") == ["Where cat looks"]
        page.go_back()
        page.wait_for_selector(f"{WIDGET} .widget-live")
        assert texts(page, ".of-row") == ["Where sat looks"]


@pytest.mark.parametrize(
    "damage",
    ["heat.stop=7", "heat.stop=", "heat.stop=0.25", "heat.stop=-1", "heat.cell=6.0",
     "heat.cell=1.1.1", "heat.cell=x", "heat.query=1,2;3", "heat.key=1e309"],
)  # fmt: skip
def test_a_damaged_address_falls_back(open_page, damage):
    with open_page(address(damage)) as page:
        assert_shows_attention_pys(page, QUERY, KEY, 1.0, row=2)


# ---- Its look ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_legible_in_every_state(open_page, width):
    with open_page(PAGE, width=width) as page:
        heights = set()
        for stop in (0, 1, 10, 30, 31):
            for row in range(6):
                go_to(page, stop)
                cell(page, row, 5 - row).click()
                settle(page)
                assert_legible(page, WIDGET)
                heights.add(round(page.locator(WIDGET).bounding_box()["height"]))
        page.get_by_role("button", name="Random numbers").click()
        settle(page)
        assert_legible(page, WIDGET)
        assert max(heights) - min(heights) <= 1, "the page below jumps"


@pytest.mark.parametrize("state", ["heat.stop=0", "heat.stop=Infinity&heat.cell=5.5"])
@pytest.mark.parametrize("theme", THEMES)
def test_no_axe_violation_in_any_state(open_page, state, theme):
    with open_page(address(state), theme=theme) as page:
        assert not axe_violations(page, WIDGET)


def test_the_static_form_stands_without_javascript_and_prints(open_page):
    rows = static_rows(open_page, PAGE, WIDGET)
    for text, weights in zip(rows, expected(QUERY, KEY, 1.0).tolist(), strict=True):
        assert [number(t) for t in text.split("\t")[1:]] == [round(w, 2) for w in weights]
    with open_page(PAGE, live=False, java_script_enabled=False) as page:
        badges = page.locator(f"{WIDGET} .source:visible").all_inner_texts()
    assert badges == ["constructed"]


def test_the_sentence_for_screen_readers_follows(open_page):
    with open_page(address("heat.stop=0")) as page:
        said = "sat looks at: The 0.00, cat 1.00, sat 0.00, on 0.00, the 0.00, mat 0.00."
        assert said in texts(page, ".summary")[0]


def test_nothing_moves_where_motion_is_not_wanted(open_page):
    with open_page(PAGE, reduced_motion="reduce") as page:
        assert not moving(page, WIDGET)
