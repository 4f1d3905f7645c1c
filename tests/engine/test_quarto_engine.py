"""`--engine quarto`: it runs the same checks first, and fails on errors that Quarto only prints."""

import os
import stat
import subprocess

import pypandoc
import pytest

from course.cli import main
from course.render.read.names import write_names
from course.render.read.project import load_project
from tests.conftest import ROOT
from tests.engine.sites import Site

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-in for Quarto is a shell script")


@pytest.fixture
def quarto(tmp_path, monkeypatch):
    """A stand-in for Quarto that prints a given log and exits with a given status."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def install(log, status=0):
        script = folder / "quarto"
        script.write_text(f"#!/bin/sh\necho '{log}' >&2\necho $@ > called\nexit {status}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return install


@pytest.fixture
def root(tmp_path):
    return Site(tmp_path / "site").root


def test_a_good_render_is_quartos(quarto, root):
    quarto("Output created: _site/index.html")
    assert main(["render", "--engine", "quarto"], root) == 0
    assert (root / "called").read_text().strip() == "render"


def test_an_error_that_quarto_lets_pass_is_one(quarto, root, capsys):
    log = "ERROR: OJS parsing failed on line 12"
    quarto(log)
    assert main(["render", "--engine", "quarto"], root) == 1
    assert log in capsys.readouterr().err


def test_quartos_own_failure_is_passed_on(quarto, root):
    quarto("ERROR: no", status=3)
    assert main(["render", "--engine", "quarto"], root) == 3


def test_mistakes_are_found_before_quarto_runs(quarto, root, capsys):
    quarto("fine")
    (root / "index.qmd").write_text("See @nobody.\n")
    assert main(["render", "--engine", "quarto"], root) == 1
    assert 'index.qmd:1: unknown bibliography key "@nobody"' in capsys.readouterr().err
    assert not (root / "called").exists()


@pytest.mark.parametrize("text", ["```{ojs}\nmutable n = 1\n```", "The width is ${width}."])
def test_quarto_renders_the_forms_of_ojs_that_only_it_takes(quarto, root, capsys, text):
    quarto("fine")
    (root / "index.qmd").write_text(f"{text}\n")
    assert main(["render"], root) == 1
    assert "`--engine quarto`" in capsys.readouterr().err
    assert main(["render", "--engine", "quarto"], root) == 0
    assert (root / "called").exists()


@pytest.mark.parametrize(
    ("name", "mark", "text"),
    [("terms", "[query]{.term}", "What a word looks for"), ("names", "`entropy`", "#entropy")],
)
def test_a_filter_finds_the_project_from_the_page(tmp_path, name, mark, text):
    """`quarto preview FILE` renders the file once before it sets QUARTO_PROJECT_DIR.

    Quarto starts Pandoc in the page's folder; the offset leads from there to the project.
    """
    site = Site(tmp_path / "site", page=mark)
    site.write("glossary.yml", "query:\n  sentence: What a word looks for.\n")
    site.write("analysis.py", "def entropy():\n    ...\n")
    write_names(site.root)
    path = ROOT / f"_extensions/course/{name}.lua"
    site.write("wrapped.lua", f'quarto = {{project = {{offset = ".."}}}}\ndofile("{path}")\n')
    command = [pypandoc.get_pandoc_path(), "--lua-filter=../wrapped.lua", "page.qmd", "--to=html"]
    run = subprocess.run(command, cwd=site.root / "lessons", capture_output=True, text=True)
    assert text in run.stdout, run.stderr


def test_only_files_of_the_root_are_resources(tmp_path):
    """Of a pattern without / before it, Quarto takes the files of all folders, as of tests/."""
    assert all(name.startswith("/") for name in load_project(ROOT).listed("project", "resources"))
    site = Site(tmp_path / "site")
    site.edit("_quarto.yml", "type: website", 'type: website\n  resources: [/data/, "/*.py"]')
    for name in ("data/a.txt", "a.py", "tests/b.py"):
        site.write(name, "")
    site.render()
    output = site.root / "_site"
    assert (output / "data/a.txt").exists()
    assert [path.name for path in output.rglob("*.py")] == ["a.py"]


def test_without_quarto_it_says_how_to_get_it(root, monkeypatch, capsys):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    assert main(["render", "--engine", "quarto"], root) == 1
    message = capsys.readouterr().err
    assert "requirements-quarto.txt" in message
    assert "leave out `--engine quarto`" in message
