"""The flow map on the page: its texts, bars and shades, and a column chosen in a map."""

import pytest
import torch

from tests.site.settling import assert_shows, settle
from tests.site.shades import SHADE_STEP, SHADES
from tests.widgets.truth_flow_map import DECAYS, TIMES, N, attention, recurrent

PAGE = "modules/m01_why_attention/lesson.html"
WIDGET = "#flow-map"
READ = """(root) => [...root.querySelectorAll("table.readers tbody tr")].map((tr) => ({
  texts: [...tr.querySelectorAll(".share")].map((e) => e.textContent),
  bars: [...tr.querySelectorAll(".bar")]
    .map((e) => +e.style.transform.match(/^scaleX\\((.*)\\)$/)[1]),
}))"""


def assert_right(page, decay, times, source):
    settle(page)
    maps = [recurrent(DECAYS[decay]), attention(source, TIMES[times])]
    root = page.locator(WIDGET)
    for reader, row in enumerate(root.evaluate(READ)):
        for flow, text, bar in zip(maps, row["texts"], row["bars"], strict=True):
            exact = flow[reader, source].item()
            assert bar == pytest.approx(exact, abs=6e-6)  # a style keeps five decimals
            if exact:
                assert_shows(text, exact, (reader, source))
            else:
                assert text == "no path"
    for flow, shades in zip(maps, root.evaluate(SHADES), strict=True):
        # One scale for both maps: a shade is the number itself.
        assert (torch.tensor(shades, dtype=torch.float64) - flow).abs().max() <= SHADE_STEP


def test_what_is_chosen_by_control_or_by_touch_on_a_map_is_drawn(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        page.locator(f"{WIDGET} details:has(.maps) > summary").tap()
        for slider, step in [(0, 1), (1, 4)]:
            ticks = page.locator(f"{WIDGET} .step-slider").nth(slider).locator("button")
            ticks.nth(step).tap()
        page.locator(f"{WIDGET} select").select_option(index=8)
        assert_right(page, 4, 1, 8)
        for kind, source in [("attention", 6), ("recurrent", 3)]:
            drawn = page.locator(f"{WIDGET} .{kind} .weight-map")
            box = drawn.bounding_box()
            drawn.tap(position={"x": box["width"] * (source + 0.5) / N, "y": box["height"] / 2})
            assert_right(page, 4, 1, source)
