"""Train one small model for each kind of positions, and test it on rows four times as long.

`python3 -m course train positions`
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from statistics import mean

import torch
import torch.nn.functional as F
from torch import Tensor

from models.positions.task import (
    HEADS,
    KINDS,
    LENGTH,
    LONGEST,
    QUESTIONS,
    WIDTH,
    Reader,
    examples,
)
from models.training import Report, fit, part_of
from models.weights import load_into, save_plain

STEPS, BATCH, TESTS = 600, 64, 1000
RATES, TUNED_ON = (1e-3, 3e-3, 1e-2), (100, 101)  # seeds of their own: none is tuned on itself
LARGER = 3e-2  # and one rate more, as the largest of them is often the best
SEEDS, LONGER_SEEDS = range(5), range(2)
BIN = 4  # positions that share a number in the scores
SHORT, SHORT_RATE = 100, 1e-3  # steps of training at the longest length, after all else
FOLDER = Path(__file__).parent
SCORES = FOLDER / "scores.json"

# A rotary model's ways with untrained positions. NTK-aware: a base so much larger that the slowest
# pair turns as slowly as with interpolation, and the fastest as before.
TIMES = LONGEST // LENGTH
HEAD = WIDTH // HEADS
BEYOND = {
    "as trained": {},
    "interpolated": {"scale": 1 / TIMES},
    "NTK-aware": {"base": 10000.0 * TIMES ** (HEAD / (HEAD - 2))},
}


# Constants other than the published ones, which were chosen for texts of hundreds of tokens:
# Llama 3's base, and slopes eight times as steep at the steepest head.
CONSTANTS = {"rotary": {"base": 500_000.0}, "alibi": {"slopes": (2.0, 1.0, 0.5, 0.25)}}


def train(workdir: Path, report: Report) -> None:
    """Train all; write scores.json and the weights of the first seed of each kind."""
    run = Run(workdir, report)
    tuned = {kind: {str(rate): run.tuning(kind, rate) for rate in RATES} for kind in KINDS}
    best = {kind: max(RATES, key=lambda rate: tuned[kind][str(rate)]) for kind in KINDS}
    models = {kind: [run.model(kind, seed, best[kind]) for seed in SEEDS] for kind in KINDS}
    for kind, [first, *_] in models.items():
        save_plain(first, weights_of(kind))
        models[kind][0] = load(kind)  # scored as it is shipped
    longer = {
        kind: [run.model(kind, s, best[kind], times=3) for s in LONGER_SEEDS] for kind in KINDS
    }
    anywhere = {
        kind: [run.model(kind, s, best[kind], anywhere=True) for s in SEEDS]
        for kind in ("sinusoidal", "learned")
    }
    other = {
        kind: [run.model(kind, s, best[kind], **options) for s in SEEDS]
        for kind, options in CONSTANTS.items()
    }
    record = {
        "seeds": list(SEEDS), "steps": STEPS, "length": LENGTH, "longest": LONGEST, "bin": BIN,
        "parameters": {k: sum(p.numel() for p in Reader(k).parameters()) for k in KINDS},
        "tuned": tuned,
        "rate": best,
        "right": {kind: by_position(models[kind]) for kind in KINDS},
        "windowed": {kind: by_position(models[kind], window=LENGTH) for kind in KINDS},
        "moved": {kind: moved(models[kind]) for kind in KINDS},
        "three times the steps": {kind: by_position(longer[kind]) for kind in KINDS},
        "a larger rate": {kind: run.larger(kind) for kind in KINDS},
        "trained anywhere": {kind: by_position(some) for kind, some in anywhere.items()},
        "other constants": {kind: by_position(some) for kind, some in other.items()},
        "rotary of another base, at last": at_the_end(other["rotary"], 2 * LONGEST),
        "beyond": {
            name: {
                "at once": by_position([stretched(m, options) for m in models["rotary"]]),
                "after training": by_position(
                    [run.lengthened(m, name, s) for s, m in enumerate(models["rotary"])]
                ),
            }
            for name, options in BEYOND.items()
        },
    }  # fmt: skip
    SCORES.write_text(json.dumps(record) + "\n", encoding="utf-8")


class Run:
    """All trainings of one call, with the steps done over all of them."""

    def __init__(self, workdir: Path, report: Report) -> None:
        self.workdir, self.report, self.done = workdir, report, 0
        seeds = len(SEEDS)
        each = (len(RATES) + 1) * len(TUNED_ON) + seeds + 3 * len(LONGER_SEEDS)
        trainings = len(KINDS) * each + (2 + len(CONSTANTS)) * seeds
        self.steps = trainings * STEPS + len(BEYOND) * seeds * SHORT

    def tuning(self, kind: str, rate: float) -> float:
        """Return the share right at the trained length, by which the rate is chosen."""
        models = [self.model(kind, seed, rate) for seed in TUNED_ON]
        rights = [right(model, LENGTH)[name] for model in models for name in QUESTIONS]
        return round(mean(shares.nanmean().item() for shares in rights), 4)

    def larger(self, kind: str) -> dict[str, list[list[float]]]:
        return by_position([self.model(kind, seed, LARGER) for seed in TUNED_ON])

    def model(
        self,
        kind: str,
        seed: int,
        rate: float,
        *,
        times: int = 1,
        anywhere: bool = False,
        base: float | None = None,
        slopes: tuple[float, ...] | None = None,
    ) -> Reader:
        """``anywhere``: each batch starts at a random position, to train all of them."""
        torch.manual_seed(seed)
        model, starts = Reader(kind), LONGEST - LENGTH if anywhere else 0
        name = f"{kind}-{rate}-{times}-{anywhere}-{seed}"
        if base is not None:
            model.set_base(base)
            name += f"-{base}"
        if slopes is not None:
            model.set_slopes(slopes)
            name += f"-{slopes}"
        return self._fit(model, name, times * STEPS, rate, LENGTH, starts)

    def lengthened(self, model: Reader, name: str, seed: int) -> Reader:
        """Train a little more, on the longest rows."""
        torch.manual_seed(seed)
        model = stretched(model, BEYOND[name]).train()
        return self._fit(model, f"longest-{name}-{seed}", SHORT, SHORT_RATE, LONGEST)

    def _fit(
        self, model: Reader, name: str, steps: int, rate: float, length: int, starts: int = 0
    ) -> Reader:
        def loss() -> Tensor:
            signs, answers = examples(BATCH, length)
            start = int(torch.randint(starts + 1, ())) if starts else 0
            return loss_of(model(signs, start), answers)

        after = part_of(self.report, name, self.done, self.steps)
        saved = self.workdir / f"{name}.pt"
        fit(model, loss, steps=steps, rate=rate, decay=0.0, saved=saved, after=after)
        self.done += steps
        return model.eval()


def loss_of(logits: dict[str, Tensor], answers: dict) -> Tensor:
    return sum(
        F.cross_entropy(logits[name][asked], signs[asked])
        for name, (signs, asked) in answers.items()
    )


@torch.no_grad()
def right(
    model: Reader, length: int, start: int = 0, window: int | None = None
) -> dict[str, Tensor]:
    """Return each question's share right by position, (length,), on unseen rows."""
    signs, answers = examples(TESTS, length, torch.Generator().manual_seed(10**6))
    logits, shares = model(signs, start, window=window), {}
    for name, (right_signs, asked) in answers.items():
        hits = (logits[name].argmax(-1) == right_signs) & asked
        shares[name] = hits.sum(0) / asked.sum(0)  # NaN at positions without a question
    return shares


