"""Train rivals of the induction models on the same sequences; write rival.json.

"one layer, larger": what could help one layer: more than twice the parameters of two-layers, three
times the heads, an MLP, and places that values know too. "two layers, ordinary": the usual wiring,
with an MLP and places added to the words. 13 minutes of a processor, and what is done is kept:
``python -m modules.m08_patterns.rival``
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch.nn.functional as F

from models.induction.scores import score
from models.induction.sequences import LENGTH, VOCABULARY, sequences
from models.induction.train import BATCH, DECAY, RATE
from models.training import fit
from models.transformer import Config, Transformer

SCORES = Path(__file__).with_name("rival.json")
SEEDS, STEPS = (0, 1, 2), 4000  # as many as the course's model with one layer had
LOOK_AT = (500, 1000, 1500, 2000, 2500, 3000, 4000)
SIZES = {
    "one layer, larger": {"embed_dim": 96, "num_heads": 6, "num_layers": 1, "mlp_dim": 256},
    "two layers, ordinary": {"embed_dim": 64, "num_heads": 2, "num_layers": 2, "mlp_dim": 128},
}


def build(name: str) -> Transformer:
    return Transformer(Config(VOCABULARY, LENGTH, **SIZES[name], norm=True, is_causal=True))


def train(name: str, seed: int, *, steps: int = STEPS) -> dict:
    """Return the losses on the second time, by step, and the heads' scores after the last."""
    torch.manual_seed(seed)
    model = build(name)
    repeated, found = {}, {}

    def loss() -> torch.Tensor:
        tokens = sequences(BATCH)
        logits = model(tokens, need_weights=False).logits
        return F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:])

    def look(step: int, _: float) -> None:
        if step in LOOK_AT or step == steps:
            found.update(score(model))
            repeated[str(step)] = found["repeated_loss"]

    with TemporaryDirectory() as folder:
        options = {"rate": RATE, "decay": DECAY, "saved": Path(folder) / "model.pt"}
        seconds = fit(model, loss, steps=steps, after=look, **options)
    return {"seconds": round(seconds), "repeated_loss": repeated, "heads": found["heads"]}


def main() -> None:
    """Train what rival.json lacks; with a number, at most so many."""
    torch.set_num_threads(1)
    found = json.loads(SCORES.read_text(encoding="utf-8")) if SCORES.is_file() else {}
    missing = [(name, seed) for seed in SEEDS for name in SIZES
               if str(seed) not in found.get(name, {}).get("seeds", {})]  # fmt: skip
    for name, seed in missing[: int(sys.argv[1]) if len(sys.argv) > 1 else None]:
        weights = sum(p.numel() for p in build(name).parameters())
        of_name = found.setdefault(name, {"weights": weights, "seeds": {}})
        of_name["seeds"][str(seed)] = train(name, seed)
        print(name, seed, of_name["seeds"][str(seed)]["repeated_loss"])
        SCORES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
