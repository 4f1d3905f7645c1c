"""Train one of models/ again with visible progress; an interrupted training goes on."""

from __future__ import annotations

import importlib
import inspect
import shutil
import sys
import time
from pathlib import Path
from typing import TextIO

from course.problems import Problem, unknown

SAY_EVERY = {True: 0.2, False: 10.0}  # seconds, on a terminal and elsewhere


def train_model(root: Path, name: str, text: Path | None = None) -> int:
    """``text``: the folder of .txt files, for a model that learns from those."""
    known = sorted(script.parent.name for script in root.glob("models/*/train.py"))
    if name not in known:
        raise Problem("models", None, unknown("model", name, known))
    train = importlib.import_module(f"models.{name}.train").train
    options = _text_option(name, text, "text" in inspect.signature(train).parameters)
    import torch

    # For models this small a second thread costs more than it gains.
    torch.set_num_threads(1)
    work = root / ".course" / "training" / name
    if work.exists():
        print(
            f"going on where it was interrupted; delete {work.relative_to(root)}/ to start afresh"
        )
    progress = Progress()
    train(work, progress, **options)
    progress.end()
    shutil.rmtree(work, ignore_errors=True)
    print(f"models/{name}/ has new weights and scores")
    return 0


def _text_option(name: str, text: Path | None, needed: bool) -> dict[str, Path]:
    if needed and text is None:
        raise Problem(
            name, None, f"it learns from books: `train {name} --text DIR`, with .txt files"
        )
    if not needed and text is not None:
        raise Problem(name, None, "it makes its own data, and takes no --text")
    return {} if text is None else {"text": text}


class Progress:
    """Prints each step: on a terminal in one line, elsewhere a line every ten seconds."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self.out, self.in_place = out, out.isatty()
        self.first: tuple[float, int] | None = None  # time and step of the first call
        self.last_time = -float("inf")

    def __call__(self, what: str, step: int, steps: int, loss: float) -> None:
        """``what`` names the model in training; ``step`` and ``steps`` count over all models."""
        now = time.monotonic()
        self.first = self.first or (now, step)
        if now - self.last_time < SAY_EVERY[self.in_place] and step < steps:
            return
        self.last_time = now
        started, first_step = self.first
        done = step - first_step
        left = _left((now - started) / done * (steps - step)) if done else ""
        line = f"{what}: step {step} of {steps}, loss {loss:.3f}{left}"
        self.out.write(f"\r{line:<78}" if self.in_place else f"{line}\n")
        self.out.flush()

    def end(self) -> None:
        if self.in_place and self.first:
            self.out.write("\n")


def _left(seconds: float) -> str:
    if seconds < 90:
        return f", {seconds:.0f} s left"
    return f", {seconds / 60:.0f} min left"
