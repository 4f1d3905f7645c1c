"""Results in sentences: `{python} expression` on the page, in its notebook, and refused."""

import json
import re

import pytest

from course.problems import Problems
from tests.engine.sites import Site, python
from tests.notebooks.conftest import lesson_site

HEAD = "---\ntitle: Lesson\n---\n"
PAGE = (
    HEAD
    + python("import json\nshare = json.load(open('scores.json'))['share']\nn = 8192", echo="false")
    + """
## By `{python} n` {#sec-by}

It looks back with `{python} f"{share:.0%} (of {n:,})"`, not `x` or ``{python} x``.

| heads | share |
| ----- | ----- |
| `{python} n // 1024` | `{python} f"*{share}*"` |

1. `{python} n - 1` of `{python} n`

::: {.box}
## Tip
Half is `{python} share / 2`, and $2^{`{python} 3`} = `{python} 2**3`$.
:::

::: {#one}
```{python}
#| echo: false
print("a figure")
```

With `{python} n` tokens.
:::
"""
    + python("n = 3", echo="false")
    + "\nNow it is `{python} n`.\n"
)
SENTENCES = [
    "By 8192", "It looks back with 25% (of 8,192), not x or {python} x.", "*0.25*", "8191 of 8192",
    "Half is 0.125", "With 8192 tokens.", "Now it is 3.",
]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = lesson_site(tmp_path_factory.mktemp("inline") / "site", PAGE)
    site.write("scores.json", '{"share": 0.25}')
    site.render()
    return site


def texts(site):
    """The visible text of the page, and that of the notebook's Markdown cells."""
    page = re.sub(r"<[^>]+>", "", site.html("modules/m01_small/lesson.html"))
    notebook = json.loads(site.html("modules/m01_small/lesson.ipynb"))
    cells = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    return " ".join(page.split()), re.sub(r"[`\\]", "", " ".join(" ".join(cells).split()))


@pytest.mark.parametrize("sentence", SENTENCES)
def test_page_and_notebook_say_the_value_of_that_place(site, sentence):
    assert [sentence in text for text in texts(site)] == [True, True]


def test_a_value_stands_in_formulas(site):
    formula = "<mn>2</mn><mn>3</mn></msup><mo>=</mo><mn>8</mn>"
    assert formula in site.html("modules/m01_small/lesson.html")


def test_what_a_sentence_reads_runs_it_again(site):
    assert site.executed() == set()
    site.edit("modules/m01_small/lesson.qmd", "It looks back", "It looks far back")
    assert site.executed() == set()
    site.edit("modules/m01_small/lesson.qmd", "n - 1", "n - 2")
    assert site.executed() == {"modules/m01_small/lesson.qmd"}
    site.write("scores.json", '{"share": 0.75}')
    assert site.executed() == {"modules/m01_small/lesson.qmd"}
    assert all("back with 75% (of 8,192)" in text and "8190 of" in text for text in texts(site))


STOPS = {
    "1 / n": "raised ZeroDivisionError: division by zero",
    "[n]": "gave [0]: format it",
    "n or None": "gave None: format it",
    "float('nan')": "gave nan: format it",
    "'4\\u202f%'": "gave '4\\u202f%', and Quarto would show",
    "''": "gave an empty text",
    "Figure()": "gave image/png: a sentence takes",
}
FIGURE = "class Figure:\n    def _repr_png_(self): return b'1'\nn = 0"


def test_a_value_that_cannot_stand_there_stops_the_render_at_its_place(tmp_path):
    texts = [f"and\n`{{python}} {expression}`" for expression in STOPS]
    texts.append("`{python} __import__('os')._exit(1)`")
    pages = {f"p{n}": f"{HEAD}{python(FIGURE)}\n{text}\n" for n, text in enumerate(texts)}
    with pytest.raises(Problems) as raised:
        Site(tmp_path / "site", **pages).render()
    *messages, ended = map(str, raised.value.problems)
    for n, (message, expression) in enumerate(zip(messages, STOPS, strict=True)):
        location = f"lessons/p{n}.qmd:11: `{{python}} {expression}`"
        assert message.startswith(f"{location} {STOPS[expression]}")
    assert ended == "lessons/p7.qmd:10: an expression from here on ended its kernel"


@pytest.mark.parametrize(
    ("text", "message"),
    [("`{python} 1 +`", "8: `{python} 1 +`: invalid syntax"),
     ("`{python} hoads`", '8: `{python} hoads`: no cell of lessons/a.qmd above it defines "hoads"; '
                          'did you mean "heads"?'),
     ("`{python} later`", 'defines "later"'), ("`{python}x`", "8: Quarto won't run this"),
     ("`{python} 1 `", "8: Quarto won't run this"), ("`{ojs} x`", "8: Quarto won't run this"),
     ("## Of `{python} 2`", "8: a heading with a value needs an id"),
     (python("1", fig_cap="'`{python} 2`'"), "9: fig-cap: Quarto runs no code in options")],
)  # fmt: skip
def test_check_refuses(tmp_path, text, message):
    before, after = python("heads = [1]\nx = 1"), python("later = 1")
    [line] = Site(tmp_path, a=f"{HEAD}{before}{text}\n\n{after}").check()
    assert message in line


def test_check_raises_no_false_alarm(tmp_path):
    seen = "import a.b as c, d.e\nfor f, (g, *h) in []: pass\ndef i(j): k = 1\nprint(m := 1)"
    used = "`{python} f'{c}{d}' + str([z for z in (f, g, h, i, m)])`\n"
    unseen = python("from somewhere import *") + "`{python} other`\n"
    assert Site(tmp_path, a=HEAD + python(seen) + used + unseen).check() == []
