"""Every page, at every width, in both themes: what is to hold everywhere, in one load."""

import pytest

from tests.site.audit import WATCH, Audit
from tests.site.conftest import PAGES

# Half of axe's time goes into the colours of code, which are the same on every page: in this lesson
# code has all of them, and modules are shown in a way of their own.
CODE = "modules/m06_multi_head/lesson.html"
CODE_SEEN = {CODE, "sources/flex.html"}

# Contrast doesn't depend on the width, but for what a phone doesn't show. That is the frame, the
# same on every page: one page looks at it.
FRAMED = "modules/m05_masks/lesson.html"
FRAME = "header, #quarto-sidebar, #quarto-margin-sidebar"


def each_page(paths):
    """The quick run looks at every fourth: in the widgets' contract it looks at others."""
    return [
        pytest.param(path, marks=[] if i % 4 == 1 else pytest.mark.slow)
        for i, path in enumerate(paths)
    ]


@pytest.mark.parametrize("path", each_page(PAGES))
def test_page(visit, below, site, by_quarto, path):
    with visit(below, theme="dark", script=WATCH) as (page, trouble):
        faults = Audit(page, path, below, site, by_quarto).run(
            widths=[320, 768, 1280],
            without=None if path in CODE_SEEN else "pre > code",
            frame=FRAME if path == FRAMED else None,
        )
        faults += [f"{path}, quiet: {t}" for t in trouble()]
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


def test_the_page_whose_code_is_looked_at_has_all_its_colours(read):
    colours = {path: _colours(read(path.split("?")[0])) for path in PAGES}
    assert set().union(*colours.values()) == colours[CODE]


def _colours(page):
    return {name for span in page.select("pre code span") for name in span.get("class", [])}


# What each fault must be named by, and the markup that plants it.
FAULTS = {
    "axe: ('image-alt'": '<img src="data:," width="9" height="9">',
    "axe: ('color-contrast', ['<p id=\"faint-dark\"": """<p id="faint-dark">faint</p>
      <style>.quarto-dark #faint-dark {color: #333}</style>""",
    "contrast: ('color-contrast', ['<p id=\"faint\"": '<p id="faint" style="color: #999">faint</p>',
    "links: modules/none.html isn't there": '<a href="../none.html">a</a>',
    "links: index.html has no #none": '<a href="../../index.html#none">b</a>',
    "is neither below": '<a href="http://example.com/">c</a>',
    "references: for names #none": '<label for="none">d</label>',
    "references: two elements are #twin": '<i id="twin"></i><i id="twin"></i>',
    "'Deep', of level 5, follows": '<section id="deep"><h5>Deep</h5></section>',
    "scrolls sideways by": '<div style="width: 3000px; height: 1px"></div>',
    "out of view: 'far'": '<p style="position: absolute; left: 2000px">far</p>',
    "text over text: 'over' and 'under'": """<p style="position: relative"><b
      style="position: absolute; left: 0; top: 0; font-weight: inherit">over</b>under</p>""",
    'cut off: <p id="cut"': """<p id="cut" style="width: 3em; overflow: hidden;
      white-space: nowrap">longer than it may be</p>""",
    "cut in two: 'sinusoidal'": """<table style="table-layout: fixed; width: 3em">
      <td style="overflow-wrap: anywhere">sinusoidal</table>""",
    "box over box: two": """<svg role="img" aria-label="two" width="60" height="40">
      <rect class="box" width="40" height="20"/><rect class="box" width="60" height="9"/></svg>""",
    "8.0 px small: 'tiny'": '<p style="font-size: 8px">tiny</p>',
    'places: <p id="moves"': """<p id="moves">e</p>
      <style>.quarto-dark #moves {padding-top: 5px}</style>""",
    "at 390 px, as it opens, room: #leak-test was": """<style>
      #leak-test:not(:has(.widget-live)) {min-height: 3000px}</style>""",
    "at 1280 px, as it opens, room: #leak-test was": "",
    'large text, too wide: <p id="broad"': '<p id="broad" style="width: 20rem">broad</p>',
    "room: #mask-builder: its fallback": "<style>#mask-builder .fallback {display: none}</style>",
    "NaN in the text of <i": "",
    "before the widgets run, text: 8666 %": "<p>planted 8666 %</p>",
    "as it opens, text: 8666 %": "",
    "all opened, text: nan in": "<details><summary>g</summary>words of nan</details>",
    "undefined in aria-label of <i": """<script type="module">
      const late = setInterval(() => {
        const live = document.querySelector(".widget-live");
        if (!live || document.documentElement.matches(".arriving")) return;
        clearInterval(late);
        live.insertAdjacentHTML("beforeend", `<i aria-label='undefined %'>NaN</i><ul><li>one</ul>
          <label>lone<input type=radio></label><svg width=9 height=9></svg>
          <input type=range step=1 aria-label=bare>`);
      }, 1);</script>""",
    "axe: ('label-content-name-mismatch'": '<button aria-label="Other">Shown</button>',
    "ear: glued together: 'shape3'": "<button><b>shape</b><i>3</i></button>",
    "ear: glued together: 'lone4'": """<label for="given"><b>lone</b><i>4</i></label>
      <input id="given">""",
    "ear: named by a paragraph": f"<table><caption>{'word ' * 20}</caption><td>1</table>",
    "ear: without a name: <ul": "",
    "ear: a radio without a group": "",
    "ear: a drawing that is neither named nor hidden": "",
    "ear: counts, and says only a number": "",
    "language tables: loaded": "<script>(5).toLocaleString()</script>",
    "quiet: ResizeObserver loop completed": """<script>
      const told = document.querySelector("main");
      new ResizeObserver(() => told.style.paddingBottom = `${told.offsetHeight % 97}px`)
        .observe(told, {box: "border-box"});</script>""",
    "quiet: said": "<script>console.error('said')</script>",
    "quiet: thrown": "<script>throw new Error('thrown')</script>",
    "quiet: 404": '<img alt="f" src="none.png" width="9" height="9">',
    "quiet: asked for http://localhost:9/": '<img alt="g" src="http://localhost:9/" width="9">',
}


@pytest.mark.slow
def test_every_planted_fault_is_named(visit, below, site, by_quarto):
    path = FRAMED
    page_text = (site / path).read_text(encoding="utf-8")
    planted = page_text.replace("</main>", "\n".join(FAULTS.values()) + "</main>")
    assert planted != page_text
    # The pages' policy would refuse the planted scripts.
    with visit(below, theme="dark", script=WATCH, bypass_csp=True) as (
        page,
        trouble,
    ):
        page.route(
            below + path, lambda route: route.fulfill(body=planted, content_type="text/html")
        )
        faults = Audit(page, path, below, site, by_quarto).run(widths=[320, 1280])
        faults += [f"{path}, quiet: {t}" for t in trouble()]
    missed = [fault for fault in FAULTS if not any(fault in line for line in faults)]
    assert not missed, "\n".join(faults)
    assert all(line.startswith(path) for line in faults)
