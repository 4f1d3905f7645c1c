"""`preview`: it renders changed pages again, keeps the page after a mistake, ends on Ctrl-C."""

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request

import pytest

from course.preview import source_folders
from tests.engine.sites import Site, python

HEAD = "---\ntitle: Lesson\n---\n"
PREVIEW = "import sys; from pathlib import Path; from course.cli import main; "
PREVIEW += "sys.exit(main(['preview', '--no-browser', '--port', '0'], Path(sys.argv[1])))"


class Preview:
    """`preview` in a process of its own, with its printed lines."""

    def __init__(self, root):
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", PREVIEW, str(root)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
        )  # fmt: skip
        self.output = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            self.output.put(line.strip())

    def until(self, *words):
        """Return the lines up to the first with one of the words."""
        lines = []
        while not lines or not any(word in lines[-1] for word in words):
            lines.append(self.output.get(timeout=20))
        return lines


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_a_change_a_mistake_and_the_end(tmp_path):
    page = HEAD + python("print('first')")
    site = Site(tmp_path, a=page, b=page)
    preview = Preview(site.root)
    [*_, line] = preview.until("Ctrl-C")
    address = line.split()[0]

    def read():
        return urllib.request.urlopen(f"{address}lessons/a.html", timeout=5).read().decode()

    try:
        assert "first" in read()
        stream = urllib.request.urlopen(f"{address}course-live-reload", timeout=20)

        site.edit("lessons/a.qmd", "first", "second")
        assert not any("lessons/b.qmd" in line for line in preview.until("executed"))
        assert stream.readline() == b"data: reload\n"
        assert "second" in read()

        site.edit("lessons/a.qmd", "print('second')", "print('third') + @")
        assert any(line.startswith("lessons/a.qmd:5: ") for line in preview.until("stays as it"))
        assert "second" in read()

        cached = site.root / ".course/pages/lessons--a"
        shutil.rmtree(cached)
        cached.write_text("no folder")  # an error that nobody foresaw
        site.edit("lessons/a.qmd", "print('third') + @", "print('fourth')")
        assert any("FileExistsError" in line for line in preview.until("stays as it"))

        cached.unlink()
        site.edit("lessons/a.qmd", "fourth", "fifth")
        preview.until("executed")
        assert stream.readline() + stream.readline() == b"\ndata: reload\n"
        assert "fifth" in read()

        site.edit("requirements.txt", "numpy==1", "numpy==2")
        assert preview.until("restart it")
    finally:
        preview.process.send_signal(signal.SIGINT)
    assert preview.until("stopped")
    assert preview.process.wait(timeout=10) == 0


def test_only_the_sources_folders_are_watched(tmp_path):
    site = Site(tmp_path, a=HEAD)
    for folder in (".venv/lib", "_site/x", "node_modules/d3", "lessons/__pycache__", "widgets/lib"):
        (site.root / folder).mkdir(parents=True)
    watched = {os.path.relpath(folder, site.root) for folder in source_folders(site.root)}
    assert watched == {".", "lessons", "widgets", os.path.join("widgets", "lib")}
