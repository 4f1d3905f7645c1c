"""Train the induction models: two layers and one, three seeds each.

`python3 -m course train induction`
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.induction.card import update
from models.induction.scores import score
from models.induction.sequences import LENGTH, VOCABULARY, sequences
from models.training import Report, fit, part_of
from models.transformer import Config, Transformer
from models.weights import load, save

HERE = Path(__file__).parent
SEEDS = (0, 1, 2)
SHIPPED = 0
LAYERS = {"two-layers": 2, "one-layer": 1}
STEPS = {"two-layers": 1000, "one-layer": 4000}  # ample, so that time explains no difference
BATCH, RATE, DECAY = 64, 3e-3, 0.01
# More checkpoints while the loss drops.
CHECKPOINTS = {
    "two-layers": (0, 50, 100, 150, *range(175, 425, 25), 450, 500, 550, 600, 700, 800, 1000),
    "one-layer": (0, 250, 500, 750, 1000, 1500, 2000, 3000, 4000),
}


def train(workdir: Path, report: Report) -> None:
    """Train all models and seeds; write weights/ and scores/ beside this file."""
    whole, done, shipped = sum(STEPS.values()) * len(SEEDS), 0, []
    for name in LAYERS:
        seeds = {}
        for seed in SEEDS:
            tell = part_of(report, f"{name}, seed {seed}", done, whole)
            folder = workdir / f"{name}-{seed}"
            seconds = train_one(name, seed, folder, tell)
            done += STEPS[name]
            files = [folder / f"{name}-{step:04}.safetensors" for step in CHECKPOINTS[name]]
            scores = [score(load(file)) for file in files]  # of the rounded weights, as shipped
            history = [
                {"step": step} | s for step, s in zip(CHECKPOINTS[name], scores, strict=True)
            ]
            seeds[str(seed)] = {"seconds": round(seconds), "history": history}
            if seed == SHIPPED:
                shipped += files if name == "two-layers" else files[-1:]
        _write(name, seeds)
    _ship(shipped)
    update()


def train_one(
    name: str, seed: int, folder: Path, tell: Callable[[int, float], None], steps: int | None = None
) -> float:
    """Train one model; write its checkpoints to ``folder`` and return its processor seconds."""
    torch.manual_seed(seed)
    model = build(name)

    def keep(step: int, loss: float | None = None) -> None:
        if step in CHECKPOINTS[name]:
            save(model, folder / f"{name}-{step:04}.safetensors")
        if loss is not None:
            tell(step, loss)

    keep(0)
    options = {"steps": steps or STEPS[name], "rate": RATE, "decay": DECAY}
    return fit(model, lambda: batch_loss(model), saved=folder / "saved.pt", after=keep, **options)


def build(name: str) -> Transformer:
    wiring = {"norm": True, "positions": "query-key", "is_causal": True}
    sizes = {"embed_dim": 64, "num_heads": 2, "num_layers": LAYERS[name]}
    model = Transformer(Config(VOCABULARY, LENGTH, **sizes, **wiring))
    with torch.no_grad():
        model.positions.mul_(4)  # beside normed words, small positions would be learned late
    return model


def batch_loss(model: Transformer) -> Tensor:
    tokens = sequences(BATCH)
    return F.cross_entropy(model(tokens).logits[:, :-1].mT, tokens[:, 1:])


def _ship(files: list[Path]) -> None:
    shutil.rmtree(HERE / "weights", ignore_errors=True)
    (HERE / "weights").mkdir()
    for file in files:
        shutil.copyfile(file, HERE / "weights" / file.name)


def _write(name: str, seeds: dict[str, dict]) -> None:
    path = HERE / "scores" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    weights = sum(p.numel() for p in build(name).parameters())
    record = {"weights": weights, "shipped": SHIPPED, "seeds": seeds}
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
