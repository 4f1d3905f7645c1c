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
}}"""
RUN_AXE = """([context, options]) => axe.run(context ?? document, options)
  .then(({violations}) => violations.map(({id, nodes}) =>
    [id, nodes.slice(0, 3).map(({html}) => html.slice(0, 150))]))"""


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
