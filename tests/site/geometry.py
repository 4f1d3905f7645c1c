"""Find text that a reader can't read: over other text, cut off, out of view, or too small."""

_SHARED = """
  const isShown = (e) => e.checkVisibility({visibilityProperty: true, opacityProperty: true})
    && !e.closest(".screen-reader-only, .visually-hidden") && getComputedStyle(e).fontSize !== "0px"
    && getComputedStyle(e).clipPath === "none";
  const seen = new Map();
  const shown = (e) => {
    if (!seen.has(e)) seen.set(e, isShown(e));
    return seen.get(e);
  };
  const inWidget = (e) => e.closest(".widget") !== null;
  const scrolls = (e) => !inWidget(e) && /auto|scroll/.test(getComputedStyle(e).overflowX);
  const shortened = (e) => !inWidget(e) && getComputedStyle(e).textOverflow === "ellipsis";
"""

# One box a line of text; a formula counts as one; a text field by the room its text has. Outside
# widgets text may be cut: what scrolls sideways (code, formulas) counts as far as it is in view,
# and a title that ends in an ellipsis by the room it has.
_TEXT_BOXES = """(root) => {
  const views = new Map();
  const viewOf = (e) => {
    if (!e || e === document.body) return null;
    if (!views.has(e)) {
      views.set(e, scrolls(e) ? e.getBoundingClientRect() : viewOf(e.parentElement));
    }
    return views.get(e);
  };
  const boxes = [];
  const add = (text, element, {left, right, top, bottom}) => {
    const view = viewOf(element);
    if (view) [left, right] = [Math.max(left, view.left), Math.min(right, view.right)];
    if (right - left > 0.5 && bottom - top > 0.5) boxes.push({
      text: text.trim().slice(0, 40), size: parseFloat(getComputedStyle(element).fontSize),
      left, right, top, bottom});
  };
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !shown(element) || element.closest("math, option, script")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = shortened(element) ? [element.getBoundingClientRect()] : range.getClientRects();
    for (const line of lines) add(node.data, element, line);
  }
  for (const math of root.querySelectorAll("math")) {
    if (shown(math)) add(math.textContent, math, math.getBoundingClientRect());
  }
  for (const input of root.querySelectorAll("input:is([type=text], [type=number])")) {
    if (shown(input)) add(input.value, input, input.getBoundingClientRect());
  }
  return boxes;
}"""

# Cells and fields whose text is wider than they are.
_CLIPPED = """(root) => {
  return [...root.querySelectorAll("td, input[type=text], p, span, button")]
    .filter((e) => shown(e) && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0
      && !scrolls(e) && !shortened(e))
    .map((e) => e.outerHTML.slice(0, 120));
}"""

# Words and numbers in the cells of a table that go on in the next line without a hyphen.
_CUT_WORDS = """(root) => {
  const cut = [];
  const inCell = (node) => node.parentElement.closest("td, th")
    && !node.parentElement.closest("code") && shown(node.parentElement);
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (!inCell(node)) continue;
    for (const {0: word, index} of node.data.matchAll(/[\\p{L}\\p{N}.,]+/gu)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const lines = [...range.getClientRects()].filter(({width}) => width > 0);
      if (new Set(lines.map(({top}) => Math.round(top))).size > 1) cut.push(word);
    }
  }
  return cut;
}"""

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

# All in one call, as each call of the browser takes longer than its work.
LAID_OUT = f"""(root) => {{
  {_SHARED}
  return {{
    boxes: ({_TEXT_BOXES})(root), clipped: ({_CLIPPED})(root), cut: ({_CUT_WORDS})(root),
    sideways: {SIDEWAYS}
  }};
}}"""
SMALLEST_TEXT = 11


def overlapping(boxes):
    """Return the pairs of texts whose boxes share more than a pixel each way."""
    boxes = sorted(boxes, key=lambda box: box["top"])
    pairs = []
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            if b["top"] >= a["bottom"] - 1:
                break
            across = min(a["right"], b["right"]) - max(a["left"], b["left"])
            if across > 1 and min(a["bottom"], b["bottom"]) - b["top"] > 1:
                pairs.append((a["text"], b["text"]))
    return pairs


def illegible(page, selector):
    """Return a line for each text in ``selector`` that can't be read, and for a sideways scroll."""
    laid_out = page.locator(selector).evaluate(LAID_OUT)
    boxes, sideways = laid_out["boxes"], laid_out["sideways"]
    width = page.viewport_size["width"]
    return [
        *([] if boxes else [f"no text in {selector}"]),
        *(f"text over text: {a!r} and {b!r}" for a, b in overlapping(boxes)),
        *(f"cut off: {element}" for element in laid_out["clipped"]),
        *(f"cut in two: {word!r}" for word in laid_out["cut"]),
        *(
            f"out of view: {b['text']!r} from {b['left']:.0f} to {b['right']:.0f} px"
            for b in boxes
            if b["left"] < 0 or b["right"] > width
        ),
        *(f"{b['size']:.1f} px small: {b['text']!r}" for b in boxes if b["size"] < SMALLEST_TEXT),
        *([f"scrolls sideways by {sideways} px"] if sideways > 0 else []),
    ]


# Whether each place in a widget ends where its drawing ends, which it does a frame after a change.
IS_EXACT = """(widget) => [...widget.querySelectorAll(".widget-place")].every((place) => {
  const stage = place.querySelector(".widget-stage");
  return !stage || !place.checkVisibility()
    || Math.abs(place.getBoundingClientRect().bottom - stage.getBoundingClientRect().bottom) < 0.1;
})"""


def assert_legible(page, widget):
    """No text over text, none cut off or out of view, none too small."""
    element = page.locator(widget).element_handle()
    if not element.evaluate(IS_EXACT):
        page.wait_for_function(IS_EXACT, arg=element, timeout=5000)
    found = illegible(page, widget)
    assert not found, "\n".join(found)
