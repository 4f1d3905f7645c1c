"""The pages of the source: every line and name of the modules, each in its place."""

import ast
import re

import pytest

from course.render.read.names import MODULES
from tests.conftest import ROOT


def public(nodes, *kinds):
    return [node for node in nodes if isinstance(node, kinds) and node.name[0] != "_"]


def definitions(name):
    tree = ast.parse((ROOT / f"{name}.py").read_text(encoding="utf-8"))
    return public(tree.body, ast.FunctionDef, ast.ClassDef)


@pytest.mark.parametrize("name", MODULES)
def test_every_line_stands_on_the_page_under_its_number(read, name):
    lines = (ROOT / f"{name}.py").read_text(encoding="utf-8").splitlines()
    shown = {}
    for block in read(f"sources/{name}.html").select(".source-code"):
        start = int(re.fullmatch(r"--line: (\d+)", block["style"])[1])
        for number, line in enumerate(block.select_one("code").get_text().split("\n"), start):
            assert number not in shown
            shown[number] = line
    left_out = {n: line for n, line in enumerate(lines) if n not in shown and line}
    assert all(re.match("# --- .* ---", line) for line in left_out.values()), left_out
    assert all(lines[number] == line for number, line in shown.items())


@pytest.mark.parametrize("name", MODULES)
def test_each_function_class_and_method_has_its_anchor_and_is_listed(read, name):
    page, index = read(f"sources/{name}.html"), read("sources/index.html")
    headings = [heading.get_text() for heading in page.select("section > :is(h2, h3) > code")]
    assert headings == [node.name for node in definitions(name)]
    listed = [row.get_text().split(" – ")[0] for row in page.select(".source-names li")]
    assert listed == [node.name for node in definitions(name) if ast.get_docstring(node)]
    links = [link["href"].removeprefix("../sources/") for link in index.select("main section a")]
    assert f"{name}.html" in links
    for node in definitions(name):
        assert f"{name}.html#{node.name}" in links
        assert node.name in page.find(id=node.name).select_one(".source-code code").get_text()
        methods = public(node.body, ast.FunctionDef) if isinstance(node, ast.ClassDef) else []
        for method in methods:
            code = page.find(id=f"{node.name}.{method.name}").get_text()
            assert f"def {method.name}(" in code


def test_every_module_has_its_page():
    assert set(MODULES) == {path.stem for path in ROOT.glob("*.py")}
    assert {path.stem for path in (ROOT / "sources").glob("*.qmd")} == {*MODULES, "index"}
