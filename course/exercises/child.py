"""Run answers in a process of their own, so that a crash or a hang ends nothing else.

    python -m course.exercises.child FOLDER MODULE FILE SEED TASK…

Writes a line of JSON for the file as a whole to FOLDER/outcomes, then a line for each task. After
the time limit faulthandler writes the traceback to FOLDER/stuck and ends the process.
"""

from __future__ import annotations

import faulthandler
import io
import json
import os
import sys
import types
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import IO

from .examine import FAILED, PASSED, Outcome, describe_error, examine
from .task import tasks_of

LIMIT = float(os.environ.get("COURSE_EXERCISE_LIMIT", "5"))  # seconds, for the file and each task
_MOST_PRINTED = 600


class Printed(io.TextIOBase):
    """A text stream that keeps the first characters and drops the rest."""

    text = ""

    def write(self, text: str) -> int:
        if len(self.text) <= _MOST_PRINTED:
            self.text += text[: _MOST_PRINTED + 1 - len(self.text)]
        return len(text)


def main(folder: str, module: str, file: str, seed: str, *names: str) -> None:
    tasks = tasks_of(module)  # first, so that its imports (torch) don't count as the learner's time
    learner = types.ModuleType(f"exercises.{module}")
    with (
        open(Path(folder) / "outcomes", "w", encoding="utf-8") as outcomes,
        open(Path(folder) / "stuck", "w", encoding="utf-8") as stuck,
    ):
        loaded = _run_guarded(partial(_load, learner, file), file, stuck)
        print(json.dumps(loaded.as_dict()), file=outcomes, flush=True)
        for name in names if loaded.status == PASSED else ():
            examination = partial(examine, tasks[name], getattr(learner, name), int(seed), file)
            outcome = _run_guarded(examination, file, stuck)
            print(json.dumps(outcome.as_dict()), file=outcomes, flush=True)


def _load(learner: types.ModuleType, file: str) -> Outcome:
    code = compile(Path(file).read_text(encoding="utf-8"), file, "exec")
    exec(code, learner.__dict__)
    return Outcome(PASSED)


def _run_guarded(action: Callable[[], Outcome], file: str, stuck: IO[str]) -> Outcome:
    printed = Printed()
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=stuck)
    try:
        with redirect_stdout(printed), redirect_stderr(Printed()):
            outcome = action()
    except BaseException as error:
        outcome = Outcome(FAILED, describe_error(error, file))
    faulthandler.cancel_dump_traceback_later()
    outcome.printed = printed.text
    return outcome


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main(*sys.argv[1:])
    os._exit(0)  # don't wait for threads that an answer started
