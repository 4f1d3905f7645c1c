"""Check answers in a process of their own, which can hang or crash without harm."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from course.problems import Problem

from .child import LIMIT
from .examine import FAILED, NOT_STARTED, PASSED, Outcome
from .learner import ROOT, display_path, read
from .task import tasks_of

_TO_START = 60.0  # seconds for starting the process, torch on a slow disk included


def check(module: str, path: Path, seed: int) -> dict[str, Outcome]:
    """Return the outcome of each task by name. Raises: Problem if the file can't run at all."""
    functions = read(path)
    outcomes: dict[str, Outcome] = {}
    to_run = []
    for name in tasks_of(module):
        if name not in functions:
            outcomes[name] = Outcome(
                FAILED, f"there is no function {name} in {display_path(path)} any more"
            )
        elif line := functions[name].dots_line:
            outcomes[name] = Outcome(NOT_STARTED, f'its "..." is still in line {line}')
        else:
            to_run.append(name)
    while to_run:  # one process for all, and a new one after an answer that ends it
        for outcome in _run(module, path, seed, to_run):
            outcomes[to_run.pop(0)] = outcome
    return {name: outcomes[name] for name in tasks_of(module)}


def _run(module: str, path: Path, seed: int, names: list[str]) -> list[Outcome]:
    """Return the outcomes of ``names`` up to the first that ends the process: at least one."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "course.exercises.child", folder, module, str(path)]
        most = _TO_START + (LIMIT + 1) * (len(names) + 1)
        timed_out = not _ends_within(most, [*command, str(seed), *names])
        stuck = _text(folder, "stuck")
        loaded, *outcomes = [
            Outcome(**json.loads(line)) for line in _text(folder, "outcomes").splitlines()
        ] or [Outcome(FAILED, _why_it_ended(stuck, path, timed_out))]
    if loaded.status != PASSED:
        raise Problem(loaded.message, None, "no task could be checked" + _after(loaded.printed))
    if len(outcomes) < len(names):
        outcomes.append(Outcome(FAILED, _why_it_ended(stuck, path, timed_out)))
    return outcomes


def _ends_within(seconds: float, command: list[str]) -> bool:
    """Run ``command`` for at most ``seconds``; then kill every process that an answer started.

    Kills the process group; Windows has none.
    """
    silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = subprocess.Popen(
        command, cwd=ROOT, env=_environment(), start_new_session=True, **silent
    )
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()


def _why_it_ended(stuck: str, path: Path, timed_out: bool) -> str:
    lines = re.findall(rf'File "{re.escape(str(path))}", line (\d+)', stuck)
    if stuck or timed_out:
        line = int(lines[0]) if lines else None
        return str(
            Problem(display_path(path), line, f"stopped here: still running after {LIMIT:g} s")
        )
    return f"{display_path(path)}: it ended the process (a crash, os._exit, or out of memory)"


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}


def _text(folder: str, name: str) -> str:
    file = Path(folder) / name
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def _after(printed: str) -> str:
    return f"\nit printed: {printed}" if printed else ""
