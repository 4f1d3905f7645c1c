"""A failing lesson: its message names place and reason, other lessons run, the old site stays."""

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course import cli
from course.problems import Problems
from course.render.execute import cells as execute
from tests.engine.sites import Site, python

HEAD = "---\ntitle: Lesson\n---\n"
GOOD = HEAD + python("open('ran.txt', 'a').write('good ')")
SHOW = "from IPython.display import display\ndisplay({'application/x-toy': '1'}, raw=True)"
TABLE = "class Table:\n    def _repr_html_(self): return '<b>x</b>'\nTable()"
# The second cell of a lesson, which begins in line 10, and the message in regular expressions.
FAILURES = {
    "raises": (
        "def divide(x):\n    return x / 0\n\ndivide(1)",
        r'13: cell "bad" raised ZeroDivisionError: division by zero\n.*return x / 0',
    ),
    "syntax": ("x = ", "10: .*SyntaxError"),
    "exits": ("import os\nos._exit(3)", r'10: cell "bad" ended its kernel \(crashed'),
    "killed": ("import os\nos.kill(os.getpid(), 9)", '10: cell "bad" ended its kernel'),
    "hangs": ("while True: pass", '10: cell "bad" was stopped: it ran past its limit of 4 s$'),
    "floods": ("for _ in range(3000): print('x' * 99)", "10: .* prints 300,000 characters; a page"),
    "html": (TABLE, '10: cell "bad" shows text/html.* show text/markdown'),
    "unknown": (SHOW, '10: cell "bad" shows application/x-toy'),
}


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """Render well, and again with all failures: the site, its files before, and the problems."""
    lessons = dict.fromkeys([*FAILURES, "good"], HEAD)
    site = Site(tmp_path_factory.mktemp("failures"), **lessons)
    site.render()
    before = site.snapshot()
    site.write("lessons/good.qmd", GOOD)
    for name, (source, _) in FAILURES.items():
        cells = python("fine = 1", label="fine") + python(source, label="bad")
        site.write(f"lessons/{name}.qmd", HEAD + cells)
    with pytest.raises(Problems) as caught:
        site.render(cell_timeout=4)
    return site, before, caught.value.problems


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_names_its_place_and_its_reason(failed, name):
    [problem] = [each for each in failed[2] if each.path == f"lessons/{name}.qmd"]
    assert re.match(f"lessons/{name}.qmd:{FAILURES[name][1]}", str(problem), re.S), problem
    assert "\x1b" not in str(problem)


def test_the_old_site_stays_whole_and_the_other_lesson_was_run(failed):
    site, before, problems = failed
    assert site.snapshot() == before
    assert (site.root / "ran.txt").read_text() == "good "
    assert [each.path for each in problems] == sorted(f"lessons/{each}.qmd" for each in FAILURES)


@pytest.mark.slow
def test_a_kernel_that_starts_at_the_third_try(tmp_path, monkeypatch):
    """As when another program takes its port first."""
    spec, starts = execute._LessonKernel.kernel_spec, []

    def fail_twice(kernel):
        if kernel not in starts:
            starts.append(kernel)
        good = spec.fget(kernel)
        good.argv = good.argv if starts.index(kernel) == 2 else [sys.executable, "-c", "exit(1)"]
        return good

    monkeypatch.setattr(execute._LessonKernel, "kernel_spec", property(fail_twice))
    Site(tmp_path, lesson=GOOD).render()
    assert len(starts) == 3
    assert (tmp_path / "ran.txt").read_text() == "good "


RENDER = "import sys; from pathlib import Path; from course.cli import main; "
RENDER += "sys.exit(main(sys.argv[2:], Path(sys.argv[1])))"


