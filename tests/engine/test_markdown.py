"""What `read/markdown.py` finds in the course's pages is what Pandoc finds there."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator

import pypandoc
import pytest

from course.render.read.markdown import Prose
from course.render.read.page_source import read_page
from course.render.read.project import load_project
from tests.conftest import ROOT

ATTRIBUTES_AT = {"Div": 0, "Span": 0, "Link": 0, "Image": 0, "Code": 0, "Header": 1}
CASES = {
    "links": "[a](b.md), [c [d]](e.md#f), ![g](h.png), `[l](m)`, [n][o]\n\n[o]: p.md\n",
    "code": "``a ` [b](c)`` [d](e) `f\ng` and ` [h](i)\n\n[j](k) `\n",
    "comments": "`<!--` [a](b) `-->` <!-- [c](d) ` -->[e](f)\n",
    "formulas": "$[a](b)$ 5$ [c](d) $6 \\$ [e](f) $x$y $$\n[g](h)\n$$ [i](j) $`a` [k](l)$\n",
    "citations": "@a [@b; see @c, p. 3] me@d.org `@e` \\@f *@g* -@h\n\n@i\n",
    "attributes": "[a]{.b #c}, `d`{.e}, [f](g){.h}, ![i](j){.k}\n\n## L {.m}\n\n"
    "::: {.n .o}\np\n:::\n",
    "headings": "# A *b* `c_d`\n\n## $x$ and [e](f) {#g}\n\n### 2 times \\#\n\n#### H! {.i}\n",
}


def of_pandoc(source: str) -> dict[str, Counter]:
    command = [pypandoc.get_pandoc_path(), "--from=markdown", "--to=json"]
    run = subprocess.run(command, input=source, capture_output=True, encoding="utf-8", check=True)
    counts = {key: Counter() for key in ("links", "images", "classes", "citations", "headings")}
    for element in elements(json.loads(run.stdout)["blocks"]):
        kind, content = element["t"], element.get("c")
        if kind in ATTRIBUTES_AT:
            identifier, classes, _ = content[ATTRIBUTES_AT[kind]]
            counts["classes"].update(set(classes) - {"uri", "email"})
            if kind == "Header":
                counts["headings"][unnumbered(identifier)] += 1
            if kind == "Image" or (kind == "Link" and not {"uri", "email"} & set(classes)):
                counts["images" if kind == "Image" else "links"][content[2][0]] += 1
        elif kind == "Cite":
            counts["citations"].update(one["citationId"] for one in content[0])
    return counts


def elements(value) -> Iterator[dict]:
    if isinstance(value, dict):
        if "t" in value:
            yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from elements(item)


def of_ours(blocks: list[Prose]) -> dict[str, Counter]:
    attributes = [one for block in blocks for one in [*block.attributes(), *block.opening_divs()]]
    links = [one for block in blocks for one in block.links()]
    return {
        "links": Counter(part.text for part, is_image in links if not is_image),
        "images": Counter(part.text for part, is_image in links if is_image),
        "classes": Counter(name for given, _ in attributes for name in given.classes),
        "citations": Counter(part.text for block in blocks for part in block.references()),
        "headings": Counter(unnumbered(name) for block in blocks for name, _ in block.headings()),
    }


def unnumbered(identifier: str) -> str:
    """Pandoc numbers headings of the same name: answer, answer-1."""
    return re.sub(r"-\d+$", "", identifier)


@pytest.mark.parametrize("source", load_project(ROOT).sources)
def test_of_a_page(source):
    page, _ = read_page(ROOT, source)
    assert of_ours(page.prose) == of_pandoc("\n\n".join(block.source for block in page.prose))


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_of_a_hard_case(text, tmp_path):
    (tmp_path / "a.qmd").write_text(text, encoding="utf-8")
    page, _ = read_page(tmp_path, "a.qmd")
    assert of_ours(page.prose) == of_pandoc(text)
