"""Diagrams in the browser: named, of one size of text, and turned downwards where it is narrow."""

import pytest

from tests.site.conftest import LESSON
from tests.site.geometry import assert_legible

SIZE = (
    """(svg) => { const {width, height} = svg.getBoundingClientRect(); return [width, height]; }"""
)

HIGHLIGHTED = """() => {
  const text = ({startContainer, startOffset, endOffset}) =>
    startContainer.data.slice(startOffset, endOffset);
  return Object.fromEntries([...CSS.highlights].map(([name, ranges]) =>
    [name, [...new Set([...ranges].map(text))]]));
}"""


def test_it_turns_instead_of_shrinking(open_page):
    with open_page(LESSON) as page:
        svg = page.locator("#four-steps svg[role=img]")
        svg.scroll_into_view_if_needed()
        assert len(svg.get_attribute("aria-label")) > 60
        wide = svg.evaluate(SIZE)
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(100)
            assert_legible(page, "#four-steps")
            narrow = svg.evaluate(SIZE)
            assert narrow[0] <= width
            # as large as it was drawn: a smaller one has smaller text
            assert narrow[0] == pytest.approx(float(svg.get_attribute("width")), abs=1)
        assert (narrow[1] > wide[1]) == (wide[0] > 320)


def test_colours_follow_the_theme(open_page):
    read = "(e) => getComputedStyle(e).fill"
    with open_page(LESSON) as page:
        query = page.locator("#four-steps text.number.q").first
        light = query.evaluate(read)
        page.locator(".quarto-color-scheme-toggle").click()
        assert query.evaluate(read) != light


def test_code_has_the_colours_of_query_key_and_value(open_page):
    with open_page("modules/m00_tour/lesson.html") as page:
        names = page.evaluate(HIGHLIGHTED)
    assert {"Q", "W_Q"} <= set(names["query"])
    assert {"K", "W_K"} <= set(names["key"])
    assert {"V", "W_V"} <= set(names["value"])
    assert not set(names["query"]) & (set(names["key"]) | set(names["value"]))
