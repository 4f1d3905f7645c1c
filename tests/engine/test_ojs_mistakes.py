"""Mistakes in OJS cells and in the modules that they import: the message and place of each."""

import pytest

from course.render.ojs.page_script import OjsError
from tests.engine.ojs_lab import LESSON

# cell that starts on line 10 -> message
MISTAKES = {
    "syntax": ("x = 1\ny = [2,\n  3", "12:4: Unexpected end of input"),
    "syntax in a later statement": ("x = 1\n\ny = (2 + )\nz = 3", "12:10: Unexpected token"),
    "after an emoji": ("'😀' + + ;", "10:9: Unexpected token"),
    "after a line separator": ("x = '\u2028'\ny = ]", "11:5: Unexpected token"),
    "Windows lines": ("x = 1\r\ny = ]", "11:5: Unexpected token"),
    "const": ("const x = 1", "10:1: Unexpected token"),
    "two on a line": ("x = 1, y = 2", "10:8: Assignment to constant variable y"),
    "assignment to a cell": ("x = 1\n{ x = 2 }", "11:3: Assignment to constant variable x"),
    "reserved name": ("document = 1", "10:1: Identifier 'document' is reserved"),
    "strict": ("x = 1\ny = (a, a) => 1", "11:9: Argument name clash"),
    "only in a module": ("x = 1\ny = () => { let await = 1 }", "11:1: Cannot use keyword 'await'"),
    "delete": ("x = 1\n{ delete viewof x }", "11:1: Deleting local variable in strict mode"),
    "beyond the parser": ("(mutable x) => 1", "10:1: Unrecognized pattern type: MutableExpression"),
    "empty statement": ("x = 1;;", "10:7: an empty statement: remove the semicolon"),
    "nothing": ("// only a comment", "10: the OJS cell is empty: it needs a statement"),
    "this": ("x = 1\ny = [this]", "11:6: this is not the cell's previous value under Quarto"),
    "script in a tagged template": (
        "x = html`<b></script>`",
        "10:10: </script in a tagged template",
    ),
    "dynamic import": ("x = import('/widgets/math.js')", "10:5: import() inside a cell"),
    "undefined": ("x = 1\ny = 2 +\n  xx", '12:3: "xx" is not defined'),
    "nearly defined": (
        "weights = 1\ny = [weigths]",
        '11:6: "weigths" is not defined; did you mean "weights"?',
    ),
    "nearly published": ("y = scoers", '10:5: "scoers" is not defined; did you mean "scores"?'),
    "nearly built in": (
        "Promise.all(Generator)",
        '10:13: "Generator" is not defined; did you mean "Generators"?',
    ),
    "undefined after an emoji": ("'😀' + lost", '10:7: "lost" is not defined'),
    "no viewof": (
        "dial = 1\nviewof dial",
        '11:1: "viewof dial" is not defined; valid: ',
    ),
    "no mutable": ("{ mutable n = 1 }", '10:3: "mutable n" is not defined'),
    "FileAttachment": (
        "FileAttachment('a')",
        '10:1: "FileAttachment" is not defined: publish the data',
    ),
    "require": ("d3 = require('d3')", '10:6: "require" is not defined: import an ES module'),
    "defined twice": ("x = 1\ny = 2\nx = 3", '12:1: "x" is already defined at lessons/a.qmd:10'),
    "viewof twice": ("viewof x = 1\nx = 3", '11:1: "x" is already defined at lessons/a.qmd:10'),
    "import twice": (
        'x = 1\nimport {UNIT, double as x} from "/widgets/math.js"',
        '11:15: "x" is already defined at lessons/a.qmd:10',
    ),
    "published too": (
        "y = 1\nfunction scores() {}",
        '11:1: "scores" is already defined by publish(scores=…)',
    ),
    "circle": ("a = b\nb = c\nc = a", "10:1: a circular definition: a → b → c → a"),
    "package": (
        'import {x} from "d3"',
        '10:17: unknown import "d3": write the path of an ES module',
    ),
    "other host": (
        'import {x} from "https://x.org/y.js"',
        '10:17: unknown import "https://x.org/y.js"',
    ),
    "no such module": (
        'import {x} from "/widgets/maht.js"',
        '10:17: there is no ES module "widgets/maht.js" to import; did you mean "widgets/math.js"?',
    ),
    "outside": (
        'import {x} from "../../outside.js"',
        '10:17: there is no ES module "../outside.js" to import',
    ),
    "page": (
        'import {x} from "/_prelude.qmd"',
        '10:17: there is no ES module "_prelude.qmd" to import',
    ),
    "no such export": (
        'x = 1\nimport {UNIT,\n  doubel as d} from "/widgets/math.js"',
        '12:3: widgets/math.js does not export "doubel"; did you mean "double"?',
    ),
    "no such built export": (
        'import {htm} from "/assets/vendor/observable.js"',
        '10:9: assets/vendor/observable.js does not export "htm"; did you mean "html"?',
    ),
    "default import": ('import x from "/widgets/math.js"', "10:8: Unexpected token"),
    "viewof import": (
        'import {viewof x} from "/widgets/math.js"',
        "10:9: viewof and mutable can't be imported",
    ),
    "import with": (
        'import {x} with {y} from "/widgets/math.js"',
        "10:18: import … with … {} is for notebooks",
    ),
}
IN_MODULES = {
    "slip": "widgets/slip.js:1:23: Unexpected token (in ES2020, the newest that Quarto reads)",
    "newer": "widgets/newer.js:2:3: Unexpected character '#' (in ES2020,",
    "lost": 'widgets/lost.js:1:22: widgets/math.js does not export "doubel"; did you mean "do',
}
INLINE_MISTAKES = {
    "syntax": ("1 +", "10: Unexpected end of input"),
    "open comment": ("1 /* one", "10: Unterminated comment"),
    "nothing": ("", "10: ${} must hold one expression"),
    "two": ("1; 2", "10: ${1; 2} must hold one expression"),
    "definition": ("x = 1", "10: ${x = 1} must hold one expression"),
    "undefined": ("scoers", '10: "scoers" is not defined; did you mean "scores"?'),
    "closing": ("1) + (2", "10: Unexpected token"),
}


