"""Names of the source in a lesson: they lead to its pages, and back."""

import pytest
from bs4 import BeautifulSoup

from course.render.read.names import MODULES, names_in
from tests.conftest import ROOT
from tests.engine.sites import Site

LESSON = """---
title: Own
---
Outside of a section, `fused_attention(q, k, v)`.

## First of `rollout`

`rollout`, `entropy` in [a link to `entropy`](../../index.qmd), `KVCache.append`, `flex.py`,
`F.fused_attention`, `unknown`, `_kernel`, `KVCache._grow`.

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
MENTIONED = ("fused_attention", "KVCache", "create_causal_mask", "usable_backends", "rollout")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A site with the course's modules, a lesson, and places for mentions."""
    site = Site(tmp_path_factory.mktemp("sources") / "site")
    site.extend()
    site.write("style.css", ".mentions { color: red }")
    site.write("modules/own/page.qmd", LESSON)
    places = "\n\n".join(f'::: {{.mentions data-name="{name}"}}\n:::' for name in MENTIONED)
    for name in MODULES:
        site.write(f"{name}.py", (ROOT / f"{name}.py").read_text(encoding="utf-8"))
        site.write(f"sources/{name}.qmd", "---\ntitle: x\n---\n")
    site.write("sources/index.qmd", f"---\ntitle: All\n---\n\n{places}\n")
    site.edit("_quarto.yml", '"lessons/*.qmd"', '"modules/*/*.qmd", "sources/*.qmd"')
    site.render()
    return site


def links(site, page, selector):
    return [
        (link.get_text(), link["href"].rpartition("/")[2])
        for link in BeautifulSoup(site.html(page), "html.parser").select(selector)
    ]


def test_names_in_a_lesson_lead_there(small):
    assert links(small, "modules/own/page.html", "a.source-link") == [
        ("fused_attention(q, k, v)", "attention.html#fused_attention"),
        ("rollout", "analysis.html#rollout"),
        ("entropy", "analysis.html#entropy"),
        ("KVCache.append", "attention.html#KVCache.append"),
        ("flex.py", "flex.html"),
        ("rollout", "analysis.html#rollout"),
    ]


def test_a_function_names_the_first_section_that_uses_it(small):
    assert links(small, "sources/index.html", ".mentions a") == [
        ("Own", "page.html"),
        ("Own: First of rollout", "page.html#first-of-rollout"),
        ("Own: Second", "page.html#second"),
        ("Own: First of rollout", "page.html#first-of-rollout"),
    ]


# The last of the site: it edits it.
def test_a_new_name_renews_the_pages_and_another_line_does_not(small):
    small.edit("analysis.py", "import torch\n", "import torch  # edited\n")
    assert small.render()["modules/own/page.qmd"] == "cached"
    small.edit("analysis.py", "def rollout(", "def rolled_out(")
    assert small.render()["modules/own/page.qmd"] == "assembled"


def test_a_name_begins_at_its_decorators_and_comments():
    source = '# A.\n\n# Why.\n@cache\ndef f():\n    """One\n    line.\n\n    More."""\n\nx = 1\n'
    assert names_in(source) == [("f", 3, 9, "One line.")]
