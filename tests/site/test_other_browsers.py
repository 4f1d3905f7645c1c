"""Firefox and WebKit, where they are installed: each page is quiet, fits, and its widgets answer.

What is right about a page in detail is tested in Chromium; here only that it works elsewhere too.
"""

import shutil
from contextlib import closing
from functools import partial

import pytest

from course.serve import start_server
from tests.site.conftest import ALL_LIVE, PAGES
from tests.site.geometry import SIDEWAYS
from tests.site.gestures import GO_TO, KEYS, KIND, SNAPSHOT, TAB_STOPS, widgets_of
from tests.site.other_browsers import Firefox, WebKit, missing
from tests.site.settling import IDLE, SETTLE

# Runs before the page's own scripts, which are modules, and notes what Chromium's tests are told.
WATCH = """window.trouble = [];
for (const level of ["error", "warn"]) {
  const own = console[level];
  console[level] = (...parts) => {
    trouble.push(`console.${level}: ${parts.join(" ")}`);
    own(...parts);
  };
}
const ask = fetch;
window.fetch = async (...given) => { // WebKit's list of resources lacks those that failed
  const answer = await ask(...given);
  if (!answer.ok) trouble.push(`asked: ${answer.url} (${answer.status})`);
  return answer;
};
addEventListener("error", ({message, target}) =>
  trouble.push(message || `not loaded: ${target.src ?? target.href}`), true);
addEventListener("unhandledrejection", ({reason}) => trouble.push(`rejected: ${reason}`));
addEventListener("securitypolicyviolation", ({blockedURI}) => trouble.push(`asked: ${blockedURI}`));
"""
TROUBLE = """() => [...new Set([...trouble, ...performance.getEntriesByType("resource")
  .filter(({name, responseStatus}) => responseStatus >= 400 || new URL(name).host !== location.host)
  .filter(({name}) => !name.startsWith("data:"))
  .map(({name, responseStatus}) => `asked: ${name} (${responseStatus})`)])]"""
LOADED = f"""(address) => location.href === address && document.readyState === "complete"
  && ({ALL_LIVE})()"""
# Down the page and back, for what is drawn when it comes into view.
SCROLL = """async () => {
  for (let y = 0; y < document.body.scrollHeight; y += innerHeight) {
    scrollTo(0, y);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  scrollTo(0, 0);
}"""
ROOT = "document.querySelector(`#${name} .widget-live`)"
# Each of these is one call, as a call takes longer than its work. A widget begins with the state of
# an address, once no model is being read.
BEGIN = f"""async (name, query) => {{
  ({GO_TO})(query);
  for (const end = performance.now() + 30000; performance.now() < end;) {{
    await ({SETTLE})();
    if (({IDLE})()) break;
  }}
  const root = {ROOT};
  if (root) window.before = ({SNAPSHOT})(root);
  return Boolean(root);
}}"""
CHANGED = f"(name) => ({SNAPSHOT})({ROOT}) !== window.before"
SETTLED_CHANGED = f"(name) => ({SETTLE})().then(() => ({CHANGED})(name))"
MISFITS = f"""() => [
  ...({SIDEWAYS} > 0 ? [`scrolls sideways by ${{{SIDEWAYS}}} px`] : []),
  ...[...document.querySelectorAll(".widget")]
    .filter((widget) => widget.querySelector(".fallback")?.checkVisibility())
    .map((widget) => `${{widget.id}} shows its fallback`)
]"""
# The first control of a widget takes the focus; what kind it is.
FOCUS = f"""(name) => {{
  const stop = ({TAB_STOPS})({ROOT}).find((e) => !["Reset", "Play"].includes(e.textContent.trim()));
  document.activeElement.blur(); // a menu of WebKit tells of a change since it got the focus
  stop?.focus();
  return stop ? ({KIND})(stop) : null;
}}"""
# Where to click on what a widget draws: into the first and the last part that shows it by its
# pointer, twice, as one place may be chosen already.
PLACES = f"""(name) => {{
  const answers = (e) => /^(pointer|grab|ew-resize)$/.test(getComputedStyle(e).cursor);
  const parts = [...{ROOT}.querySelectorAll(".widget-stage *")].filter((e) => e.checkVisibility()
    && answers(e) && !answers(e.parentElement) && !e.closest("button, input, label, summary, a"));
  return [parts[0], parts.at(-1)].filter(Boolean).flatMap((part) => {{
    part.scrollIntoView({{block: "center"}});
    const {{left, top, width, height}} = part.getBoundingClientRect();
    return [[0.3, 0.3, scrollY], [0.7, 0.7, scrollY]].map(([x, y, scrolled]) =>
      [left + x * width, top + y * height, scrolled]);
  }});
}}"""


