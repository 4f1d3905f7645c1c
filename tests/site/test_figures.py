"""Figures follow the theme: dark on light, light on dark, and on paper as they were drawn."""

import io

import pytest
from PIL import Image

from tests.site.audit import OPEN, UNFOLDED

PAGE = "modules/m01_why_attention/lesson.html"


def brightness(page, selector):
    """The brightness, 0 to 255, of the darkest, the most usual and the brightest part."""
    figure = page.locator(selector)
    figure.scroll_into_view_if_needed()
    figure.evaluate("(image) => image.decode()")
    image = Image.open(io.BytesIO(figure.screenshot())).convert("L")
    counts = image.histogram()
    seen = [level for level, count in enumerate(counts) if count]
    return seen[0], max(range(256), key=counts.__getitem__), seen[-1]


@pytest.mark.parametrize("figure", ["#figure-recall img", "#figure-look img"])
def test_a_figure_is_light_on_dark_in_the_dark(open_page, figure):
    with open_page(PAGE, theme="dark") as page:
        _, ground, brightest = brightness(page, figure)
        assert ground < 40
        assert brightest > 190
        page.emulate_media(media="print")
        assert page.locator(figure).evaluate("(e) => getComputedStyle(e).filter") == "none"
    with open_page(PAGE) as page:
        darkest, ground, _ = brightness(page, figure)
        assert ground > 240
        assert darkest < 60


# Where each thing on the page begins.
HEIGHTS = """() => [...document.querySelectorAll("main *, body")].filter((e) => e.checkVisibility()
  && !e.closest(".cell:has(> .cell-output > .screen-reader-only)")).map((e) =>
  [e.localName, e.id, Math.round(e.getBoundingClientRect().top)])"""
NUMBERS = "main .cell:has(> .cell-output > .screen-reader-only)"


@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(
    "path", ["modules/m04_softmax_and_scale/lesson.html", "modules/m09_interpretation/lesson.html"]
)
@pytest.mark.slow
def test_the_numbers_of_figures_take_no_room(open_page, path, width, media):
    with open_page(path, width=width) as page:
        page.emulate_media(media=media)
        page.evaluate(OPEN)
        page.wait_for_function(UNFOLDED)
        page.wait_for_function(
            "() => [...document.images].every((e) => (e.loading = 'eager', e.complete))"
        )
        assert page.locator(f"{NUMBERS} table").count() > 3
        before = page.evaluate(HEIGHTS)
        page.locator(NUMBERS).evaluate_all("(cells) => cells.forEach((cell) => cell.remove())")
        assert page.evaluate(HEIGHTS) == before


def test_the_numbers_of_figures_are_read_and_not_seen(open_page):
    with open_page(PAGE) as page:
        numbers = page.locator(f"#cell-figure-recall + {NUMBERS.removeprefix('main ')}")
        assert numbers.get_by_role("columnheader", name="with attention").count() == 1
        box = numbers.locator(".screen-reader-only").bounding_box()
        assert (box["width"], box["height"]) == (1, 1)
