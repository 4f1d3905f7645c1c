"""The notebook of each construct, the errors, and the cache of notebooks."""

import nbformat
import pytest
from bs4 import BeautifulSoup

from course.problems import Problems
from course.render.quarto.render_project import add_notebooks
from tests.conftest import ROOT
from tests.engine.sites import python
from tests.notebooks.conftest import lesson_site

PAGE = "modules/m01_small/lesson"
ADDRESS = "http://127.0.0.1:4200/modules/m01_small/lesson.html"


@pytest.fixture
def cells_of(tmp_path):
    """Return the notebook's cells without title and set-up."""

    def make(text, files=None):
        site = lesson_site(tmp_path / "site", text)
        site.extend()
        for name, content in (files or {}).items():
            site.write(name, content)
        site.render()
        return nbformat.read(site.root / f"_site/{PAGE}.ipynb", as_version=4).cells[2:]

    return make


TEXT = {
    "query, key and value": ("A [query]{.q}.", "A **query**."),
    "a badge": ("A [random]{.source} map.", "A `random` map."),
    "another span": ("An [x]{data-x=1}.", "An x."),
    "a formula": ("$$x_1$$", "$$x_1$$"),
    "dollars": ("It costs \\$5, or $5$.", "It costs \\$5, or $5$."),
    "a section": ("## My part {#sec-a}\n\n[x](#sec-a)", "## My part\n\n[x](#My-part)"),
    "a link in the page": ("::: {#here}\nx\n:::\n\n[x](#here)", f"x\n\n[x]({ADDRESS}#here)"),
    "a link to a page": ("[x](../../index.qmd)", "[x](http://127.0.0.1:4200/index.html)"),
    "a link elsewhere": ("[x](https://example.org/#y)", "[x](https://example.org/#y)"),
    "a box": (
        "::: {.box}\n## *My* answer\n$x$.\n:::",
        "<details><summary><em>My</em> answer</summary>\n\n$x$.\n\n</details>",
    ),
    "folded by HTML": (
        "<details><summary>Hint *1*</summary>\n\nx\n\n</details>",
        "<details><summary>Hint *1*</summary>\n\nx\n\n</details>",
    ),
    "a table": ("| a |\n|---|\n| 1 |", "| a   |\n|-----|\n| 1   |"),
    "a citation": (
        "See @knuth1984.",
        "See Knuth (1984).\n\n## References\n\nKnuth, D. 1984. *The TeXbook*.",
    ),
    "a block of code": ("```python\nx = 1\n```", "``` python\nx = 1\n```"),
}


@pytest.mark.parametrize(("source", "wanted"), TEXT.values(), ids=TEXT)
def test_text_is_markdown_that_jupyter_reads(cells_of, source, wanted):
    cells = cells_of(source)
    got = "\n\n".join(cell.source for cell in cells).replace("\u00a0", " ")
    assert got == wanted


def test_an_image_is_the_sites(cells_of):
    [cell] = cells_of('![A dot](dot.svg){alt="One dot."}', {"modules/m01_small/dot.svg": ""})
    assert cell.source == f"![One dot.]({ADDRESS.replace('lesson.html', 'dot.svg')})"


def test_cells_keep_their_order_code_and_outputs(cells_of):
    cells = cells_of("One.\n\n" + python("print(1)", label="a") + "Two.\n\n" + python("2 + 2"))
    assert [cell.source for cell in cells] == ["One.", "print(1)", "Two.", "2 + 2"]
    assert cells[1].outputs[0].text == "1\n"
    assert cells[3].outputs[0].data == {"text/plain": "4"}
    assert cells[3].outputs[0].execution_count == cells[3].execution_count


OPTIONS = {
    "echo": ({"echo": "false"}, {"source_hidden": True}),
    "code-fold": ({"code_fold": "true"}, {"source_hidden": True}),
}


@pytest.mark.parametrize(("options", "hidden"), OPTIONS.values(), ids=OPTIONS)
def test_what_the_page_hides_is_collapsed(cells_of, options, hidden):
    [cell] = cells_of(python("print(1)", **options))
    assert cell.metadata.get("jupyter", {}) == hidden
    assert cell.outputs[0].text == "1\n"


PAGE_MODULES = sorted(path.name for path in (ROOT / "course/page").glob("*.py"))
TO_PAGE = ["course/__init__.py", *(f"course/page/{name}" for name in PAGE_MODULES)]
FIGURE = "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"


def test_a_figure_has_its_caption_and_its_alt_text(cells_of):
    options = {
        "label": "figure-x",
        "fig_cap": '"A line. [random]{.source}"',
        "fig_alt": '"It rises."',
    }
    cell, caption = cells_of(python(FIGURE, **options))
    [output] = cell.outputs
    assert set(output.data) == {"image/png", "text/plain"}
    assert output.metadata["image/png"]["alt"] == "It rises."
    assert caption.source == "A line. `random`"


def test_a_widget_is_its_fallback_and_a_link(cells_of):
    values = python("from course import publish, show_fallback\npublish(x=1)\n"
                    "show_fallback('One.', ['a'], [[0.5]])", echo="false")  # fmt: skip
    ojs = "```{ojs}\nviewof secret = 1\n```\n"
    text = f"::: {{.widget #play}}\n{values}\n{ojs}\n[random]{{.source}} Two.\n:::\n"
    cell, caption = cells_of(text, {path: (ROOT / path).read_text() for path in TO_PAGE})
    [output] = cell.outputs  # and none for what is published
    assert output.data["text/markdown"] == "One.\n\n| a    |\n|------|\n| 0.50 |"
    assert caption.source == f"`random` Two.\n\n**[Play with it on the page]({ADDRESS}#play)**"


