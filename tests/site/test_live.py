"""A widget's drawing is laid out alone: its place on the page states the height that it takes."""

import pytest
from playwright.sync_api import expect

from tests.site.conftest import PAGES
from tests.site.reading import settle

# Of each drawing that is shown: how far its place is from ending where the drawing ends.
GAPS = """() => [...document.querySelectorAll(".widget-live")].filter((e) => e.offsetHeight)
  .map((e) => e.parentElement.getBoundingClientRect().bottom - e.getBoundingClientRect().bottom)"""
GROW = """() => document.querySelectorAll(".widget-live")
  .forEach((e) => e.append("more ".repeat(200)))"""


def assert_exact(page):
    settle(page)
    gaps = page.evaluate(GAPS)
    assert gaps
    assert max(abs(gap) for gap in gaps) < 0.1


@pytest.mark.parametrize("path", PAGES)
def test_each_place_is_as_high_as_its_drawing_and_stays_so(open_page, path):
    with open_page(path) as page:
        assert_exact(page)
        for drawing in page.locator(".widget-live:visible").all():
            drawing.scroll_into_view_if_needed()  # far from the reader nothing is laid out
            expect(drawing.locator("xpath=..")).to_have_css("contain", "size layout")
        page.set_viewport_size({"width": 390, "height": 900})
        assert_exact(page)
        page.evaluate(GROW)
        assert_exact(page)
        page.set_viewport_size({"width": 1280, "height": 900})
        assert_exact(page)


def test_on_paper_a_place_keeps_no_room_for_what_is_not_printed(open_page):
    with open_page("index.html") as page:
        page.emulate_media(media="print")
        place = page.locator("#taste .observablehq:has(> .widget-live)")
        assert place.bounding_box()["height"] == 0
