"""What a reader sees of a widget: its pieces of text as boxes."""

# One box a line of text; a formula counts as one; a text field by the room its text has.
TEXT_BOXES = """(root) => {
  const shown = (e) => e.checkVisibility({visibilityProperty: true, opacityProperty: true})
    && !e.closest(".screen-reader-only") && getComputedStyle(e).fontSize !== "0px"
    && getComputedStyle(e).clipPath === "none";
  const boxes = [];
  const add = (text, element, r) => r.width > 0.5 && r.height > 0.5 && boxes.push({
    text: text.trim().slice(0, 40), size: parseFloat(getComputedStyle(element).fontSize),
    left: r.left, right: r.right, top: r.top, bottom: r.bottom});
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !shown(element) || element.closest("math, option, script")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const r of range.getClientRects()) add(node.data, element, r);
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
CLIPPED = """(root) => [...root.querySelectorAll("td, input[type=text], p, span, button")]
  .filter((e) => e.checkVisibility() && !e.closest(".screen-reader-only")
    && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
  .map((e) => e.outerHTML.slice(0, 120))"""

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALLEST_TEXT = 11


def overlapping(boxes):
    """Pairs of boxes that share more than a pixel each way."""
    return [
        (a["text"], b["text"])
        for i, a in enumerate(boxes)
        for b in boxes[i + 1 :]
        if min(a["right"], b["right"]) - max(a["left"], b["left"]) > 1
        and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > 1
    ]


def assert_legible(page, widget):
    """No text over text, none cut off or out of view, none too small."""
    root = page.locator(widget).element_handle()
    boxes = root.evaluate(TEXT_BOXES)
    assert boxes
    assert not overlapping(boxes)
    assert not root.evaluate(CLIPPED)
    width = page.viewport_size["width"]
    assert not [b for b in boxes if b["left"] < 0 or b["right"] > width]
    assert not [b for b in boxes if b["size"] < SMALLEST_TEXT]
    assert page.evaluate(SIDEWAYS) <= 0
