"""The lookup among harbours: its weights and its answer are attention.py's, hard and soft."""

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.site.conftest import WIDTHS
from tests.site.geometry import assert_legible
from tests.site.reading import assert_shows, settle

LESSON = "modules/m02_query_key_value/lesson.html"
WIDGET = "#soft-lookup"
KEYS = [[0, 1.5], [1.43, 0.46], [0.88, -1.21], [-0.88, -1.21], [-1.43, 0.46]]
HEIGHTS = [3.2, 1.0, 0.4, 1.8, 2.6]


def chosen(page):
    boxes = page.locator(f"{WIDGET} input[type=number]").all()
    temperature, *query = [float(box.input_value()) for box in boxes]
    return temperature, query


def expected(temperature, query):
    """At temperature 0 the best keys share equally; else softmax, by attention.py."""
    q, k, v = (torch.tensor(x, dtype=torch.float64) for x in ([query], KEYS, HEIGHTS))
    if temperature == 0:
        scores = (q @ k.T)[0]
        weights = (scores > scores.max() - 1e-9).double()
        return weights / weights.sum(), (weights @ v / weights.sum()).item()
    output, weights = scaled_dot_product_attention(q, k, v[:, None], scale=1 / temperature)
    return weights[0], output.item()


def assert_right(page):
    settle(page)
    weights, answer = expected(*chosen(page))
    texts = page.locator(f"{WIDGET} .share").all_inner_texts()
    for text, weight in zip(texts, weights.tolist(), strict=True):
        assert_shows(text.split()[0].rstrip("%").strip(), 100 * weight, chosen(page))
    shown = page.locator(f"{WIDGET} .retrieved b").inner_text()
    assert_shows(shown.split()[0], answer, chosen(page))


def test_numbers_are_attention_pys_from_hard_to_soft(open_page):
    with open_page(LESSON) as page:
        assert chosen(page) == (1, [1, 1])
        assert_right(page)
        for box, value in [(1, "-1.35"), (2, "0.4"), (0, "0.05"), (0, "3"), (0, "0"), (1, "2")]:
            page.locator(f"{WIDGET} input[type=number]").nth(box).fill(value)
            assert_right(page)


def test_temperature_0_is_the_best_alone_and_ties_share(open_page):
    with open_page(f"{LESSON}?lookup.heat=0&lookup.across=0&lookup.up=0") as page:
        assert_right(page)
        assert set(page.locator(f"{WIDGET} .share").all_inner_texts()) == {"20\u202f%"}
        page.locator(f"{WIDGET} input[type=range]").nth(1).press("ArrowRight")
        assert_right(page)
        assert page.locator(f"{WIDGET} .share").nth(1).inner_text() == "100\u202f%"


def test_the_query_is_dragged_and_kept_in_the_address(open_page):
    with open_page(LESSON) as page:
        svg = page.locator(f"{WIDGET} .query-plane svg")
        svg.scroll_into_view_if_needed()
        box = svg.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.4)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.3, steps=3)
        page.mouse.up()
        assert chosen(page)[1][0] < -0.8
        assert_right(page)
        page.wait_for_url("**lookup.across=-*")


def test_touch(open_page):
    with open_page(LESSON, width=390, has_touch=True) as page:
        svg = page.locator(f"{WIDGET} .query-plane svg")
        box = svg.bounding_box()
        svg.tap(position={"x": box["width"] * 0.8, "y": box["height"] * 0.8})
        assert_right(page)


@pytest.mark.parametrize("width", WIDTHS)
def test_legible(open_page, width):
    with open_page(LESSON, width=width) as page:
        for heat in ("0", "1", "3"):
            page.locator(f"{WIDGET} input[type=number]").first.fill(heat)
            assert_right(page)
            assert_legible(page, WIDGET)
