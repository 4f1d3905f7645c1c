"""Look at one page in one load for all that holds on every page, and list all that is wrong.

The scripts of the widgets are held back at first, so that the fallbacks show. Then they run;
everything is answered and unfolded; the theme is switched, the width changed and the text enlarged,
all in place, and the page is looked at after each change. A check returns a line for each fault.
"""

import re
from functools import cache, partial
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from tests.site.axe import axe_violations
from tests.site.conftest import ALL_LIVE
from tests.site.geometry import SIDEWAYS, illegible
from tests.site.hearing import unheard
from tests.site.numbers import FORMS, TEXT, impossible, unexplained

WIDGET_SCRIPTS = re.compile(r"/widgets/.*\.js")
CONTRAST = ["color-contrast"]
ROOM = 25  # px by which a widget may differ from the room that was kept for it
PHONE, DESK = 390, 1280
LARGE_TEXT = ":root { font-size: 150% !important; }"

# Before each page's own scripts. Playwright doesn't hear of sizes that change while they are told.
# The first call takes a tenth of a second on a phone; Inputs makes it for unformatted numbers.
WATCH = """addEventListener("error", ({message}) => message && console.error(message));
window.languageTables = 0;
const own = Number.prototype.toLocaleString;
Number.prototype.toLocaleString = function (...how) {
  languageTables++;
  return own.apply(this, how);
};"""
SETTLED = """() => {
  for (const image of document.images) image.loading = "eager"; // decode() waits for what is lazy
  const images = [...document.images].map((image) => image.decode().catch(() => {}));
  const ends = document.getAnimations().filter((a) => a.effect.getComputedTiming().endTime < 1e5);
  return Promise.all([...images, ...ends.map((animation) => animation.finished.catch(() => {}))])
    .then(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20))));
}"""
# Styled, and as high as at the last look: what is out of view is laid out a little later.
STILL = """() => {
  const links = [...document.querySelectorAll("link[rel=stylesheet]")];
  if (document.readyState === "loading" || !links.every((link) => link.sheet)) return false;
  if (document.documentElement.classList.contains("arriving")) return false; // in parts
  const heights = [...document.querySelectorAll(".widget")]
    .map((widget) => widget.getBoundingClientRect().height).join();
  const isStill = heights === window.heightsBefore;
  window.heightsBefore = heights;
  return isStill;
}"""
ROOM_TAKEN = """() => Object.fromEntries([...document.querySelectorAll(".widget, .diagram")]
  .filter((widget) => !widget.closest("details:not([open])")).map((widget) => [widget.id, {
    height: widget.getBoundingClientRect().height,
    isFallback: Boolean(widget.querySelector(".fallback")?.checkVisibility())
  }]))"""
OPEN = """() => {
  const [, ...questions] = document.querySelectorAll(".prediction, .bug-hunt"); // one stays open
  for (const question of questions) {
    question.querySelector("input[type=radio]")?.click();
    question.querySelector(".ask button")?.click();
  }
  for (const box of document.querySelectorAll(".exercise .done input")) box.click();
  const closed = document.querySelectorAll("main details:not(.widget-save)"); // a menu lies over
  for (const details of closed) details.open = true;
}"""
FOLD = """() => document.querySelectorAll("main details:not(:has(.widget, .diagram))")
  .forEach((box) => { box.open = false; })"""
# Nothing is on its way: no model that an open box asks for.
UNFOLDED = "() => !document.querySelector('.widget [aria-busy=true]')"
SWITCH_THEME = "() => document.querySelector('.quarto-color-scheme-toggle').click()"
# What is shown elsewhere, or otherwise, than at the last call. It is compared in the page: to bring
# thousands of elements here takes seconds.
MOVED = """() => {
  const look = (e) => {
    const {left, top, width, height} = e.getBoundingClientRect();
    const {fontSize, fontWeight, display, visibility, opacity} = getComputedStyle(e);
    const style = [fontSize, fontWeight, display, visibility, opacity].join(" ");
    return {e, style, box: [left, top, width, height].map(Math.round)};
  };
  const before = window.placesBefore;
  const now = [...document.querySelectorAll("main *")].filter((e) => e.checkVisibility()).map(look);
  window.placesBefore = now;
  if (!before) return [];
  if (before.length !== now.length) return [`${before.length} elements, then ${now.length}`];
  const isMoved = (was, {style, box}) =>
    was.style !== style || was.box.some((x, i) => Math.abs(x - box[i]) > 1);
  const tell = ({style, box}) => `${style} at ${box}`;
  const name = ({e}) => e.cloneNode().outerHTML.slice(0, 100);
  return now.flatMap((one, i) => isMoved(before[i], one)
    ? [`${name(one)}: ${tell(before[i])}, then ${tell(one)}`] : []).slice(0, 5);
}"""
LEAKS = """() => {
  const leaks = [];
  const look = (text, element, where) => {
    const leak = /\\bNaN\\b|\\bundefined\\b|\\bInfinity\\b|\\[object /.exec(text)?.[0];
    if (!leak || element.closest("[data-meant]")) return;
    leaks.push(`${leak} in ${where} of ${element.cloneNode().outerHTML.slice(0, 100)}`);
  };
  for (const element of document.querySelectorAll(".widget-live, .widget-live *")) {
    for (const {name, value} of element.attributes) look(value, element, name);
    for (const {nodeType, data} of element.childNodes) {
      if (nodeType === Node.TEXT_NODE) look(data, element, "the text");
    }
  }
  return leaks;
}"""
# On a desk there is room for all of a line of code; on a phone one scrolls.
CUT_CODE = """() => innerWidth < 1280 ? [] : [...document.querySelectorAll("main pre")]
  .filter((e) => e.clientWidth && e.scrollWidth > e.clientWidth + 1)
  .map((e) => `${e.scrollWidth - e.clientWidth} px of ${e.textContent.slice(0, 60)}`)"""
