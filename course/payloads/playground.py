"""What the playground's page says of its trainings: models/playground/scores.json."""

from __future__ import annotations

import json
from functools import reduce
from statistics import fmean
from typing import Any

from course.page.numbers import percent
from course.payloads import MODELS_FOLDER

TASKS = ["repeat", "recall", "previous", "reverse", "first", "sort"]
# Questions before a training: a text, and the page's prediction that asks it; by task, or by task
# and setting if the setting has a question of its own.
POSITIONS = "will it do without positions?"
QUESTIONS = {
    "repeat": ["can one layer do it?", "predict-one-layer"],
    "repeat false": ["what will it do without the mask?", "predict-repeat"],
    "repeat none": [POSITIONS, "predict-positions"],
    "recall": ["what will layer 1 look at?", "predict-recall"],
    "previous": [POSITIONS, "predict-one-look"],
    "reverse": [POSITIONS, "predict-one-look"],
    "first": [POSITIONS, "predict-one-look"],
    "sort": [POSITIONS, "predict-sort"],
}
NAMES = {"opening": "as it opens", "fast": "rate 0.1", "narrow": "width 16", "no scale": "no ÷ √d"}
# What heads 1.1 and 2.1 of the recorded training come to look at, in the widget's words.
HEADS = ("to the token before, in the first round", "to what came after the same token")


def scores() -> dict[str, Any]:
    return json.loads((MODELS_FOLDER / "playground/scores.json").read_text(encoding="utf-8"))


def payload() -> dict[str, Any]:
    """Return tasks, their questions, and a recorded training for readers without JavaScript."""
    rows = [
        [step["step"], *map(_rounded, (step["loss"], step["share"], *step["looks"]))]
        for step in recorded()
    ]
    return {"tasks": TASKS, "questions": QUESTIONS, "recorded": rows}


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 2)


def recorded() -> list[dict[str, Any]]:
    """Return a training by steps; each head's look is None until the widget names its pattern."""
    return [
        {**step, "looks": [
            head["share"] if head["says"] == pattern else None
            for head, pattern in zip(step["follows"] or [{"says": ""}] * 2, HEADS, strict=True)
        ]}
        for step in scores()["recorded"]
    ]  # fmt: skip


def in_lesson(task: str, parts: list[str], changes: list[str]) -> dict[str, Any]:
    """Return a playground with one task and a few settings, and the results of ``changes``."""
    measured = Measured()
    results = [
        {
            "change": change,
            "share": measured.share(task, change),
            "seeds": measured.seeds(task, change),
            "learned": len(measured.learned(task, change)),
        }
        for change in changes
    ]
    steps = measured.steps(task)
    return {"tasks": [task], "parts": parts, "results": results, "steps": steps}


def static_rows(lesson: dict[str, Any]) -> tuple[str, list[str], list[list[str]]]:
    """Return the results of ``in_lesson`` as the sentence, columns and rows of a fallback."""
    rows = [
        [
            _title(result["change"]),
            f"{result['learned']} of {result['seeds']}",
            percent(result["share"]),
        ]
        for result in lesson["results"]
    ]
    sentence = f"What came of trainings of {lesson['steps']} steps, by what was changed."
    return sentence, ["", "seeds that learned it", "answers right, on average"], rows


def _title(change: str) -> str:
    """Write a change in the widget's words: "no scale, rate 0.001" is "no ÷ √d, rate 0.001"."""
    first, *more = change.split(", ")
    return ", ".join([NAMES.get(first, first), *more])


class Measured:
    """The results of the trainings, by task and by change of its first settings."""

    def __init__(self) -> None:
        self.runs = scores()["tasks"]

    def _each(self, task: str, change: str, *keys: Any) -> list[Any]:
        """Look ``keys`` up in the run of each seed."""
        return [reduce(lambda part, key: part[key], keys, run) for run in self.runs[task][change]]

    def share(self, task: str, change: str = "opening") -> float:
        """Return the mean over seeds of the share of right answers at the end."""
        return fmean(self._each(task, change, "share"))

    def between(self, task: str, change: str = "opening") -> tuple[float, float]:
        """Return the least and the largest share of right answers at the end."""
        shares = self._each(task, change, "share")
        return min(shares), max(shares)

    def learned(self, task: str, change: str = "opening") -> list[int]:
        """Return, for the seeds that learned, the steps at which 95 % of answers were right."""
        return sorted(step for step in self._each(task, change, "learned") if step is not None)

    def seeds(self, task: str, change: str = "opening") -> int:
        return len(self.runs[task][change])

    def steps(self, task: str) -> int:
        return self.runs[task]["opening"][0]["steps"]

    def look(self, task: str, head: int, pattern: str, change: str = "opening") -> float:
        """Return the mean weight that a head, counted from 0, gives to a pattern."""
        return fmean(self._each(task, change, "heads", head, pattern))

    def right_at(self, task: str, position: int, change: str = "opening") -> float:
        """Return the mean share of right answers at one position of the row, counted from 0."""
        return fmean(self._each(task, change, "right", position))

    def table(self, task: str) -> list[list[Any]]:
        """Return a row for each change: name, seeds that learned, their steps, right answers."""
        return [[_title(name), *self._row(task, name)] for name in self.runs[task]]

    def _row(self, task: str, change: str) -> list[str]:
        steps, (least, most) = self.learned(task, change), self.between(task, change)
        first, last = (steps[0], steps[-1]) if steps else (0, 0)
        took = "never" if not steps else str(first) if first == last else f"{first} to {last}"
        low, high = f"{100 * least:.0f}", f"{100 * most:.0f}"
        share = f"{low if low == high else f'{low} to {high}'}\N{NARROW NO-BREAK SPACE}%"
        return [f"{len(steps)} of {self.seeds(task, change)}", took, share]
