"""axe's rules on a page, for screen readers and contrasts."""

from axe_playwright_python.sync_playwright import Axe

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
  // In running text the contrast is that of the colour, the size and the grounds: after the first
  // few of a kind the others are left out.
  const contrast = axe._audit.rules.find(({{id}}) => id === "color-contrast");
  const isToTry = contrast.matches, grounds = new Map(), tried = new Map();
  const groundOf = (e) => {{
    if (!e) return "";
    if (!grounds.has(e)) {{
      const {{backgroundColor, backgroundImage, opacity, filter}} = getComputedStyle(e);
      grounds.set(e, [groundOf(e.parentElement), backgroundColor, backgroundImage, opacity, filter]
        .filter((part) => !/^(rgba\\(0, 0, 0, 0\\)|none|1|)$/.test(part)).join());
    }}
    return grounds.get(e);
  }};
  contrast.matches = (element, ...more) => {{
    if (element.closest(".widget-live")) return isToTry(element, ...more);
    const {{color, fontSize, fontWeight}} = getComputedStyle(element);
    const kind = [color, fontSize, fontWeight, groundOf(element)].join();
    const count = tried.get(kind) ?? 0;
    if (count >= 3 || !isToTry(element, ...more)) return false;
    tried.set(kind, count + 1);
    return true;
  }};
  axe.forget = () => grounds.clear(); // another theme has others
}}"""
RUN_AXE = """([context, options]) => (axe.forget(), axe.run(context ?? document, options))
  .then(({violations}) => violations.map(({id, nodes}) =>
    [id, nodes.slice(0, 3).map(({html}) => html.slice(0, 150))]))"""


def axe_violations(page, context=None, rules=None, without=None):
    """Return what axe finds inside `context`, a selector, or on the page, by all rules or some.

    What is inside `without`, a selector, is left out.
    """
    # axe would read all styles again, for a rule that isn't tried.
    options = {"resultTypes": ["violations"], "preload": False}
    # By itself axe leaves this one out, which is still tried.
    mismatch = {"label-content-name-mismatch": {"enabled": True}}
    options |= {"runOnly": rules} if rules else {"rules": mismatch}
    if without:
        context = {"include": [[context or "html"]], "exclude": [[without]]}
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE)
    return [tuple(found) for found in page.evaluate(RUN_AXE, [context, options])]
