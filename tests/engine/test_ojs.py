"""OJS cells in a browser: the output of each construct, and of cells that fail."""

import importlib
import re
from urllib.parse import urlsplit

import pytest

from course.serve import start_server
from tests.engine.ojs_lab import LESSON, element

PUBLISHED = {
    "quoted": '"it\'s" `here`',
    "foreign": "größer 日本 😀",
    "tags": "</script><!--<script>",
}

# The output of each cell, in the element of its last statement.
SHOWN = {
    "expression": ("1 + 1", "2"),
    "ends in a comment": ("3 // three", "3"),
    "comments around": ("/* one */ // two\n4\n// three\n", "4"),
    "block": ("{\n  const half = 5;\n  return half * 2; // ten\n}", "10"),
    "several statements": ("six = 6\nseven = six + 1;\nsix * seven", "42"),
    "order is free": ("{ return late + 1 }\nlate = 4\nlate * 3", "12"),
    "object": ("({a: [1, 2]}).a[1]", "2"),
    "import": (
        'import {double, twice as again, Box} from "/widgets/math.js"\n'
        "double(4) + again(1) + new Box().constructor.name",
        '"10Box"',
    ),
    "relative import": ('import {UNIT} from "../widgets/math.js"\nUNIT', '"kg"'),
    "import of an import": ('import {helped} from "/widgets/all.js"\nhelped', "16"),
    "viewof": ("viewof dial = html`<input type=range max=9 value=3>`\ndial + 1", "4"),
    "viewof elsewhere": ("viewof dial.max + (viewof dial).type + `${viewof dial.id}`", '"9range"'),
    "viewof beside its stand-in": (
        "$viewof_dial = 40\n$viewof_dial + viewof dial.valueAsNumber",
        "43",
    ),
    "mutable": (
        "mutable count = 1\nbump = () => { mutable count += 2; return mutable count }\ncount",
        "1",
    ),
    "generator": ("{ for (let i = 1; i < 4; i++) yield i }", "3"),
    "generator with cleanup": ("{ try { yield 5 } finally { invalidation.then(() => 0) } }", "5"),
    "async": ("await Promise.resolve(8)", "8"),
    "async block": ("{ await null; return 9 }", "9"),
    "async generator": ("{ for await (const x of [1, 2]) { yield x } }", "2"),
    "promise": ("Promises.delay(10, 11)", "11"),
    "function": ("function square(n) { return n > 2 ? n * n : square(3) }\nsquare(1)", "9"),
    "async function": ("async function soon() { return 12 }\nsoon()", "12"),
    "function generator": (
        "function* three() { yield* [1, 2, 3] }\nArray.from(three()).length",
        "3",
    ),
    "class": (
        "class Pair { static of() { return new this() } get size() { return 2 } }\nPair.of().size",
        "2",
    ),
    "destructuring": (
        "(({a, b: [c], ...rest}, [d] = [5]) => a + c + d + rest.e)({a: 1, b: [2], e: 3})",
        "11",
    ),
    "default parameters": ("next = (n, step = six, to = n + step) => to\nnext(1)", "7"),
    "shadowed names": ("((six) => six + [7].map((seven) => seven)[0])(1)", "8"),
    "its own this": ("({n: 13, get() { return this.n }}).get()", "13"),
    "newer syntax": (
        "[null?.a ?? 1_000, 2n ** 3n, /(?<x>b)/u.exec('b').groups.x].join()",
        '"1000,8,b"',
    ),
    "template": ("`${six} of ${`${seven}`}`", '"6 of 7"'),
    "script in a string": ("'</script><SCRIPT></SCRIPT ><!-- <script>'.length", "40"),
    "script in a template": ("`</script>${six}</script>` // </script>", '"</script>6</script>"'),
    "script in an expression": (
        "[/[<]/.test('</script>'), 3 </script/.source.length].join()",
        '"true,true"',
    ),
    "unicode": ("größe = '日本 😀\u2028 \\u{1f600}'\nArray.from(größe).length", "7"),
    "html takes text as text": (
        "html`<i title=${'\"'}>${html`<b>bold</b>`} ${'<u>'}</i>`",
        "bold <u>",
    ),
    "svg": ("svg`<circle r=3 />`.namespaceURI.split('/').pop()", '"svg"'),
    "Generators": ("turning = Generators.observe((change) => { change(14) })\nturning", "14"),
    "Mutable": ("typeof new Mutable(1).generator", '"object"'),
    "now": ("now > 1e12", "true"),
    "width": ("width", "500"),
    "visibility": ("visibility().then(() => 15)", "15"),
    "a browser's names": ("getComputedStyle(document.body).display", '"block"'),
    "published quotes": ("quoted", '"\\"it\'s\\" `here`"'),
    "published unicode": ("foreign", '"größer 日本 😀"'),
    "published tags": ("tags", '"</script><!--<script>"'),
    "named value": ("hiddenValue = 5", ""),
    "named element": ("shownElement = html`<b>drawn</b>`", "drawn"),
    "d3": (
        'import {d3, md, htl} from "/assets/vendor/observable.js"\n'
        "d3.scaleLinear([0, 1], [0, 10])(0.5)",
        "5",
    ),
    "viewof an element": ("viewof pick = html`<input type=range value=4 max=10>`\npick", "4"),
    "htl": ("htl.html`<i>${'<b>'}</i>`", "<b>"),
    "md": ("md`# A *b*\n    ${'<i>*c*</i>'} and ${html`<u>d</u>`}`", "A b\n<i>*c*</i> and d"),
    "md of an import, as Quarto shows it": (
        "md`~~~javascript\n${'import {a} from \"b\"'}\n~~~`",
        "",
    ),
}
INLINE = {
    "value": ("six * 7", "42"),
    "string": ("UNIT", "kg"),
    "comment": ("six // six", "6"),
    "text": ("'<b>' + foreign", "<b>größer 日本 😀"),
    "element": ("html`<b>${six}</b>`", "6"),
    "nothing": ("null", ""),
    "promise": ("await Promise.resolve('soon')", "soon"),
    "viewof": ("viewof dial.max", "9"),
    "brackets": ("[six, seven].map(double)", "1214"),
}


