"""Figures follow the theme: dark on light, light on dark, and on paper as they were drawn."""

import io

import pytest
from PIL import Image

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


@pytest.mark.parametrize("figure", ["#fig-recall img", "#fig-look img"])
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
