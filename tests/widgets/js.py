"""Run the ES modules of widgets/ where readers run them: in the browser that the tests drive.

    from tests.widgets.js import JSException, module

    attention = module("lib/attention.js")              # by its path under widgets/
    attention.call("softmax", [1, 2, 3])                # one exported function
    module("flow-map.js").told("flows", data, state)    # a widget's model, and what it says
    attention.run("x.map((T) => m.atTemperature([1, 2], T))", [0, math.inf])

``run`` evaluates one JavaScript expression over ``m``, the module's exports, and ``x``, the
argument; it may ``await``. Arguments are what JSON has, and also NaN, infinities, tensors, arrays
and ``bytes`` (as a list of numbers). Results are what JSON has, and also NaN, infinities, -0 and
typed arrays (as lists). Functions inside a result are left out; a Map, a Set or a promise in it is
a JSException, as is whatever the module throws.

All of it runs in one page a process: globals stay, so a fixture sets those that its tests read. The
page stands at the repository's root: an expression may ``import("/widgets/…")``, and
``loadModel("models/…")`` fetches weights, which as an argument would take long. A call takes a
millisecond, so what is many goes through ``x.map``.
"""

import json
from functools import cache

import torch
from playwright.sync_api import Error

from course.serve import start_server
from tests.conftest import ROOT, the_browser

SECONDS = 60  # of one call, to its first ``await``, so that an endless loop fails
_SUPPORT = """
globalThis.modules = {};
globalThis.loadModel = async (path) =>
  (await import("/widgets/lib/load-model.js")).loadModel(path);
globalThis.pack = (value) => JSON.stringify([value], (_, x) => {
  if (typeof x === "number" && (!Number.isFinite(x) || Object.is(x, -0))) {
    return {$number: Object.is(x, -0) ? "-0.0" : String(x)};
  }
  if (x instanceof Map || x instanceof Set || x instanceof Promise) {
    throw new TypeError(`a ${x.constructor.name} has no JSON: return a list or an object`);
  }
  return ArrayBuffer.isView(x) ? Array.from(x) : x;
});"""
_LOAD = "import('/widgets/{0}').then((m) => {{modules['{0}'] = m}})"


class JSException(Exception):  # noqa: N818
    """What JavaScript threw, with its file and line."""


class Module:
    """A module of widgets/, which is imported at the first call."""

    def __init__(self, path: str):
        self._path = path

    def call(self, name: str, *arguments):
        """Return what the exported function ``name`` returns."""
        return self.run(f"m[{json.dumps(name)}](...x)", arguments)

    def told(self, model: str, *arguments):
        """Return what a widget's ``model`` returns, and as "says" the sentence that tells it."""
        code = "{...model, says: (m.sentence ?? m.summarize)(model, {state: x[1]})}"
        return self.run(f"((model) => ({code}))(m.{model}(...x))", arguments)

    def run(self, expression: str, x=None):
        """Evaluate a JavaScript expression over ``m``, the exports, and ``x``."""
        _import(self._path)
        given = json.dumps(x, default=_plain)
        code = f"(async (m, x) => pack(await (\n{expression}\n)))"
        packed = _evaluate(f"{code}(modules['{self._path}'], {given})")
        return json.loads(packed, object_hook=_number)[0]


module = cache(Module)


def assert_near(got, want, atol=1e-12, rtol=0):
    """Numbers from JavaScript are those of a tensor, or of lists."""
    got, want = (torch.as_tensor(x, dtype=torch.double) for x in (got, want))
    torch.testing.assert_close(got, want, atol=atol, rtol=rtol)


@cache
def _import(path):
    _evaluate(_LOAD.format(path))


@cache
def _session():
    """A way to the page that stays open: Chromium's own, since Playwright's has no time limit."""
    page = the_browser().new_page()
    page.goto(f"{start_server(ROOT, 0).url}requirements.txt")  # any document of this address
    page.evaluate(f"() => {{{_SUPPORT}}}")
    return page.context.new_cdp_session(page)


def _evaluate(code: str) -> str | None:
    how = {"awaitPromise": True, "returnByValue": True, "timeout": 1000 * SECONDS}
    try:
        answer = _session().send("Runtime.evaluate", {"expression": code, **how})
    except Error as error:
        raise JSException(f"no answer within {SECONDS} s, or no page: {error}") from None
    if thrown := answer.get("exceptionDetails"):
        value = thrown.get("exception", {})
        raise JSException(value.get("description") or value.get("value") or thrown["text"])
    return answer["result"].get("value")


def _plain(value):
    return list(value) if isinstance(value, bytes) else value.tolist()


def _number(value: dict):
    return float(value["$number"]) if value.keys() == {"$number"} else value
