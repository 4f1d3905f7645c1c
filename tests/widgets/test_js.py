"""The harness for models without a browser: what goes in, what comes out, what is refused."""

import math

import numpy as np
import pytest
import torch

from tests.widgets.js import WIDGETS, JSException, Module, module


@pytest.fixture
def make(tmp_path):
    """``make(main=…, other=…)``: the module main.js beside the others."""

    def made(**sources):
        for name, source in sources.items():
            (tmp_path / f"{name}.js").write_text(source, encoding="utf-8")
        return Module("main.js", tmp_path)

    return made


@pytest.mark.parametrize(
    "path", sorted(file.relative_to(WIDGETS).as_posix() for file in WIDGETS.rglob("*.js"))
)
def test_every_module_of_widgets_can_be_imported(path):
    if path in ("practice.js",):
        pytest.skip("it is a page's script: it starts when it is loaded")
    assert isinstance(module(path).run("Object.keys(m)"), list)


def test_numbers_survive_both_ways(make):
    echo = make(main="export const echo = (x) => x;")
    given = [0.1 + 0.2, 5e-324, 1.7e308, -1, math.inf, -math.inf, -0.0, None, "é\u2028</script>"]
    got = echo.call("echo", given)
    assert got == given
    assert math.copysign(1, got[6]) == -1
    assert math.isnan(echo.call("echo", {"deep": [math.nan]})["deep"][0])
    assert echo.call("echo", torch.tensor([[1.5, 2]])) == [[1.5, 2]]
    assert echo.call("echo", np.arange(3)) == [0, 1, 2]
    assert echo.call("echo", b"\x00\xff") == [0, 255]
    assert echo.run("new Float32Array([1, NaN])")[0] == 1
    assert echo.run("undefined") is None
    assert echo.run("({kept: 1, left: () => 2})") == {"kept": 1}


@pytest.mark.parametrize("made", ["new Map()", "[new Set()]", "Promise.resolve(1)"])
def test_what_json_would_lose_is_refused(make, made):
    with pytest.raises(JSException, match="has no JSON"):
        make(main="export const a = 1;").run(made)


def test_imports_and_exports_of_every_form(make):
    main = make(
        main="""import twice, {
          a as first, b,
        } from "./other.js";
        import * as all from "./other.js";
        import "./other.js";
        export {b, first as renamed};
        export default (x) => twice(x) + first;
        export async function late() {}
        export class Point {}
        export let count = 0;
        export const add = () => ++count;""".replace("\n        ", "\n"),
        other="""export const a = 1;
export const b = 2;
export default function (x) {return 2 * x}""",
    )
    assert main.run("[m.default(5), m.renamed, m.b, m.add(), m.count]") == [11, 1, 2, 1, 1]


@pytest.mark.parametrize(
    ("sources", "error", "says"),
    [
        ({"main": "export const a = ;"}, ValueError, r"main\.js:1:18"),
        ({"main": "\nthrow new Error('boom');"}, JSException, r"main\.js: <anon.*:2: Error: boom"),
        ({"main": 'import "./main.js";'}, ValueError, r"circle: main\.js > main\.js"),
        ({"main": 'export * from "./other.js";'}, ValueError, "in a form that"),
        ({"main": "export const {a, b} = {a: 1, b: 2};"}, ValueError, "in a form that"),
        ({"main": 'import "./none.js";'}, FileNotFoundError, r"none\.js"),
    ],
)  # fmt: skip
def test_what_it_cannot_load_is_named(make, sources, error, says):
    with pytest.raises(error, match=says):
        make(**sources)


def test_without_a_page_a_view_throws_and_its_model_runs(make):
    main = make(
        main="""import {html} from "../../assets/vendor/lit.js";
import * as d3 from "d3";
export const model = (x) => 2 * x;
export const view = () => html`<b></b>`;
export const plot = () => d3.select("p");
export const draw = () => document.createElement("div");"""
    )
    assert main.call("model", 2) == 4
    with pytest.raises(JSException, match=r"html of \.\./\.\./assets/vendor/lit\.js is not loaded"):
        main.call("view")
    with pytest.raises(JSException, match="select of d3 is not loaded"):
        main.call("plot")
    with pytest.raises(JSException, match="document"):
        main.call("draw")


def test_what_a_function_throws_is_told_and_endless_loops_end(make, monkeypatch):
    monkeypatch.setattr("tests.widgets.js.SECONDS", 0.2)
    main = make(
        main="""export const a = () => {throw new Error("no head 3");};
export const b = () => {for (;;);};"""
    )
    with pytest.raises(JSException, match="no head 3"):
        main.call("a")
    with pytest.raises(JSException, match="terminated by timeout"):
        main.call("b")
