"""Two words on a line, in m07: dragged, one alone and both together."""

import re

import numpy as np

from tests.numbers import number
from tests.site.settling import settle

WIDGET = "#rotary-hands"
PAGE = "modules/m07_position/lesson.html"
BITES, DOG = np.array([-1.1 - 0.2j, 1.2 - 0.7j]), np.array([1.2, 1.4 - 0.3j])


def told(page):
    """The positions of both words, and the score, which must be theirs."""
    settle(page)
    text = page.locator(f"{WIDGET} .sentence").inner_text()
    query, key = map(int, re.search(r"position (\d+), dog at (\d+)", text).groups())
    score = number(re.search(r"≈ (\S+?)\.(?:\s|$)", text)[1])
    turned = BITES * np.conj(DOG) * np.exp(1j * (query - key) * np.array([1, 0.1]))
    assert abs(turned.real.sum() - score) < 0.0051
    return query, key, score


def pull(page, part, positions):
    """Drag a part of the drawing this many positions along the line."""
    page.locator(f"{WIDGET} .street").scroll_into_view_if_needed()
    box = page.locator(f"{WIDGET} {part}").bounding_box()
    notches = page.locator(f"{WIDGET} .notch").all()
    first, last = (notch.bounding_box()["x"] for notch in (notches[0], notches[-1]))
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + (last - first) / 15 * positions, y, steps=5)
    page.mouse.up()


def test_words_are_dragged_one_alone_and_both(open_page):
    """On a phone; of a finger, tests/site/test_drag.py."""
    with open_page(PAGE, width=390) as page:
        dials = page.locator(f"{WIDGET} .dials")
        met = page.locator("[data-for=rotary-hands] .goal.met")
        assert told(page)[:2] == (8, 7)
        pull(page, ".query .sign", 4)
        query, key, score = told(page)
        assert (query, key) == (12, 7)
        assert met.count() == 0, "a goal is met on the way"
        apart, hands = dials.locator("b").all_inner_texts(), dials.first.inner_html()
        pull(page, ".between", -3)
        assert told(page) == (9, 4, score)
        assert dials.locator("b").all_inner_texts() == apart, "the angles stay"
        assert dials.first.inner_html() != hands, "all hands turn"
        page.get_by_role("button", name="Both →").click()
        assert told(page) == (10, 5, score)
        pull(page, ".key .sign", 2)
        assert told(page)[:2] == (10, 7)
        assert met.get_attribute("id") == "goal-highest-of-dog"
