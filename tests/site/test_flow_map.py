"""The information-flow map of m01: every number and shade against attention.py and a recurrence."""

import math

import pytest
import torch

from attention import create_causal_mask, scaled_dot_product_attention
from tests.site.conftest import THEMES, WIDTHS
from tests.site.geometry import assert_legible
from tests.site.reading import SHADE_STEP, SHADES, assert_shows, axe_violations, settle

PAGE = "modules/m01_why_attention/lesson.html"
WIDGET = "#flow-map"
WORDS = "the cat sat on the mat because it was tired".split()
N = len(WORDS)
DECAYS = [0.5, 0.7, 0.9, 0.99, 1]
TIMES = [1, 3, 10, 30, 100, 1000]
READ = """(root) => [...root.querySelectorAll("table.readers tbody tr")].map((tr) => ({
  word: tr.querySelector("th").textContent,
  texts: [...tr.querySelectorAll(".share")].map((e) => e.textContent),
  numbers: [tr.__data__.recurrent ?? 0, tr.__data__.attention ?? 0],
  bars: [...tr.querySelectorAll(".bar")]
    .map((e) => +e.style.transform.match(/^scaleX\\((.*)\\)$/)[1]),
}))"""


def recurrent(decay):
    """[j, i]: raise word i by 1, run the recurrence, and see what state j becomes."""
    flow = torch.zeros(N, N, dtype=torch.float64)
    for i in range(N):
        state = 0.0
        for j in range(N):
            state = decay * state + (i == j)
            flow[j, i] = state
    return flow


def attention(source, times, is_causal):
    """The weights of attention.py, where every query scores ``source`` ln(times), the others 0."""
    query = torch.full((N, 1), math.log(times), dtype=torch.float64)
    key = torch.zeros(N, 1, dtype=torch.float64)
    key[source] = 1
    mask = create_causal_mask(N) if is_causal else None
    return scaled_dot_product_attention(query, key, key, mask, scale=1.0)[1]


def assert_right(page, decay=1, times=3, source=1, is_causal=False):
    settle(page)
    maps = [recurrent(DECAYS[decay]), attention(source, TIMES[times], is_causal)]
    root = page.locator(WIDGET)
    for reader, row in enumerate(root.evaluate(READ)):
        assert row["word"] == WORDS[reader]
        unseen = [reader < source, is_causal and reader < source]
        shown = zip(maps, row["texts"], row["numbers"], row["bars"], unseen, strict=True)
        for flow, text, drawn, bar, none in shown:
            exact = flow[reader, source].item()
            assert drawn == pytest.approx(exact, abs=1e-12)
            assert bar == pytest.approx(drawn, abs=6e-6)  # a style keeps five decimals
            if none:
                assert (text, exact) == ("no way", 0)
            else:
                assert_shows(text, exact, (reader, source))
    for flow, shades in zip(maps, root.evaluate(SHADES), strict=True):
        # One scale for both maps: a shade is the number itself.
        assert (torch.tensor(shades, dtype=torch.float64) - flow).abs().max() <= SHADE_STEP
    sums = maps[1].sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))


def address(decay=1, times=3, source=1, causal=0):
    return f"{PAGE}?flow.decay={decay}&flow.times={times}&flow.source={source}&flow.causal={causal}"


def tick(page, slider, step):
    form = page.locator(f"{WIDGET} .step-slider").nth(slider)
    form.locator(".step-ticks button").nth(step).click()


# ---- Its numbers -------------------------------------------------------------------------------


def test_every_state_of_the_sliders(open_page):
    with open_page(PAGE) as page:
        assert_right(page)
        for decay in range(5):
            tick(page, 0, decay)
            assert_right(page, decay=decay)
        for times in range(6):
            tick(page, 1, times)
            assert_right(page, decay=4, times=times)


