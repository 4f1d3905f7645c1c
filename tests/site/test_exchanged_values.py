"""The exchange of two values in the browser: the ways cross, the weights stay, the bars turn."""

from tests.numbers import number
from tests.site.conftest import LESSON
from tests.site.settling import settle

WIDGET = "#exchanged-values"
ENDS = "(lines) => lines.map((e) => [e.getAttribute('x1'), e.getAttribute('x2')])"
WIDTHS = """(bars) => bars.map((bar) => {
  const width = (e) => e.getBoundingClientRect().width;
  const share = (e) => width(e) / width(e.parentElement);
  return [".all", ".verb"].map((part) => share(bar.querySelector(part))); })"""


def drawn(page):
    """Where the ways go, the weights, the bars, and what is told of each."""
    settle(page)
    widget = page.locator(WIDGET)
    ways = widget.locator(".way").evaluate_all(ENDS)
    weights = widget.locator(".row i").all_inner_texts()
    bars = widget.locator(".verbs").evaluate_all(WIDTHS)
    return ways, weights, bars, widget.locator(".told").all_inner_texts()


def test_the_exchange_crosses_the_ways_and_turns_the_bars(open_page):
    with open_page(LESSON, reduced_motion="reduce") as page:
        page.locator(f"{WIDGET} select").select_option(index=1)
        (first, second), weights, bars, told = drawn(page)
        assert first[0] == first[1] != second[0] == second[1]
        page.locator(f"{WIDGET} .toggle input").press(" ")
        crossed, still, turned, now = drawn(page)
        assert crossed == [[first[0], second[0]], [second[0], first[0]]]
        assert still == weights
        for shares, texts in ((bars, told), (turned, now)):
            for (whole, verb), text in zip(shares, texts, strict=True):
                assert abs(whole - number(text.split("all ")[1])) < 0.007
                assert abs(verb - number(text.split()[1].strip(","))) < 0.007
        assert bars[1] > bars[0]
        assert turned[0] > turned[1]
        page.locator(WIDGET).get_by_role("button", name="Reset").click()
        assert drawn(page)[0] != crossed
