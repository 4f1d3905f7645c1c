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
  const textsIn = (top) => {
    const walk = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walk.nextNode()) texts.push(walk.currentNode);
    return texts.filter((node) => node.data.trim() && shown(node.parentElement));
  };
  const range = document.createRange();
"""

# One box a line of text; a formula counts as one; a text field by the room its text has. Outside
# widgets text may be cut: what scrolls (code, formulas, the list of pages) counts as far as it is
# in view, and a title that ends in an ellipsis by the room it has.
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
    if (view) {
      [left, right] = [Math.max(left, view.left), Math.min(right, view.right)];
      [top, bottom] = [Math.max(top, view.top), Math.min(bottom, view.bottom)];
    }
    if (right - left > 0.5 && bottom - top > 0.5) boxes.push({
      text: text.trim().slice(0, 40), size: parseFloat(getComputedStyle(element).fontSize),
      left, right, top, bottom});
  };
  for (const node of textsIn(root)) {
    const element = node.parentElement;
    if (element.closest("math, option, script")) continue;
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
  return boxes.sort((a, b) => a.top - b.top);
}"""

# The pairs of texts whose boxes, sorted by their tops, share more than a pixel each way.
_OVERLAPPING = """(boxes) => boxes.flatMap((a, i) => {
  const pairs = [];
  for (let k = i + 1; k < boxes.length && boxes[k].top < a.bottom - 1; k++) {
    const b = boxes[k];
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    if (across > 1 && Math.min(a.bottom, b.bottom) - b.top > 1) pairs.push([a.text, b.text]);
  }
  return pairs;
})"""

# Cells and fields whose text is wider than they are.
_CLIPPED = """(root) => {
  return [...root.querySelectorAll("td, input[type=text], p, span, button")]
    .filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && shown(e)
      && !scrolls(e) && !shortened(e))
    .map((e) => e.outerHTML.slice(0, 120));
}"""

# Words and numbers in the cells of a table that go on in the next line without a hyphen.
_CUT_WORDS = """(root) => {
  const lines = () => new Set([...range.getClientRects()].filter(({width}) => width > 0)
    .map(({top}) => Math.round(top))).size;
  const isCut = (node, start, end) => {
    range.setStart(node, start);
    range.setEnd(node, end);
    return lines() > 1;
  };
  return [...root.querySelectorAll("td, th")].flatMap(textsIn)
    .filter((node) => !node.parentElement.closest("code") && isCut(node, 0, node.length))
    .flatMap((node) => [...node.data.matchAll(/[\\p{L}\\p{N}.,]+/gu)]
      .filter(({0: word, index}) => isCut(node, index, index + word.length)).map(([word]) => word));
}"""

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALLEST_TEXT = 11

# All in one call that returns nothing but faults: to bring thousands of boxes here takes seconds.
ILLEGIBLE = f"""(root) => {{
  {_SHARED}
  const boxes = ({_TEXT_BOXES})(root);
  return {{
    isEmpty: !boxes.length, overlapping: ({_OVERLAPPING})(boxes),
    clipped: ({_CLIPPED})(root), cut: ({_CUT_WORDS})(root), sideways: {SIDEWAYS},
    outside: boxes.filter(({{left, right}}) => left < 0 || right > innerWidth),
    small: boxes.filter(({{size}}) => size < {SMALLEST_TEXT})
  }};
}}"""


def lines_of(faults, where):
    """A line for each of the ``faults`` that ILLEGIBLE returns of the element ``where``."""
    sideways = faults["sideways"]
    return [
        *([f"no text in {where}"] if faults["isEmpty"] else []),
        *(f"text over text: {a!r} and {b!r}" for a, b in faults["overlapping"]),
        *(f"cut off: {element}" for element in faults["clipped"]),
        *(f"cut in two: {word!r}" for word in faults["cut"]),
        *(
            f"out of view: {b['text']!r} from {b['left']:.0f} to {b['right']:.0f} px"
            for b in faults["outside"]
        ),
        *(f"{b['size']:.1f} px small: {b['text']!r}" for b in faults["small"]),
        *([f"scrolls sideways by {sideways} px"] if sideways > 0 else []),
    ]


def illegible(page, selector):
    """Return a line for each text in ``selector`` that can't be read, and for a sideways scroll."""
    return lines_of(page.locator(selector).evaluate(ILLEGIBLE), selector)


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
    faults = illegible(page, widget)
    assert not faults, "\n".join(faults)
