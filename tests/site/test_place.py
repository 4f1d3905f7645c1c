"""A widget's drawing is laid out alone: its place on the page states the height that it takes."""

import pytest
from playwright.sync_api import expect

from tests.site.geometry import IS_EXACT
from tests.site.reading import settle
from tests.site.test_widgets import PAGES

GROW = """() => document.querySelectorAll(".widget-stage")
  .forEach((e) => e.append("more ".repeat(200)))"""
HEIGHTS = """() => [...document.querySelectorAll(".widget-place")]
  .map((e) => e.getBoundingClientRect().height)"""


def assert_exact(page):
    """Each place follows its drawing, a frame later; far from the reader nothing is laid out."""
    settle(page)
    for widget in page.locator(".widget:has(.widget-place:visible)").all():
        widget.scroll_into_view_if_needed()
        page.wait_for_function(IS_EXACT, arg=widget.element_handle(), timeout=5000)


@pytest.mark.parametrize("path", PAGES)
def test_each_place_is_as_high_as_its_drawing_and_stays_so(open_page, path):
    with open_page(path) as page:
        assert_exact(page)
        for place in page.locator(".widget-place:visible").all():
            place.scroll_into_view_if_needed()  # far from the reader nothing is laid out
            expect(place).to_have_css("contain", "size layout")
        page.set_viewport_size({"width": 390, "height": 900})
        assert_exact(page)
        page.evaluate(GROW)
        assert_exact(page)
        page.set_viewport_size({"width": 1280, "height": 900})
        assert_exact(page)
        page.emulate_media(media="print")  # what is not printed keeps no room on paper
        assert not any(page.evaluate(HEIGHTS))
