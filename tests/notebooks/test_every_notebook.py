"""Each lesson's notebook: complete, valid for Jupyter, and with the page's numbers when run."""

import ast
import json
import re
import zipfile
from pathlib import Path

import nbformat
import pytest

from tests.conftest import ROOT
from tests.notebooks.conftest import execute

LESSONS = sorted(path.parent.name for path in ROOT.glob("modules/*/lesson.qmd"))
NUMBER = re.compile(r"[-−]?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")


@pytest.fixture(params=LESSONS)
def path(request, lessons) -> Path:
    return lessons[request.param]


@pytest.fixture
def notebook(path):
    return nbformat.read(path, as_version=4)


@pytest.fixture
def page(path, site, read):
    return read(path.with_suffix(".html").relative_to(site).as_posix())


def texts(cell) -> list[str]:
    """Return the texts that a code cell prints and shows, without figures."""
    shown = []
    for output in cell.outputs:
        data = output.get("data", {})
        if output.output_type == "stream":
            shown.append(output.text)
        elif "text/markdown" in data:
            # Without the title of the box that it stands in, which the writer adds.
            shown.append(re.sub("<summary>.*?</summary>", "", data["text/markdown"]))
        elif not any(mime.startswith("image/") for mime in data):
            shown.append(data["text/plain"])
    return shown


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_it_is_valid_and_has_no_output_of_an_error(notebook):
    nbformat.validate(notebook)
    assert not [c for c in code_cells(notebook) for o in c.outputs if o.output_type == "error"]


def test_its_archive_has_what_its_modules_import_in_functions(path):
    """The archive holds what the kernel opened: a module imported later would be missing."""
    with zipfile.ZipFile(path.with_suffix(".zip")) as archive:
        names = [name for name in archive.namelist() if name.endswith(".py")]
        trees = {name: ast.parse(archive.read(name)) for name in names}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            above = ".".join(name.split("/")[: -getattr(node, "level", 0) or None])
            if isinstance(node, ast.Import):
                modules = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                start = ".".join(filter(None, [above if node.level else "", node.module]))
                modules = [start, *(f"{start}.{each.name}" for each in node.names)]
            else:
                continue
            files = [f"{module.replace('.', '/')}.py" for module in modules]
            assert [f for f in files if (ROOT / f).is_file() and f not in trees] == [], name


def test_its_outputs_are_the_pages(notebook, page):
    """Compare the printed texts word for word, in the page's order."""
    shown = [text.strip() for c in code_cells(notebook) for text in streams(c)]
    on_page = [pre.get_text().strip() for pre in page.select("main .cell-output-stdout pre")]
    assert shown == on_page


def streams(cell) -> list[str]:
    return [o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stdout"]


def test_its_fallbacks_hold_the_pages_numbers(notebook, page):
    tables = [t for c in code_cells(notebook) for t in texts(c) if "|--" in t]
    on_page = page.select("main .fallback")
    for form in on_page:
        wanted = NUMBER.findall(form.get_text(" "))
        assert any(NUMBER.findall(table) == wanted for table in tables), form.get_text(" ")


@pytest.mark.slow
def test_run_in_a_fresh_kernel_from_another_directory_it_shows_the_same_numbers(path, tmp_path):
    unpacked(path, tmp_path)
    folder = tmp_path / "some" / "folder"
    folder.mkdir(parents=True)
    written = nbformat.read(path, as_version=4)
    ran = execute(path, folder)
    for before, after in zip(code_cells(written), code_cells(ran), strict=True):
        wanted = [NUMBER.findall(text) for text in texts(before)]
        assert [NUMBER.findall(text) for text in texts(after)] == wanted, before.id
        assert figures(after) == figures(before), before.id


def unpacked(path: Path, folder: Path) -> None:
    with zipfile.ZipFile(path.with_suffix(".zip")) as files:
        files.extractall(folder)


def figures(cell) -> int:
    return sum(any(m.startswith("image/") for m in o.get("data", {})) for o in cell.outputs)


def test_it_names_no_place_of_this_machine(path):
    text = path.read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert str(Path.home()) + "/" not in text
    assert "/tmp/" not in text


def test_every_figure_is_one_that_an_untrusted_notebook_shows(notebook, page):
    images = [o.data for c in code_cells(notebook) for o in c.outputs if "data" in o]
    assert sum("image/png" in data for data in images) == len(page.select("main img"))
    assert not any("image/svg+xml" in data for data in images)


def test_it_says_what_the_page_says(notebook, page):
    """Look for every heading and caption, and for syntax that only Pandoc or the page reads."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    text = "\n".join([*cells, *(text for cell in code_cells(notebook) for text in texts(cell))])
    for heading in page.select("main h1, main section > :is(h2, h3)"):
        assert squeezed(heading.get_text()) in squeezed(re.sub(r"[*`$\\]", "", text))
    for caption in page.select("main figcaption"):
        assert squeezed(caption.get_text()) in squeezed(re.sub(r"[*`$\\]", "", text))
    outside_code = re.sub(r"```.*?```|`[^`\n]*`|\$[^$]*\$", "", text, flags=re.S)
    for left in (":::", "{#", "{.", "]{", "{=html}", "{{<", "notebook-mark", "<script", "<span"):
        assert left not in outside_code, left


def squeezed(text: str) -> str:
    return re.sub(r"\W+", "", text)


def test_each_widget_leads_to_its_place_on_the_page(notebook, page):
    text = json.dumps([cell.source for cell in notebook.cells])
    for widget in page.select("main .widget"):
        assert f"lesson.html#{widget['id']})" in text


def test_the_page_links_to_it(page, path):
    link = page.select_one(".quarto-title-meta a.notebook-link")
    assert link["href"] == path.name
    assert link["download"] == f"{path.parent.name}.ipynb"
