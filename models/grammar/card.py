"""Write the table of scores in card.md from scores/."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
MARK = "<!-- scores: written by train.py -->\n"
Seed = dict[str, dict]


def _agreement(key: str, distractors: int) -> Callable[[Seed], float]:
    return lambda seed: _worst(seed[key], f"{distractors} distractors")


def _head(relation: str, what: str = "weight") -> Callable[[Seed], float]:
    return lambda seed: seed["attention"][relation][what]


def _at_worst_distance(relation: str) -> Callable[[Seed], float]:
    return lambda seed: min(seed["attention"][relation]["by distance"].values())


def _worst(accuracy: dict, name: str) -> float:
    """Return the lower score of held-out words and held-out pairs."""
    return min(accuracy[held][name] for held in ("words", "pairs"))


ROWS: dict[str, Callable[[Seed], float]] = {
    "agreement across one distractor": _agreement("accuracy", 1),
    "agreement across two": _agreement("accuracy", 2),
    "… one distractor, with the verb head off": _agreement("accuracy without the verb head", 1),
    'the noun repeated for "it", pairs': lambda seed: _worst(seed["accuracy"], "answer"),
    'the noun named at "it", pairs': lambda seed: _worst(seed["accuracy"], "meant by it"),
    "what is said of the bank, pairs": lambda seed: seed["accuracy"]["bank"],
    "one head: verb → subject": _head("verb"),
    "… at the worst distance": _at_worst_distance("verb"),
    "… fixed": _head("verb", "fixed offset"),
    "where the verb is guessed → subject": _head("verb, guessed"),
    'one head: "it" → its noun': _head("it"),
    "… fixed ": _head("it", "fixed offset"),
    "… flips with the adjective": _head("it", "flips"),
    "one head: adjective → its noun": _head("adjective"),
    '"bank" → the word that decides': _head("bank"),
    "where what is said of it is guessed → that word": _head("sense, guessed"),
}


def table(scores: dict[str, dict]) -> str:
    lines = ["| seeds 0 · 1 · 2 | " + " | ".join(f"`{name}`" for name in scores) + " |"]
    lines.append("| --- " * (len(scores) + 1) + "|")
    for row, of in ROWS.items():
        cells = [_cell(of, model["seeds"].values()) for model in scores.values()]
        lines.append(f"| {row.strip()} | " + " | ".join(cells) + " |")
    trained = [[s["processor seconds"] for s in m["seeds"].values()] for m in scores.values()]
    lines.append("| weights | " + " | ".join(f"{m['weights']:,}" for m in scores.values()) + " |")
    times = [f"{min(seconds)} – {max(seconds)}" for seconds in trained]
    lines.append("| training, seconds of a processor | " + " | ".join(times) + " |")
    return "\n".join(lines) + "\n"


def _cell(of: Callable[[Seed], float], seeds: list[Seed]) -> str:
    try:
        return " · ".join(f"{of(seed):.2f}" for seed in seeds)
    except KeyError:  # only `masked` is trained to name a noun at "it"
        return "–"


def update(names: list[str]) -> None:
    """Write the present scores into card.md."""
    scores = {name: json.loads((HERE / f"scores/{name}.json").read_text()) for name in names}
    before, _, after = (HERE / "card.md").read_text(encoding="utf-8").split(MARK)
    text = before + MARK + "\n" + table(scores) + "\n" + MARK + after
    (HERE / "card.md").write_text(text, encoding="utf-8")