@pytest.fixture(scope="module")
def served(lab):
    server = start_server(lab.root, 0)
    yield server.url
    server.shutdown()
    server.server_close()


class Visit:
    def __init__(self, browser, url):
        self.page, self.errors, self.requests = browser.new_page(), [], []
        self.page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("response", lambda r: r.status >= 400 and self.errors.append(r.url))
        self.page.goto(url)

    def reads(self, place, text):
        from playwright.sync_api import expect

        expect(self.page.locator(f"#{place}")).to_have_text(text, use_inner_text=True, timeout=3000)

    def outside(self, url):
        inside = urlsplit(url).netloc
        return [u for u in self.requests if urlsplit(u).netloc != inside and u[:5] != "data:"]


@pytest.fixture(scope="module")
def working(lab, served, browser):
    """The page with every construct, and the element of each."""
    page, elements, places = lab.page(PUBLISHED), [], {}
    for name, (source, _) in SHOWN.items():
        found = page.add_cell(source, path=LESSON, line=1)
        elements += [element(place.id, nodetype=place.nodetype) for place in found]
        places[name] = found[-1].id
    for name, (source, _) in INLINE.items():
        places[f"inline {name}"] = page.add_inline(source, path=LESSON, line=1)
        elements.append(element(places[f"inline {name}"], "span"))
    lab.write("working.html", page, elements, before=published_script(PUBLISHED))
    visit = Visit(browser, served + "lessons/working.html")
    yield visit, places
    visit.page.close()


def published_script(values):
    """Return the script that ``publish`` writes into the page."""
    module = importlib.import_module("course.cell_output")
    written = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "show_markdown", written.append)
        patch.setenv("COURSE_KERNEL", "1")
        module.publish(**values)
    return re.fullmatch(r"```\{=html\}\n(.*)\n```\n", written[0], re.S)[1]


@pytest.mark.site
@pytest.mark.parametrize("name", SHOWN)
def test_a_cell_shows(working, name):
    visit, places = working
    visit.reads(places[name], SHOWN[name][1])


@pytest.mark.site
@pytest.mark.parametrize("name", INLINE)
def test_an_inline_expression_shows(working, name):
    visit, places = working
    visit.reads(places[f"inline {name}"], INLINE[name][1])


@pytest.mark.site
def test_what_depends_on_an_input_or_a_mutable_follows_it(lab, served, browser):
    page = lab.page()
    source = "viewof dial = html`<input type=range max=9 value=3>`\nmutable count = 1\n"
    source += "html`<button onclick=${() => { mutable count++ }}>more</button>`"
    page.add_cell(source, path=LESSON, line=1)
    page.add_cell(
        "{ if (dial > 5) throw new Error('too far'); return dial * 10 }", path=LESSON, line=8
    )
    inline = page.add_inline("dial + count", path=LESSON, line=9)
    places = [f"ojs-cell-1-{n}" for n in (1, 2, 3)] + ["ojs-cell-2", inline]
    lab.write("live.html", page, map(element, places))
    visit = Visit(browser, served + "lessons/live.html")
    visit.reads("ojs-cell-2", "30")
    visit.reads(inline, "4")
    visit.page.fill("input", "4")
    visit.page.click("button")
    visit.page.click("button")
    visit.reads("ojs-cell-2", "40")
    visit.reads(inline, "7")
    assert visit.errors == []
    visit.page.fill("input", "6")
    visit.reads("ojs-cell-2", "Error: too far")
    visit.page.fill("input", "5")
    visit.reads("ojs-cell-2", "50")
    assert visit.page.locator(".observablehq--error").count() == 0
    assert served + "assets/vendor/ojs-runtime.js" in visit.requests
    assert served + "assets/vendor/markdown.js" not in visit.requests  # no cell uses md
    visit.page.close()


