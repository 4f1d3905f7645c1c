"""What a screen reader would say of a page, and what is wrong with it: a line for each fault."""

import ast
import math
import re
from fractions import Fraction

# Where two texts meet on a line without a space: the last word of one and the first of the other.
# ``window.seams`` keeps in what, and whether that may name another element.
SEAMS = """() => {
  const isInline = (e) => /^(inline|contents)/.test(getComputedStyle(e).display);
  const chain = (node, top) => {
    const all = [];
    for (let on = node.parentElement; on && on !== top; on = on.parentElement) all.push(on);
    return all;
  };
  const isRead = (node) => node.data.trim() && node.parentElement.checkVisibility()
    && !node.parentElement.closest("[aria-hidden=true], svg, math, sub, sup, pre, script, style");
  const naming = ["aria-labelledby", "aria-describedby"].flatMap((name) =>
    [...document.querySelectorAll(`[${name}]`)].flatMap((e) => e.getAttribute(name).split(/\\s+/)));
  const names = (e) => e && (naming.includes(e.id) || names(e.parentElement)
    || e.matches("label, legend, caption, figcaption, option"));
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  window.seams = [];
  for (let last = null, node; (node = walker.nextNode()); last = node) {
    if (!last || last.parentElement === node.parentElement) continue;
    const [end] = last.data.match(/[\\p{L}\\p{N}.,]*[\\p{L}\\p{N}]$/u) ?? [];
    const [start] = node.data.match(/^[\\p{L}\\p{N}][\\p{L}\\p{N}.,]*/u) ?? [];
    if (!end || !start || !isRead(last) || !isRead(node)) continue;
    const range = document.createRange();
    range.setStart(last, 0);
    range.setEnd(node, 1);
    const top = range.commonAncestorContainer;
    if ([...chain(last, top), ...chain(node, top)].every(isInline)) {
      seams.push({words: end + start, top, names: names(top)});
    }
  }
  return seams.map(({words, names}) => [words, Boolean(names)]);
}"""
STRUCTURE = """() => {
  const faults = [];
  const isHeard = (e) => e.checkVisibility() && !e.closest("[aria-hidden=true]");
  const named = (e) => (e.getAttribute("aria-label")
    ?? document.getElementById(e.getAttribute("aria-labelledby"))?.textContent
    ?? e.querySelector(":scope > :is(caption, legend, figcaption)")?.textContent ?? "").trim();
  const inWidgets = (selector) => [...document.querySelectorAll(".widget-live")]
    .flatMap((root) => [...root.querySelectorAll(selector)]).filter(isHeard);
  const say = (what, e) => faults.push(`${what}: ${e.cloneNode().outerHTML.slice(0, 100)}`);
  for (const e of inWidgets("table, ul, ol, [role=radiogroup], [role=group]")) {
    if (!named(e)) say("without a name", e);
  }
  for (const e of [...document.querySelectorAll("main table")].filter(isHeard)) {
    if (named(e).length > 90) say("named by a paragraph", e);
  }
  for (const e of inWidgets("input[type=radio], [role=radio]")) {
    if (!e.parentElement.closest("fieldset, [role=radiogroup], [role=group]:not(.widget-live)")) {
      say("a radio without a group", e);
    }
  }
  for (const e of inWidgets("svg, canvas")) {
    if (!named(e) && !e.closest("[role=img]")) say("a drawing that is neither named nor hidden", e);
  }
  for (const e of inWidgets("input[type=range][step='1']")) {
    const isWords = /\\p{L}/u.test(e.getAttribute("aria-valuetext") ?? "");
    if (!isWords) say("counts, and says only a number", e);
  }
  return faults;
}"""


def unheard(page):
    """Faults of ``page`` for the ear: words glued together, what has no name or no group."""
    seams = page.evaluate(SEAMS)
    if seams:
        session = page.context.new_cdp_session(page)
        session.send("Accessibility.enable")
        whole = _names(session, "getFullAXTree") if any(named for _, named in seams) else set()
        for i, (words, _) in enumerate(seams):
            names = whole or _names_around(session, f"seams[{i}].top")
            if glued := [name for name in names if re.search(rf"\b{re.escape(words)}\b", name)]:
                yield f"glued together: {words!r} in {min(glued, key=len)[:80]!r}"
        session.detach()
    yield from page.evaluate(STRUCTURE)


def _names_around(session, element):
    """The names of ``element`` and all that it is in: of no other one is its text the name."""
    object_id = session.send("Runtime.evaluate", {"expression": element})["result"]["objectId"]
    return _names(session, "getAXNodeAndAncestors", objectId=object_id)


def _names(session, ask, **of):
    nodes = session.send(f"Accessibility.{ask}", of)["nodes"]
    return {node["name"].get("value", "") for node in nodes if "name" in node}


# ---- Equations -----------------------------------------------------------------------------------

SIGNS = {"−": "-", "×": "*", "·": "*", "÷": "/", "\u202f": " ", "\xa0": " "}
SUM = r"[\d.\s+\-*/()expsqrt]+"
OPERATORS = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b, ast.Div: lambda a, b: a / b,
}  # fmt: skip


def false_equations(text):
    """Equations of ``text`` whose sides differ: what is rounded has to say ≈."""
    for sign, plain in SIGNS.items():
        text = text.replace(sign, plain)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    text = re.sub(r"e\^(-?[\d.]+)", r"exp(\1)", text)
    text = re.sub(r"√([\d.]+)", r"sqrt(\1)", text)
    text = re.sub(r"\b(?!(?:exp|sqrt|sin|cos)\b)[^\W\d_]+\b", " ", text)
    sides = re.split("([=≈])", text)
    for before, sign, after in zip(sides[::2], sides[1::2], sides[2::2], strict=False):
        left, right = _last_sum(before), _first_sum(after)
        is_sum = isinstance(left, float)  # else it may be a number in a name: "number 2 = …"
        if sign == "=" and is_sum and right is not None and not math.isclose(left, right):
            yield f"{before.strip()[-60:]} = {after.strip()[:20]}"


def _last_sum(text):
    """The value of the longest sum, product or quotient that ends ``text``, or of its last number.

    A float where it is a sum, product or quotient; a number alone is a Fraction.
    """
    words = re.search(SUM + r"\Z|\Z", text)[0].split()
    return _first_computed(words[i:] for i in range(len(words)))


def _first_sum(text):
    words = re.match(SUM + "|", text)[0].rstrip(". ").split()
    return _first_computed(words[:i] for i in range(len(words), 0, -1))


def _first_computed(tries):
    values = (_computed(" ".join(words)) for words in tries)
    return next((value for value in values if value is not None), None)


def _computed(text):
    try:
        tree = ast.parse(text, mode="eval").body
        value = _value(tree)
        return float(value) if isinstance(tree, ast.BinOp) else Fraction(value)
    except (SyntaxError, KeyError, AttributeError, ZeroDivisionError, OverflowError):
        return None


def _value(tree):
    if isinstance(tree, ast.Constant):
        return tree.value
    if isinstance(tree, ast.UnaryOp):
        return -_value(tree.operand)
    if isinstance(tree, ast.Call):
        return {"exp": math.exp, "sqrt": math.sqrt}[tree.func.id](_value(tree.args[0]))
    return OPERATORS[type(tree.op)](_value(tree.left), _value(tree.right))
