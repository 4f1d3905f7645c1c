"""`test`: every test where there is a browser; where there is none, that is said."""

from types import SimpleNamespace

import pytest

from course import browser, testing
from course.cli import main


@pytest.fixture
def pytest_calls(monkeypatch):
    calls = []

    def run(command, cwd, env):
        calls.append(SimpleNamespace(command=command, env=env))
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(testing.subprocess, "run", run)
    monkeypatch.delenv("CI", raising=False)
    return calls


def has_browser(monkeypatch, path):
    monkeypatch.setattr(testing, "find_or_install_browser", lambda: path)


def test_with_a_browser_all_tests_run(pytest_calls, monkeypatch, tmp_path):
    has_browser(monkeypatch, "/bin/chromium")
    assert main(["test"], tmp_path) == 0
    [call] = pytest_calls
    assert "not site" not in call.command
    assert call.env["CHROME"] == "/bin/chromium"
    assert "COURSE_SITE" not in call.env


def test_a_given_site_is_the_one_tested(pytest_calls, monkeypatch, tmp_path):
    has_browser(monkeypatch, "/bin/chromium")
    main(["test", "--site", str(tmp_path)], tmp_path)
    assert pytest_calls[0].env["COURSE_SITE"] == str(tmp_path.resolve())


def test_the_whole_suite_runs_in_parallel_and_a_choice_does_not(
    pytest_calls, monkeypatch, tmp_path
):
    has_browser(monkeypatch, "/bin/chromium")
    main(["test"], tmp_path)
    main(["test", "--", "-k", "masks"], tmp_path)
    whole, choice = (call.command for call in pytest_calls)
    assert "-n" in whole
    assert "-n" not in choice
    assert choice[-2:] == ["-k", "masks"]


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_without_a_browser_it_says_what_did_not_run(
    pytest_calls, monkeypatch, tmp_path, capsys, ci, status
):
    has_browser(monkeypatch, None)
    monkeypatch.setenv("CI", ci)
    assert main(["test"], tmp_path) == status
    assert "not site" in pytest_calls[0].command
    assert "did NOT run" in capsys.readouterr().err


def test_the_environment_names_the_browser_first(monkeypatch, tmp_path):
    chosen = tmp_path / "my-chrome"
    chosen.write_text("#!/bin/sh\n")
    chosen.chmod(0o755)
    monkeypatch.setenv("CHROME", str(chosen))
    assert browser.find_browser() == str(chosen)


@pytest.mark.parametrize("command", ["chromium", "google-chrome", "msedge"])
def test_a_browser_on_the_path_is_found(monkeypatch, command):
    monkeypatch.delenv("CHROME", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}" if name == command else None)
    assert browser.find_browser() == f"/bin/{command}"


def test_a_browser_in_its_usual_place_is_found(monkeypatch, tmp_path):
    place = tmp_path / "Google/Chrome/Application/chrome.exe"
    place.parent.mkdir(parents=True)
    place.write_text("")
    monkeypatch.delenv("CHROME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setenv("ProgramFiles", str(tmp_path))
    monkeypatch.setattr(browser, "_playwrights_own", lambda: None)
    assert browser.find_browser() == str(place)


def test_where_none_is_found_or_installed_there_is_none(monkeypatch):
    monkeypatch.setattr(browser, "find_browser", lambda: None)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: SimpleNamespace(returncode=1))
    assert browser.find_or_install_browser() is None
