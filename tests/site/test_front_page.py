"""The front page: its taste of attention computes, and the map tells what is there."""

import torch
from playwright.sync_api import expect

from attention import scaled_dot_product_attention
from tests.site.conftest import TOUR
from tests.site.reading import settle

KEYS = [[-1.3, 0.9], [1.4, 0.9], [0.2, -1.4]]


def shares(page):
    settle(page)
    return [
        int(text.split()[0].rstrip("%")) for text in page.locator("#taste .share").all_inner_texts()
    ]


def assert_right(page):
    query = [float(box.input_value()) for box in page.locator("#taste input[type=number]").all()]
    query, keys = torch.tensor([query]).double(), torch.tensor(KEYS).double()
    _, weights = scaled_dot_product_attention(query, keys, keys)
    want = (100 * weights[0]).tolist()
    assert all(abs(a - b) <= 0.500001 for a, b in zip(shares(page), want, strict=True)), want


def test_shares_are_attention_pys_by_key_and_by_drag(open_page):
    with open_page("index.html") as page:
        plane = page.locator("#taste .query-plane svg").bounding_box()
        assert plane["y"] + plane["height"] <= 900, "the taste is above the fold"
        assert_right(page)
        page.locator("#taste input[type=range]").first.focus()
        for _ in range(20):
            page.keyboard.press("ArrowLeft")
        assert shares(page) != [5, 83, 12]
        assert_right(page)
        handle = page.locator("#taste .query circle").bounding_box()
        page.mouse.move(handle["x"] + 5, handle["y"] + 5)
        page.mouse.down()
        page.mouse.move(
            plane["x"] + plane["width"] * 0.55, plane["y"] + plane["height"] * 0.95, steps=5
        )
        page.mouse.up()
        assert shares(page)[2] > 80
        assert_right(page)
        page.wait_for_url("**taste.up=**")


def test_a_tap_moves_the_query(open_page):
    with open_page("index.html", width=390, has_touch=True, is_mobile=True) as page:
        page.locator("#taste .query-plane svg").tap(position={"x": 20, "y": 20})
        assert shares(page)[0] > 60
        assert_right(page)


def test_the_map_marks_what_is_to_come(open_page):
    with open_page("index.html") as page:
        modules = page.locator(".course-map li")
        expect(modules).to_have_count(13)
        for module in modules.all():
            there = module.locator("a").count() == 1
            assert there != ("to come" in module.inner_text())
        page.locator(".start-here a").click()
        expect(page.locator("h1")).to_have_text("A tour in eight steps")
        assert TOUR in page.url
