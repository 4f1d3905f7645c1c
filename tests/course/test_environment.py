"""The set-up: its steps on a fresh machine, and the message for each failure."""

import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace

import pytest

from course import environment
from course.environment import SetupError


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A fresh clone in which calls of pip and venv are recorded instead of run."""
    monkeypatch.delenv("COURSE_NO_SETUP", raising=False)
    (tmp_path / "requirements.txt").write_text("numpy==1\n", encoding="utf-8")
    course = SimpleNamespace(root=tmp_path, venv=tmp_path / ".venv", made=0, installs=[], began=[])

    def create(folder, with_pip, clear):
        course.made += 1
        python = environment.python_of(course.venv)
        python.parent.mkdir(parents=True)
        python.write_text("", encoding="utf-8")
        version = ".".join(map(str, sys.version_info[:3]))
        (course.venv / "pyvenv.cfg").write_text(f"version = {version}\n", encoding="utf-8")

    def run(command, **_):
        if "install" in command:
            course.installs.append(command)
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(venv, "create", create)
    monkeypatch.setattr(environment.subprocess, "run", run)
    monkeypatch.setattr(environment, "_start_again", lambda *args: course.began.append(args))
    return course


def test_the_first_run_installs_and_goes_on_inside_and_the_second_skips_what_is_done(course):
    for arguments in (["check"], []):
        environment.enter(course.root, arguments)
    assert course.made == len(course.installs) == 1
    assert str(course.root / "requirements.txt") in course.installs[0]
    assert course.began == [(course.venv, ["check"]), (course.venv, [])]


def test_a_changed_pin_installs_again_in_the_same_environment(course):
    environment.enter(course.root, [])
    (course.root / "requirements.txt").write_text("numpy==2\n", encoding="utf-8")
    environment.enter(course.root, [])
    assert (course.made, len(course.installs)) == (1, 2)


def test_quarto_is_told_of_the_environment_by_its_full_path(course):
    file = course.root / "_environment.local"
    for _ in range(2):
        environment.enter(course.root, [])
        python = environment.python_of(course.venv).as_posix()
        assert file.read_text(encoding="utf-8").splitlines()[1:] == [f"QUARTO_PYTHON='{python}'"]
    file.write_text("QUARTO_PYTHON=mine\n", encoding="utf-8")
    environment.enter(course.root, [])
    assert file.read_text(encoding="utf-8") == "QUARTO_PYTHON=mine\n"


def test_quarto_without_packages_is_stopped_with_the_command():
    script = Path(__file__).parents[2] / "course/quarto_setup.py"
    bare = subprocess.run([sys.executable, "-S", script], capture_output=True, text=True)
    assert bare.returncode
    assert "    python3 -m course check\n" in bare.stderr
    assert "nbformat" in bare.stderr
    full = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (full.returncode, full.stderr) == (0, "")


def test_no_setup_touches_nothing(course, monkeypatch):
    monkeypatch.setenv("COURSE_NO_SETUP", "1")
    monkeypatch.setattr(sys, "version_info", (3, 8, 0))
    environment.enter(course.root, [])
    assert not course.venv.exists()
    assert not course.began


@pytest.mark.parametrize("version", [(3, 8, 10), (3, 14, 0)])
def test_a_wrong_python_is_told_which_ones_work(course, monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(SetupError, match=r"this is Python 3\.\d+\.\d+; .* 3\.11 to 3\.13"):
        environment.enter(course.root, [])
    assert not course.venv.exists()


def on(monkeypatch, system, machine):
    monkeypatch.setattr(environment.platform, "system", lambda: system)
    monkeypatch.setattr(environment.platform, "machine", lambda: machine)


@pytest.mark.parametrize(
    ("system", "machine", "hint"),
    [("Darwin", "x86_64", "Intel's"), ("Windows", "ARM64", "ARM64"), ("Linux", "riscv64", "riscv")],
)
def test_a_machine_without_wheels_is_told_in_one_line(course, monkeypatch, system, machine, hint):
    on(monkeypatch, system, machine)
    with pytest.raises(SetupError, match=hint) as raised:
        environment.enter(course.root, [])
    assert "COURSE_NO_SETUP=1" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not course.made


@pytest.mark.parametrize(("system", "machine"), environment.MACHINES)
def test_a_machine_with_wheels_is_set_up(course, monkeypatch, system, machine):
    on(monkeypatch, system, machine)
    environment.enter(course.root, [])
    assert course.made == 1


def test_a_pip_that_was_killed_is_named(course, monkeypatch):
    killed = SimpleNamespace(returncode=-9, stderr="")
    monkeypatch.setattr(environment.subprocess, "run", lambda *_, **__: killed)
    with pytest.raises(SetupError, match="pip died of SIGKILL"):
        environment._install(course.root, course.venv)


def test_an_environment_of_a_wrong_python_is_made_anew(course):
    course.venv.mkdir()
    (course.venv / "pyvenv.cfg").write_text("version = 3.8.10\n", encoding="utf-8")
    environment.enter(course.root, [])
    assert course.made == 1


def test_no_ensurepip_is_told_in_one_line(course, monkeypatch):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SetupError, match=r"no ensurepip.*python3-venv") as caught:
        environment.enter(course.root, [])
    assert "\n" not in str(caught.value)


def test_a_read_only_folder_is_named(course, monkeypatch):
    def create(*_, **__):
        raise PermissionError(13, "Permission denied", str(course.venv))

    monkeypatch.setattr(venv, "create", create)
    with pytest.raises(SetupError, match=r"can't write .*Permission denied") as caught:
        environment.enter(course.root, [])
    assert str(course.venv) in str(caught.value)


@pytest.mark.slow
def test_without_a_network_it_says_what_is_missing_and_how_to_go_on(tmp_path, monkeypatch):
    """Run the real pip against a port without a server."""
    monkeypatch.delenv("COURSE_NO_SETUP", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    (tmp_path / "requirements.txt").write_text("no-such-course-package==1\n", encoding="utf-8")
    with pytest.raises(SetupError) as caught:
        environment.enter(tmp_path, [])
    message = str(caught.value)
    assert "could not fetch what requirements.txt pins: " in message
    assert "no-such-course-package==1" in message
    assert "COURSE_NO_SETUP=1" in message
    assert not (tmp_path / ".venv/course-stamp").exists(), "the next run must try again"


def test_the_start_up_needs_nothing_installed():
    """Run the modules that precede .venv in an isolated Python without site packages."""
    command = [sys.executable, "-S", "-c", "import course.environment, course.__main__"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
