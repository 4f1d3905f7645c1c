"""The `test` command: the options that it gives to pytest, and the browser that it finds."""

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from course import browser, testing
from course.cli import main
from course.ended import status_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pytest_calls(monkeypatch):
    calls = []

    def run(command, cwd, env):
        calls.append(SimpleNamespace(command=command, env=env))
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(testing.subprocess, "run", run)
    for name in ("CI", "COURSE_SITE"):
        monkeypatch.delenv(name, raising=False)
    return calls


def has_browser(monkeypatch, path):
    monkeypatch.setattr(testing, "find_or_install_browser", lambda: path)


def test_with_a_browser_all_tests_run_on_the_given_site(pytest_calls, monkeypatch, tmp_path):
    has_browser(monkeypatch, "/bin/chromium")
    assert main(["test"], tmp_path) == 0
    main(["test", "--site", str(tmp_path)], tmp_path)
    fresh, given = pytest_calls
    assert "-m" not in fresh.command[3:]
    assert fresh.env["CHROME"] == "/bin/chromium"
    assert "COURSE_SITE" not in fresh.env
    assert given.env["COURSE_SITE"] == str(tmp_path.resolve())


@pytest.fixture
def arguments_of(pytest_calls, monkeypatch, tmp_path):
    """Return pytest's options for ``python3 -m course test WORDS`` in a project with lesson m05."""
    has_browser(monkeypatch, "/bin/chromium")
    (tmp_path / "modules/m05_masks").mkdir(parents=True)
    (tmp_path / "modules/m05_masks/lesson.qmd").touch()
    (tmp_path / "tests/engine").mkdir(parents=True)
    (tmp_path / "tests/engine/test_ojs.py").touch()

    def options(*words):
        assert main(["test", *words], tmp_path) == 0
        return pytest_calls[-1].command[3:]

    return options


ONE_PROCESS = (
    ["tests/engine/test_ojs.py"], ["tests/engine/test_ojs.py::test_x"], ["-k", "x", "-s"],
    ["-n", "0"],
)  # fmt: skip


@pytest.mark.parametrize("words", ONE_PROCESS, ids=" ".join)
def test_a_file_and_a_terminal_get_one_process(arguments_of, words):
    assert arguments_of(*words) == words


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], []),
        (["-k", "masks"], ["-k", "masks"]),
        (["--", "-k", "masks"], ["-k", "masks"]),
        (["-k", "m05", "-x"], ["-k", "m05", "-x"]),  # the value of an option is no lesson
        (["m05"], ["-p", "tests.of_lesson", "--lesson=m05"]),
        (["--quick"], ["-m", "(not slow)"]),
        (["-m", "site", "--quick"], ["-m", "(site) and (not slow)"]),
        (["--quick", "m05", "--durations=5"],
         ["-m", "(not slow)", "-p", "tests.of_lesson", "--lesson=m05", "--durations=5"]),
        (["tests/engine"], ["tests/engine"]),
    ],
)  # fmt: skip
def test_words_become_pytests_options_in_parallel(arguments_of, words, options):
    arguments = arguments_of(*words)
    assert "-n" in arguments
    assert arguments[arguments.index("worksteal") + 1 :] == options


@pytest.mark.parametrize(
    ("words", "message"),
    [(["m5"], 'unknown lesson or path "m5"; did you mean "m05"?'), (["tests/engin"], "unknown"),
     (["--durations", "5"], '--durations=5')],
)  # fmt: skip
def test_a_word_that_chooses_nothing_says_how(arguments_of, capsys, tmp_path, words, message):
    assert main(["test", *words], tmp_path) == 1
    assert message in capsys.readouterr().err


def test_other_commands_take_no_option_they_dont_know(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["check", "--quick"], tmp_path)
    assert "unknown arguments: --quick" in capsys.readouterr().err


