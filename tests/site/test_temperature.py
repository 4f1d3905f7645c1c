"""The temperature map of m04 in the browser: its slider, its badge, and what it shows."""

import re

from analysis import entropy
from tests.site.settling import assert_shows, settle
from tests.widgets.truth_temperature import KEY, QUERY, STOPS, expected

PAGE = "modules/m04_softmax_and_scale/lesson.html"
WIDGET = "#temperature"


def texts(page, selector):
    settle(page)
    return page.locator(f"{WIDGET} {selector}").all_inner_texts()


def assert_shows_attention_pys(page, query, key, temperature, row):
    want = expected(query, key, temperature)
    numbers = [*want.flatten().tolist(), *want[row].tolist()]
    shown = texts(page, "table.weights tbody td") + texts(page, ".shares .share")
    for text, exact in zip(shown, numbers, strict=True):
        assert_shows(text, exact, f"T = {temperature}")
    (keys,) = re.findall(r"\d+\.\d+", texts(page, ".entropy")[0])
    assert_shows(keys, entropy(want[row]).exp().item(), "keys")


def test_the_map_follows_the_slider_the_row_and_the_numbers(open_page):
    with open_page(PAGE, has_touch=True) as page:
        slider = page.locator(f"{WIDGET} input[type=range]")
        slider.press("Home")
        slider.press("ArrowRight")
        page.locator(f"{WIDGET} table.weights tbody tr").nth(3).locator("td").nth(5).tap()
        page.get_by_role("button", name="Random queries and keys").click()
        state = page.locator(f"{WIDGET} .widget-live").evaluate("(e) => e.state")
        assert_shows_attention_pys(page, state["query"], state["key"], STOPS[1], row=3)
        assert texts(page, ".source:visible") == ["random"]
        page.locator(f"{WIDGET} button", has_text="Reset").click()
        assert_shows_attention_pys(page, QUERY, KEY, 1, row=2)
        assert texts(page, ".source:visible") == ["constructed"]

        named = {"→ 0": 0, "0.5": 0.5, "1.0": 1, "2.0": 2, "→ ∞": STOPS[-1]}
        for name, temperature in named.items():
            button = page.locator(f"{WIDGET} .step-ticks button", has_text=name)
            button.click()
            settle(page)
            stop = STOPS.index(temperature)
            assert slider.input_value() == str(stop)
            track, box = slider.bounding_box(), button.bounding_box()
            thumb = track["x"] + 8 + (track["width"] - 16) * stop / (len(STOPS) - 1)
            off = abs(box["x"] + box["width"] / 2 - thumb)
            assert off < 1, "each button is where the slider takes its value"
