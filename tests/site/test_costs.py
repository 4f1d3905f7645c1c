"""The curves of m10 in the browser: the dashed line is dragged, and stands where the tokens say."""

import math

import pytest

from tests.site.gestures import drag
from tests.site.settling import settle

PAGE = "modules/m10_cost/lesson.html"
PLACE = "#cost-curves"
LEFT, RIGHT, WIDTH = 76, 548, 560  # of the drawing


def across(tokens):
    """Where so many tokens stand, as a share of the drawing's width."""
    return (LEFT + (RIGHT - LEFT) * (math.log2(tokens) - 7) / 11) / WIDTH


def shown(page):
    settle(page)
    texts = [page.locator(f"{PLACE} {name}").inner_text() for name in (".share-now", ".twice-now")]
    return [float(text.split("\u202f")[0].split()[0]) for text in texts]


def test_the_crossover_is_found_by_dragging(open_page):
    with open_page(PAGE) as page:
        page.evaluate("document.querySelector('#cost-curves').scrollIntoView()")
        assert shown(page) == [11, 2.22]
        drag(page, PLACE, (across(1024), 0.5), (across(8192), 0.4))
        assert shown(page) == [50, 3]
        places = "(all) => all.map((c) => [+c.getAttribute('cx'), +c.getAttribute('cy')])"
        marks = page.locator(f"{PLACE} circle").evaluate_all(places)
        assert marks[0] == pytest.approx(marks[1]), "both dots stand where the lines meet"
        drag(page, PLACE, (across(8192), 0.5), (1.2, 0.5))
        assert shown(page)[0] == round(100 * 2**18 / (2**18 + 8192))


def test_more_texts_raise_the_ring_to_the_flat_top_where_the_goal_is_met(open_page):
    with open_page(PAGE) as page:
        page.evaluate("document.querySelector('#roofline').scrollIntoView()")
        ring = page.locator("#roofline svg circle.matrices")
        goal, field = page.locator("#goal-past-the-ridge.met"), page.locator("#roofline .number")

        def height():
            settle(page)
            return float(ring.get_attribute("cy"))

        one = height()
        page.locator("#roofline input[type=range]").first.press("ArrowRight")
        twice = (260 - 32) / 4.4 * math.log10(2)
        assert one - height() == pytest.approx(twice, abs=0.01), "twice the texts, twice the speed"
        field.fill("295")
        below = height()
        assert goal.count() == 0
        field.fill("296")
        top = height()
        assert top < below < one
        assert goal.count() == 1
        assert "over" in ring.get_attribute("class").split(), "so many don't fit"
        field.fill("512")
        assert height() == pytest.approx(top)