def test_a_port_that_was_taken_costs_seconds_and_is_not_told(site, monkeypatch, capfd):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = [taken.getsockname()[1]]

        class Kernel(execute._LessonKernel):
            def write_connection_file(self, **options):
                if ports:
                    self.iopub_port = ports.pop()
                super().write_connection_file(**options)

        monkeypatch.setattr(execute, "_LessonKernel", Kernel)
        site.write("index.qmd", HEAD + python("print(6 * 7)"))
        started = time.monotonic()
        site.render()
    assert "42" in site.html("index.html")
    assert not ports
    assert time.monotonic() - started < 40  # nbclient waits a minute for a kernel that hangs
    assert "in use" not in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_at_once_and_leaves_the_old_site(tmp_path):
    site = Site(tmp_path, slow=HEAD)
    site.render()
    before = site.snapshot()
    waiting = "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\n"
    site.write("lessons/slow.qmd", HEAD + python(waiting + "time.sleep(60)"))
    command = [sys.executable, "-c", RENDER, str(tmp_path), "render"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=Path.cwd())
    kernel = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130
    assert process.stderr.read().strip().endswith("stopped")
    assert site.snapshot() == before
    until(lambda: not is_running(kernel))


def until(happens):
    deadline = time.monotonic() + 60  # a busy machine starts a kernel slowly
    while time.monotonic() < deadline:
        if result := happens():
            return result
        time.sleep(0.05)
    raise AssertionError("it never came")


def is_running(pid):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return state.stdout.strip() not in ("", "Z", "Zl")


def test_the_site_may_be_a_link(tmp_path):
    site = Site(tmp_path / "course")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "course/_site").symlink_to(tmp_path / "elsewhere")
    site.render()
    assert (tmp_path / "elsewhere/index.html").is_file()
    assert (tmp_path / "course/_site").is_symlink()


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EXDEV])
def test_a_mounted_site_is_filled_in_place(tmp_path, monkeypatch, number):
    site = Site(tmp_path)
    (tmp_path / "_site/old").mkdir(parents=True)

    def refuse(path, target):
        raise OSError(number, "can't be moved", str(path))

    monkeypatch.setattr(Path, "rename", refuse)
    site.render()
    assert "Hello." in site.html("index.html")
    assert not (tmp_path / "_site/old").exists()


def test_what_killed_runs_left_is_swept(tmp_path):
    site = Site(tmp_path)
    for name, age in [("tmpold", 2), ("site-old", 2), ("tmpnew", 0)]:
        (tmp_path / ".course" / name / "deep").mkdir(parents=True)
        then = time.time() - age * 24 * 60 * 60
        os.utime(tmp_path / ".course" / name, (then, then))
    site.render()
    left = {path.name for path in (tmp_path / ".course").iterdir()}
    assert left & {"tmpold", "site-old", "tmpnew"} == {"tmpnew"}


def refusal(error):
    def refuse(*_, **__):
        raise error

    return refuse


FULL = OSError(errno.ENOSPC, "No space left on device")  # as a write, which has no name
READ_ONLY = OSError(errno.EROFS, "Read-only file system", "_site")
LACK = ModuleNotFoundError("No module named 'nbclient'", name="nbclient")
MACHINES = {
    "a full disk": ("pathlib.Path.write_text", FULL, "can't write .*: No space left on device"),
    "a read-only folder": ("pathlib.Path.mkdir", READ_ONLY, "can't write _site: Read-only"),
    "no packages": ("course.render.site.render_site", LACK, "this Python has no nbclient"),
}


@pytest.mark.parametrize(("name", "error", "message"), MACHINES.values(), ids=MACHINES)
def test_the_machines_faults_are_told_in_a_line(
    tmp_path, monkeypatch, capsys, name, error, message
):
    Site(tmp_path)
    monkeypatch.setenv("COURSE_NO_SETUP", "1")
    monkeypatch.setattr(name, refusal(error))
    assert cli.main(["render"], tmp_path) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert re.match(message, line)


def test_a_mistake_is_told_and_nothing_is_written(tmp_path, capsys):
    site = Site(tmp_path, a=HEAD + python("1", lable="x"))
    assert cli.main(["render"], tmp_path) == 1
    assert 'lessons/a.qmd:5: unknown cell option "lable"' in capsys.readouterr().err
    assert not (site.root / "_site").exists()


def test_a_port_that_is_none_is_told(tmp_path, capsys):
    with pytest.raises(SystemExit):
        cli.main(["preview", "--port", "99999"], tmp_path)
    assert "99999 is no port; ports go from 0 to 65535" in capsys.readouterr().err
