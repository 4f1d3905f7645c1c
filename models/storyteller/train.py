"""Train the storyteller on a folder of books, three seeds.

`python3 -m course train storyteller --text DIR`
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.storyteller.books import LENGTH, prepare
from models.storyteller.muon import Muon
from models.training import Report, fit, part_of
from models.transformer import Config, Transformer
from models.weights import save

HERE = Path(__file__).parent
STEPS = {0: 8000, 1: 800, 2: 800}  # by seed; the first ships
BATCH = 8
RATE, MATRIX_RATE, DECAY = 4e-3, 0.02, 0.1
STEADY = 0.7  # of the steps are at the full rate; over the others it falls to 0
CHECKPOINTS = (0, 50, 100, 200, 400, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000)


def build(vocabulary: tuple[str, ...]) -> Transformer:
    """An ordinary decoder. Its weights are small at first, as GPT-2's."""
    wiring = {"norm": True, "positions": "rotary", "is_causal": True}
    config = Config(vocabulary, LENGTH, 128, 4, num_layers=4, mlp_dim=512, **wiring)
    return Transformer(config)


def train_one(
    seed: int, vocabulary: tuple[str, ...], tokens: Tensor, folder: Path,
    tell: Callable[[int, float], None], steps: int,
) -> float:  # fmt: skip
    """Leaves its checkpoints in ``folder``, the last under its step; returns the seconds."""
    torch.manual_seed(seed)
    model = build(vocabulary)

    def keep(step: int, loss: float | None = None) -> None:
        if step in CHECKPOINTS or step == steps:
            save(model, folder / f"{step:05}.safetensors")
        if loss is not None:
            tell(step, loss)

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
