"""The path tracer on the page: what it draws, and how a word is chosen."""

from tests.site.gestures import go_to
from tests.site.settling import settle

PAGE = "modules/m01_why_attention/lesson.html"
WIDGET = "#path-tracer"
LINES = [19, 100]
RUNNERS = "document.querySelector('#path-tracer .runner').getAnimations().length"


def group(page, name):
    return page.locator(f"{WIDGET} .{name} button")


def points(page, name):
    """The nodes on a drawn path, as (column, word)."""
    d = page.locator(f"{WIDGET} svg .{name}").get_attribute("d")
    pairs = d.replace("M", " ").replace("L", " ").split()
    return [tuple(float(x) for x in pair.split(",")) for pair in pairs]


def assert_drawn(page, net, start, end):
    """A recurrent net (0) takes a step a word, and none back; attention (1) takes one."""
    settle(page)
    route = points(page, "route")
    assert len(points(page, "edges")) == 2 * LINES[net]
    if net == 0 and start > end:
        assert route == []
    else:
        assert len(route) - 1 == (1 if net else end - start + 1)
        assert route[0] == (0, start + 0.5)
        assert route[-1][1] == end + 0.5


def test_what_is_chosen_by_mouse_or_keyboard_is_drawn(open_page):
    with open_page(PAGE) as page:
        for net, start, end in [(0, 9, 0), (0, 3, 6)]:
            group(page, "from").nth(start).click()
            group(page, "to").nth(end).click()
            group(page, "nets").nth(net).click()
            assert_drawn(page, net, start, end)

        go_to(page, "")
        group(page, "nets").first.focus()
        for key in ("ArrowDown", "Tab", "ArrowUp", "ArrowUp", "Tab", "End"):  # no further than 0
            page.keyboard.press(key)
        assert_drawn(page, 1, 0, 9)
        chosen = page.locator(f"{WIDGET} [aria-checked=true] .word").all_inner_texts()
        assert chosen == ["Attention", "the", "tired"]


def test_a_dot_runs_along_the_path_only_where_motion_is_wanted(open_page):
    with open_page(PAGE, reduced_motion="reduce") as page:
        group(page, "to").nth(9).click()
        settle(page)
        assert page.evaluate(RUNNERS) == 0
        page.emulate_media(reduced_motion="no-preference")
        assert page.evaluate(RUNNERS) == 0  # nothing moves by itself
        group(page, "to").nth(8).click()
        assert page.evaluate(RUNNERS) == 1
