"""`lab`: it copies a notebook for each lesson, and never overwrites a learner's work."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from course.lab import copy_notebooks
from tests.engine.sites import python
from tests.notebooks.conftest import lesson_site

M03 = "m03_scores.ipynb"
FRESH = "m03_scores.fresh.ipynb"


def notebook(*sources, outputs=()):
    cells = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "source": source,
         "execution_count": None, "outputs": list(outputs)}
        for i, source in enumerate(sources)
    ]  # fmt: skip
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def lab(tmp_path):
    class Lab:
        folder = tmp_path / "notebooks"
        lesson = tmp_path / "_site/modules/m03_scores/lesson.ipynb"

        def publish(self, text):
            self.lesson.parent.mkdir(parents=True, exist_ok=True)
            self.lesson.write_text(text, encoding="utf-8")

        def start(self):
            return copy_notebooks(tmp_path / "_site", self.folder)

        def read(self, name):
            return (self.folder / name).read_text(encoding="utf-8")

        def save(self, text, name=M03):
            (self.folder / name).write_text(text, encoding="utf-8")

        @property
        def files(self):
            return {path.name for path in self.folder.glob("*.ipynb")}

    lab = Lab()
    lab.publish(notebook("1 + 1"))
    return lab


def test_each_lesson_gets_one(lab):
    assert lab.start() == []
    assert lab.files == {M03}
    assert lab.read(M03) == notebook("1 + 1")


def test_what_nobody_changed_follows_the_lesson(lab):
    lab.start()
    lab.publish(notebook("1 + 2"))
    assert lab.start() == []
    assert lab.files == {M03}
    assert lab.read(M03) == notebook("1 + 2")


def test_what_the_learner_changed_stays_and_the_fresh_one_has_another_name(lab):
    lab.start()
    mine = notebook("1 + 1", "my_own = 1")
    lab.save(mine)
    lab.publish(notebook("1 + 2"))
    assert lab.start() == [f"you changed notebooks/{M03}: it stays, and the fresh one is {FRESH}"]
    assert lab.read(M03) == mine
    assert lab.read(FRESH) == notebook("1 + 2")


def test_the_fresh_one_is_the_learners_too_once_it_is_changed(lab):
    lab.start()
    for name, mine in ((M03, notebook("mine")), (FRESH, notebook("mine too"))):
        lab.save(mine, name)
        lab.start()
        assert lab.read(name) == mine
    assert lab.files == {M03, FRESH, "m03_scores.fresh-2.ipynb"}


def test_starting_again_adds_nothing(lab):
    lab.start()
    lab.save(notebook("mine"))
    messages = lab.start()
    files = lab.files
    assert lab.start() == messages
    assert lab.files == files


def test_running_it_is_no_change(lab):
    """Save as Jupyter does: with outputs, metadata, and sources as lists of lines."""
    lab.start()
    ran = json.loads(notebook("1 + 1", outputs=[{"output_type": "stream", "text": "2"}]))
    ran["metadata"]["language_info"] = {"name": "python"}
    ran["cells"][0]["source"] = ["1 ", "+ 1"]
    lab.save(json.dumps(ran))
    lab.publish(notebook("1 + 2"))
    assert lab.start() == []
    assert lab.files == {M03}


@pytest.mark.parametrize("text", ["", "not JSON", "[]", '{"cells": [{}]}', '{"cells": 3}'])
def test_what_is_no_notebook_stays_as_well(lab, text):
    lab.start()
    lab.save(text)
    assert lab.start()
    assert lab.read(M03) == text


@pytest.mark.parametrize("record", [None, "{", "[1]"])
def test_without_its_record_it_overwrites_nothing_that_differs(lab, record):
    lab.start()
    lab.save(notebook("perhaps mine"))
    given = lab.folder / ".given.json"
    if record is None:
        given.unlink()
    else:
        given.write_text(record)
    lab.start()
    assert lab.read(M03) == notebook("perhaps mine")


def test_a_deleted_one_comes_back(lab):
    lab.start()
    (lab.folder / M03).unlink()
    assert lab.start() == []
    assert lab.files == {M03}


COMMAND = "import sys; from pathlib import Path; from course.cli import main; "
COMMAND += "sys.exit(main(['lab', '--', '--no-browser', '--allow-root', "
COMMAND += "'--IdentityProvider.token=x', '--port', sys.argv[2]], Path(sys.argv[1])))"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_the_command_starts_jupyterlab_and_ctrl_c_ends_it(tmp_path):
    site = lesson_site(tmp_path / "site", python("print(6 * 7)"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", COMMAND, str(site.root), str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        listed = body_of(f"http://127.0.0.1:{port}/api/contents?token=x")
        assert "m01_small.ipynb" in [entry["name"] for entry in json.loads(listed)["content"]]
        page = body_of(f"http://127.0.0.1:{port}/lab?token=x")
        settings = re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.DOTALL)[1]
        off = json.loads(settings)["disabledExtensions"]
        assert "@jupyterlab/apputils-extension:announcements" in off  # else it asks for news
    finally:
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=30)[0]
    assert process.returncode == 0, output
    assert output.endswith("stopped\n")
    assert "Traceback" not in output


def body_of(url, seconds=90):
    end = time.monotonic() + seconds
    while True:
        try:
            return urllib.request.urlopen(url, timeout=30).read().decode()
        except OSError:
            assert time.monotonic() < end, f"nothing answers at {url}"
            time.sleep(0.3)
