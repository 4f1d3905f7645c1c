"""A notebook that was downloaded alone: it names missing files and the command to get them."""

import json
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from course.serve import start_server
from tests.engine.sites import python
from tests.notebooks.conftest import execute, lesson_site

LATE = "def late():\n    from .later import VALUE\n    return VALUE\n"
READ = "print(late(), open('data/numbers.txt').read(), len(open('data/1.x/odd.py').read()))"
LESSON = python("from helper import answer\nprint(answer())") + python(
    f"from pack import late\n{READ}"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = lesson_site(tmp_path_factory.mktemp("alone") / "site", LESSON)
    site.write("helper.py", "def answer():\n    return 42\n")
    site.write("pack/__init__.py", LATE)
    site.write("pack/later.py", "VALUE = 7\n")
    site.write("pack/never.py", "VALUE = 9\n")
    site.write("data/numbers.txt", "1 2 3")
    site.write("data/1.x/odd.py", "def (")
    site.render()
    return site


@pytest.fixture(scope="module")
def address(site):
    server = start_server(site.root / "_site", 0)
    yield server.url
    server.shutdown()


@pytest.fixture
def downloaded(site, address, tmp_path):
    """Download the notebook by the page's link, which puts in the address of its site."""
    text = (site.root / "_site/modules/m01_small/lesson.ipynb").read_text(encoding="utf-8")
    (tmp_path / "m01.ipynb").write_text(text.replace("http://127.0.0.1:4200/", address))
    return tmp_path / "m01.ipynb"


def with_cells(path: Path, *after_setup: str) -> Path:
    notebook = nbformat.read(path, as_version=4)
    setup = next(i for i, cell in enumerate(notebook.cells) if cell.id == "setup")
    notebook.cells[setup + 1 : setup + 1] = [new_code_cell(source) for source in after_setup]
    nbformat.write(notebook, path)
    return path


def printed(notebook) -> str:
    outputs = (o for c in notebook.cells if c.cell_type == "code" for o in c.outputs)
    return "".join(o.text for o in outputs if o.output_type == "stream")


def errors(notebook) -> list:
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [output for cell in cells for output in cell.outputs if output.output_type == "error"]


def test_its_first_cell_says_in_one_line_what_is_missing_and_how_to_get_it(
    downloaded, tmp_path, address
):
    first = errors(execute(downloaded, tmp_path, stop_at_error=False))[0]
    assert first.traceback == [
        f"Missing here: data, helper.py, pack. To get them from {address}, run:  fetch()"
    ]


def test_the_command_gets_it_and_then_everything_runs(downloaded, tmp_path):
    execute(with_cells(downloaded, "fetch()"), tmp_path, stop_at_error=False)
    ran = execute(downloaded, tmp_path)
    assert printed(ran) == "42\n7 1 2 3 5\n"
    assert not (tmp_path / "pack/never.py").exists()


def test_it_runs_anywhere_below_what_it_needs(site, tmp_path):
    folder = site.root / "notebooks/deeper"
    folder.mkdir(parents=True, exist_ok=True)
    path = site.root / "_site/modules/m01_small/lesson.ipynb"
    assert printed(execute(path, folder)) == "42\n7 1 2 3 5\n"
    assert printed(execute(path, path.parent)) == "42\n7 1 2 3 5\n"


def test_what_the_learner_already_has_is_not_overwritten(downloaded, tmp_path):
    (tmp_path / "helper.py").write_text("def answer():\n    return 'mine'\n")
    execute(with_cells(downloaded, "fetch()"), tmp_path, stop_at_error=False)
    assert printed(execute(downloaded, tmp_path)).startswith("mine\n")


def test_a_site_that_is_not_there_is_said_in_one_line(downloaded, tmp_path, address):
    gone = "http://127.0.0.1:9/"
    downloaded.write_text(downloaded.read_text(encoding="utf-8").replace(address, gone))
    ran = execute(with_cells(downloaded, "fetch()"), tmp_path, stop_at_error=False)
    [line] = errors(ran)[1].traceback
    assert line.startswith(f"{gone} doesn't answer (")
    assert line.endswith("set SITE to the course's address")


def test_the_same_files_give_the_same_archive(site):
    before = site.snapshot()
    lesson = site.root / "modules/m01_small/lesson.qmd"
    text = lesson.read_text(encoding="utf-8")
    site.write("modules/m01_small/lesson.qmd", text + "\nMore.\n")
    site.touch("helper.py")
    site.render()
    after = site.snapshot()
    archive = "modules/m01_small/lesson.zip"
    assert after[archive] == before[archive]
    assert "More." in json.loads(after["modules/m01_small/lesson.ipynb"])["cells"][-1]["source"]
