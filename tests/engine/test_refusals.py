"""Each mistake in the sources: its file, its line, what is wrong, and the nearest valid word."""

import re

import pytest

from course.check.terms import FOLDED
from course.problems import Problems
from tests.conftest import ROOT
from tests.engine.sites import Site, python

HEAD = "---\ntitle: A lesson\n---\n"  # lines 1 to 3
# (text from line 4 on, message after "lessons/a.qmd:")
MISTAKES = [
    (python("1", lable="x"), '5: unknown cell option "lable"; did you mean "label"?'),
    ("```{ojs}\n//| eval: false\nx = 1\n```", '5: unknown cell option "eval"; valid: echo, output'),
    (python("1", output="asis"), '5: unknown cell option "output"; '),
    (python("1", echo="maybe"), "5: \"echo\" must be true or false, not 'maybe'"),
    (python("1", code_fold="show"), '5: "code-fold" must be true'),
    (python("1", label='"x'), "5: bad YAML: "),
    (python("1", label="a b"), '5: the label "a b" may hold'),
    ("```{r}\n1\n```\n", '4: unknown cell language "r"; valid: ojs, python'),
    ("- x\n\n  ```{python}\n  1\n  ```\n", "6: a cell must start in the line's"),
    ("```{{python}}\n1\n```\n", "4: cells that are shown and not run"),
    ("```{python}\nx = 1\n", '4: the code that begins with "```{python}" is never closed'),
    ("\n~~~\nx\n", '5: the code that begins with "~~~" is never closed'),
    ("```{ojs}\nx = 1\ny = (oops\n```\n", ""),
    ("The sum is `{r} 2 + 2`.\n", "4: Quarto won't run this: write `{python} expression`"),
    ("\n{{< vidoe x.mp4 >}}", '5: unknown shortcode "vidoe"; valid: include'),
    ("{{< include /_prelud.qmd >}}\n", '4: there is no file "/_prelud.qmd" to include; did you'),
    ("::: {.bx}\nx\n:::\n", '4: unknown class "bx"; did you mean "box"?'),
    ("::: {.callout-note}\nx\n:::\n", '4: unknown class "callout-note"; valid: '),
    ("[x]{.knownclass}\n", '4: unknown class "knownclass"; did you mean "known-class"?'),
    ("[x]{.no-longer}\n", '4: unknown class "no-longer"'),  # stands in a comment of the stylesheet
    ("[x]{langg=en}\n", '4: unknown attribute "langg"; did you mean "lang"?'),
    ("\n::: {.box}\n## X\n", '5: the div "::: {.box}" is never closed'),
    ("x\n\n:::\n", '6: ":::" closes no div'),
    ("::: {.box #more}\nx\n:::\n", '4: "::: {.box #more}" begins with its title, such as ## '),
    ("[traned]{.source}\n", '4: unknown badge "traned"; did you mean "trained"?'),
    (python("1", fig_cap='"x [invented]{.source}"'), '5: unknown badge "invented"; '),
    ("::: {.widget}\nx\n:::\n\n[random]{.source}\n", "4: the widget doesn't say where its"),
    ("\n![A plot](plot.pgn)\n", '5: unknown image "plot.pgn"; did you mean "plot.png"?'),
    ("![x](<a b.png>)\n", '4: unknown image "a b.png"'),
    ("[next](../indx.qmd)\n", '4: unknown link target "../indx.qmd"; did you mean "../index'),
    ("`<!--` [x](gone.md) `-->`\n", '4: unknown link target "gone.md"'),
    ("A ` alone.\n\n[x](gone.md) and a ` more.\n", '6: unknown link target "gone.md"'),
    ("[x](../../../etc/hosts)\n", "4: unknown link target"),
    ("## Here {#sec-here}\n\n[x](#sec-heer)\n", '"#sec-heer"; did you mean "#sec-here"?'),
    ("$$\nx\n\ny\n$$\n", '4: the formula that begins with "$$" is never closed'),
    ("\n$$\nx\n", '5: the formula that begins with "$$" is never closed'),
    ("See @knuth1948.\n", '4: unknown bibliography key "@knuth1948"; did you mean "@knuth1984"?'),
    ("See @fig-x.\n", "4: @fig-x: nothing is numbered here; write a link"),
    ("## A {#sec-a}\n\nSee [@sec-a].\n", "6: @sec-a: nothing is numbered here"),
    ("$$x$$ {#eq-sum}\n", '4: "eq-sum": Quarto would number it'),
    (python("1", label="fig-x"), '5: "fig-x": Quarto would number it'),
    ("## Exercises\n\n" + python("1", label="exercises"), '7: the label "exercises" is also the'),
    (python("1", label="a") + python("2", label="a"), '9: duplicate label "a": also at lessons/a'),
    ("\nSo.^[Or not.]\n", '5: "^[": no page shows footnotes'),
    ("So.[^a]\n", '4: "[^a]": no page shows footnotes'),
    ("Text.\n::: {.box}\n## A box\n:::\n", '5: "::: {.box}" needs a blank line above it'),
    ("[x]{#a}\n\n[x]{#a}\n", '6: duplicate label "a": also at lessons/a.qmd:4'),
]  # fmt: skip


@pytest.fixture
def lesson(site):
    site.write("_prelude.qmd", "Welcome.\n")
    site.write("lessons/plot.png", "")
    return lambda text: site.write("lessons/a.qmd", HEAD + text) or site.check()


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_named_with_its_place(lesson, text, message):
    [line] = lesson(text)
    assert line.startswith("lessons/a.qmd:")
    assert message in line