def mistakes(lab, add):
    """Return the page's messages, in the order of its lines."""
    page = lab.page(published={"scores"})
    try:
        add(page)
    except OjsError as error:
        return [str(error), *map(str, page.mistakes())]
    return [str(error) for error in page.mistakes()]


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_cell_is_named_with_its_place(lab, name):
    source, expected = MISTAKES[name]
    said = mistakes(lab, lambda page: page.add_cell(source, path=LESSON, line=10))
    assert len(said) == 1
    assert said[0].startswith(f"{LESSON}:{expected}")


@pytest.mark.parametrize("name", INLINE_MISTAKES)
def test_a_mistake_in_an_inline_expression_is_named_with_its_line(lab, name):
    source, expected = INLINE_MISTAKES[name]
    said = mistakes(lab, lambda page: page.add_inline(source, path=LESSON, line=10))
    assert said == [f"{LESSON}:{expected}"]


@pytest.mark.parametrize("name", IN_MODULES)
def test_a_mistake_in_a_module_is_named_with_its_place_there(lab, name):
    source = f'import {{{name}}} from "/widgets/{name}.js"'
    said = mistakes(lab, lambda page: page.add_cell(source, path=LESSON, line=10))
    assert len(said) == 1
    assert said[0].startswith(IN_MODULES[name])


def test_a_cell_that_cannot_be_read_makes_no_name_undefined(lab):
    page = lab.page()
    with pytest.raises(OjsError):
        page.add_cell("x = (", path=LESSON, line=1)
    page.add_cell("y = x", path=LESSON, line=5)
    page.add_cell("y = 2", path=LESSON, line=8)
    assert [str(error) for error in page.mistakes()] == [
        f'{LESSON}:8:1: "y" is already defined at {LESSON}:5'
    ]


def test_a_mistake_is_raised_where_the_page_is_made(lab):
    page = lab.page()
    page.add_cell("x = y", path=LESSON, line=3)
    with pytest.raises(OjsError, match=rf'{LESSON}:3:5: "y" is not defined') as caught:
        page.script(root="")
    error = caught.value
    assert (error.path, error.line, error.column) == (LESSON, 3, 5)
