"""Forced colours, and more contrast: nothing that a text or a control names may vanish."""

import pytest
from playwright.sync_api import expect

from tests.site.audit import OPEN
from tests.site.conftest import LESSON
from tests.site.settling import settle
from tests.widgets.states_explorer import OPEN as EXPLORER
from tests.widgets.states_explorer import WEIGHT


def test_forced_colours_keep_a_drawings_fills_and_mark_what_is_chosen(open_page):
    with open_page("modules/m04_softmax_and_scale/lesson.html", forced_colors="active") as page:
        swatches = page.evaluate("""() => [...document.querySelectorAll(".saturation .legend span")]
          .map((e) => getComputedStyle(e, "::before"))
          .map((s) => s.backgroundColor + s.backgroundImage + s.borderColor)""")
        assert len(set(swatches)) == len(swatches)
    with open_page("modules/m06_multi_head/lesson.html", forced_colors="active") as page:
        current = page.locator(".step-ticks button.current").first
        assert current.evaluate("(e) => getComputedStyle(e).outlineStyle") == "solid"


# Shapes that their ground alone draws, and frames that a shadow draws, outside of drawings.
FIND_MARKS = """() => {
  window.marks = [];
  const isClear = (color) => /^rgba\\(.*, 0\\)$|transparent/.test(color);
  const outside = [...document.querySelectorAll("body *")]
    .filter((e) => !e.closest(".widget-stage, svg, iframe") && e.checkVisibility());
  for (const e of outside) {
    const {boxShadow} = getComputedStyle(e);
    if (/ 0px 0px 0px [1-9][\\d.]*px inset/.test(boxShadow)) marks.push([e, null, "frame"]);
    for (const part of [null, "::before", "::after"]) {
      const style = getComputedStyle(e, part);
      const isEmpty = part ? /^""/.test(style.content) : e.matches("i:empty");
      const size = Math.min(parseFloat(style.width), parseFloat(style.height));
      if (isEmpty && size >= 4 && !isClear(style.backgroundColor)) marks.push([e, part, "shape"]);
    }
  }
}"""
LOST_MARKS = """() => {
  const groundOf = (e) => {
    for (let on = e; on; on = on.parentElement) {
      const color = getComputedStyle(on).backgroundColor;
      if (!/, 0\\)$/.test(color)) return color;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  return marks.filter(([e, part, kind]) => {
    const style = getComputedStyle(e, part);
    if (kind === "frame") return style.outlineStyle === "none";
    const hasBorder = style.borderTopStyle !== "none" && parseFloat(style.borderTopWidth) > 0;
    return !hasBorder && style.backgroundColor === groundOf(part ? e : e.parentElement);
  }).map(([e, part, kind]) => `${kind} ${part ?? ""} of ${e.cloneNode().outerHTML.slice(0, 120)}`);
}"""


@pytest.mark.parametrize("path", [LESSON, "index.html", "glossary.html", "sources/attention.html"])
def test_forced_colours_lose_no_icon_and_no_frame(open_page, by_quarto, path):
    if by_quarto:
        pytest.skip("Quarto's own frame")
    with open_page(path, width=390) as page:
        page.evaluate(OPEN)
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(forced_colors="none")
            settle(page)
            page.evaluate(FIND_MARKS)
            assert page.evaluate("marks.length") or path == "glossary.html"
            page.emulate_media(forced_colors="active")
            assert page.evaluate(LOST_MARKS) == []
            for start in page.locator(".start-here a").all():
                assert start.evaluate("(e) => getComputedStyle(e).borderTopStyle") == "solid"


TONES = """() => [...document.querySelectorAll("number-strip, weight-pixels")]
  .map(({colors, tone}) => [colors[tone] ?? colors.weightHalf, colors.edge])"""


def test_forced_colours_keep_the_colours_of_maps_that_a_caption_names(open_page):
    tones = []
    for forced in (None, "active"):
        with open_page(EXPLORER, forced_colors=forced) as page:
            page.locator(WEIGHT).click()
            expect(page.locator("#explorer .sums .step").first).to_be_visible()
            tones.append(page.evaluate(TONES))
    usual, in_forced = tones
    assert len({above for above, _ in usual}) >= 3, "weights, queries and keys have their own"
    assert in_forced == usual


CONTRASTS = """() => {
  const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const light = (name) => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(--color-${name})`;
    context.fillStyle = getComputedStyle(probe).color;
    probe.remove();
    context.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((x) => x / 255)
      .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const between = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  return {text: between("text", "surface"), note: between("muted", "surface"),
    line: between("line", "surface"), fill: between("weight", "raised"),
    number: between("ink-turned", "weight"), hatched: between("text", "hatch")};
}"""
FAINT = """() => Math.min(...[...document.querySelectorAll(
    ".token-focus .arrows path, .query-plane .key line, .path-tracer .edges, .saturation .draws")]
  .map((line) => Number(getComputedStyle(line).opacity)))"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_more_contrast_strengthens_text_lines_and_fills(open_page, theme):
    with open_page("modules/m02_query_key_value/lesson.html", theme=theme) as page:
        usual, faint = page.evaluate(CONTRASTS), page.evaluate(FAINT)
        page.emulate_media(contrast="more")
        more = page.evaluate(CONTRASTS)
        for part in ("text", "note", "line", "fill"):
            assert more[part] > usual[part], part
        least = {"text": 15, "note": 15, "line": 4.5, "fill": 3, "number": 4.5, "hatched": 4.5}
        assert all(more[part] >= least[part] for part in least), more
        assert page.evaluate(FAINT) >= 0.5 > faint
