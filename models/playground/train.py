"""Train the playground's models over seeds, by the page's own code in a browser; write scores.json.

`python3 -m course train playground`

The same seed gives the same run in every browser, so these are the runs that a reader sees.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from course.browser import find_or_install_browser
from course.problems import Problem
from course.serve import start_server
from models.training import Report

ROOT = Path(__file__).parents[2]
SCORES = Path(__file__).parent / "scores.json"
CHUNK = 20  # steps between two reports
RECORDED = [0, 50, 100, 121, 150, 200, 300]

# By task: a name for each change of its opening, the change, and how many seeds.
CHANGES: dict[str, dict[str, tuple[dict[str, Any], int]]] = {
    "repeat": {
        "opening": ({}, 6),
        "one layer": ({"layers": 1}, 4),
        "no positions": ({"positions": "none"}, 3),
        "no positions, no mask": ({"positions": "none", "mask": False}, 2),
        "no positions, 1,000 steps": ({"positions": "none", "most": 1000}, 3),
        "no positions, 2,000 steps": ({"positions": "none", "most": 2000}, 3),
        "no scale": ({"scale": False}, 3),
        "no scale, rate 0.001, 2,000 steps": ({"scale": False, "rate": 0.001, "most": 2000}, 3),
        "no mask": ({"mask": False}, 2),
        "rotary": ({"positions": "rotary"}, 2),
        "narrow": ({"width": 16}, 3),
        "narrow, one layer, no mask": ({"width": 16, "layers": 1, "mask": False}, 3),
        "fast": ({"rate": 0.1}, 2),
        "one layer, MLP": ({"layers": 1, "mlp": True}, 2),
        "one layer, four heads": ({"layers": 1, "heads": 4}, 2),
    },
    "recall": {
        "opening": ({}, 3),
        "one layer": ({"layers": 1}, 3),
        "no positions": ({"positions": "none"}, 2),
    },
    "previous": {"opening": ({}, 3), "no positions": ({"positions": "none"}, 3)},
    "reverse": {
        "opening": ({}, 3), "no positions": ({"positions": "none"}, 3),
        "mask": ({"mask": True}, 2),
    },
    "first": {"opening": ({}, 3), "no positions": ({"positions": "none"}, 3)},
    "sort": {
        "opening": ({}, 4), "no positions": ({"positions": "none"}, 4),
        "no mask": ({"mask": False}, 3),
    },
    "two": {
        "opening": ({}, 6), "one head": ({"heads": 1}, 6),
        "one head, MLP": ({"heads": 1, "mlp": True}, 3), "four heads": ({"heads": 4}, 3),
    },
}  # fmt: skip


def runs() -> list[tuple[str, str, dict[str, Any]]]:
    """List all trainings: task, name of the change, and what differs from the opening."""
    return [
        (task, name, {"task": task, **change, "seed": seed})
        for task, changes in CHANGES.items()
        for name, (change, seeds) in changes.items()
        for seed in range(seeds)
    ]


def train(workdir: Path, report: Report) -> None:
    """Train all; an interrupted call goes on after the finished trainings in ``workdir``."""
    from playwright.sync_api import sync_playwright

    browser = find_or_install_browser()
    if not browser:
        raise Problem("models/playground/train.py", None, "needs Chrome, Chromium or Edge")
    workdir.mkdir(parents=True, exist_ok=True)
    server = start_server(ROOT, 0)
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chrome.new_page()
        page.goto(f"{server.url}requirements.txt")  # any document of this address
        page.evaluate("import('/models/playground/measure.js').then((m) => {window.m = m})")
        SCORES.write_text(to_json(measure(page, workdir, report)), encoding="utf-8")
        chrome.close()
    server.shutdown()


def measure(page: Any, workdir: Path, report: Report) -> dict[str, Any]:
    """Collect {recorded, since, tasks: {task: {change: [results of each seed]}}}."""
    results: dict[str, Any] = {
        "recorded": page.evaluate("(s) => m.recorded('repeat', s)", RECORDED)
    }
    seeds = range(CHANGES["repeat"]["opening"][1])
    results["since"] = [page.evaluate("(seed) => m.since('repeat', seed)", seed) for seed in seeds]
    results["tasks"] = {task: {name: [] for name in changes} for task, changes in CHANGES.items()}
    for i, (task, name, spec) in enumerate(runs()):
        file = workdir / f"{task}-{name.replace(' ', '-').replace(',', '')}-{spec['seed']}.json"
        if not file.is_file():
            page.evaluate("(spec) => {window.run = m.begin(spec)}", spec)
            done: dict[str, Any] = {"isDone": False}
            while not done["isDone"]:
                done = page.evaluate("(n) => run.more(n)", CHUNK)
                report(f"{task}, {name}, seed {spec['seed']}", i, len(runs()), done["loss"])
            file.write_text(json.dumps(page.evaluate("run.end()")), encoding="utf-8")
        results["tasks"][task][name].append(json.loads(file.read_text(encoding="utf-8")))
    return results


def to_json(results: dict[str, Any]) -> str:
    """Write a line for each training, so that a change of one is a change of one line."""
    lines = [json.dumps(run) for run in results["recorded"]]
    text = '{\n"recorded": [\n' + ",\n".join(lines) + "\n],\n"
    text += f'"since": {json.dumps(results["since"])},\n"tasks": {{\n'
    tasks = []
    for task, changes in results["tasks"].items():
        names = [
            f" {json.dumps(name)}: [\n"
            + ",\n".join(f"  {json.dumps(run)}" for run in seeds)
            + "\n ]"
            for name, seeds in changes.items()
        ]
        tasks.append(f"{json.dumps(task)}: {{\n" + ",\n".join(names) + "\n}")
    return text + ",\n".join(tasks) + "\n}}\n"
