"""Run the ES modules of widgets/ in V8, so that a model is tested without a browser.

    from tests.widgets.js import JSException, module

    attention = module("lib/attention.js")              # by its path under widgets/
    attention.call("softmax", [1, 2, 3])                # one exported function
    attention.run("x.map((T) => m.atTemperature([1, 2], T))", [0, math.inf])

``run`` evaluates one JavaScript expression over ``m``, the module's exports, and ``x``, the
argument. Arguments are what JSON has, and also NaN, infinities, tensors, arrays and ``bytes`` (as a
list of numbers). Results are what JSON has, and also NaN, infinities, -0 and typed arrays (as
lists). Functions inside a result are left out; a Map, a Set or a promise is a JSException, as is
whatever the module throws.

There is no DOM: a function that needs ``document`` throws. ``EventTarget``, ``HTMLElement``,
``customElements`` and ``addEventListener`` are there, without effect, for modules that use them
when they are imported.
Imports within widgets/ are followed. Any other (a vendored library) is not loaded, and each name
imported from it throws when it is called, so a view and its model may share a module.

``module`` returns one Module a path for the whole process; ``Module(path)`` makes a fresh one, for
tests that keep state in it. A test of the whole page uses ``tests.site.reading.in_module``, which
takes the same expressions.
"""

import json
import posixpath
import re
from functools import cache
from pathlib import Path

from py_mini_racer import JSEvalException as JSException

from course.javascript import new_context
from course.problems import Problem
from course.render.ojs.modules import scan_module

__all__ = ["JSException", "Module", "module"]

_scan = cache(scan_module)
WIDGETS = Path(__file__).parents[2] / "widgets"
SECONDS = 60  # for one call, so that an endless loop fails

# Names on both sides: {a, b as c}, * as all, and a default. None for an import without names.
_IMPORT = re.compile(r'^import\s*(?:([^"\';]+?)\s*from\s*)?"([^"]+)";?', re.MULTILINE)
_EXPORT = re.compile(r"^export\s+(?:(default)\s+|\{([^}]*)\};?|(?=\w))", re.MULTILINE)
_DECLARED = re.compile(r"(?:async\s+)?(?:function\s*\*?|class|const|let)\s+(\w+)")

_SUPPORT = """
globalThis.addEventListener = () => {};
globalThis.EventTarget = class {addEventListener() {} dispatchEvent() {return true;}};
globalThis.HTMLElement = class extends EventTarget {};
globalThis.customElements = {define() {}};
const modules = {};
const outside = (path) => new Proxy({}, {get: (_, name) => () => {
  throw new Error(`${String(name)} of ${path} is not loaded in tests without a page`);
}});
const pack = (value) => JSON.stringify(value, (_, x) => {
  if (typeof x === "number" && (!Number.isFinite(x) || Object.is(x, -0))) {
    return {$number: Object.is(x, -0) ? "-0.0" : String(x)};
  }
  if (x instanceof Map || x instanceof Set || x instanceof Promise) {
    throw new TypeError(`a ${x.constructor.name} has no JSON: return a list or an object`);
  }
  return ArrayBuffer.isView(x) ? Array.from(x) : x;
});
"""


class Module:
    """A module of widgets/ and what it imports, in a context of their own."""

    def __init__(self, path: str, root: Path = WIDGETS):
        """Raises ValueError where the module or an import of it can't be read, by file and line."""
        self._root = root
        self._context = new_context()
        self._context.eval(_SUPPORT)
        self._load(path, [])
        self._context.eval(f"globalThis.m = modules[{json.dumps(path)}]; 0")

    def call(self, name: str, *arguments):
        """Return what the exported function ``name`` returns."""
        return self.run(f"m[{json.dumps(name)}](...x)", arguments)

    def run(self, expression: str, x=None):
        """Evaluate a JavaScript expression over ``m``, the exports, and ``x``."""
        given = json.dumps(x, default=_plain)
        code = f"((x) => pack(\n{expression}\n) ?? null)({given})"
        packed = self._context.eval(code, timeout_sec=SECONDS)
        return None if packed is None else json.loads(packed, object_hook=_number)

    def _load(self, path: str, parents: list[str]) -> None:
        if path in parents:
            raise ValueError(f"imports in a circle: {' > '.join([*parents, path])}")
        source = (self._root / path).read_text("utf-8")
        try:
            scanned_imports, scanned_exports = _scan(source, path)
        except Problem as error:
            raise ValueError(str(error)) from error

        def imported(match):
            names, target = match[1], match[2]
            inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            if not target.startswith(".") or inside.startswith(".."):
                return _binding(names, f"outside({json.dumps(target)})", match[0])
            self._load(inside, [*parents, path])
            return _binding(names, f"modules[{json.dumps(inside)}]", match[0])

        body, imports = _IMPORT.subn(imported, source)
        body, exports = _without_exports(body)
        if imports != len(scanned_imports) or set(exports) != scanned_exports:
            raise ValueError(f"{path} imports or exports in a form that tests/widgets/js.py lacks")
        getters = ", ".join(f"get {name}() {{return {local};}}" for name, local in exports.items())
        body = body.replace("import.meta.url", json.dumps(f"file:///widgets/{path}"))
        # The source starts on the first line, so that its lines keep their numbers in a stack.
        code = f"""modules[{json.dumps(path)}] ??= (() => {{ "use strict"; {body}
            return {{{getters}}};
        }})(); 0"""
        try:
            self._context.eval(code)
        except JSException as error:
            raise JSException(f"{path}: {error}") from error


@cache
def module(path: str) -> Module:
    """The module of widgets/ at ``path``, loaded once a process."""
    return Module(path)


def _binding(names: str | None, value: str, statement: str) -> str:
    lines = "\n" * statement.count("\n")
    if names is None:
        return f"{value};{lines}"
    default, named = re.fullmatch(r"(?s)(\w*)[\s,]*(\{.*\}|\*.*)?", names.strip()).groups()
    parts = [f"default: {default}"] if default else []
    if named and named.startswith("*"):
        return f"const {named.split()[-1]} = {value};{lines}"
    parts += [re.sub(r"\s+as\s+", ": ", name) for name in (named or "").strip("{}\n ").split(",")]
    return f"const {{{', '.join(parts)}}} = {value};{lines}"


def _without_exports(source: str) -> tuple[str, dict[str, str]]:
    """The source with its exports as plain declarations, and {exported name: local name}."""
    exports = {}

    def plain(match):
        default, listed = match.groups()
        if default:
            exports["default"] = "$default"
            return "const $default = "
        if listed is not None:
            for name in filter(None, map(str.strip, listed.split(","))):
                local, *renamed = re.split(r"\s+as\s+", name)
                exports[renamed[0] if renamed else local] = local
            return "\n" * match[0].count("\n")
        if declared := _DECLARED.match(source, match.end()):
            exports[declared[1]] = declared[1]
        return ""

    return _EXPORT.sub(plain, source), exports


def _plain(value):
    return list(value) if isinstance(value, bytes) else value.tolist()


def _number(found: dict):
    return float(found["$number"]) if found.keys() == {"$number"} else found
