"""Kernels are forks of one process, where that can be; each is as good as one by itself."""

import os
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from course.render.execute import forks
from tests.conftest import ROOT
from tests.notebooks.conftest import execute

TELL = "import os, sys, numpy\nprint(os.getppid(), sys.path[0], numpy.random.rand())"
can_fork = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="kernels are forked on Linux")


@pytest.fixture
def run_one(tmp_path):
    """Return what a kernel of its own tells: its parent, where it looks first, a number."""

    def tell():
        path = tmp_path / "tell.ipynb"
        nbformat.write(new_notebook(cells=[new_code_cell(TELL)]), path)
        return execute(path, tmp_path).cells[0].outputs[0].text.split(" ")

    return tell


@can_fork
def test_two_kernels_have_one_parent_and_numbers_of_their_own(run_one):
    one, other = run_one(), run_one()
    assert one[0] == other[0] != str(os.getpid())
    assert one[2] != other[2]


def test_one_that_cannot_be_forked_starts_by_itself_and_is_the_same(run_one, monkeypatch):
    forked = run_one()
    monkeypatch.setattr(forks, "_start", lambda *_: (_ for _ in ()).throw(OSError))
    alone = run_one()
    assert alone[0] == str(os.getpid())
    assert alone[1] == forked[1]


@can_fork
def test_the_process_that_forks_ends_with_the_one_that_asks(tmp_path):
    """Its output is read to the end, which it holds open."""
    (tmp_path / "own.py").write_text("print('forked')")
    ask = "from course.render.execute import forks; forks._start(['own.py'], {!r}, {{}}).wait()"
    command = [sys.executable, "-c", ask.format(str(tmp_path))]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("forked\n", "")
