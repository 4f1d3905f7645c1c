"""Write the table of scores in card.md from scores/."""

import json
from pathlib import Path

HERE = Path(__file__).parent
MARK = "<!-- scores: written by train.py -->\n"
COLUMNS = (
    "model, seed", "guessed", "repeated", "previous token", "induction",
    "repeated, previous-token head off", "repeated, induction head off", "seconds",
)  # fmt: skip


def named_heads(scores: dict) -> dict[str, dict]:
    """Return {"previous": …, "induction": …}, entries of ``scores["heads"]``: the heads with the
    largest weight on the token before, and on the token that followed the same token before.
    """
    return {name: max(scores["heads"], key=lambda h: h[name]) for name in ("previous", "induction")}


def table() -> str:
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    for name in ("two-layers", "one-layer"):
        scores = json.loads((HERE / "scores" / f"{name}.json").read_text(encoding="utf-8"))
        for seed, run in scores["seeds"].items():
            last = run["history"][-1]
            heads = named_heads(last)
            figures = [last["first_loss"], last["repeated_loss"]]
            figures += [heads[kind][kind] for kind in heads]
            figures += [heads[kind]["repeated_loss_off"] for kind in heads]
            rows.append((f"{name}, {seed}", *(f"{x:.3f}" for x in figures), str(run["seconds"])))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def update() -> None:
    """Write the present scores into card.md."""
    card = HERE / "card.md"
    before, _, after = card.read_text(encoding="utf-8").split(MARK)
    card.write_text(f"{before}{MARK}\n{table()}\n{MARK}{after}", encoding="utf-8")