@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
def test_every_word(open_page, is_causal):
    with open_page(address(causal=int(is_causal))) as page:
        for source in range(N):
            page.locator(f"{WIDGET} select").select_option(index=source)
            assert_right(page, source=source, is_causal=is_causal)


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ({}, "Raise cat by 1. In tired, 8 words on, that adds 0.06 through the recurrent net "
             "(0.7⁸), and 0.77 through attention (30/39)."),
        ({"decay": 4, "times": 0, "source": 8, "causal": 1},
         "Raise was by 1. In tired, 1 word on, that adds 1.00 through the recurrent net (1), "
         "and 0.10 through attention (1/10)."),
        ({"source": 9}, "Raise tired by 1. In tired itself that adds 1.00 through the recurrent "
                        "net (0.7⁰), and 0.77 through attention (30/39)."),
    ],
)  # fmt: skip
def test_the_sentence(open_page, chosen, sentence):
    with open_page(address(**chosen)) as page:
        settle(page)
        assert page.locator(f"{WIDGET} .says").inner_text() == sentence


# ---- Its controls ------------------------------------------------------------------------------


def test_a_click_and_a_touch_on_a_map_choose_the_column(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        for kind, source in [("attention", 6), ("recurrent", 3)]:
            svg = page.locator(f"{WIDGET} .{kind} .weight-map")
            box = svg.bounding_box()
            svg.tap(position={"x": box["width"] * (source + 0.5) / N, "y": box["height"] / 2})
            assert_right(page, source=source)
        assert page.locator(f"{WIDGET} select").evaluate("(e) => e.selectedIndex") == 3
        for name in ("recurrent", "attention"):
            outer = page.locator(f"{WIDGET} .{name} .weight-map").bounding_box()
            frame = page.locator(f"{WIDGET} .{name} .frame").bounding_box()
            assert frame["x"] - outer["x"] == pytest.approx(3 / N * outer["width"], abs=0.5)
            assert frame["width"] == pytest.approx(outer["width"] / N, abs=0.5)
            assert frame["height"] == pytest.approx(outer["height"], abs=0.5)


def test_all_by_keyboard(open_page):
    with open_page(PAGE) as page:
        page.locator(f"{WIDGET} input[type=range]").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Tab")
        page.keyboard.press("Home")
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert_right(page, decay=2, times=0, source=2, is_causal=True)
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style != "none"


def test_the_address_keeps_a_view_and_back_goes_back(open_page):
    with open_page(PAGE) as page:
        tick(page, 0, 4)
        page.wait_for_url("**flow.decay=4**")
        page.reload()
        page.wait_for_selector(f"{WIDGET} .widget-live")
        assert_right(page, decay=4)
        page.go_back()
        page.wait_for_selector(f"{WIDGET} .widget-live")
        assert_right(page)


@pytest.mark.parametrize(
    "damage",
    ["flow.decay=5", "flow.times=x", "flow.source=10", "flow.causal=yes", "flow.decay=%F0"],
)
def test_a_damaged_address_falls_back(open_page, damage):
    with open_page(f"{PAGE}?{damage}") as page:
        assert_right(page)


# ---- Its look ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_legible_in_every_state(open_page, width):
    with open_page(PAGE, width=width) as page:
        heights = set()
        for source, is_causal in [(1, False), (9, True), (6, True), (0, False)]:
            page.locator(f"{WIDGET} select").select_option(index=source)
            page.locator(f"{WIDGET} input[type=checkbox]").set_checked(is_causal)
            for step in (0, 2, 4):
                tick(page, 0, step)
                tick(page, 1, step + 1)
                settle(page)
                assert_legible(page, WIDGET)
                heights.add(round(page.locator(WIDGET).bounding_box()["height"]))
        assert max(heights) - min(heights) <= 30, "the page below jumps"


@pytest.mark.parametrize("theme", THEMES)
def test_no_axe_violation(open_page, theme):
    with open_page(address(source=9, causal=1), theme=theme) as page:
        assert not axe_violations(page, WIDGET)