FAULTY = "modules/m05_masks/lesson.html"
# What each fault must be named by, and the script that plants it.
FAULTS = {
    "console.error: planted": "console.error('planted');",
    "Error: thrown": "setTimeout(() => { throw new Error('thrown'); });",
    "asked: http://localhost:9": "fetch('http://localhost:9/').catch(() => {});",
    "asked: http://127.0.0.1": "fetch('/none.json');",
    "scrolls sideways by": """addEventListener("load", () =>
      document.body.insertAdjacentHTML("beforeend",
        "<div style='width: 3000px; height: 1px'></div>"));""",
    "leak-test shows its fallback": """addEventListener("load", () => {
      document.querySelector("#leak-test .fallback").style.display = "block"; });""",
    "mask-builder: no key changes anything on its first control": """
      for (const type of ["input", "change", "keydown", "click", "pointerdown"])
        addEventListener(type, (event) =>
          event.target.closest?.(".mask-builder") && event.stopImmediatePropagation(), true);""",
    "mask-builder: no click changes anything on its drawing": "",
}


@pytest.fixture(scope="module")
def watched(site, tmp_path_factory):
    """The site's address, with ``WATCH`` on each page; and one page with faults."""
    copy = tmp_path_factory.mktemp("watched") / "site"
    shutil.copytree(site, copy)
    (copy / "watch.js").write_text(WATCH, encoding="utf-8")
    (copy / "faults.js").write_text("\n".join(FAULTS.values()), encoding="utf-8")
    for page in copy.rglob("*.html"):
        add_script(page, page, "watch.js")
    add_script(copy / FAULTY, copy / f"{FAULTY}.faulty.html", "faults.js")
    server = start_server(copy, 0)
    yield server.url
    server.shutdown()


def add_script(page, written, script):
    text = page.read_text(encoding="utf-8").replace(
        "</head>", f'<script src="/{script}"></script></head>', 1
    )
    written.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    with closing(Firefox(tmp_path_factory.mktemp("firefox"))) as browser:
        yield browser


# Started anew for each page: after some pages its process ends, and all others would fail too.
@pytest.fixture
def webkit(tmp_path_factory):
    with closing(WebKit(tmp_path_factory.mktemp("webkit"))) as browser:
        yield browser


@pytest.fixture(params=[Firefox, WebKit], ids=lambda kind: kind.name)
def other(request):
    if lacking := missing(request.param):
        pytest.skip(f"{request.param.name} is not tested: this machine has no {lacking[0]}")
    return request.getfixturevalue(request.param.name.lower())


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES)
def test_page(other, watched, path):
    page, _, query = path.partition("?")
    lines = [*look(other, watched + path, widgets_of(page), query)]
    if lines:
        pytest.fail("\n".join([f"{path} in {other.name}", *lines]), pytrace=False)


@pytest.mark.slow
def test_every_planted_fault_is_named(other, watched):
    lines = [*look(other, f"{watched}{FAULTY}.faulty.html", ["mask-builder"])]
    missed = [fault for fault in FAULTS if not any(fault in line for line in lines)]
    assert not missed, "\n".join(lines)


CELLS = """() => [...document.querySelectorAll("#mask-builder table.mask td")].slice(0, 2)
  .map((cell) => {
    cell.scrollIntoView({block: "center"});
    const {left, top, width, height} = cell.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  })"""


@pytest.mark.slow
def test_painting_a_mask_selects_no_text(other, watched):
    other.resize(1280, 900)
    other.open(watched + FAULTY)
    assert other.comes(LOADED, watched + FAULTY)
    other.run(BEGIN, "mask-builder", "")
    other.drag(*other.run(CELLS))
    assert other.comes(CHANGED, "mask-builder")
    assert other.run("() => getSelection().toString()") == ""


def look(other, address, widgets, query=""):
    """Yield what is wrong with the page at ``address``: its widgets take keys on a desk, then
    clicks on a phone."""
    other.resize(1280, 900)
    other.open(address)
    if not other.comes(LOADED, address):
        yield "a widget or a diagram doesn't start"
    other.run(SCROLL)
    for width, dead in ((1280, dead_to_keys), (390, dead_to_clicks)):
        other.resize(width, 900)
        yield from (f"at {width} px: {fault}" for fault in other.run(MISFITS))
        for name in widgets:
            is_there = other.run(BEGIN, name, query)
            fault = dead(other, name) if is_there else "doesn't start"
            if fault:
                yield f"at {width} px: {name}: {fault}"
    yield from other.run(TROUBLE)


def dead_to_keys(other, name):
    kind = other.run(FOCUS, name)
    if kind and not answers(other, name, other.press, [(key,) for key in KEYS[kind]]):
        return f"no key changes anything on its first control, a {kind}"


def dead_to_clicks(other, name):
    places = other.run(PLACES, name)
    if places and not answers(other, name, partial(click, other), places):
        return "no click changes anything on its drawing"


def click(other, x, y, scrolled):
    other.run("(y) => scrollTo(0, y)", scrolled)
    other.click(x, y)


def answers(other, name, act, tries):
    """Whether the widget changes after one of the ``tries``, late where the machine is busy."""
    for given in tries:
        act(*given)
        if other.run(SETTLED_CHANGED, name):
            return True
    return other.comes(CHANGED, name, seconds=2)
