"""Quarto in place of the embedded engine: the same checks first, and its quiet errors made loud."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .check import check_site
from .problems import Problem, Problems
from .project import load_project

# Quarto exits 0 after these.
_QUIET_ERRORS = re.compile(r"ERROR: OJS parsing failed|Unable to resolve crossref")
_MISSING = """there is no `quarto` on this machine. Either
  install Quarto 1.10 from quarto.org, or
  run `.venv/bin/python -m pip install -r requirements-quarto.txt`, which downloads it, or
  leave out `--engine quarto`: the embedded engine renders the same pages."""


def render_with_quarto(root: Path) -> int:
    check_site(load_project(root))
    quarto = shutil.which("quarto") or shutil.which("quarto", path=str(Path(sys.executable).parent))
    if quarto is None:
        print(_MISSING, file=sys.stderr)
        return 1
    # Quarto doesn't look for .venv itself, and _environment can't name Windows' place for it.
    environment = {"QUARTO_PYTHON": sys.executable, **os.environ}
    quiet = []
    with subprocess.Popen(
        [quarto, "render"], cwd=root, env=environment, text=True, encoding="utf-8",
        errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        for line in process.stdout or ():
            print(line, end="", flush=True)
            if _QUIET_ERRORS.search(line):
                quiet.append(line.strip())
    if quiet:
        raise Problems(Problem("quarto", None, line) for line in dict.fromkeys(quiet))
    return process.returncode
