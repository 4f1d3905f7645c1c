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


def test_figures_are_light_on_dark_in_the_dark_and_their_numbers_are_read_not_seen(open_page):
    with open_page(PAGE, theme="dark") as page:
        figure = "#figure-recall img"
        _, ground, brightest = brightness(page, figure)
        assert ground < 40
        assert brightest > 190
        page.emulate_media(media="print")
        assert page.locator(figure).evaluate("(e) => getComputedStyle(e).filter") == "none"
        page.emulate_media(media="null", color_scheme="light")
        page.wait_for_function("() => document.body.classList.contains('quarto-light')")
        darkest, ground, _ = brightness(page, figure)
        assert ground > 240
        assert darkest < 60

        numbers = page.locator(f"#cell-figure-recall + {NUMBERS.removeprefix('main ')}")
        assert numbers.get_by_role("columnheader", name="with attention").count() == 1
        box = numbers.locator(".screen-reader-only").bounding_box()
        assert (box["width"], box["height"]) == (1, 1)


NUMBERS = "main .cell:has(> .cell-output > .screen-reader-only)"
# What begins elsewhere once they are gone; in one task, so that nothing is drawn between.
MOVED = f"""() => {{
  const cells = [...document.querySelectorAll("{NUMBERS}")];
  const others = [...document.querySelectorAll("main *, body")]
    .filter((e) => !cells.some((cell) => cell.contains(e)));
  const tops = () => others.map((e) => Math.round(e.getBoundingClientRect().top));
  const before = tops();
  for (const cell of cells) cell.style.setProperty("display", "none", "important");
  const after = tops();
  for (const cell of cells) cell.style.removeProperty("display");
  return others.filter((e, i) => before[i] !== after[i]).map((e) => e.localName + e.id);
}}"""


@pytest.mark.parametrize(
    "path", ["modules/m04_softmax_and_scale/lesson.html", "modules/m09_interpretation/lesson.html"]
)
def test_the_numbers_of_figures_take_no_room_on_screen_and_paper(open_page, path):
    with open_page(path) as page:
        assert page.locator(f"{NUMBERS} table").count() > 3
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            for media in ("screen", "print"):
                page.emulate_media(media=media)
                assert not page.evaluate(MOVED), (media, width)
