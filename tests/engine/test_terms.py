"""Glossary marks: what `course check` refuses, the links and notes on a page, and the cache."""

import pytest
from bs4 import BeautifulSoup

from course.check.pages import read_site
from course.check.terms import uses_before_marks
from course.lessons import lesson_mistakes
from course.problems import Problem, Problems
from course.render.read.glossary import read_glossary, slug
from course.render.read.project import load_project
from tests.conftest import ROOT
from tests.engine.sites import Site

GLOSSARY = """\
weight:
  sentence: A share from $0$ to 1.
  symbol: $A_{ij}$
  forms: [weights]
query:
  sentence: What a word looks for.
  forms: [queries]
  lesson: lessons/page.qmd#sec-q
model:
  sentence: A program.
  checked: false
language model:
  sentence: It guesses words.
MLP:
  sentence: A small network.
"""
PAGE = """---
title: Weights
---
Some [weights]{.term} and [Asks]{.term .known-class name="query"}, and weights again.

## A query {#sec-q}
"""


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path / "site", page=PAGE)
    site.write("glossary.yml", GLOSSARY)
    site.write("style.css", ".known-class, .term, .box, .summary-sheet { color: red }")
    site.write("glossary.qmd", "---\ntitle: Glossary\n---\n")
    site.edit("_quarto.yml", "[index.qmd", "[index.qmd, glossary.qmd")
    site.extend()
    return site


def complaints(site):
    """All that `course check` says of the site."""
    project = load_project(site.root)
    try:
        pages, problems = read_site(project)
    except (Problem, Problems) as failure:
        return str(failure).splitlines()
    return [str(problem) for problem in [*problems, *lesson_mistakes(project, pages)]]


def test_a_mark_is_a_link_with_a_note(site):
    assert complaints(site) == []
    site.render()
    page = BeautifulSoup(site.html("lessons/page.html"), "html.parser")
    first, second = page.select("a.term")
    assert (first["href"], first.get_text()) == ("../glossary.html#term-weight", "weights")
    assert second["href"] == "../glossary.html#term-query"
    assert second.select_one(".known-class").get_text() == "Asks"
    note = page.find(id=first["aria-describedby"])
    assert note.has_attr("hidden")
    assert note.select_one("strong").get_text() == "weight"
    assert note.select_one("math msub")
    assert "A share from" in note.get_text()
    assert len(page.select(".term-note")) == 2


def test_lua_and_python_name_an_anchor_alike(site):
    terms = [*read_glossary(ROOT).entries, "W_O", "a b-c!"]
    site.write("glossary.yml", "".join(f'"{t}":\n  sentence: S.\n' for t in terms))
    marks = " ".join(f'[x]{{.term name="{t}"}}' for t in terms)
    site.write("lessons/page.qmd", f"---\ntitle: P\n---\n{marks}\n")
    site.render()
    links = BeautifulSoup(site.html("lessons/page.html"), "html.parser").select("a.term")
    assert [link["href"].partition("#term-")[2] for link in links] == [slug(t) for t in terms]


def test_a_changed_glossary_assembles_pages_again_and_runs_no_cell(site):
    site.render()
    site.edit("glossary.yml", "A share from", "A part from")
    assert set(site.render().values()) == {"assembled"}
    assert "A part from" in site.html("lessons/page.html")


REFUSED = {
    "[weigths]{.term}": 'lessons/page.qmd:4: unknown term of glossary.yml "weigths"; did you',
    '[w]{.term name="wait"}': 'lessons/page.qmd:4: unknown term of glossary.yml "wait"',
}


@pytest.mark.parametrize("mark", REFUSED)
def test_a_mark_of_an_unknown_term_is_refused(site, mark):
    site.edit("lessons/page.qmd", "[weights]{.term}", mark)
    assert any(line.startswith(REFUSED[mark]) for line in complaints(site))


USES = {
    "A query.\n\n[weights]{.term}": ["query:4"],
    "[weights]{.term}, then [a query]{.known-class}": ["query:4"],
    "Queries and\nWeights, [weights]{.term} [queries]{.term}": ["Queries:4", "Weights:5"],
    "An MLP, an mlp. [weights]{.term}": ["MLP:4"],
    "A query, a query. [weights]{.term}": ["query:4"],
    "A language\nmodel. [weights]{.term}": ["language model:4"],
    "[weights]{.term}\n\n::: {.known-class}\nA query.\n:::": ["query:7"],
    "| a query |\n|---|\n| b |\n\n[weights]{.term}": ["query:4"],
    # What doesn't count: no mark on the page, other words, code, formulas, links, headings, boxes.
    "A query, and weights.": [],
    "[weights]{.term}: reweights, query-like, a model, a model's.": [],
    "[weights]{.term} `query` $query$ [a query](other.html) ![a query](x.png)": [],
    "[weights]{.term}\n\n```\nquery\n```\n\n## A query\n\n<!-- query -->": [],
    "[weights]{.term}\n\n::: {.box}\n## X\nA query.\n:::": [],
    "[weights]{.term}\n\n::: {.summary-sheet}\nA query.\n:::": [],
    "[weights]{.term} [asking]{.term name=\"query\"} queries": [],
}  # fmt: skip


@pytest.mark.parametrize("text", USES)
def test_a_term_is_used_after_its_mark(site, text):
    site.write("lessons/page.qmd", f"---\ntitle: P\n---\n{text}\n")
    project = load_project(site.root)
    pages, _ = read_site(project)
    problems = uses_before_marks(pages["lessons/page.qmd"], read_glossary(site.root))
    lines = [(problem.message.split('"')[1], problem.line) for problem in problems]
    assert [f"{word}:{line}" for word, line in lines] == USES[text]


def test_a_box_that_holds_cells_stays_closed(site):
    text = "::: {.box}\n## X\n\n```{python}\n1\n```\n\nA query.\n:::\n"
    site.write("lessons/page.qmd", f"---\ntitle: P\n---\n[weights]{{.term}}\n\n{text}")
    pages, _ = read_site(load_project(site.root))
    page, glossary = pages["lessons/page.qmd"], read_glossary(site.root)
    assert not list(uses_before_marks(page, glossary))


SLIPS = {
    ("  forms: [queries]", "  form: [queries]"): 'glossary.yml:7: unknown key of a term',
    ("  sentence: A program.\n", ""): 'glossary.yml:9: "model" has no sentence',
    ("forms: [queries]", "forms: [weights]"): 'glossary.yml:5: "weights" is a form of "weight" too',
    ("page.qmd#sec-q", "pages.qmd"): 'glossary.yml:8: unknown page "lessons/pages.qmd"; did you',
    ("#sec-q", "#sec-p"): 'glossary.yml:8: unknown place in lessons/page.qmd "#sec-p"; did you',
}  # fmt: skip


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip[1])
def test_a_mistake_in_the_glossary_is_named(site, slip):
    site.edit("glossary.yml", *slip)
    assert any(line.startswith(SLIPS[slip]) for line in complaints(site)), complaints(site)
