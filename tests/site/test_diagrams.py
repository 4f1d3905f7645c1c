"""Diagrams in the browser: as large on a phone; and code in the colours of the diagrams."""

import pytest

from tests.site.conftest import LESSON, TOUR

HIGHLIGHTED = """() => {
  const text = ({startContainer, startOffset, endOffset}) =>
    startContainer.data.slice(startOffset, endOffset);
  return Object.fromEntries([...CSS.highlights].map(([name, ranges]) =>
    [name, [...new Set([...ranges].map(text))]]));
}"""


def test_a_diagram_is_drawn_anew_for_a_phone_instead_of_shrunk(open_page):
    with open_page(LESSON) as page:
        page.set_viewport_size({"width": 320, "height": 900})
        page.wait_for_timeout(100)
        svg = page.locator("#four-steps svg[role=img]")
        width, drawn = svg.bounding_box()["width"], float(svg.get_attribute("width"))
        assert width == pytest.approx(drawn, abs=1), "a smaller one has smaller text"
        assert width <= 320


def test_code_has_the_colours_of_query_key_and_value(open_page):
    with open_page(TOUR) as page:
        names = page.evaluate(HIGHLIGHTED)
    assert {"Q", "W_Q"} <= set(names["query"])
    assert {"K", "W_K"} <= set(names["key"])
    assert {"V", "W_V"} <= set(names["value"])
    assert not set(names["query"]) & (set(names["key"]) | set(names["value"]))