HARMLESS = {
    "in code": "`@nobody` `{{< nothing >}}` `[a](b)` `${x}`\n",
    "in a formula": "$a@b$ and $$\n[a](b) @c\n$$\n",
    "in a block of code": "```markdown\n::: {.nothing}\n{{< nothing >}}\n[a](b) @c {#sec-x}\n```\n",
    "in a comment": "<!-- @nobody\n[a](b) -->\n",
    "an address": "me@example.org, <https://example.org/@x> and [x](https://example.org/#y)\n",
    "attributes that pass": '[x]{data-x="1" style="top: 0" aria-label="a @b" .other-class}\n',
    "raw HTML": "```{=html}\n<b class='any'>x</b>\n```\n\n`<i class='any'>`{=html}x`</i>`{=html}\n",
    "links that exist": "[a](../index.qmd) [b](/index.qmd) [c](plot.png) [d](#it-is-d_k)\n\n"
    "## It *is* `d_k`!\n",
    "nested divs": ":::: {.box}\n\n## X\n::: {.known-class}\nx\n:::\n::::\n",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_what_only_looks_like_a_mistake_passes(lesson, text):
    assert lesson(text) == []


def test_all_mistakes_are_told_at_once_in_order(lesson):
    lines = lesson(python("1", lable="x") + "@nobody\n\n::: {.nothing}\n:::\n")
    assert [line.split(": ")[0] for line in lines] == [
        "lessons/a.qmd:5", "lessons/a.qmd:8", "lessons/a.qmd:10",
    ]  # fmt: skip


def test_a_mistake_in_an_include_is_told_once_with_the_includes_own_line(site):
    site.write("_prelude.qmd", "Hello.\n\n@nobody\n")
    for name in "ab":
        site.write(f"lessons/{name}.qmd", HEAD + "{{< include /_prelude.qmd >}}\n")
    [line] = site.check()
    assert line.startswith('_prelude.qmd:3: unknown bibliography key "@nobody"')


def test_an_include_in_a_cell_is_put_in_too(site):
    site.write("_cell.py", "x = (\n")
    site.write("lessons/a.qmd", HEAD + "```{python}\n{{< include /_cell.py >}}\n```\n")
    with pytest.raises(Problems, match="SyntaxError"):
        site.render()


def test_lines_after_an_include_are_still_right(lesson):
    [line] = lesson("{{< include ../_prelude.qmd >}}\n\n@nobody\n")
    assert line.startswith("lessons/a.qmd:6: ")


def test_an_include_that_goes_round_is_refused(site):
    site.write("_a.qmd", "{{< include /_b.qmd >}}\n")
    site.write("_b.qmd", "x\n\n{{< include _a.qmd >}}\n")
    site.write("lessons/a.qmd", HEAD + "{{< include /_a.qmd >}}\n")
    assert site.check() == [
        "_b.qmd:3: the include goes round in a circle: lessons/a.qmd → _a.qmd → _b.qmd → _a.qmd"
    ]


FRONT_MATTER = [
    ("titel: x", '2: unknown front-matter key "titel"; did you mean "title"?'),
    ("title: [x]", "2: \"title\" must be a text, not ['x']"),
    ("title: x\ncss: ../lost.css", '3: unknown stylesheet "../lost.css"'),
    ("title: x\ndescription: [1,", "bad YAML: "),
    ("title: The *first*", '2: "title" takes plain text, without Markdown'),
    ("title: x\ntitle: y", '3: "title" is given twice'),
]


@pytest.mark.parametrize(("yaml", "message"), FRONT_MATTER)
def test_front_matter_is_read_strictly(site, yaml, message):
    site.write("lessons/a.qmd", f"---\n{yaml}\n---\nx\n")
    [line] = site.check()
    assert line.startswith("lessons/a.qmd:")
    assert message in line


def test_front_matter_must_end(site):
    site.write("lessons/a.qmd", "---\ntitle: x\n")
    assert site.check() == ['lessons/a.qmd:1: the front matter has no closing "---"']


CONFIG = [
    ("  execute-dir:", "  execute-dri:", '4: unknown _quarto.yml key "project.execute-dri"; did'),
    ("    toc: true", "    tok: true", '14: unknown _quarto.yml key "format.html.tok"; did you'),
    ("method: mathml", "method: katex", '15: "format.html.html-math-method" must be "mathml", not'),
    ("website:", "website: [", "bad YAML: "),
    ("style.css", "styel.css", '16: there is no file "styel.css"'),
    ("references.bib", "refs.bib", '17: there is no file "refs.bib"'),
    ("- href: index.qmd", "- href: indx.qmd", '11: unknown page "indx.qmd"; did you mean "index'),
    ("- href: index.qmd", "- text: Later", '11: unknown page ""; '),
]


@pytest.mark.parametrize(("old", "new", "message"), CONFIG)
def test_quarto_yml_is_read_strictly(site, old, new, message):
    site.edit("_quarto.yml", old, new)
    [line] = site.check()
    assert line.startswith("_quarto.yml:")
    assert message in line


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


def test_the_checks_know_each_kind_of_folded_box():
    filter_of_both_engines = (ROOT / "_extensions/course/folds.lua").read_text("utf-8")
    kinds = re.search(r"^local KINDS = \{(.*)\}$", filter_of_both_engines, re.M)[1]
    assert set(re.findall(r'"([\w-]+)"', kinds)) == FOLDED
