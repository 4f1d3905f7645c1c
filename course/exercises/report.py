"""Print outcomes, hints, solutions and progress for the `exercise` command."""

from __future__ import annotations

import json
import random
import textwrap
from pathlib import Path
from typing import Any

from course.problems import Problem, unknown

from . import learner
from .examine import FAILED, NOT_STARTED, PASSED, Outcome
from .run import check
from .task import Task, tasks_of

_NOTES = learner.ROOT / ".course" / "exercises.json"  # each task's number of hints and last outcome


def report(module: str, *, seed: int | None = None, path: Path | None = None) -> bool:
    """Check the learner's file and print each outcome; returns True if every task passed."""
    path = path or learner.file_of(module)
    seed = random.randrange(100_000) if seed is None else seed
    outcomes = check(module, path, seed)
    functions = learner.read(path)
    _note(module, outcomes={name: outcome.status for name, outcome in outcomes.items()})
    print(f"{learner.display_path(path)}  (--seed {seed} repeats this run)\n")
    for name, outcome in outcomes.items():
        print_outcome(name, outcome, functions[name].title if name in functions else "")
    return _summary(module, outcomes)


def print_outcome(name: str, outcome: Outcome, title: str = "") -> None:
    print(f"{outcome.status:12} {name}  {title}".rstrip())
    print(*_details(outcome), "", sep="\n")


def _details(outcome: Outcome) -> list[str]:
    lines = [outcome.message, *(_aligned(name, text) for name, text in outcome.case.items())]
    if outcome.printed:
        lines.append(_aligned("it printed", outcome.printed.strip()[:600]))
    return [textwrap.indent(line, " " * 13) for line in lines if line]


def _aligned(name: str, text: str) -> str:
    return textwrap.indent(text, " " * 12).replace(" " * 12, f"{name:11} ", 1)


def _summary(module: str, outcomes: dict[str, Outcome]) -> bool:
    passed = sum(outcome.status == PASSED for outcome in outcomes.values())
    print(f"{passed} of {len(outcomes)} passed.", end=" ")
    if passed == len(outcomes):
        print("All done.")
        return True
    print(f"For a hint: python3 -m course exercise {module} {_next(outcomes)} --hint")
    return False


def _next(outcomes: dict[str, Any]) -> str:
    """Return the task to work on next: the first that failed, or else the first not started."""
    status = {name: getattr(outcome, "status", outcome) for name, outcome in outcomes.items()}
    for outcome in (FAILED, NOT_STARTED):
        if task := next((name for name, s in status.items() if s == outcome), None):
            return task
    return next(iter(status))


def hint(module: str, name: str | None = None) -> None:
    """Print the earlier hints and the next; after the last, the command for the solution."""
    task = _task(module, name)
    before = _notes().get(module, {}).get("hints", {}).get(task.name, 0)
    count = min(before + 1, len(task.hints))
    for number, text in enumerate(task.hints[:count], 1):
        print(f"Hint {number} of {len(task.hints)} for {task.name}: {text}")
    if before >= len(task.hints):
        print(f"No more hints: python3 -m course exercise {module} {task.name} --solution")
    _note(module, hints={task.name: count})


def solution(module: str, name: str | None = None) -> None:
    task = _task(module, name)
    print(f"{task.source}\n\n{task.why}")


def progress() -> None:
    """Print all modules with the last outcome of each task."""
    for module in learner.modules():
        try:
            states = _states(module)
        except Problem as problem:
            print(f"{module}  {problem}")
            continue
        passed = sum(state == PASSED for state in states.values())
        print(f"{module}  {passed} of {len(states)} passed")
        for name, state in states.items():
            print(f"     {state:12} {name}")
    print("\nCheck one with: python3 -m course exercise MODULE")


def _states(module: str) -> dict[str, str]:
    last = _notes().get(module, {}).get("outcomes", {})
    try:
        functions = learner.read(learner.file_of(module))
    except Problem as problem:
        return {name: str(problem).splitlines()[0] for name in tasks_of(module)}
    unstarted = {name for name, function in functions.items() if function.dots_line}
    return {
        name: NOT_STARTED if name in unstarted else last.get(name, "not checked")
        for name in tasks_of(module)
    }


def _task(module: str, name: str | None) -> Task:
    learner.file_of(module)
    tasks = tasks_of(module)
    name = name or _next(_states(module))
    if name not in tasks:
        raise Problem("exercise", None, unknown("task", name, tasks))
    return tasks[name]


def _notes() -> dict[str, Any]:
    try:
        return json.loads(_NOTES.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _note(module: str, **news: dict[str, Any]) -> None:
    notes = _notes()
    for kind, values in news.items():
        notes.setdefault(module, {}).setdefault(kind, {}).update(values)
    try:
        _NOTES.parent.mkdir(exist_ok=True)
        _NOTES.write_text(json.dumps(notes), encoding="utf-8")
    except OSError:
        pass  # a read-only folder: hints then start again at the first
