"""Write the tables and samples in card.md from scores/, so that each number has one source."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
MARK = "<!-- {}: written by train.py -->\n"
LOOKS = ("itself", "previous", "first", "induction", "punctuation")


def update() -> None:
    """Put the scores as they are now into card.md."""
    scores = _read("storyteller")
    card = HERE / "card.md"
    text = card.read_text(encoding="utf-8")
    parts = {
        "losses": losses(scores, _read("rival")),
        "heads": heads(scores["seeds"]["0"]),
        "seeds": seeds(scores),
        "on the way": on_the_way(scores["seeds"]["0"]),
        "samples": "\n".join(_quoted(sample) for sample in scores["samples"]),
    }
    for name, part in parts.items():
        before, _, after = text.split(MARK.format(name))
        text = before + MARK.format(name) + f"\n{part}\n" + MARK.format(name) + after
    card.write_text(text, encoding="utf-8")


def losses(scores: dict, rival: dict) -> str:
    names = ["all", *scores["held out"]]
    rows = [("bits per byte", *(name.removesuffix(".txt") for name in names))]
    for seed, scores_of_one in scores["seeds"].items():
        cells = [f"{scores_of_one['bits per byte'][name]:.3f}" for name in names]
        rows.append((f"storyteller, seed {seed}", *cells))
    for order, scores_of_one in rival["bits per byte, by order"].items():
        if order in ("3", "5", "6"):
            rows.append((f"{order}-grams", *(f"{scores_of_one[name]:.3f}" for name in names)))
    return _table(rows)


def heads(seed: dict) -> str:
    """Weights on held-out books, then on random repeated tokens, then what its absence costs."""
    held, again = seed["held out"], seed["repeated"]
    rows = [("layer.head", *LOOKS, "induction, repeated", "previous, repeated", "loss without it")]
    for head, other in zip(held["heads"], again["heads"], strict=True):
        numbers = [head[look] for look in LOOKS] + [other["induction"], other["previous"]]
        rows.append(
            (
                name_of(head),
                *(f"{x:.2f}" for x in numbers),
                f"+{head['cost']:.3f}".replace("+-", "−"),
            )
        )
    return _table(rows)


def seeds(scores: dict) -> str:
    runs = scores["seeds"]
    columns = {f"seed {seed}": scored for seed, scored in runs.items()}
    columns |= {"untrained": runs["0"]["on the way"]["0"]}
    rows = [("", *columns)]
    rows += [
        (name, *(str(column.get(name, "–")) for column in columns.values()))
        for name in ("steps", "seconds")
    ]
    for data, looks in (("held out", LOOKS), ("repeated", ("previous", "induction"))):
        cells = [f"{column[data]['loss']:.3f}" for column in columns.values()]
        rows.append((f"loss, {data}", *cells))
        for look in looks:
            cells = [_best(column[data]["heads"], look) for column in columns.values()]
            rows.append((f"best {look}, {data}", *cells))
    return _table(rows)


def on_the_way(seed: dict) -> str:
    rows = [("step", "loss", *(f"best {look}" for look in LOOKS), "repeated: loss", "induction")]
    for step, scores in [*seed["on the way"].items(), (str(seed["steps"]), seed)]:
        held, again = scores["held out"], scores["repeated"]
        best = [_best(held["heads"], look) for look in LOOKS]
        last = [f"{again['loss']:.2f}", _best(again["heads"], "induction")]
        rows.append((step, f"{held['loss']:.2f}", *best, *last))
    return _table(rows)


def name_of(head: dict) -> str:
    return f"{head['layer'] + 1}.{head['head'] + 1}"


def _best(heads: list[dict], look: str) -> str:
    best = max(heads, key=lambda head: head[look])
    return f"{best[look]:.2f} ({name_of(best)})"


def _table(rows: list[tuple[str, ...]]) -> str:
    rows = [rows[0], ("---",) * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _quoted(sample: str) -> str:
    return "".join(f"> {line}".rstrip() + "\n" for line in sample.splitlines())


def _read(name: str) -> dict:
    return json.loads((HERE / "scores" / f"{name}.json").read_text(encoding="utf-8"))
