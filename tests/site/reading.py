"""What a reader finds on a page, for the tests of every widget."""

from axe_playwright_python.sync_playwright import Axe

from tests.numbers import number

# axe keeps the parts of each colour in weak maps, and reads the same few colours again and again:
# that takes two thirds of its time.
AXE = f"""() => {{
  class WeakMap {{
    key = Symbol();
    has(object) {{ return this.key in object; }}
    get(object) {{ return object[this.key]; }}
    set(object, value) {{ object[this.key] = value; }}
    add(object) {{ object[this.key] = true; }}
  }}
  const WeakSet = WeakMap;
  {Axe().axe_script}
  const {{Color}} = axe.commons.color;
  const read = Color.prototype.parseString, known = new Map();
  Color.prototype.parseString = function (text) {{
    if (!known.has(text)) known.set(text, new Color(read.call(this, text)));
    const {{r, g, b, alpha}} = known.get(text);
    return Object.assign(this, {{r, g, b, alpha}});
  }};
}}"""
RUN_AXE = """([context, options]) => axe.run(context ?? document, options)
  .then(({violations}) => violations.map(({id, nodes}) =>
    [id, nodes.slice(0, 3).map(({html}) => html.slice(0, 150))]))"""


# Every cell of each map of weights, read back from its picture: where its colour lies on the ramp
# from 0 by a half to 1.
SHADES = """async (root) => {
  const {themeColors} = await import("/widgets/lib/surroundings.js");
  const theme = themeColors();
  const ramp = ["weightless", "weightHalf", "weight"]
    .map((name) => theme[name].match(/\\d+/g).slice(0, 3).map(Number));
  const less = (a, b) => a.map((x, k) => x - b[k]);
  const dot = (a, b) => a.reduce((all, x, k) => all + x * b[k], 0);
  const along = (color, from, to) => {
    const share = dot(less(color, from), less(to, from)) / dot(less(to, from), less(to, from));
    const within = Math.max(0, Math.min(1, share));
    const off = less(color, from.map((x, k) => x + within * (to[k] - x)));
    return {share: within, off: dot(off, off)};
  };
  const weight = (color) => {
    const [light, dark] = [along(color, ramp[0], ramp[1]), along(color, ramp[1], ramp[2])];
    return light.off <= dark.off ? light.share / 2 : (1 + dark.share) / 2;
  };
  return [...root.querySelectorAll(".weight-map canvas")].map((canvas) => {
    const {width, height} = canvas;
    const {data} = canvas.getContext("2d").getImageData(0, 0, width, height);
    return Array.from({length: height}, (_, y) => Array.from({length: width}, (_, x) =>
      weight([...data.slice(4 * (y * width + x), 4 * (y * width + x) + 3)])));
  });
}"""
SHADE_STEP = 1 / 150  # what a channel rounded to a whole number may hide, where the ramp is short


# The cells run again in a frame after the event that changed them.
SETTLE = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)))"


def settle(page):
    page.evaluate(SETTLE)


# No model is being read, and no part waits to be drawn.
IDLE = "() => !document.querySelector('.widget [aria-busy=true]')"


DRAWN = f"() => ({SETTLE})().then({IDLE})"


def drawn(page):
    page.evaluate(DRAWN) or page.wait_for_function(IDLE)


def assert_shows(text, exact, where):
    """``text`` is ``exact``, rounded to the decimals that it has."""
    decimals = len(text.partition(".")[2])
    assert abs(number(text) - exact) <= 0.5000001 * 10**-decimals, (where, text, exact)


def axe_violations(page, context=None, rules=None, without=None):
    """Return what axe finds inside `context`, a selector, or on the page, by all rules or some.

    What is inside `without`, a selector, is left out.
    """
    # By itself axe leaves this one out, which is still tried.
    options = {
        "resultTypes": ["violations"],
        "rules": {"label-content-name-mismatch": {"enabled": True}},
    }
    if rules:
        options = {"resultTypes": ["violations"], "runOnly": rules}
    if without:
        context = {"include": [[context or "html"]], "exclude": [[without]]}
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE)
    return [(rule, nodes) for rule, nodes in page.evaluate(RUN_AXE, [context, options])]


def static_rows(open_page, path, widget):
    """The rows of a widget's fallback, which shows without JavaScript and in print alone."""
    with open_page(path, live=False, java_script_enabled=False) as page:
        rows = page.locator(f"{widget} .fallback tbody tr").all_inner_texts()
    with open_page(path) as page:
        form = page.locator(f"{widget} .fallback")
        assert not form.is_visible()
        page.emulate_media(media="print")
        assert form.is_visible()
    return rows


def moving(page, widget):
    """What inside ``widget`` takes its time to change."""
    return page.locator(widget).evaluate(
        """(root) => [...root.querySelectorAll(".widget-live *")].filter((e) =>
          !/^(0s(, )?)+$/.test(getComputedStyle(e).transitionDuration)).map((e) => e.outerHTML)"""
    )
