"""The front page: a model that reads is seen at once, and the map tells what is there."""

from playwright.sync_api import expect

from tests.site.conftest import START


def test_the_words_and_their_arcs_are_above_the_fold(open_page):
    for width, height in ((1280, 720), (390, 844)):
        with open_page("index.html", width=width) as page:
            words = page.locator("#story .text").bounding_box()
            assert words["y"] + words["height"] <= height


def test_the_map_marks_what_is_to_come(open_page):
    with open_page("index.html") as page:
        modules = page.locator(".course-map li")
        assert modules.count()
        for module in modules.all():
            there = module.locator("a").count() == 1
            assert there != ("to come" in module.inner_text())
        page.locator(".start-here a").click()
        expect(page.locator("h1")).to_have_text("The ground floor")
        assert START in page.url