@pytest.mark.site
def test_the_page_can_answer_between_two_cells_that_draw(lab, served, browser):
    page = lab.page()
    cell = """{{
      const urgent = {{priority: "user-blocking"}}; // as a click is
      window.order.push("{0}");
      window.scheduler.postTask(() => window.order.push("after {0}"), urgent);
      return "{0}";
    }}"""
    for name in "ab":
        page.add_cell(cell.format(name), path=LESSON, line=1)
    places = ["ojs-cell-1", "ojs-cell-2"]
    before = "<script>var order = []</script>"
    lab.write("turns.html", page, map(element, places), before=before)
    visit = Visit(browser, served + "lessons/turns.html")
    visit.reads("ojs-cell-2", '"b"')
    assert visit.page.evaluate("order") == ["a", "after a", "b", "after b"]
    visit.page.close()


@pytest.mark.site
def test_all_of_it_runs_without_an_error_or_another_host(working, served):
    visit, places = working
    for name, place in places.items():
        visit.reads(place, (SHOWN | {f"inline {n}": v for n, v in INLINE.items()})[name][1])
    assert visit.errors == []
    assert visit.outside(served) == []
    assert served + "assets/vendor/markdown.js" in visit.requests  # so they were recorded


@pytest.mark.site
def test_an_error_is_shown_in_its_place_and_stops_nothing_else(lab, served, browser):
    page = lab.page()
    cells = {
        4: 'import {broken} from "/widgets/broken.js"',
        6: "bad = { throw new Error('no such weight') }",
        9: "bad + 1",
        11: "broken + 1",
        13: "fine = 'still here'\nfine",
        17: "{ throw null }",
        19: "{ throw new Error('no such weight') }",
    }
    places = [
        place.id
        for line, source in cells.items()
        for place in page.add_cell(source, path=LESSON, line=line)
    ]
    inlines = [page.add_inline(name, path=LESSON, line=20) for name in ("bad", "fine")]
    lab.write("failing.html", page, map(element, [*places, *inlines]))
    visit = Visit(browser, served + "lessons/failing.html")
    visit.reads("ojs-cell-5-2", '"still here"')
    visit.reads(inlines[1], "still here")
    for place, text in {
        "ojs-cell-1": "Error: broken.js breaks",
        "ojs-cell-2": "bad = Error: no such weight",
        "ojs-cell-3": "RuntimeError: no such weight",
        "ojs-cell-4": "RuntimeError: broken.js breaks",
        "ojs-cell-6": "null",
        inlines[0]: "RuntimeError: no such weight",
    }.items():
        visit.reads(f"{place} > .observablehq--error", text)
    told = sorted(error.split("\n")[0][:50] for error in visit.errors)
    expected = ["lessons/a.qmd:17: null", "lessons/a.qmd:19: Error: no such weight"]
    expected += [
        "lessons/a.qmd:4: Error: broken.js breaks",
        "lessons/a.qmd:6: Error: no such weight",
    ]
    assert [line[: len(start)] for line, start in zip(told, expected, strict=True)] == expected
    visit.page.close()


def test_places_are_numbered_as_by_quarto(lab):
    page = lab.page()
    cells = ['import {UNIT} from "/widgets/math.js"', "viewof x = 1\ny = 2\nx + y", "y"]
    places = [page.add_cell(source, path=LESSON, line=1) for source in cells]
    assert [[tuple(place) for place in cell] for cell in places] == [
        [("ojs-cell-1", "declaration")],
        [
            ("ojs-cell-2-1", "declaration"),
            ("ojs-cell-2-2", "declaration"),
            ("ojs-cell-2-3", "expression"),
        ],
        [("ojs-cell-3", "expression")],
    ]
    inlines = [page.add_inline(name, path=LESSON, line=1) for name in "xy"]
    assert inlines == ["ojs-element-id-1", "ojs-element-id-2"]


def test_the_script_loads_each_module_once_and_ahead(lab):
    page = lab.page()
    assert page.script(root="../../") == ""
    for number, module in enumerate(["all", "math", "all"]):
        source = f'import {{double as d{number}}} from "/widgets/{module}.js"'
        page.add_cell(source, path=LESSON, line=1)
    script = page.script(root="../../")
    assert re.findall(r'<link rel="modulepreload" href="([^"]+)">', script) == [
        "../../assets/vendor/ojs-runtime.js",
        "../../widgets/all.js",
        "../../widgets/math.js",
        "../../widgets/lib/help.js",
    ]
    assert 'from "./assets/vendor/ojs-runtime.js"' in page.script(root="")
    assert script.lower().count("</script") == 1
    assert page.files() == [
        address.removeprefix("../../") for address in re.findall(r'href="([^"]+)"', script)
    ]
