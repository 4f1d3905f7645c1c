"""Errors for unsupported constructs and missing names: file, line, word, nearest valid word."""

import pytest

from course.problems import Problems
from tests.engine.sites import Site, python

HEAD = "---\ntitle: A lesson\n---\n"  # lines 1 to 3


def ojs(source):
    return f"```{{ojs}}\n{source}\n```\n"


# (text from line 4 on, message after "lessons/a.qmd:")
MISTAKES = {
    "cell option": (
        python("1", lable="x"),
        '5: unknown cell option "lable"; did you mean "label"?',
    ),
    "ojs option": (
        "```{ojs}\n//| eval: false\nx = 1\n```\n",
        '5: unknown cell option "eval"; valid: echo, output',
    ),
    "option value": (python("1", echo="maybe"), "5: \"echo\" must be true or false, not 'maybe'"),
    "option yaml": (python("1", label='"x'), "5: bad YAML: "),
    "label spelling": (python("1", label="a b"), '5: the label "a b" may hold'),
    "cell language": ("```{r}\n1\n```\n", '4: unknown cell language "r"; valid: ojs, python'),
    "indented cell": ("- x\n\n  ```{python}\n  1\n  ```\n", "6: a cell must start in the line's"),
    "shortcode": (
        "\n{{< vidoe x.mp4 >}}",
        '5: unknown shortcode "vidoe"; valid: include',
    ),
    "div class": (
        "::: {.calout-tip}\nx\n:::\n",
        '4: unknown class "calout-tip"; did you mean "callout-tip"?',
    ),
    "class of the stylesheet": (
        "[x]{.knownclass}\n",
        '4: unknown class "knownclass"; did you mean "known-class"?',
    ),
    "class in a comment of the stylesheet": (
        "[x]{.no-longer}\n",
        '4: unknown class "no-longer"',
    ),
    "badge": ("[traned]{.source}\n", '4: unknown badge "traned"; did you mean "trained"?'),
    "badge in a caption": (
        python("1", **{"fig-cap": '"x [invented]{.source}"'}),
        '5: unknown badge "invented"; ',
    ),
    "widget without badge": (
        "::: {.widget}\nx\n:::\n\n[random]{.source}\n",
        "4: the widget doesn't say where its numbers come from",
    ),
    "attribute": ("[x]{langg=en}\n", '4: unknown attribute "langg"; did you mean "lang"?'),
    "open div": ("\n::: {.callout-tip}\nx\n", "is never closed"),
    "surplus div end": ("x\n\n:::\n", '6: ":::" closes no div'),
    "include": (
        "{{< include /_prelud.qmd >}}\n",
        '4: there is no file "/_prelud.qmd" to include; did you mean "_prelude.qmd"?',
    ),
    "image": (
        "\n![A plot](plot.pgn)\n",
        '5: unknown image "plot.pgn"; did you mean "plot.png"?',
    ),
    "link": (
        "[next](../indx.qmd)\n",
        '4: unknown link target "../indx.qmd"; did you mean "../index',
    ),
    "link between marks of a comment that are code": (
        "`<!--` [x](gone.md) `-->`\n",
        '4: unknown link target "gone.md"',
    ),
    "link between two lone ticks": (
        "A ` alone.\n\n[x](gone.md) and a ` more.\n",
        '6: unknown link target "gone.md"',
    ),
    "formula with a blank line": (
        "$$\nx\n\ny\n$$ {#eq-sum}\n",
        'the formula that begins with "$$" is never closed',
    ),
    "link outside the site": ("[x](../../../etc/hosts)\n", "4: unknown link target"),
    "place in a page": (
        "## Here {#sec-here}\n\n[x](#sec-heer)\n",
        '6: unknown place in lessons/a.qmd "#sec-heer"; did you mean "#sec-here"?',
    ),
    "citation": (
        "See @knuth1948.\n",
        '4: unknown bibliography key "@knuth1948"; did you mean "@knuth1984"?',
    ),
    "cross-reference": (
        "$$x$$ {#eq-sum}\n\nSee @eq-sun.\n",
        '6: unknown reference "@eq-sun"; did you mean "@eq-sum"?',
    ),
    "no such reference at all": (
        "See @fig-x.\n",
        '4: unknown reference "@fig-x"; there is none to refer to',
    ),
    "a cell's label that a heading has": (
        "## Exercises\n\n" + python("1", label="exercises"),
        '7: the label "exercises" is also the id of a heading, at line 4',
    ),
    "duplicate label": (
        python("1", label="twice") + python("2", label="twice"),
        '9: duplicate label "twice": also at lessons/a.qmd:5',
    ),
    "label twice in prose": (
        "## A {#sec-a}\n\n::: {#sec-a}\nx\n:::\n",
        '6: duplicate label "sec-a": also at lessons/a.qmd:4',
    ),
    "code of R in the text": ("The sum is `{r} 2 + 2`.\n", "4: of code in the text only"),
    "a cell that isn't run": ("```{{python}}\n1\n```\n", "4: cells that are shown and not run"),
    "annotation": (python("x = 1  # <1>"), "5: annotations of code"),
    "annotation of shown code": ("```python\nx = 1  # <1>\n```\n", "5: annotations of code"),
    "attribute of a fence": (
        '```{.python filename="a.py"}\nx\n```\n',
        '4: unknown attribute "filename" of a block of code',
    ),
    "theorem": ("::: {#thm-x}\nx\n:::\n", "4: #thm-x: only figures"),
    "callout numbered as a section": (
        "::: {.callout-note #sec-x}\nx\n:::\n",
        "4: #sec-x: a callout isn't numbered",
    ),
    "div numbered as a section": (
        "::: {#sec-x}\nx\n:::\n",
        "4: #sec-x: only a heading is numbered",
    ),
    "reference in braces": ("See @{fig-x}.\n", '4: unknown reference "@fig-x"'),
    "reference to a theorem": ("See @thm-x.\n", "4: @thm-x: references are to"),
    "reference in capitals": ("See @Fig-x.\n", "4: @Fig-x: references are to"),
    "kind said twice": (
        "## A {#sec-a}\n\nSee [part @sec-a].\n",
        "6: a reference in brackets says its kind twice",
    ),
    "words after a reference": (
        "## A {#sec-a}\n\nSee [@sec-a, there].\n",
        "6: what follows a reference in brackets is lost",
    ),
    "label without a blank": ("$$x$$ {#eq-x}.\n", "4: a formula's label must have a blank"),
    "attribute of a quoted fence": (
        "> ``` {.python lang=en}\n> x\n> ```\n",
        '4: unknown attribute "lang" of a block of code',
    ),
    "Markdown in a summary": (
        python("1", code_fold="true", code_summary="See *it*"),
        '6: "code-summary" takes plain text',
    ),
    "place of the references": ("::: {#refs}\n:::\n", "4: #refs: the references"),
    "tasks": ("- [x] done\n", "4: lists of tasks"),
    "numbered example": ("(@good) A sentence.\n", "4: numbered examples"),
    "image with a blank": ("![x](<a b.png>)\n", '4: unknown image "a b.png"'),
    "cell never closed": ("```{python}\nx = 1\n", '4: the code that begins with "```{python}"'),
    "code never closed": ("\n~~~\nx\n", '5: the code that begins with "~~~" is never closed'),
    "formula never closed": ("\n$$\nx\n", '5: the formula that begins with "$$" is never closed'),
    "ojs syntax": (ojs("x = 1\ny = (oops"), "lessons/a.qmd:"),
}


