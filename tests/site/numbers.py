"""Numbers in the text of pages: which can't be, and which another number is the rounding of."""

import json
import re

# Code isn't prose. ``::: {data-meant="why"}`` marks what is to be there.
CODE = "pre, code, samp, kbd, .math, mjx-container, script, style, template, [data-meant]"
WORD = re.compile(r"\b(?:nan|inf|undefined)\b|(?<![.?!] )\bNone\b")  # "None." is an answer, too
RAW = re.compile(r"\{[‘'\"]\w+|\d\.\d{10,}")  # an object or a float that nobody wrote for readers
PERCENT = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)\s*%")
NUMBER = re.compile(r"(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-−]?\d+)?(?:\s?%)?")
# The text that shows, and that screen readers are told.
TEXT = f"""() => {{
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {{
    const {{data, parentElement}} = walker.currentNode;
    if (data.trim() && parentElement.checkVisibility() && !parentElement.closest("{CODE}")) {{
      texts.push(data);
    }}
  }}
  return texts.join(" ");
}}"""
# Each widget's fallback, what its drawing says, and all numbers of its model and its payload.
# Of the form less the labels of rows and columns: they say what was asked, such as a length.
FORMS = """() => {
  const numbers = (value, seen = new Set()) => {
    if (typeof value === "number") return [value];
    if (typeof value === "string") return numbersIn(value);
    if (!value || typeof value !== "object" || value instanceof Node || seen.has(value)) return [];
    seen.add(value);
    const items = ArrayBuffer.isView(value) || Array.isArray(value) ? [...value, value.length]
      : value instanceof Map ? [...value.values()] : Object.values(value);
    return items.flatMap((item) => numbers(item, seen));
  };
  const texts = (element) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const parts = [];
    while (walker.nextNode()) parts.push(walker.currentNode.data);
    return parts.join(" ");
  };
  const numbersIn = (text) => (text.match(/\\d+(\\.\\d+)?/g) ?? []).map(Number);
  return [...document.querySelectorAll(".widget, .diagram")]
    .filter((widget) => !widget.closest("details:not([open])")).map((widget) => {
    const live = widget.querySelector(".widget-live, .diagram-live");
    const published = [...widget.querySelectorAll("script")]
      .filter((script) => "ojsDefine" in script.dataset || script.type === "ojs-define")
      .map((script) => JSON.parse(script.textContent));
    const drawn = texts(live) + [...live.querySelectorAll("[aria-label]")]
      .map((one) => one.getAttribute("aria-label")).join(" ");
    const form = widget.querySelector(".fallback");
    const shown = form.cloneNode(true);
    for (const label of shown.querySelectorAll("thead, td:first-child")) label.remove();
    return {id: widget.id, text: texts(shown), drawn,
      computed: JSON.parse(form.dataset.computed ?? "[]"),
      known: [...new Set([...numbers(published), ...numbers(live.value)])].filter(Number.isFinite)};
  });
}"""


def impossible(text):
    """List what no page may say, each with the words around it."""
    text = " ".join(text.split())
    wrong = [*WORD.finditer(text), *RAW.finditer(text)]
    wrong += [m for m in PERCENT.finditer(text) if float(m[1].replace(",", "")) > 100]
    return [f"{m[0]} in “{text[max(0, m.start() - 40) : m.end() + 20]}”" for m in wrong]


def written(html):
    """The text of a parsed page as it stands without JavaScript, less its code."""
    hidden = {id(part) for code in html.select(CODE) for part in code.find_all(string=True)}
    return " ".join(str(part) for part in html.body.find_all(string=True) if id(part) not in hidden)


def payloads(html):
    """{name: value} of what a page, or a part of it, publishes."""
    scripts = html.select('script[data-ojs-define], script[type="ojs-define"]')
    contents = [item for script in scripts for item in json.loads(script.string)["contents"]]
    return {item["name"]: item["value"] for item in contents}


def unexplained(form):
    """The numbers of a fallback, of FORMS, that round no number of its widget."""
    drawn = [_read(text) for text in NUMBER.findall(form["drawn"])]
    known = [*form["known"], *form["computed"]]
    return [
        text
        for text in NUMBER.findall(form["text"])
        if _read(text) not in drawn and not any(_rounds(text, number) for number in known)
    ]


def _read(text):
    """(sign, digits and point, whether percent), however it is set."""
    return re.sub(r"[\s,]", "", text).replace("−", "-")


def _rounds(text, number):
    digits, percent, _ = _read(text).partition("%")
    decimals = len(digits.partition("e")[0].partition(".")[2])
    exact = 100 * number if percent else number
    return abs(float(digits) - exact) <= 0.5 * 10**-decimals + 1e-9 * max(1, abs(exact))