def test_a_folded_answer_with_a_cell_keeps_both_folded(cells_of):
    answer = "## Answer\nBefore.\n\n" + python("print(1)") + "\nAfter.\n"
    before, cell, after = cells_of(f"::: {{.answer}}\n{answer}:::\n")
    for text, word in ((before, "Before."), (after, "After.")):
        assert text.source == f"<details><summary>Answer</summary>\n\n{word}\n\n</details>"
    assert cell.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}


def test_sections_are_cells(cells_of):
    cells = cells_of("Start.\n\n## One\nx\n\n### Deep\ny\n\n```markdown\n## no\n```\n")
    assert [cell.source.split("\n")[0] for cell in cells] == ["Start.", "## One", "### Deep"]


def test_the_title_leads_to_the_page(tmp_path):
    site = lesson_site(tmp_path / "s", "x\n", front="title: A * b\ndescription: Short.")
    site.render()
    first = nbformat.read(site.root / f"_site/{PAGE}.ipynb", as_version=4).cells[0].source
    assert first.startswith("# A \\* b\n\nShort.\n\n*[A page of the course](" + ADDRESS)


def test_a_path_of_this_machine_is_refused(cells_of):
    with pytest.raises(Problems, match=r"modules/m01_small/lesson\.qmd: .*a path of this machine"):
        cells_of(python("import os; print(os.getcwd())"))


def test_without_the_key_there_are_no_notebooks(tmp_path):
    site = lesson_site(tmp_path / "site", "x\n")
    site.edit("_quarto.yml", "  post-render: course/render/quarto/post_render.py\n", "")
    site.render()
    assert not list((site.root / "_site").rglob("*.ipynb"))
    assert "notebook-link" not in site.html(f"{PAGE}.html")


def test_the_front_page_has_none(tmp_path):
    site = lesson_site(tmp_path / "site", "x\n")
    site.render()
    assert not (site.root / "_site/index.ipynb").exists()
    assert "notebook-link" not in site.html("index.html")


REFUSED = {
    "another script": ("post_render.py", "other.py", '"project.post-render" must be "course/'),
    "a mistyped key": ("post-render:", "post-rendr:", 'did you mean "post-render"?'),
}


@pytest.mark.parametrize(("old", "new", "message"), REFUSED.values(), ids=REFUSED)
def test_what_else_would_run_after_quarto_is_refused(tmp_path, old, new, message):
    site = lesson_site(tmp_path / "site", "x\n")
    site.edit("_quarto.yml", old, new)
    [line] = site.check()
    assert line.startswith("_quarto.yml:2: ")
    assert message in line


def test_a_script_that_is_not_there_is_named(tmp_path):
    site = lesson_site(tmp_path / "site", "x\n")
    (site.root / "course/render/quarto/post_render.py").unlink()
    assert site.check() == ['_quarto.yml:2: there is no file "course/render/quarto/post_render.py"']


def test_it_is_part_of_the_cache(tmp_path):
    site = lesson_site(tmp_path / "site", python("import helper\nprint(helper.VALUE)"))
    site.write("helper.py", "VALUE = 1\n")
    site.render()
    before = site.snapshot()
    assert set(site.render().values()) == {"cached"}
    assert site.snapshot() == before
    site.edit("helper.py", "1", "2")
    assert site.executed() == {f"{PAGE}.qmd"}
    after = site.snapshot()
    assert b'"2\\n"' in after[f"{PAGE}.ipynb"]
    assert after[f"{PAGE}.zip"] != before[f"{PAGE}.zip"]


def test_after_quarto_it_is_the_same_and_linked_once(tmp_path):
    site = lesson_site(tmp_path / "site", python("print(1)"))
    site.render()
    wanted = site.snapshot()
    pages = site.root / "_site"
    (pages / f"{PAGE}.ipynb").unlink()
    (pages / f"{PAGE}.zip").unlink()
    html = '<header><div class="quarto-title-meta">\n\n</div></header>'
    (pages / f"{PAGE}.html").write_text(html)
    for limit in (60, None):
        add_notebooks(site.root, ["_site/index.html", f"_site/{PAGE}.html"], cell_timeout=limit)
    for kind in ("ipynb", "zip"):
        assert (pages / f"{PAGE}.{kind}").read_bytes() == wanted[f"{PAGE}.{kind}"]
    page = BeautifulSoup(site.html(f"{PAGE}.html"), "html.parser")
    [link] = page.select(".quarto-title-meta > .notebook-link")
    assert link["href"] == "lesson.ipynb"


def test_after_a_plain_quarto_no_cell_runs_again(tmp_path, capsys):
    site = lesson_site(tmp_path / "site", python("open('ran', 'w')"))
    page = site.root / f"_site/{PAGE}.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>Quarto's page</p>")
    add_notebooks(site.root, [f"_site/{PAGE}.html"], cell_timeout=None)
    assert not (site.root / "ran").exists()
    assert not page.with_suffix(".ipynb").exists()
    assert "course render --engine quarto" in capsys.readouterr().out