@pytest.fixture
def lesson(site):
    site.write("_prelude.qmd", "Welcome.\n")
    site.write("lessons/plot.png", "")
    return lambda text: site.write("lessons/a.qmd", HEAD + text) or site.check()


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_place(lesson, text, message):
    [found] = lesson(text)
    assert found.startswith("lessons/a.qmd:")
    assert message in found


HARMLESS = {
    "in code": "`@nobody` `{{< nothing >}}` `[a](b)` `${x}`\n",
    "in a formula": "$a@b$ and $$\n[a](b) @c\n$$\n",
    "in a block of code": "```markdown\n::: {.nothing}\n{{< nothing >}}\n[a](b) @c {#sec-x}\n```\n",
    "in a comment": "<!-- @nobody\n[a](b) -->\n",
    "an address": "me@example.org, <https://example.org/@x> and [x](https://example.org/#y)\n",
    "attributes that pass": '[x]{data-row="F11" style="top: 0" aria-label="a @b" .other-class}\n',
    "raw HTML": "```{=html}\n<b class='any'>x</b>\n```\n\n`<i class='any'>`{=html}x`</i>`{=html}\n",
    "links that exist": "[a](../index.qmd) [b](/index.qmd) [c](plot.png) [d](#it-is-d_k)\n\n"
    "## It *is* `d_k`! {.unnumbered}\n",
    "nested divs": ":::: {.callout-note}\n::: {.known-class}\nx\n:::\n::::\n",
    "references in brackets": "## A {#sec-a}\n\n[@sec-a], [-@sec-a] and [see @knuth1984, p. 3].\n",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_what_only_looks_like_a_mistake_passes(lesson, text):
    assert lesson(text) == []


def test_all_mistakes_are_told_at_once_in_order(lesson):
    found = lesson(python("1", lable="x") + "@nobody\n\n::: {.nothing}\n:::\n")
    assert [line.split(": ")[0] for line in found] == [
        "lessons/a.qmd:5", "lessons/a.qmd:8", "lessons/a.qmd:10",
    ]  # fmt: skip


def test_a_mistake_in_an_include_is_told_once_with_the_includes_own_line(site):
    site.write("_prelude.qmd", "Hello.\n\n@nobody\n")
    for name in "ab":
        site.write(f"lessons/{name}.qmd", HEAD + "{{< include /_prelude.qmd >}}\n")
    [found] = site.check()
    assert found.startswith('_prelude.qmd:3: unknown bibliography key "@nobody"')


def test_an_include_in_a_cell_is_put_in_too(site):
    site.write("_cell.py", "x = (\n")
    site.write("lessons/a.qmd", HEAD + "```{python}\n{{< include /_cell.py >}}\n```\n")
    with pytest.raises(Problems, match="SyntaxError"):
        site.render()


def test_lines_after_an_include_are_still_right(site):
    site.write("_prelude.qmd", "One.\n\nTwo.\n\nThree.\n")
    site.write("lessons/a.qmd", HEAD + "{{< include ../_prelude.qmd >}}\n\n@nobody\n")
    assert site.check()[0].startswith("lessons/a.qmd:6: ")


def test_an_include_that_goes_round_is_refused(site):
    site.write("_a.qmd", "{{< include /_b.qmd >}}\n")
    site.write("_b.qmd", "x\n\n{{< include _a.qmd >}}\n")
    site.write("lessons/a.qmd", HEAD + "{{< include /_a.qmd >}}\n")
    assert site.check() == [
        "_b.qmd:3: the include goes round in a circle: lessons/a.qmd → _a.qmd → _b.qmd → _a.qmd"
    ]


FRONT_MATTER = {
    "unknown key": ("titel: x", '2: unknown front-matter key "titel"; did you mean "title"?'),
    "wrong value": ("title: [x]", "2: \"title\" must be a text, not ['x']"),
    "missing stylesheet": ("title: x\ncss: ../lost.css", '3: unknown stylesheet "../lost.css"'),
    "bad YAML": ("title: x\nsubtitle: [1,", "bad YAML: "),
    "Markdown": ("title: The *first*", '2: "title" takes plain text, without Markdown'),
    "key twice": ("title: x\ntitle: y", '3: "title" is given twice'),
}


@pytest.mark.parametrize(("yaml", "message"), FRONT_MATTER.values(), ids=FRONT_MATTER)
def test_front_matter_is_read_strictly(site, yaml, message):
    site.write("lessons/a.qmd", f"---\n{yaml}\n---\nx\n")
    [found] = site.check()
    assert found.startswith("lessons/a.qmd:")
    assert message in found


def test_front_matter_must_end(site):
    site.write("lessons/a.qmd", "---\ntitle: x\n")
    assert site.check() == ['lessons/a.qmd:1: the front matter has no closing "---"']


CONFIG = {
    "unknown key": (
        "  execute-dir:",
        "  execute-dri:",
        '4: unknown _quarto.yml key "project.execute-dri"; did you mean "execute-dir"?',
    ),
    "unknown nested key": (
        "    toc: true",
        "    tok: true",
        '14: unknown _quarto.yml key "format.html.tok"; did you mean "toc"?',
    ),
    "unsupported value": (
        "html-math-method: mathml",
        "html-math-method: katex",
        '15: "format.html.html-math-method" must be "mathml", not \'katex\'',
    ),
    "bad YAML": ("website:", "website: [", "bad YAML: "),
    "missing style": ("style.css", "styel.css", '16: there is no file "styel.css"'),
    "missing bibliography": ("references.bib", "refs.bib", '17: there is no file "refs.bib"'),
    "missing page": (
        "      - index.qmd",
        "      - indx.qmd",
        '11: unknown page "indx.qmd"; did you mean "index.qmd"?',
    ),
}


@pytest.mark.parametrize(("old", "new", "message"), CONFIG.values(), ids=CONFIG)
def test_quarto_yml_is_read_strictly(site, old, new, message):
    site.edit("_quarto.yml", old, new)
    [found] = site.check()
    assert found.startswith("_quarto.yml:")
    assert message in found


def test_a_folder_without_a_site_is_named(tmp_path):
    site = Site(tmp_path / "site")
    (site.root / "_quarto.yml").unlink()
    assert site.check() == [f"_quarto.yml: there is none in {site.root}"]


@pytest.mark.parametrize("html", ["<a href='nowhere.html'>x</a>", '<img alt="" src="nowhere.png">'])
def test_an_address_in_raw_html_must_lead_somewhere(site, html):
    site.write("index.qmd", f"Hello.\n\n```{{=html}}\n{html}\n```\n")
    with pytest.raises(Problems, match=r'index\.qmd:4: "nowhere\.\w+" leads nowhere'):
        site.render()
    assert not (site.root / "_site").exists()


def test_a_formula_that_cannot_be_read_is_named(site):
    site.write("index.qmd", "Hello.\n\nThis $\\frac{1$ fails.\n")
    with pytest.raises(Problems, match=r"index\.qmd:3: Pandoc says: .*\\frac\{1"):
        site.render()


@pytest.mark.parametrize("shown", ["5", "display(SVG(DRAWING))"])
def test_a_figure_of_two_outputs_is_refused(site, shown):
    """Quarto makes (a) and (b) of them."""
    imports = "from IPython.display import SVG, display"
    source = f"{imports}\nDRAWING = '<svg/>'\ndisplay(SVG(DRAWING))\n{shown}"
    site.write("index.qmd", python(source, label="fig-x", fig_cap="Two"))
    with pytest.raises(Problems, match=r"index\.qmd:2: fig-x shows more than one output"):
        site.render()
