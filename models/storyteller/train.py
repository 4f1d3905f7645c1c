"""Train the storyteller on a folder of books, three seeds.

`python3 -m course train storyteller --text DIR`
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.storyteller.books import LENGTH, prepare
from models.storyteller.card import update
from models.storyteller.model import FILE
from models.storyteller.muon import Muon
from models.storyteller.scores import bits_per_byte, held_out_loss, score_heads
from models.storyteller.write import write
from models.training import Report, fit, part_of
from models.transformer import Config, Transformer
from models.weights import load, save

HERE = Path(__file__).parent
STEPS = {0: 8000, 1: 4000, 2: 4000}  # by seed; the first ships
BATCH = 8
RATE, MATRIX_RATE, DECAY = 4e-3, 0.02, 0.1
STEADY = 0.7  # of the steps are at the full rate; over the others it falls to 0
CHECKPOINTS = (0, 50, 100, 200, 400, 700, 1000, 1500, 2500, 4000, 6000)
SAMPLE_EVERY = 500


def train(workdir: Path, report: Report, *, text: Path) -> None:
    """Train all seeds on the books in the folder ``text``; write weights/, scores/ and the card."""
    # A model of this size gains by more threads; the others of the course lose.
    torch.set_num_threads(os.cpu_count() or 1)
    vocabulary, tokens, held = prepare(text)
    done, whole = 0, sum(STEPS.values())
    seeds = {}
    for seed, steps in STEPS.items():
        folder = workdir / str(seed)
        tell = part_of(report, f"seed {seed}", done, whole)
        seconds = train_one(seed, vocabulary, tokens, folder, tell, steps)
        done += steps
        seeds[str(seed)] = {"seconds": round(seconds)} | score_seed(folder, steps, held)
    (HERE / "weights").mkdir(exist_ok=True)
    final = load(workdir / "0" / f"{STEPS[0]:05}.safetensors")
    save(final, HERE / "weights" / FILE.name, bits=8)
    write_scores(seeds, tokens, held)
    update()


def score_seed(folder: Path, steps: int, held: dict[str, Tensor]) -> dict:
    """Return a seed's scores, of its shipped weights and of its checkpoints."""
    trained = load(folder / f"{steps:05}.safetensors")
    save(trained, folder / "shipped.safetensors", bits=8)
    model = load(folder / "shipped.safetensors")
    scores = {"steps": steps, "bits per byte": bits_per_byte(model, held)}
    scores |= score_heads(model, held) | {"loss in float16": held_out_loss(trained, held)}
    on_the_way = {
        str(step): score_heads(load(folder / f"{step:05}.safetensors"), held)
        for step in CHECKPOINTS
        if step < steps
    }
    return scores | {"on the way": on_the_way}


def write_scores(seeds: dict[str, dict], tokens: Tensor, held: dict[str, Tensor]) -> None:
    path = HERE / "scores" / "storyteller.json"
    path.parent.mkdir(exist_ok=True)
    model = load(HERE / "weights" / FILE.name)
    record = {
        "weights": sum(p.numel() for p in model.parameters()),
        "tokens": len(tokens),
        "held out": {name: len(book) for name, book in held.items()},
        "batch": BATCH * LENGTH,
        "seeds": seeds,
        "samples": [write(model, seed) for seed in range(10)],
    }
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def build(vocabulary: tuple[str, ...]) -> Transformer:
    """An ordinary decoder; rotary positions cost none of its weights."""
    wiring = {"norm": True, "positions": "rotary", "is_causal": True}
    config = Config(vocabulary, LENGTH, 128, 4, num_layers=4, mlp_dim=512, **wiring)
    return Transformer(config)


def train_one(
    seed: int, vocabulary: tuple[str, ...], tokens: Tensor, folder: Path,
    tell: Callable[[int, float], None], steps: int,
) -> float:  # fmt: skip
    """Write checkpoints to ``folder``, named by their steps; return the seconds."""
    torch.manual_seed(seed)
    model = build(vocabulary)

    def keep(step: int, loss: float | None = None) -> None:
        if step in CHECKPOINTS or step == steps:
            save(model, folder / f"{step:05}.safetensors")
        if loss is not None:
            tell(step, loss)
            if step % SAMPLE_EVERY == 0:
                print(f"\n{write(model, step, words=40)}\n", flush=True)

    keep(0)
    rates = {"rate": RATE, "decay": DECAY}
    optimizer = Muon(model, matrix_rate=MATRIX_RATE, **rates)
    options = {"steps": steps, "saved": folder / "saved.pt", "after": keep, "fall": fall}
    return fit(model, lambda: batch_loss(model, tokens), optimizer=optimizer, **options, **rates)


def fall(done: float) -> float:
    return min(1, (1 - done) / (1 - STEADY))


def batch_loss(model: Transformer, tokens: Tensor) -> Tensor:
    starts = torch.randint(len(tokens) - LENGTH, (BATCH, 1))
    batch = tokens[starts + torch.arange(LENGTH + 1)]
    logits = model(batch[:, :-1], need_weights=False).logits
    return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