# A section that clips what is too wide doesn't widen the page.
TOO_WIDE = f"""() => {{
  const isClipped = (e) => {{
    for (let on = e.parentElement; on; on = on.parentElement)
      if (getComputedStyle(on).overflowX !== "visible" && on.tagName !== "HTML") return true;
    return false;
  }};
  const wide = [...document.querySelectorAll("main *")].filter((e) => e.checkVisibility()
    && e.getBoundingClientRect().right > innerWidth + 1 && !isClipped(e));
  return [...wide.map((e) => e.outerHTML.slice(0, 160)), ...({SIDEWAYS} > 0 ? ["the page"] : [])];
}}"""
# The boxes of a diagram, which stand elsewhere where it is narrow.
BOXES_OVER_BOXES = """() => [...document.querySelectorAll("main svg")].flatMap((svg) => {
  const boxes = [...svg.querySelectorAll("rect.box")].map((e) => e.getBoundingClientRect());
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => overlap(a, b))
    .map(() => svg.ariaLabel?.slice(0, 60) ?? svg.closest("[id]")?.id));
})"""
OUTLINE = """() => [...document.querySelectorAll("main :is(h1, h2, h3, h4, h5, h6)")].map((h) =>
  [Number(h.localName[1]), h.textContent.trim(),
    h.matches("h1") || Boolean(h.closest("[id]:not(main)"))])"""
REFERENCES = """() => {
  // Quarto links both themes' styles by one name.
  const ids = [...document.querySelectorAll("[id]:not(link)")].map((e) => e.id);
  const twice = ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `two elements are #${id}`);
  const names = ["for", "list", "aria-labelledby", "aria-describedby", "aria-controls"];
  const lost = names.flatMap((name) => [...document.querySelectorAll(`[${name}]`)].flatMap((e) =>
    e.getAttribute(name).split(/\\s+/).filter((id) => id && !document.getElementById(id))
      .map((id) => `${name} names #${id}, which isn't there`)));
  return [...twice, ...lost];
}"""
# Quarto's script gives its own headings their ids and anchors.
LINKS = """() => [...new Set([...document.querySelectorAll("a[href]:not(.anchorjs-link)")]
  .map((a) => a.href))]"""


def hold_widgets(page):
    """Hold the scripts of widgets/ back. Returns the function that lets them go."""
    routes = []
    page.route(WIDGET_SCRIPTS, lambda route: routes.append(route))

    def release():
        page.route(WIDGET_SCRIPTS, lambda route: route.continue_())  # the latest route counts
        for route in routes:
            route.continue_()

    return release


