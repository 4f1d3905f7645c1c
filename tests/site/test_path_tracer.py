"""The path tracer of m01: its counts, its paths, its controls, its look in every state."""

import math
from itertools import pairwise

import pytest

from tests.paths import steps_by_gaps
from tests.site.conftest import THEMES, WIDTHS
from tests.site.geometry import assert_legible
from tests.site.reading import axe_violations, settle

PAGE = "modules/m01_why_attention/lesson.html"
WIDGET = "#path-tracer"
WORDS = "the cat sat on the mat because it was tired".split()
N = len(WORDS)
NAMES = [
    "Recurrent", "Convolution, 3 wide", "Convolution, gaps that double",
    "Attention", "Attention, causal",
]  # fmt: skip
LAYERS = [1, N - 1, 4, 1, 1]


def steps(net, start, end):
    """How many steps there are, by what each network is; None: no path."""
    d = end - start
    if net in (0, 4) and d < 0:
        return None
    return [d + 1, max(1, abs(d)), steps_by_gaps(abs(d)), 1, 1][net]


def may_go(net, layer, a, b):
    """Whether a line leads from word a to word b, into column ``layer``."""
    gaps = {1: (0, 1), 2: (0, 2 ** (layer - 1))}
    if net in gaps:
        return abs(a - b) in gaps[net]
    return {0: a == b, 3: True, 4: a <= b}[net]


def address(net=0, start=1, end=7):
    return f"{PAGE}?path.net={net}&path.from={start}&path.to={end}"


def group(page, name):
    return page.locator(f"{WIDGET} .{name} button")


def counts(page):
    settle(page)
    texts = page.locator(f"{WIDGET} .nets .note").all_inner_texts()
    return [None if text == "no path" else int(text.split()[0]) for text in texts]


def says(page):
    settle(page)
    return page.locator(f"{WIDGET} .says").inner_text()


def points(page, name):
    """The nodes on a drawn path, as (column, word)."""
    d = page.locator(f"{WIDGET} svg .{name}").get_attribute("d")
    pairs = d.replace("M", " ").replace("L", " ").replace("h0", "").split()
    return [tuple(float(x) for x in pair.split(",")) for pair in pairs]


def assert_right(page, net, start, end):
    want = [steps(other, start, end) for other in range(5)]
    assert counts(page) == want
    route = points(page, "route")
    if want[net] is None:
        assert route == []
        assert "no path" in says(page)
        return
    assert len(route) - 1 == want[net]
    places = [(round(x * LAYERS[net] / 100), int(y - 0.5)) for x, y in route]
    assert places[0] == (0, start)
    assert places[-1][1] == end
    for (column, word), (after, into) in pairwise(places):
        along = net == 0 and column == after == 1 and into == word + 1
        assert along or (after == column + 1 and may_go(net, after, word, into))


# ---- Its numbers -------------------------------------------------------------------------------


def test_every_pair_of_words_in_the_model(open_page):
    """All networks, all pairs, and all lengths up to ten, through the module that is drawn."""
    script = """async (url) => {
      const {NETS, shortestPath, longestChain} = await import(url);
      const count = (path) => path && path.length - 1;
      return NETS.map((net) => [...Array(9)].map((_, k) => {
        const n = k + 2, graph = net.graph(n);
        return {chain: longestChain(graph), steps: [...Array(n * n)].map((_, i) =>
          count(shortestPath(graph, Math.floor(i / n), i % n)))};
      }));
    }"""
    with open_page(PAGE) as page:
        url = page.evaluate("new URL('../../widgets/path-tracer.js', location).href")
        got = page.evaluate(script, url)
    for net, lengths in enumerate(got):
        for n, found in enumerate(lengths, 2):
            want = [steps(net, a, b) for a in range(n) for b in range(n)]
            assert found["steps"] == want, (NAMES[net], n)
            waits = [n, n - 1, math.ceil(math.log2(n)), 1, 1]
            assert found["chain"] == waits[net], (NAMES[net], n)


