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


def test_figures_are_light_on_dark_in_the_dark_and_their_numbers_are_read_not_seen(open_page):
    with open_page(PAGE, theme="dark") as page:
        for figure in ("#figure-recall img", "#figure-look img"):
            page.emulate_media(media="null", color_scheme="dark")
            page.wait_for_function("() => document.body.classList.contains('quarto-dark')")
            _, ground, brightest = brightness(page, figure)
            assert ground < 40, figure
            assert brightest > 190, figure
            page.emulate_media(media="print")
            assert page.locator(figure).evaluate("(e) => getComputedStyle(e).filter") == "none"
            page.emulate_media(media="null", color_scheme="light")
            page.wait_for_function("() => document.body.classList.contains('quarto-light')")
            darkest, ground, _ = brightness(page, figure)
            assert ground > 240, figure
            assert darkest < 60, figure

        numbers = page.locator(f"#cell-figure-recall + {NUMBERS.removeprefix('main ')}")
        assert numbers.get_by_role("columnheader", name="with attention").count() == 1
        box = numbers.locator(".screen-reader-only").bounding_box()
        assert (box["width"], box["height"]) == (1, 1)


NUMBERS = "main .cell:has(> .cell-output > .screen-reader-only)"
# Notes where each thing on the page begins; a later call tells what begins elsewhere by then.
MOVED = """(where) => {
  window.tops ??= {};
  const now = [...document.querySelectorAll("main *, body")].filter((e) => e.checkVisibility()
    && !e.closest(".cell:has(> .cell-output > .screen-reader-only)")).map((e) =>
    [e.localName, e.id, Math.round(e.getBoundingClientRect().top)].join(" "));
  const before = window.tops[where] ??= now;
  return before.length === now.length ? before.filter((top, i) => top !== now[i]) : ["how many"];
}"""


def moved(page):
    """What has moved, since the first call, on the screen or on paper, on a phone or a desk."""
    moves = []
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(300)  # widgets are drawn again for the width, frames later
            moves += page.evaluate(MOVED, f"{media}, {width} px")
    return moves


@pytest.mark.parametrize(
    "path", ["modules/m04_softmax_and_scale/lesson.html", "modules/m09_interpretation/lesson.html"]
)
@pytest.mark.slow
def test_the_numbers_of_figures_take_no_room(open_page, path):
    with open_page(path) as page:
        page.evaluate(OPEN)
        page.wait_for_function(UNFOLDED)
        page.wait_for_function(
            "() => [...document.images].every((e) => (e.loading = 'eager', e.complete))"
        )
        assert page.locator(f"{NUMBERS} table").count() > 3
        for _ in range(10):  # on a busy machine a widget may be drawn late
            page.evaluate("() => { delete window.tops; }")
            moved(page)  # the first look, which the next is compared with
            if not moved(page):
                break
        else:
            pytest.fail("it moves by itself")
        page.locator(NUMBERS).evaluate_all("(cells) => cells.forEach((cell) => cell.remove())")
        assert not moved(page)