class Audit:
    """Faults of ``page``, opened by ``visit``; each names page, width, state and check."""

    def __init__(self, page, path, base, site, by_quarto):
        self.page, self.path, self.base, self.site = page, path, base, site
        self.main = "main" if by_quarto else None  # the frame is Quarto's own, and breaks rules
        self.faults = []

    def look(self, state, **checks):
        self.page.evaluate(SETTLED)
        width = self.page.viewport_size["width"]
        for check, faults in checks.items():
            where = f"{self.path} at {width} px, {state}, {check.replace('_', ' ')}"
            self.faults += [f"{where}: {fault}" for fault in faults()]

    def run(self, widths, without=None, frame=None):
        """Look at the page as it opens, opened, in the other theme, and at the other ``widths``.

        axe leaves out what is inside ``without``. At the last width it looks at the contrasts of
        ``frame`` in both themes, where that is given.
        """
        page = self.page
        self.open()
        self.look(
            "as it opens",
            legibility=self.illegible,
            box_over_box=lambda: page.evaluate(BOXES_OVER_BOXES),
            numbers=lambda: page.evaluate(LEAKS),
            text=self.impossible,
            fallbacks=self.unexplained,
            references=lambda: page.evaluate(REFERENCES),
            links=self.broken_links,
            headings=lambda: _outline(page.evaluate(OUTLINE)),
        )
        page.evaluate(OPEN)
        page.wait_for_function(UNFOLDED)
        page.wait_for_function(ALL_LIVE)
        self.look(
            "all opened",
            legibility=self.illegible,
            text=self.impossible,
            fallbacks=self.unexplained,
            language_tables=lambda: ["loaded"] if page.evaluate("languageTables") else [],
            axe=lambda: axe_violations(page, self.main, without=without),
            ear=lambda: unheard(page),
        )
        page.evaluate(MOVED)
        page.evaluate(SWITCH_THEME)
        self.look(
            "in the other theme",
            places=lambda: page.evaluate(MOVED),
            contrast=lambda: axe_violations(page, self.main, CONTRAST, without),
        )
        for width in widths:
            self.resize(width)
            self.look(
                "in the other theme",
                legibility=self.illegible,
                box_over_box=lambda: page.evaluate(BOXES_OVER_BOXES),
                cut_code=lambda: page.evaluate(CUT_CODE),
            )
        for state in ["in the other theme", "back in the first"] if frame else []:
            self.look(state, contrast=lambda: axe_violations(page, frame, CONTRAST))
            page.evaluate(SWITCH_THEME)
        self.resize(PHONE)
        page.evaluate(FOLD)
        page.add_style_tag(content=LARGE_TEXT)
        self.look("large text", too_wide=lambda: page.evaluate(TOO_WIDE))
        return self.faults

    def open(self):
        """Look at the room that is kept for widgets before they run, and at what they take."""
        page, release, rooms = self.page, hold_widgets(self.page), {}
        page.goto(self.base + self.path, wait_until="commit")
        for width in (PHONE, DESK):
            self.resize(width)
            page.wait_for_function(STILL, polling=100)
            rooms[width] = page.evaluate(ROOM_TAKEN)
        self.look("before the widgets run", text=self.impossible)
        release()
        page.wait_for_function(ALL_LIVE)
        for width in (DESK, PHONE):
            self.resize(width)
            self.look("as it opens", room=partial(self.other_room, rooms[width]))

    def resize(self, width):
        self.page.set_viewport_size({"width": width, "height": 900})

    def illegible(self):
        return illegible(self.page, "body")

    def other_room(self, first):
        last = self.page.evaluate(ROOM_TAKEN)
        for name, before in first.items():
            after = last[name]
            if not before["isFallback"] or after["isFallback"]:
                yield f"#{name}: its fallback is to show until the widget runs, and not after"
            was, now = before["height"], after["height"]
            if abs(was - now) > ROOM:
                yield f"#{name} was {was:.0f} px high before it ran, and is {now:.0f}"

    def impossible(self):
        return impossible(self.page.evaluate(TEXT))

    def unexplained(self):
        for form in self.page.evaluate(FORMS):
            for number in unexplained(form):
                yield f"#{form['id']} has {number.strip()}, which rounds no number of its widget"

    def broken_links(self):
        for address in self.page.evaluate(LINKS):
            link = urlsplit(address)
            if not address.startswith(self.base):
                if link.scheme != "https":
                    yield f"{address} is neither below {self.base} nor https"
                continue
            path = unquote(address.removeprefix(self.base).split("#")[0].split("?")[0])
            if not path or path.endswith("/"):
                path += "index.html"  # Quarto leaves it out
            file = self.site / path
            if not file.is_file():
                yield f"{path} isn't there"
            elif link.fragment and file.suffix == ".html" and link.fragment not in _ids(file):
                yield f"{path} has no #{link.fragment}"


@cache
def _ids(file):
    return set(re.findall(r'\sid="([^"]+)"', file.read_text(encoding="utf-8")))


def _outline(headings):
    levels = [level for level, _, _ in headings]
    if levels.count(1) != 1:
        yield f"{levels.count(1)} headings of the first level"
    for (above, _, _), (level, text, _) in pairwise(headings):
        if level > above + 1:
            yield f"{text!r}, of level {level}, follows one of level {above}"
    for _, text, has_id in headings:
        if not text or not has_id:
            yield f"{text!r} has no text, or no address"
