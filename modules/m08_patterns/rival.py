"""Train rivals of the induction models on the same sequences; write rival.json.

"one layer, larger": what could help one layer: more than twice the parameters of two-layers, three
times the heads, an MLP, positions in the values too, and three times the steps of one-layer. "two
layers, ordinary": the usual wiring, with an MLP and positions added to the words. 25 minutes of a
processor; an interrupted run goes on:
``python -m modules.m08_patterns.rival``
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.nn.functional as F

from models.induction.scores import PERIOD, score
from models.induction.sequences import LENGTH, VOCABULARY, sequences
from models.induction.train import BATCH, DECAY, RATE
from models.training import fit
from models.transformer import Config, Transformer

SCORES = Path(__file__).with_name("rival.json")
SEEDS = (0, 1, 2)
LOOK_AT = (500, 1000, 2000, 4000, 8000, 12000)
STEPS = {"one layer, larger": 12000, "two layers, ordinary": 4000}
SIZES = {
    "one layer, larger": {"embed_dim": 96, "num_heads": 6, "num_layers": 1, "mlp_dim": 256},
    "two layers, ordinary": {"embed_dim": 64, "num_heads": 2, "num_layers": 2, "mlp_dim": 128},
}


def build(name: str) -> Transformer:
    return Transformer(Config(VOCABULARY, LENGTH, **SIZES[name], norm=True, is_causal=True))


@torch.no_grad()
def goes_by(model: Transformer) -> dict[str, float]:
    """Return the shares of three guesses, if three rules disagree about the next sign.

    In 256 new texts of PERIOD signs twice, two signs of the second time are swapped. Then the
    sign that asks names one sign, age another (the one unseen for longest), and position a third
    (the one that stood there the first time). A blind guess gives 1/32 to each.
    """
    tokens, apart = sequences(256, PERIOD, torch.Generator().manual_seed(7)), 5
    positions = range(PERIOD + 4, PERIOD + 16)
    named = {"asks": apart + 1, "age": 0, "place": 1}  # from the same position in the first half
    shares = dict.fromkeys(named, 0.0)
    for at in positions:
        changed = tokens[:, : at + 1].clone()
        changed[:, at] = tokens[:, at + apart]
        guess = model(changed).logits[:, -1].softmax(-1)
        for name, further in named.items():
            sign = tokens[:, at - PERIOD + further]
            shares[name] += guess.gather(1, sign[:, None]).mean().item() / len(positions)
    return {name: round(share, 5) for name, share in shares.items()}


def train(name: str, seed: int, *, steps: int | None = None) -> dict:
    """Return the losses on what repeats, by step; after the last, the heads' scores and goes_by."""
    torch.manual_seed(seed)
    model, steps = build(name), steps or STEPS[name]
    repeated, scores = {}, {}

    def loss() -> torch.Tensor:
        tokens = sequences(BATCH)
        logits = model(tokens, need_weights=False).logits
        return F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:])

    def look(step: int, _: float) -> None:
        if step in LOOK_AT or step == steps:
            scores.update(score(model))
            repeated[str(step)] = scores["repeated_loss"]

    with TemporaryDirectory() as folder:
        options = {"rate": RATE, "decay": DECAY, "saved": Path(folder) / "model.pt"}
        seconds = fit(model, loss, steps=steps, after=look, **options)
    return {
        "seconds": round(seconds), "repeated_loss": repeated, "heads": scores["heads"],
        "goes_by": goes_by(model),
    }  # fmt: skip


def main() -> None:
    """Train what rival.json lacks; with a number, at most so many."""
    torch.set_num_threads(1)
    record = json.loads(SCORES.read_text(encoding="utf-8")) if SCORES.is_file() else {}
    missing = [(name, seed) for seed in SEEDS for name in SIZES
               if str(seed) not in record.get(name, {}).get("seeds", {})]  # fmt: skip
    for name, seed in missing[: int(sys.argv[1]) if len(sys.argv) > 1 else None]:
        weights = sum(p.numel() for p in build(name).parameters())
        of_name = record.setdefault(name, {"weights": weights, "seeds": {}})
        of_name["seeds"][str(seed)] = train(name, seed)
        print(name, seed, of_name["seeds"][str(seed)]["repeated_loss"])
        SCORES.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
