"""`--engine quarto`: it runs the same checks first, and fails on errors that Quarto only prints."""

import os
import stat

import pytest

from course.cli import main
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


@pytest.mark.parametrize(
    "log",
    [
        "ERROR: OJS parsing failed on line 12",
        "WARNING: [crossref] Unable to resolve crossref @fig-x",
    ],
)
def test_an_error_that_quarto_lets_pass_is_one(quarto, root, capsys, log):
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


def test_without_quarto_it_says_how_to_get_it(root, monkeypatch, capsys):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    assert main(["render", "--engine", "quarto"], root) == 1
    told = capsys.readouterr().err
    assert "requirements-quarto.txt" in told
    assert "leave out `--engine quarto`" in told
