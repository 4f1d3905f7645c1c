"""The path tracer on the page: what it draws, and how a word is chosen."""

import pytest

from tests.site.gestures import go_to
from tests.site.settling import settle

PAGE = "modules/m01_why_attention/lesson.html"
WIDGET = "#path-tracer"
WORDS, LINES = 10, [19, 100]


def group(page, name):
    return page.locator(f"{WIDGET} .{name} button")


def points(page, name):
    """The nodes on a drawn path, as (column, word)."""
    d = page.locator(f"{WIDGET} svg .{name}").get_attribute("d")
    pairs = d.replace("M", " ").replace("L", " ").split()
    return [tuple(float(x) for x in pair.split(",")) for pair in pairs]


def assert_right(page, net, start, end):
    settle(page)
    want = [end - start + 1 if start <= end else None, 1]
    sentence = page.locator(f"{WIDGET} .sentence").inner_text().split("): ", 1)[1]
    assert sentence.startswith("no path" if want[net] is None else f"{want[net]} step")
    route = points(page, "route")
    stops = page.locator(f"{WIDGET} svg .stop")
    percents = [[stop.get_attribute(name) for name in ("cx", "cy")] for stop in stops.all()]
    places = [tuple(float(text.rstrip("%")) for text in pair) for pair in percents]
    assert places == [(x, pytest.approx(100 * y / WORDS)) for x, y in route]
    assert len(points(page, "edges")) == 2 * LINES[net]
    if want[net] is None:
        assert route == []
    else:
        assert len(route) - 1 == want[net]
        assert route[0] == (0, start + 0.5)
        assert route[-1][1] == end + 0.5
        assert all(x in (0, 100) for x, _ in route)


def test_what_is_chosen_by_mouse_or_keyboard_is_drawn(open_page):
    with open_page(PAGE) as page:
        for net, start, end in [(0, 9, 0), (0, 3, 6)]:
            group(page, "from").nth(start).click()
            group(page, "to").nth(end).click()
            group(page, "nets").nth(net).click()
            assert_right(page, net, start, end)

        go_to(page, "")
        group(page, "nets").first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")  # and no further than the first
        page.keyboard.press("Tab")
        page.keyboard.press("End")
        assert_right(page, 1, 0, 9)
        assert page.evaluate("document.activeElement.innerText") == "tired"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        chosen = page.locator(f"{WIDGET} [aria-checked=true] .word").all_inner_texts()
        assert chosen == ["Attention", "the", "tired"]


def test_a_dot_runs_along_the_path_only_where_motion_is_wanted(open_page):
    script = "document.querySelector('#path-tracer .runner').getAnimations().length"
    with open_page(PAGE, reduced_motion="reduce") as page:
        assert page.evaluate(script) == 0
        group(page, "to").nth(9).click()
        settle(page)
        assert page.evaluate(script) == 0
        page.emulate_media(reduced_motion="no-preference")
        assert page.evaluate(script) == 0  # nothing moves by itself
        group(page, "to").nth(8).click()
        assert page.evaluate(script) == 1
