"""The `test` command: pytest, in parallel, with a browser for the tests that need it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from course.browser import find_or_install_browser
from course.ended import status_of
from course.problems import Problem, unknown

_NO_BROWSER = (
    "The tests marked `site` and those of widgets' JavaScript did NOT run: there is no Chrome, "
    "Chromium or Edge, and none could be installed. Install one, or name it in CHROME, and run "
    "this again."
)
_HOW = (
    "name a lesson (m05), a path (tests/engine), or part of a test's name (-k masks); "
    'an option of pytest takes its value with "=", such as --durations=5'
)
_SHORT_WITH_VALUE = {"-c", "-k", "-n", "-o", "-p", "-r", "-W"}
_ONE_PROCESS = {"-n", "-s", "--pdb"}  # xdist can't show a terminal's input and output
_MOST_WORKERS = 8  # each holds a PyTorch and a browser, about 600 MB


def run_tests(
    root: Path, *, site: str | None = None, quick: bool = False, arguments: Sequence[str] = ()
) -> int:
    """Run pytest over tests/, or over what ``arguments`` choose.

    The site tests drive the site in the folder ``site``, by default one that they render.
    ``quick`` leaves out the tests marked slow. ``arguments`` are pytest's, or a lesson's name.

    Raises: Problem for a word that is neither a lesson nor a path.
    """
    environment = dict(os.environ)
    if site:
        environment["COURSE_SITE"] = str(Path(site).resolve())
    chosen, marks = _chosen(root, arguments)
    if quick:
        marks.append("not slow")
    browser = find_or_install_browser()
    if browser:
        environment["CHROME"] = browser
    else:
        marks.append("not site")
    marked = ["-m", " and ".join(f"({mark})" for mark in marks)] if marks else []
    command = [sys.executable, "-m", "pytest", *_parallel(chosen), *marked, *chosen]
    returncode = subprocess.run(command, cwd=root, env=environment).returncode
    outcome = status_of("pytest", returncode)
    if browser:
        return outcome
    print(_NO_BROWSER, file=sys.stderr)
    return outcome or int(os.environ.get("CI", "") not in ("", "0", "false"))


def _chosen(root: Path, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split ``arguments`` into pytest's own and the expressions after -m."""
    lessons = {lesson.parent.name[:3] for lesson in root.glob("modules/m*/lesson.qmd")}
    chosen: list[str] = []
    marks: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "-m":
            marks += islice(words, 1)
        elif word in _SHORT_WITH_VALUE:
            chosen += [word, *islice(words, 1)]
        elif word.startswith("-") or (root / word.partition("::")[0]).exists():
            chosen.append(word)
        elif word in lessons:
            chosen += ["-p", "tests.of_lesson", f"--lesson={word}"]
        else:
            raise Problem("test", None, f"{unknown('lesson or path', word, lessons)}\n{_HOW}")
    return chosen, marks


def _parallel(chosen: Sequence[str]) -> list[str]:
    """Options for parallel tests, unless few are chosen: starting a worker takes seconds."""
    paths = [word.partition("::")[0] for word in chosen if not word.startswith("-")]
    if not _ONE_PROCESS.isdisjoint(chosen) or any(path.endswith(".py") for path in paths):
        return []
    # Tests in a browser wait more than they compute: a worker more than processors keeps them busy.
    workers = min((os.cpu_count() or 1) + 1, _MOST_WORKERS)
    return ["-n", str(workers), "--dist", "worksteal"]
