"""The pages of the source: whole, with anchors; names in lessons lead there, and back."""

import ast
import re

import pytest
from bs4 import BeautifulSoup

from course.render.write.mentions import with_mentions
from tests.conftest import ROOT
from tests.engine.sites import Site

MODULES = sorted(path.stem for path in ROOT.glob("*.py"))
FILTER = "course/render/filters/sources.lua"
LISTING = '---\ntitle: "{0}.py"\n---\n\n::: {{.source-listing data-module="{0}.py"}}\n:::\n'
LESSON = """---
title: Own
---
Outside of a section, `fused_attention(q, k, v)`.

## First of `rollout`

`rollout`, `entropy` in [a link to `entropy`](../../index.qmd), `KVCache.append`, `flex.py`,
`F.fused_attention`, `unknown`, `_kernel` and `masked_softmax`{.no-link}.

## Second

`rollout` again.

```python
from attention import create_causal_mask
```

```python
def usable_backends(): # of the lesson's own
    ...
```
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("sources") / "site")
    site.write("style.css", ".source-listing, .source-index { color: red }")
    site.write("modules/own/page.qmd", LESSON)
    for name in MODULES:
        site.write(f"{name}.py", (ROOT / f"{name}.py").read_text(encoding="utf-8"))
        site.write(f"sources/{name}.qmd", LISTING.format(name))
    site.write("sources/index.qmd", "---\ntitle: All\n---\n\n::: {.source-index}\n:::\n")
    site.write(FILTER, (ROOT / FILTER).read_text(encoding="utf-8"))
    config = (site.root / "_quarto.yml").read_text(encoding="utf-8")
    config = config.replace('"lessons/*.qmd"', '"modules/*/*.qmd", "sources/*.qmd"')
    config += f"filters:\n  - at: post-quarto\n    path: {FILTER}\n"
    site.write("_quarto.yml", config)
    site.render()
    return site


def page(site, path):
    return BeautifulSoup(site.html(path), "html.parser")


@pytest.mark.parametrize("name", MODULES)
def test_every_line_stands_on_the_page_under_its_number(site, name):
    lines = (ROOT / f"{name}.py").read_text(encoding="utf-8").splitlines()
    shown = {}
    for block in page(site, f"sources/{name}.html").select(".source-code"):
        start = int(re.fullmatch(r"--line: (\d+)", block["style"])[1])
        for number, line in enumerate(block.select_one("code").get_text().split("\n"), start):
            assert number not in shown
            shown[number] = line
    left_out = {n: line for n, line in enumerate(lines) if n not in shown and line}
    assert all(re.match("# --- .* ---", line) for line in left_out.values()), left_out
    assert all(lines[number] == line for number, line in shown.items())


@pytest.mark.parametrize("name", MODULES)
def test_each_function_class_and_method_has_its_anchor(site, name):
    tree = ast.parse((ROOT / f"{name}.py").read_text(encoding="utf-8"))
    found = page(site, f"sources/{name}.html")
    public = [
        node for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]  # fmt: skip
    headings = [h.get_text() for h in found.select("h2 > code, h3 > code")]
    assert headings == [node.name for node in public]
    for node in public:
        place = found.find(id=node.name)
        assert place.select_one(".source-code code").get_text().find(f"{node.name}") >= 0
        for method in getattr(node, "body", []):
            if isinstance(node, ast.ClassDef) and isinstance(method, ast.FunctionDef):
                code = found.find(id=f"{node.name}.{method.name}").get_text()
                assert f"def {method.name}(" in code


def test_names_with_a_docstring_are_listed_first(site):
    names = page(site, "sources/analysis.html").select(".source-names li")
    tree = ast.parse((ROOT / "analysis.py").read_text(encoding="utf-8"))
    public = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert [name.get_text().split(" – ")[0] for name in names] == [
        name for name in public if name[0] != "_"
    ]
    assert all(len(name.get_text().split(" – ")[1]) > 20 for name in names)


def test_names_in_a_lesson_lead_there(site):
    links = page(site, "modules/own/page.html").select("a.source-link")
    assert [(link.get_text(), link["href"]) for link in links] == [
        ("fused_attention(q, k, v)", "../../sources/attention.html#fused_attention"),
        ("rollout", "../../sources/analysis.html#rollout"),
        ("entropy", "../../sources/analysis.html#entropy"),
        ("KVCache.append", "../../sources/attention.html#KVCache.append"),
        ("flex.py", "../../sources/flex.html"),
        ("rollout", "../../sources/analysis.html#rollout"),
    ]


def mentions(site, module, name):
    place = page(site, f"sources/{module}.html").find(id=name)
    return [(a.get_text(), a["href"]) for a in place.select(".mentions a")]


def test_a_function_names_the_first_section_that_uses_it(site):
    lesson = "../modules/own/page.html"
    first = [("Own: First of rollout", f"{lesson}#first-of-rollout")]
    assert mentions(site, "analysis", "rollout") == first
    assert mentions(site, "attention", "KVCache") == first
    assert mentions(site, "attention", "create_causal_mask") == [
        ("Own: Second", f"{lesson}#second")
    ]
    assert mentions(site, "attention", "fused_attention") == [("Own", lesson)]
    assert mentions(site, "attention", "usable_backends") == []


def test_the_index_has_every_public_name(site):
    found = page(site, "sources/index.html")
    linked = {a["href"] for a in found.select("main a")}
    assert {f"{name}.html" for name in MODULES} <= linked
    assert "attention.html#KVCache" in linked


# The last of the site: it edits it.
def test_an_edited_module_renews_the_pages(site):
    site.edit("analysis.py", "def rollout(", "def rolled_out(")
    assert site.render()["modules/own/page.qmd"] == "assembled"
    assert "rolled_out" in site.html("sources/analysis.html")


def test_pages_without_places_for_mentions_stay_as_they_are():
    assert with_mentions({"modules/a.html": "<p>", "index.html": "<a>"}) == {}


def test_every_module_has_its_page():
    pages = {path.stem for path in (ROOT / "sources").glob("*.qmd")}
    assert pages == {*MODULES, "index"}
