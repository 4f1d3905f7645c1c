"""OJS cells: each form compiled, each mistake with its place, and a page that runs."""

import re
import shutil

import pytest

from course.problems import Problem
from course.render.ojs.cells import compile_cell
from course.render.ojs.modules import Modules
from course.render.ojs.page_script import OjsPage
from course.serve import start_server
from tests.conftest import ROOT

LESSON = "lessons/a.qmd"
MODULES = {
    "widgets/math.js": "export const double = (x) => 2 * x, UNIT = 'kg';\n"
    "export {double as twice};\nexport class Box {}\nexport const {half: [third]} = {half: []};\n",
    "widgets/all.js": 'export * from "./math.js";\nexport {helped} from "./lib/help.js";\n',
    "widgets/lib/help.js": 'import {double} from "../math.js";\nexport const helped = double(8);\n',
    "widgets/broken.js": 'throw new Error("broken.js breaks");\nexport const broken = 1;\n',
    "widgets/slip.js": "export const slip = (1;\n",
    "widgets/lost.js": 'import {doubel} from "./math.js";\nexport const lost = 1;\n',
    "widgets/nowhere.js": 'export {nowhere} from "./maht.js";\n',
    "widgets/newer.js": "export class newer {\n  #hidden() {}\n}\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("ojs") / "project"
    shutil.copytree(ROOT / "assets/vendor", root / "assets/vendor")
    (root / "widgets/lib").mkdir(parents=True)
    for path, text in MODULES.items():
        (root / path).write_text(text, encoding="utf-8")
    return root


# a cell -> kind, names that it defines, names that it takes, its expression in JavaScript
COMPILED = {
    "x = 1 // one": ("value", "x", "", "1"),
    "/* a */ f(x,\n  2) // b": ("expression", "", "f x", "f(x,\n  2)"),
    "viewof x = f(data)": ("view", "x, viewof x", "f data", "f(data)"),
    "f(viewof  x, 'viewof x')": ("expression", "", "f viewof$x", "f(viewof$x, 'viewof x')"),
    "({a, b: c, [d]: 1, ...e.f})": ("expression", "", "a c d e", "({a, b: c, [d]: 1, ...e.f})"),
    "x = ({a, [k]: [c], ...d}, e = o) => a + c + d + e": ("value", "x", "k o", None),
    "y => { { const {a, b: c = u} = y; } return a + c; }": ("expression", "", "u a c", None),
    "(function f(x) { return f(x) + y; })": ("expression", "", "y", None),
    "`${a}` + t`b ${x => x + c}` + Math.max(NaN, undefined)": ("expression", "", "a t c", None),
    "größe = '日本 😀' + weite": ("value", "größe", "weite", "'日本 😀' + weite"),
    r"'<\/script><!-- <script>'": ("expression", "", "", r"'<\/script><!-- <script>'"),
}  # fmt: skip


@pytest.mark.parametrize("source", COMPILED)
def test_a_statement_is_compiled(source):
    kind, defined, inputs, code = COMPILED[source]
    [form] = compile_cell(source, LESSON, 1)
    assert (form.kind, ", ".join(form.defines)) == (kind, defined)
    code = code or re.sub(r"^\w+ = ", "", source)
    assert form.function == f"function ({inputs.replace(' ', ', ')}) {{return (\n{code}\n);}}"


# cell that starts on line 10 -> place of the form, and its name
REFUSED = {
    "mutable n = 1": "10:1: mutable",
    "x = 1\ny = [mutable x]": "11:6: mutable at this place",
    "function f() {}": "10:1: function declaration",
    "x = 1\n{ return x }": "11:1: block",
    "{a: 1}": "10:1: block",
    "const x = 1": "10:1: const or let",
    "x = () => { x = 2 }": "10:13: assignment expression",
    "yield 1": "10:1: yield expression",
    "x = [\n  await y]": "11:3: await expression",
    "[this]": "10:2: this",
    "import('/widgets/math.js')": "10:1: import()",
    'import {viewof x} from "/a.js"': "10:9: viewof at this place",
    'import x from "/a.js"': "10:1: import without {names}",
}
MISTAKES = {
    "x = 1\ny = [2,\n  3": "12:4: unexpected end",
    "x = 1\n\ny = (2 + )\nz = 3": '12:10: unexpected ")"',
    "'😀' + + ;": '10:9: unexpected ";"',
    "x = '\u2028'\r\ny = ]": '11:5: unexpected "]"',
    "x = 'open\ny = 1": "10:10: unexpected end",
    "1) + (2": '10:2: unexpected ")"',
    "f({a: 1,, b: 2})": '10:9: unexpected ","',
    "x = <b>1</b>": '10:5: unexpected "<b>1</b>"',
    'import {x} with {y} from "/widgets/math.js"': '10:12: unexpected "with"',
    "x = '</SCRIPT>'": '10:5: "</script" would end the script of the page',
    "x = 1\ny = 2 +\n  xx": '12:3: "xx" is not defined',
    "w = 1\ny = ['😀', scoers]": '11:11: "scoers" is not defined; did you mean "scores"?',
    "x = 1\nviewof x": '11:1: "viewof x" is not defined',
    "document = 1": '10:1: "document" is a name of the browser',
    "x = 1\nscores = 3": '11:1: "scores" is already defined by publish(scores=…)',
    "viewof x = 1\nx = 3": f'11:1: "x" is already defined at {LESSON}:10',
    'x = 1\nimport {UNIT, double as x} from "/widgets/math.js"': '11:15: "x" is already defined at',
    'import {x} from "@some/notebook"': '10:17: unknown import "@some/notebook": write the path',
    'import {x} from "/widgets/maht.js"': '10:17: there is no ES module "widgets/maht.js" to',
    'import {UNIT,\n  doubel as d} from "/widgets/math.js"\nd': "11:3: widgets/math.js does not",
    'import {htm} from "/assets/vendor/observable.js"': "10:9: assets/vendor/observable.js",
}
IN_MODULES = {
    "slip": '1:23: unexpected ";" (in ES2020, the newest that Quarto reads)',
    "newer": '2:3: unexpected "#hidden',
    "lost": '1:9: widgets/math.js does not export "doubel"; did you mean "double"?',
    "nowhere": '1:23: there is no ES module "widgets/maht.js" to import; did you mean "widgets/m',
}


def mistakes(root, source):
    page = OjsPage(Modules(root), published={"scores"})
    try:
        page.add_cell(source, path=LESSON, line=10)
    except Problem as problem:
        yield str(problem)
    yield from map(str, page.mistakes())


@pytest.mark.parametrize("source", [*REFUSED, *MISTAKES])
def test_a_mistake_is_named_with_its_place(root, source):
    [message] = mistakes(root, source)
    assert message.startswith(f"{LESSON}:{(REFUSED | MISTAKES)[source]}")
    assert message.endswith("`--engine quarto` takes all of OJS") == (source in REFUSED)


@pytest.mark.parametrize("name", IN_MODULES)
def test_a_mistake_in_a_module_is_named_with_its_place_there(root, name):
    [message] = mistakes(root, f'import {{{name}}} from "/widgets/{name}.js"')
    assert message.startswith(f"widgets/{name}.js:{IN_MODULES[name]}")


def test_an_expression_in_the_text_is_refused(site):
    site.write("lessons/a.qmd", "---\ntitle: A\n---\nThe step\nis ${step}.\n")
    [message] = site.check()
    assert message == "lessons/a.qmd:5: ${step} in the text: only `--engine quarto` computes it"


CELLS = {
    3: 'import {double, twice as again, third} from "/widgets/math.js"\ndouble(4) + again(1)',
    6: 'import {html} from "/assets/vendor/observable.js"\n'
    "viewof dial = html`<input type=range max=9 value=3>`",
    9: "tenfold = dial * 10\nviewof dial.max + tenfold + (helped - 16)",
    12: 'import {helped, UNIT} from "/widgets/all.js"',
    14: r"'<\/script><!-- <script>'.length",
    16: "shown = html`<b>${tags}</b>`",
    18: "bad = window.fail('no such weight')",
    20: "bad + 1",
    22: 'import {broken} from "/widgets/broken.js"',
    24: "window.order.push('a', window.click()) && 1",
    26: "window.order.push('b') && 1",
}
BEFORE = """<script type="application/json" data-ojs-define>
{"contents": [{"name": "tags", "value": "<i>"}]}</script>
<script>
const urgent = {priority: "user-blocking"}; // as a click is
var order = [], fail = (message) => { throw new Error(message); };
var click = () => { scheduler.postTask(() => order.push("clicked"), urgent); return "click"; };
</script>"""
SHOWN = {
    "ojs-cell-1-2": "10", "ojs-cell-3-2": '"9300"', "ojs-cell-5": "22", "ojs-cell-6": "<i>",
    "ojs-cell-7 > .observablehq--error": "bad = Error: no such weight",
    "ojs-cell-8 > .observablehq--error": "RuntimeError: no such weight",
    "ojs-cell-9 > .observablehq--error": "Error: broken.js breaks", "ojs-cell-11": "1",
}  # fmt: skip
FILES = (
    "assets/vendor/ojs-runtime.js widgets/math.js assets/vendor/observable.js assets/vendor/d3.js "
    "widgets/all.js widgets/lib/help.js widgets/broken.js"
)


@pytest.mark.site
def test_a_page_runs(root, browser):
    from playwright.sync_api import expect

    page = OjsPage(Modules(root), published={"tags"})
    places = [one for n, cell in CELLS.items() for one in page.add_cell(cell, path=LESSON, line=n)]
    assert [one.nodetype for one in places[:2]] == ["declaration", "expression"]
    script = page.script(root="../")
    assert re.findall(r'modulepreload" href="../([^"]+)"', script) == page.files() == FILES.split()
    elements = "".join(f'<div id="{output.id}"></div>' for output in places)
    head = f"<!doctype html><meta charset=utf-8><link rel=icon href=data:,>{BEFORE}"
    (root / "widgets/page.html").write_text(head + elements + script, encoding="utf-8")
    server = start_server(root, 0)
    tab, errors = browser.new_page(), []
    tab.on("console", lambda message: message.type == "error" and errors.append(message.text))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(server.url + "widgets/page.html")
    for name, value in SHOWN.items():
        expect(tab.locator(f"#{name}")).to_have_text(value, use_inner_text=True)
    # The page can answer a click between two cells that draw.
    assert tab.evaluate("order") == ["a", "click", "clicked", "b"]
    tab.fill("input", "5")
    expect(tab.locator("#ojs-cell-3-2")).to_have_text('"9500"')
    first, second = sorted(errors)
    assert first.startswith(f"{LESSON}:18: Error: no such weight")
    assert second.startswith(f"{LESSON}:22: Error: broken.js breaks")
    tab.close()
    server.shutdown()
    server.server_close()
