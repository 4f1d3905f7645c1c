"""A widget's drawing is laid out alone: its place on the page states the height that it takes."""

from tests.site.geometry import IS_EXACT
from tests.site.settling import settle

GROW = """() => document.querySelectorAll(".widget-stage")
  .forEach((e) => e.append("more ".repeat(200)))"""
HEIGHTS = """() => [...document.querySelectorAll(".widget-place")]
  .map((e) => e.getBoundingClientRect().height)"""
# The widgets whose place isn't soon as high as their drawing, or is laid out with the page around
# it. Each is looked at in view: far from the reader nothing is laid out.
WRONG = f"""async () => {{
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const isAlone = (widget) => [...widget.querySelectorAll(".widget-place")].every((place) =>
    !place.checkVisibility() || getComputedStyle(place).contain === "size layout");
  const becomesRight = async (widget) => {{
    for (const end = performance.now() + 5000; performance.now() < end; await frame()) {{
      if (({IS_EXACT})(widget) && isAlone(widget)) return true;
    }}
    return false;
  }};
  const wrong = [];
  for (const widget of document.querySelectorAll(".widget:has(.widget-place)")) {{
    widget.scrollIntoView({{block: "nearest"}});
    await frame();
    if (!await becomesRight(widget)) wrong.push(widget.id);
  }}
  return wrong;
}}"""


def assert_exact(page):
    """Each place follows its drawing, a frame later."""
    settle(page)
    assert not page.evaluate(WRONG)


def assert_each_place_is_as_high_as_its_drawing_and_stays_so(page):
    """Also where drawings are longer than any state's, and after a change of the width."""
    page.evaluate(GROW)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert_exact(page)
    page.emulate_media(media="print")  # what is not printed keeps no room on paper
    assert not any(page.evaluate(HEIGHTS))
