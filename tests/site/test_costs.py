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
        assert "met" in page.locator("#goal-even").get_attribute("class").split()
        places = "(all) => all.map((c) => [+c.getAttribute('cx'), +c.getAttribute('cy')])"
        marks = page.locator(f"{PLACE} circle").evaluate_all(places)
        assert marks[0] == pytest.approx(marks[1]), "both dots stand where the lines meet"
        assert marks[0][0] == pytest.approx(across(8192) * WIDTH)
        drag(page, PLACE, (across(8192), 0.5), (1.2, 0.5))
        assert shown(page)[0] == round(100 * 2**18 / (2**18 + 8192))


def test_the_ring_climbs_to_the_flat_top_and_the_diamond_stays(open_page):
    """By keys and by typing; the goal is met there, and Reset leads back to one text."""
    with open_page(PAGE) as page:
        place = "#roofline"
        page.evaluate("document.querySelector('#roofline').scrollIntoView()")
        settle(page)
        ring = page.locator(f"{place} svg circle.matrices")
        diamond = page.locator(f"{place} svg path.attention")
        goal, number = page.locator("#goal-past-the-ridge"), page.locator(f"{place} input.number")

        def heights():
            settle(page)
            return float(ring.get_attribute("cy")), diamond.get_attribute("d")

        start, still = heights()
        page.locator(f"{place} input[type=range]").first.focus()
        page.keyboard.press("ArrowRight")
        two, _ = heights()
        assert number.input_value() == "2"
        step = (260 - 32) / 4.4 * math.log10(2)
        assert start - two == pytest.approx(step, abs=0.01), "twice the texts, twice the speed"
        number.fill("295")
        below, _ = heights()
        assert "met" not in goal.get_attribute("class").split()
        number.fill("296")
        top, same = heights()
        assert top < below < two < start
        assert same == still
        assert "met" in goal.get_attribute("class").split()
        assert "over" in ring.get_attribute("class").split(), "so many don't fit"
        number.fill("512")
        assert heights()[0] == pytest.approx(top)
        page.locator(place).get_by_role("button", name="Reset").click()
        assert heights() == (start, still)
        assert "over" not in ring.get_attribute("class").split()