def test_a_lesson_needs_no_entry_to_have_its_tests_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take seconds to start
    (tmp_path / "test_m99.py").write_text("def test_in_its_file(): ...")
    (tmp_path / "test_m098.py").write_text("def test_another(): ...")
    (tmp_path / "test_widget.py").write_text(
        'PAGE = "modules/m99_new/lesson.html"\ndef test_on_its_page(): ...'
    )
    (tmp_path / "test_all.py").write_text(
        'import pytest\nPAGE = "modules/m01_old/lesson.html"\n'
        '@pytest.mark.parametrize("p", ["m99_new", "m01_old", "xm99", "m990"])\n'
        "def test_each(p): ..."
    )
    command = [sys.executable, "-m", "pytest", "-p", "tests.of_lesson", "--lesson=m99"]
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    listing = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True).stdout
    tests = {line.rpartition("::")[2] for line in listing.splitlines() if "::" in line}
    assert tests == {"test_in_its_file", "test_on_its_page", "test_each[m99_new]"}


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_without_a_browser_it_says_what_did_not_run(
    pytest_calls, monkeypatch, tmp_path, capsys, ci, status
):
    has_browser(monkeypatch, None)
    monkeypatch.setenv("CI", ci)
    assert main(["test"], tmp_path) == status
    assert "(not site)" in pytest_calls[0].command
    assert "did NOT run" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["chromium", "google-chrome", "msedge"])
def test_a_browser_is_found_by_its_name_but_the_environments_comes_first(monkeypatch, command):
    monkeypatch.delenv("CHROME", raising=False)
    names = {command, "my-chrome"}
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name in names else None)
    assert browser.find_browser() == f"/bin/{command}"
    monkeypatch.setenv("CHROME", "my-chrome")
    assert browser.find_browser() == "/bin/my-chrome"


def test_a_browser_is_found_in_its_usual_place_or_nowhere(monkeypatch, tmp_path):
    monkeypatch.delenv("CHROME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: SimpleNamespace(returncode=1))
    monkeypatch.setattr(browser, "_playwrights_own", lambda: None)
    monkeypatch.setattr(browser, "_PATHS", ("{ProgramFiles}/chrome.exe",))
    monkeypatch.setenv("ProgramFiles", str(tmp_path))
    assert browser.find_or_install_browser() is None
    (tmp_path / "chrome.exe").touch()
    assert browser.find_browser() == f"{tmp_path}/chrome.exe"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no signals")
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGABRT"])
def test_a_killed_process_is_a_failure_that_is_named(capsys, name):
    number = getattr(signal, name)
    code = f"import os; print('5 passed', flush=True); os.kill(os.getpid(), {number:d})"
    returncode = subprocess.run([sys.executable, "-c", code], capture_output=True).returncode
    assert status_of("pytest", returncode) == 128 + number
    assert capsys.readouterr().err == f"pytest died of {name}\n"


@pytest.mark.parametrize("returncode", [0xC0000005, 0xC0000005 - 2**32])
def test_a_crash_on_windows_is_named(capsys, returncode):
    assert status_of("pytest", returncode) == 1
    assert "access violation" in capsys.readouterr().err


@pytest.mark.parametrize("returncode", [0, 1, 5, 130])
def test_a_process_that_ended_by_itself_keeps_its_status(capsys, returncode):
    assert status_of("pytest", returncode) == returncode
    assert not capsys.readouterr().err


def test_a_killed_pytest_fails_the_command(pytest_calls, monkeypatch, tmp_path, capsys):
    has_browser(monkeypatch, "/bin/chromium")
    monkeypatch.setattr(testing.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=-11))
    assert main(["test"], tmp_path) == 139
    assert "pytest died of SIGSEGV" in capsys.readouterr().err


CRASHES = """
import os, signal
from tests.crashes import pytest_sessionfinish as fails_for_crashes, pytest_testnodedown

def pytest_sessionfinish(session):
    fails_for_crashes(session)
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0" and os.environ["CRASH"]:
        os.kill(os.getpid(), signal.SIGABRT)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no signals")
@pytest.mark.parametrize("crash", ["", "yes"])
def test_a_worker_that_crashes_after_its_last_test_fails_the_run(tmp_path, monkeypatch, crash):
    monkeypatch.setenv("CRASH", crash)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    (tmp_path / "conftest.py").write_text(CRASHES, encoding="utf-8")
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the other plugins take seconds
    options = ["-p", "xdist", "-n", "1", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *options], cwd=tmp_path, capture_output=True, text=True
    )
    assert "1 passed" in process.stdout
    assert bool(process.returncode) == bool(crash), process.stdout