def by_position(models: list[Reader], window: int | None = None) -> dict[str, list[list[float]]]:
    """Return the share right in the longest rows by question, seed and bin of BIN positions."""
    result: dict[str, list[list[float]]] = {name: [] for name in QUESTIONS}
    for model in models:
        for name, shares in right(model, LONGEST, window=window).items():
            bins = shares.unflatten(0, (-1, BIN)).nanmean(-1)
            result[name].append([round(share, 4) for share in bins.tolist()])
    return result


def at_the_end(models: list[Reader], length: int) -> dict[str, list[float]]:
    """Return the share right at the last LENGTH positions, by question and model."""
    shares = [right(model, length) for model in models]
    return {
        name: [round(s[name][-LENGTH:].nanmean().item(), 4) for s in shares] for name in QUESTIONS
    }


def moved(models: list[Reader]) -> dict[str, dict[str, list[float]]]:
    """Return the shares right in rows of the trained length, at the first and last positions."""
    starts = {"first": 0, "last": LONGEST - LENGTH}
    return {
        name: {
            which: [round(right(m, LENGTH, start)[name].nanmean().item(), 4) for m in models]
            for which, start in starts.items()
        }
        for name in QUESTIONS
    }


def stretched(model: Reader, options: dict[str, float]) -> Reader:
    """Copy a rotary model with other angles: ``scale`` of the positions, or another ``base``."""
    model = copy.deepcopy(model)
    model.scale = options.get("scale", 1.0)
    if "base" in options:
        model.set_base(options["base"])
    return model


def weights_of(kind: str) -> Path:
    return FOLDER / "weights" / f"{kind}.safetensors"


def load(kind: str) -> Reader:
    """Load the model of the first seed, in float32."""
    return load_into(Reader(kind), weights_of(kind))
