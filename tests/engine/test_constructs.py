"""Each supported construct of a page, on one page with all of them."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.engine.sites import Site, python

PAGE = f"""\
---
title: "Q & A <constructs>"
subtitle: "All of them"
description: "What the engine can do"
css: own.css
---
{{{{< include /_prelude.qmd >}}}}

## The *first* section {{#sec-first}}

Inline $W_Q$ and $q_i + v$; a call of `@nobody`, [a link](/index.qmd), [root](/style.css),
[other](other.qmd#sec-there), [mine]{{.my-own}}. See @sec-first, @sec-deep, [-@fig-one],
@fig-one,
@fig-picture, @tbl-words, @eq-sum, @eq-plain and [@knuth1984, p. 3].

$$K^\\top \\mathbf{{v}} k$$ {{#eq-sum}}

$$
a = b
$$ {{#eq-plain}}

![A *picture*](picture.svg){{#fig-picture fig-alt="A circle"}}

![Unlabelled](picture.svg)

### Deep {{#sec-deep}}

{python("print('shown')", label="shown")}
{python("print('no code')", echo="false", label="no-code")}
{python("print('no output')", output="false", label="no-output")}
{python("silent = 1", echo="false", label="silent")}
{python("import time; print('one', flush=True); time.sleep(0.5); print('two')", label="slow")}
{python("print('**bold**')", output="asis", echo="false", label="raw")}
{python("1 + 1", code_fold="true", label="folded")}
{python("2 + 2", code_fold="show", code_summary='"See <it>"', label="unfolded")}
{python("import warnings; warnings.warn('careful')", label="warned")}
{python("from IPython.display import Markdown; Markdown('*said* ${{x}}')", label="said")}
{
    python(
        "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()",
        label="fig-one",
        fig_cap='"One *line*"',
        fig_alt='"Rising"',
    )
}

```python
plain = "code"
```

| word | weight |
| --- | --- |
| cat | 0.9 |

: Words {{#tbl-words}}

::: {{.callout-important collapse="false"}}
Open.
:::

::: {{.known-class #box data-row="F1"}}
[span]{{.third}}
:::

A note.^[At the foot.]

```{{=html}}
<b class="anything">raw</b>
```
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("constructs") / "site", page=PAGE)
    site.write("_prelude.qmd", "From the prelude.\n")
    site.write("lessons/own.css", ".my-own { color: inherit; }")
    site.write("lessons/other.qmd", "---\ntitle: Other\n---\n\n## There {#sec-there}\n")
    site.write("lessons/picture.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>')
    site.edit("_quarto.yml", "    toc: true", "    toc: true\n    fig-format: svg")
    site.edit("_quarto.yml", "      - index.qmd", SIDEBAR)
    site.write("_quarto.yml", (site.root / "_quarto.yml").read_text() + FILTER)
    filters = "course/render/filters/qkv-math.lua"
    site.write(filters, Path(filters).read_text(encoding="utf-8"))
    site.render()
    return site


SIDEBAR = """\
      - href: index.qmd
        text: "Start"
      - section: "Part one"
        contents:
          - lessons/page.qmd
          - text: "Still to write"
          - lessons/other.qmd"""
FILTER = """\
filters:
  - at: post-quarto
    path: course/render/filters/qkv-math.lua
"""


@pytest.fixture(scope="module")
def page(site):
    return BeautifulSoup(site.html("lessons/page.html"), "html.parser")


def text(element):
    return " ".join(element.get_text().split())


# selector → text of its first element (None: no such element; "": any text)
EXPECTED = {
    "title": "Q & A <constructs> – Small",
    "h1.title": "Q & A <constructs>",
    "p.subtitle.lead": "All of them",
    "#title-block-header .description": "What the engine can do",
    "head meta[name=description][content='What the engine can do']": "",
    "section#sec-first.level2 > h2": "The first section",
    "section#sec-first section#sec-deep.level3 > h3": "Deep",
    "main a[href='../index.html']": "a link",
    "main a[href='../style.css']": "root",
    "main a[href='other.html#sec-there']": "other",
    "a.quarto-xref[href='#sec-first']": "Section 1",
    "a.quarto-xref[href='#sec-deep']": "Section 1.1",
    "a.quarto-xref[href='#eq-sum']": "Equation 1",
    "a.quarto-xref[href='#eq-plain']": "Equation 2",
    "a.quarto-xref[href='#fig-picture']": "Figure 1",
    "a.quarto-xref[href='#fig-one']": "2",
    "a.quarto-xref[href='#tbl-words']": "Table 1",
    "span.citation a[href='#ref-knuth1984']": "Knuth 1984, 3",
    "#quarto-appendix #quarto-bibliography #ref-knuth1984": "",
    "#quarto-appendix section#footnotes li#fn1": "At the foot.↩︎",
    "main section a.footnote-ref[href='#fn1']": "1",
    "span#eq-sum > math[display=block]": "",
    "div#fig-picture.quarto-float figure img.figure-img.img-fluid[alt='A circle']": "",
    "div#fig-picture figcaption": "Figure 1: A picture",
    "div#fig-picture figcaption em": "picture",
    "div.quarto-figure:not(.quarto-float) > figure.figure > figcaption": "Unlabelled",
    "div#shown.cell[data-execution_count='1'] .cell-output-stdout pre code": "shown",
    "#shown div.sourceCode.cell-code > pre.sourceCode.python.code-with-copy": "print('shown')",
    "div#shown code .bu, div#shown code .st": "",
    "div#shown button.code-copy-button[aria-label]": "",
    "div#no-code .cell-output-stdout": "no code",
    "div#no-code .cell-code": None,
    "div#no-output .cell-code": "print('no output')",
    "div#no-output .cell-output": None,
    "#silent": None,
    "div#slow .cell-output-stdout": "one two",
    "div#slow .cell-output ~ .cell-output": None,
    "div#raw > p > strong": "bold",
    "div#cell-folded details.code-fold:not([open]) > summary": "Code",
    "div#cell-unfolded details.code-fold[open] > summary": "See <it>",
    "div#folded.cell-output-display": "2",
    "div#warned .cell-output-stderr": "",
    "div#said.cell-output-display.cell-output-markdown em": "said",
    "div#cell-fig-one div#fig-one.quarto-float > figure.quarto-float-fig img[alt=Rising]": "",
    "div#fig-one img[loading=lazy][width][height]": "",
    "div#fig-one figcaption": "Figure 2: One line",
    "div.sourceCode:not(.cell-code) pre.python": 'plain = "code"',
    "div#tbl-words.quarto-float figure.quarto-float-tbl > figcaption": "Table 1: Words",
    "div#tbl-words table.table td": "cat",
    "div.callout.callout-important .callout-header[role=button][aria-expanded=true]": "",
    "div.callout-important .callout-collapse.show": "Open.",
    "div#box.known-class[data-row=F1] span.third": "span",
    "b.anything": "raw",
    "nav#TOC a#toc-sec-deep.nav-link": "Deep",
    "#quarto-sidebar a.sidebar-link[href='../index.html']": "Start",
    "#quarto-sidebar .sidebar-item-section a.active[aria-current=page]": "Q & A <constructs>",
    "#quarto-sidebar .sidebar-to-come": "Still to write (to come)",
    "#quarto-sidebar a:-soup-contains('Still')": None,
    ".nav-page-previous a[href='../index.html'] .nav-page-text": "Start",
    ".nav-page-next a[href='../lessons/other.html'] .nav-page-text": "Other",
    "a.skip-link[href='#quarto-document-content']": "",
    "main#quarto-document-content": "",
}


@pytest.mark.parametrize("selector", EXPECTED)
def test_the_page_holds(page, selector):
    found = page.select_one(selector)
    if EXPECTED[selector] is None:
        assert found is None
    else:
        assert found is not None
        assert EXPECTED[selector] in ("", text(found))


@pytest.mark.parametrize(
    ("letter", "css_class"), [("Q", "q"), ("q", "q"), ("K", "k"), ("k", "k"), ("v", "v")]
)
def test_q_k_and_v_are_marked_in_formulas(page, letter, css_class):
    marked = page.select(f"math mi.{css_class}")
    assert letter in {mi.get_text() for mi in marked}


def test_a_bold_v_is_marked_and_other_letters_are_not(page):
    assert [mi["class"] for mi in page.select("#eq-sum mi") if mi.get_text() in "𝐯𝒗"] == [["v"]]
    assert not [mi for mi in page.select("math mi.q, math mi.k, math mi.v") if mi.get_text() == "W"]


def test_a_callout_takes_its_title_from_an_attribute_too(tmp_path):
    site = Site(
        tmp_path, a='---\ntitle: "It isn\'t"\n---\n::: {.callout-tip title="My *own*"}\nx\n:::\n'
    )
    site.render()
    page = BeautifulSoup(site.html("lessons/a.html"), "html.parser")
    [title] = page.select(".callout-title-container")
    assert title.select_one("em").get_text() == "own"
    assert not page.select("[title]:not(link, button, a)")
    assert page.select_one("h1").get_text() == "It isn’t"


def test_figures_lie_beside_the_page_and_are_the_same_each_time(site):
    folder = site.root / "_site/lessons/page_files/figure-html"
    assert [path.name for path in folder.iterdir()] == ["fig-one-output-1.svg"]
    before = (folder / "fig-one-output-1.svg").read_bytes()
    site.edit("requirements.txt", "numpy==1", "numpy==3")
    site.render()
    assert (folder / "fig-one-output-1.svg").read_bytes() == before


def test_every_link_is_relative(page):
    addresses = [tag[key] for key in ("href", "src") for tag in page.select(f"[{key}]")]
    assert addresses
    assert not [one for one in addresses if re.match(r"/|\w+:", one)]


def test_the_pages_own_stylesheet_comes_last_and_its_classes_are_known(site, page):
    styles = [link["href"] for link in page.select("link[rel=stylesheet]")]
    assert styles[-1] == "../lessons/own.css"
    assert (site.root / "_site/lessons/own.css").is_file()
    assert site.check() == []


def test_images_and_linked_files_come_along(site):
    assert (site.root / "_site/lessons/picture.svg").is_file()
    assert (site.root / "_site/style.css").is_file()


def test_ids_are_unique(page):
    ids = [tag["id"] for tag in page.select("[id]")]
    assert len(ids) == len(set(ids))