def test_the_path_that_is_drawn(open_page):
    with open_page(PAGE) as page:
        assert_right(page, 0, 1, 7)
        assert says(page) == (
            "Recurrent. cat (word 2) → it (word 8): 7 steps. "
            "The whole drawing takes 10 steps, one after another."
        )
        for start, end in [(0, 9), (9, 0), (4, 4), (6, 3), (2, 5)]:
            group(page, "from").nth(start).click()
            group(page, "to").nth(end).click()
            for net in range(5):
                group(page, "nets").nth(net).click()
                assert_right(page, net, start, end)


def test_all_lines_of_a_network_are_drawn(open_page):
    with open_page(address(net=3)) as page:
        for net, want in enumerate([19, 9 * 28, 4 * 10 + 2 * (9 + 8 + 6 + 2), 100, 55]):
            group(page, "nets").nth(net).click()
            settle(page)
            assert len(points(page, "edges")) == 2 * want
            assert len(points(page, "nodes")) == N * (LAYERS[net] + 1)


# ---- Its controls ------------------------------------------------------------------------------


def test_all_by_keyboard(open_page):
    with open_page(PAGE) as page:
        group(page, "nets").first.focus()
        page.keyboard.press("ArrowDown")
        assert_right(page, 1, 1, 7)
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")  # and no further than the first
        assert_right(page, 1, 0, 7)
        page.keyboard.press("Tab")
        page.keyboard.press("End")
        assert_right(page, 1, 0, 9)
        focused = page.evaluate("document.activeElement")
        assert page.evaluate("document.activeElement.innerText") == "tired", focused
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        chosen = page.locator(f"{WIDGET} [aria-checked=true] .word").all_inner_texts()
        assert chosen == ["Convolution, 3 wide", "the", "tired"]


def test_touch(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        group(page, "nets").nth(4).tap()
        group(page, "from").nth(9).tap()
        assert_right(page, 4, 9, 7)
        assert "no path, for this net reads only what came before" in says(page)


def test_the_address_keeps_a_view_and_back_goes_back(open_page):
    with open_page(PAGE) as page:
        group(page, "to").nth(3).click()
        page.wait_for_url("**path.to=3**")
        page.reload()
        page.wait_for_selector(f"{WIDGET} .widget-live")
        assert_right(page, 0, 1, 3)
        page.go_back()
        page.wait_for_selector(f"{WIDGET} .widget-live")
        assert_right(page, 0, 1, 7)


@pytest.mark.parametrize("damage", ["path.net=5", "path.from=-1", "path.to=1e309", "path.to=%F0"])
def test_a_damaged_address_falls_back(open_page, damage):
    with open_page(f"{PAGE}?{damage}") as page:
        assert_right(page, 0, 1, 7)


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_a_dot_runs_along_the_path_only_where_motion_is_wanted(open_page, motion, moves):
    script = "document.querySelector('#path-tracer .runner').getAnimations().length"
    with open_page(PAGE, reduced_motion=motion) as page:
        assert page.evaluate(script) == 0  # nothing moves by itself
        group(page, "to").nth(9).click()
        page.wait_for_function(
            "document.querySelectorAll('#path-tracer [aria-checked]')[24].ariaChecked"
        )
        settle(page)
        assert (page.evaluate(script) > 0) == moves


# ---- Its look ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_legible_in_every_state(open_page, width):
    with open_page(PAGE, width=width) as page:
        heights = set()
        for start, end in [(1, 7), (9, 0), (6, 6)]:
            group(page, "from").nth(start).click()
            group(page, "to").nth(end).click()
            for net in range(5):
                group(page, "nets").nth(net).click()
                settle(page)
                assert_legible(page, WIDGET)
                heights.add(round(page.locator(WIDGET).bounding_box()["height"]))
        assert max(heights) - min(heights) <= 30, "the page below jumps"


@pytest.mark.parametrize("theme", THEMES)
def test_no_axe_violation(open_page, theme):
    with open_page(address(net=4, start=9, end=0), theme=theme) as page:
        assert not axe_violations(page, WIDGET)
