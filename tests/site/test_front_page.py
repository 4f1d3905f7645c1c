"""The front page: its taste of attention is seen at once, and the map tells what is there."""

from playwright.sync_api import expect

from tests.site.conftest import TOUR


def test_the_taste_is_above_the_fold(open_page):
    with open_page("index.html") as page:
        plane = page.locator("#taste .query-plane svg").bounding_box()
        assert plane["y"] + plane["height"] <= 900


def test_the_map_marks_what_is_to_come(open_page):
    with open_page("index.html") as page:
        modules = page.locator(".course-map li")
        assert modules.count()
        for module in modules.all():
            there = module.locator("a").count() == 1
            assert there != ("to come" in module.inner_text())
        page.locator(".start-here a").click()
        expect(page.locator("h1")).to_have_text("A tour in eight steps")
        assert TOUR in page.url
