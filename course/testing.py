"""The whole test suite, with a browser for the tests that need one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from course.browser import find_or_install_browser

_NO_BROWSER = (
    "The tests marked `site` did NOT run: there is no Chrome, Chromium or Edge, and none could be "
    "installed. Install one, or name it in CHROME, and run this again."
)

# Tests in a browser wait more than they compute: three keep two processors busy.
_IN_PARALLEL = ("-n", "3", "--dist", "loadfile")


def run_tests(root: Path, *, site: str | None, arguments: Sequence[str]) -> int:
    """Pytest over tests/. The site tests drive ``site``, or else a site they render.

    All tests run in parallel; ``arguments``, which mostly choose a few, run in one process.
    """
    environment = dict(os.environ)
    if site:
        environment["COURSE_SITE"] = str(Path(site).resolve())
    browser = find_or_install_browser()
    if browser:
        environment["CHROME"] = browser
    chosen = () if browser else ("-m", "not site")
    command = [sys.executable, "-m", "pytest", *chosen, *(arguments or _IN_PARALLEL)]
    outcome = subprocess.run(command, cwd=root, env=environment).returncode
    if browser:
        return outcome
    print(_NO_BROWSER, file=sys.stderr)
    return outcome or int(os.environ.get("CI", "") not in ("", "0", "false"))
