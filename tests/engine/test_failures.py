"""A failing lesson: its message names place and reason, other lessons run, the old site stays."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course.problems import Problems
from course.render.execute import cells as execute
from tests.engine.sites import Site, python

HEAD = "---\ntitle: Lesson\n---\n"
GOOD = HEAD + python("open('ran.txt', 'a').write('good ')")


def failing(root, source, *, cell_timeout=60):
    """Render well, then with ``source`` in lessons/bad.qmd; returns the message."""
    site = Site(root / "site", bad=HEAD + python("1"), good=HEAD + python("1"))
    site.render()
    before = site.snapshot()
    site.write("lessons/good.qmd", GOOD)
    site.write("lessons/bad.qmd", HEAD + python("fine = 1", label="fine") + source)
    with pytest.raises(Problems) as caught:
        site.render(cell_timeout)
    assert site.snapshot() == before, "the old site must stay whole"
    assert (site.root / "ran.txt").read_text() == "good ", "the other lesson must be run"
    [problem] = caught.value.problems
    return str(problem)


def test_a_cell_that_raises(tmp_path):
    source = "def divide(x):\n    return x / 0\n\ndivide(1)"
    message = failing(tmp_path, python(source, label="division"))
    assert message.startswith(
        'lessons/bad.qmd:13: cell "division" raised ZeroDivisionError: division by zero\n'
    )
    assert "return x / 0" in message, "the traceback"
    assert "\x1b" not in message


def test_a_syntax_error(tmp_path):
    assert "SyntaxError" in failing(tmp_path, python("x = ="))


@pytest.mark.slow
@pytest.mark.parametrize("death", ["os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_a_kernel_that_dies(tmp_path, death):
    message = failing(tmp_path, python(f"import os\n{death}", label="death"))
    assert message.startswith('lessons/bad.qmd:10: cell "death" ended its kernel')


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
    site = Site(tmp_path, lesson=GOOD)
    site.render()
    assert len(starts) == 3
    assert (tmp_path / "ran.txt").read_text() == "good "


@pytest.mark.slow
def test_a_cell_that_hangs(tmp_path):
    message = failing(tmp_path, python("while True: pass", label="hang"), cell_timeout=1.5)
    assert message == (
        'lessons/bad.qmd:10: cell "hang" was stopped: it ran past its limit of 1.5 s'
    )


@pytest.mark.slow
@pytest.mark.parametrize("long", ["print('x' * 200_000)", "for _ in range(3000): print('x' * 99)"])
def test_a_cell_that_prints_too_much(tmp_path, long):
    """The client takes minutes to merge a line of a million characters."""
    message = failing(tmp_path, python(f"print(1)\n{long}", label="long"))
    assert message.startswith('lessons/bad.qmd:11: cell "long" raised ValueError: a cell may print')


@pytest.mark.slow
def test_html_output_is_refused(tmp_path):
    source = "class Table:\n    def _repr_html_(self): return '<b>x</b>'\nTable()"
    message = failing(tmp_path, python(source, label="table"))
    assert message.startswith('lessons/bad.qmd:10: cell "table" shows text/html')
    assert "text/markdown" in message


@pytest.mark.slow
def test_an_unknown_output_is_refused_by_name(tmp_path):
    source = "from IPython.display import display\n"
    source += "display({'application/x-toy': '1'}, raw=True)"
    assert "shows application/x-toy" in failing(tmp_path, python(source))


@pytest.mark.slow
def test_two_failing_lessons_are_both_told(tmp_path):
    site = Site(tmp_path, a=HEAD + python("1/0"), b=HEAD + python("missing"))
    with pytest.raises(Problems) as caught:
        site.render()
    assert [problem.path for problem in caught.value.problems] == ["lessons/a.qmd", "lessons/b.qmd"]


RENDER = "import sys; from pathlib import Path; from course.cli import main; "
RENDER += "sys.exit(main(sys.argv[2:], Path(sys.argv[1])))"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_at_once_and_leaves_the_old_site(tmp_path):
    site = Site(tmp_path, slow=HEAD + python("1"))
    site.render()
    before = site.snapshot()
    waiting = "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\n"
    site.write("lessons/slow.qmd", HEAD + python(waiting + "time.sleep(60)"))
    command = [sys.executable, "-c", RENDER, str(tmp_path), "render"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=Path.cwd())
    kernel = int(wait_for(tmp_path / "pid"))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 130
    assert process.stderr.read().strip().endswith("stopped")
    assert site.snapshot() == before
    assert not is_running(kernel)


def wait_for(path):
    deadline = time.monotonic() + 60  # a busy machine starts a kernel slowly
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.05)
    raise AssertionError(f"{path} never came")


def is_running(pid):
    for _ in range(40):
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
        )
        if not state.stdout.strip() or state.stdout.startswith("Z"):
            return False
        time.sleep(0.05)
    return True


def test_the_command_tells_and_exits_with_1(tmp_path, capsys):
    from course.cli import main

    site = Site(tmp_path, a=HEAD + python("1", lable="x"))
    assert main(["render"], tmp_path) == 1
    assert 'lessons/a.qmd:5: unknown cell option "lable"' in capsys.readouterr().err
    assert not (site.root / "_site").exists()
    assert main(["check"], tmp_path) == 1


def test_a_folder_may_be_called_like_a_page(tmp_path):
    site = Site(tmp_path, a="---\ntitle: A\n---\n")
    (tmp_path / "lessons/folder.qmd").mkdir()
    assert set(site.render()) == {"index.qmd", "lessons/a.qmd"}


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
    old = tmp_path / ".course/answers/old.json"
    old.parent.mkdir(exist_ok=True)
    old.write_text("1")
    os.utime(old, (1, 1))
    site.render()
    assert not old.exists()
    left = {path.name for path in (tmp_path / ".course").iterdir()}
    assert "tmpnew" in left
    assert left.isdisjoint({"tmpold", "site-old"})


def test_a_full_disk_is_named(tmp_path, monkeypatch, capsys):
    from course.cli import main

    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")  # as a write, which has no name

    Site(tmp_path)
    monkeypatch.setattr(Path, "write_text", refuse)
    assert main(["render"], tmp_path) == 1
    assert f"can't write {tmp_path}: No space left on device" in capsys.readouterr().err


def test_a_port_that_is_none_is_told(tmp_path, capsys):
    from course.cli import main

    with pytest.raises(SystemExit):
        main(["preview", "--port", "99999"], tmp_path)
    assert "99999 is no port; ports go from 0 to 65535" in capsys.readouterr().err


def test_a_python_without_the_packages_is_told(tmp_path, monkeypatch, capsys):
    from course import cli

    def lack(*_, **__):
        raise ModuleNotFoundError("No module named 'nbclient'", name="nbclient")

    monkeypatch.setenv("COURSE_NO_SETUP", "1")
    monkeypatch.setattr("course.render.site.render_site", lack)
    assert cli.main(["render"], tmp_path) == 1
    assert "this Python has no nbclient" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch, capsys):
    from course.cli import main

    def refuse(path, *_, **__):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    Site(tmp_path)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert main(["render"], tmp_path) == 1
    assert f"can't write {tmp_path}" in capsys.readouterr().err
