"""Train classifiers of reviews: ordinary ones, and some fined for weight on the decisive words.

`python3 -m course train sentiment`
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.sentiment.attributions import logits, read
from models.sentiment.reviews import BLANK, INDEX, MAX_LEN, PAD, VOCABULARY, reviews, to_tensors
from models.sentiment.scores import score
from models.training import Report, fit, part_of
from models.transformer import Config, Transformer
from models.weights import load, save

HERE = Path(__file__).parent
REVIEWS, BATCH, RATE, DECAY = 40_000, 64, 3e-3, 0.01
HIDE = 0.15  # share of words that become blanks, in every other review


@dataclass(frozen=True)
class Recipe:
    """``fine``: how much a weight on the words that decide costs, in the last layer."""

    steps: int = 4000
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    fine: float = 0.0
    num_heads: tuple[int, int] = (2, 1)
    shipped: tuple[int, ...] = ()

    @property
    def config(self) -> Config:
        return Config(VOCABULARY, MAX_LEN, 32, self.num_heads, 2, mlp_dim=64, norm=True)


RECIPES = {
    "ordinary": Recipe(seeds=tuple(range(8)), shipped=(0, 2)),
    "fined": Recipe(fine=0.1),
    # Of those fined, the two seeds whose answers are right least often, and the best.
    "fined-longer": Recipe(fine=0.1, steps=12_000, seeds=(1, 2, 3)),
    "longer": Recipe(steps=12_000, seeds=(0, 1, 2)),
    "more-heads": Recipe(num_heads=(4, 4), seeds=(0, 1, 2)),
}


def train(workdir: Path, report: Report) -> None:
    """Train all recipes and seeds; write weights/ and scores/ beside this file."""
    data = to_tensors(list(reviews(seed=0, count=REVIEWS)))
    to_do = sum(recipe.steps * len(recipe.seeds) for recipe in RECIPES.values())
    done = 0
    for name, recipe in RECIPES.items():
        seeds = {}
        for seed in recipe.seeds:
            after = part_of(report, f"{name}, seed {seed}", done, to_do)
            model, seconds = train_one(recipe, seed, data, workdir / f"{name}-{seed}.pt", after)
            done += recipe.steps
            # Score the weights as they are shipped, in float16.
            weights = workdir / f"{name}-{seed}.safetensors"
            save(model, weights)
            seeds[str(seed)] = {"processor seconds": round(seconds)} | score(load(weights))
            if seed in recipe.shipped:
                save(model, HERE / "weights" / f"{name}-{seed}.safetensors")
            _write(name, recipe, seeds)


def train_one(
    recipe: Recipe, seed: int, data: tuple[Tensor, ...], saved: Path,
    after: Callable[[int, float], None], steps: int | None = None,
) -> tuple[Transformer, float]:  # fmt: skip
    """Return the model and its processor seconds. ``data`` comes from ``to_tensors``."""
    torch.manual_seed(seed)
    model = Transformer(recipe.config)

    def loss() -> Tensor:
        batch = torch.randint(len(data[0]), (BATCH,))
        tokens, answers, decides = (part[batch] for part in data)
        longest = int((tokens != INDEX[PAD]).sum(1).max())
        run = read(model, _with_blanks(tokens[:, :longest]))
        total = F.cross_entropy(logits(run), answers)
        if recipe.fine:
            looks = run.weights[-1][:, :, 0].mean(1)  # of the first word, (B, L)
            on_decisive = (looks * decides[:, :longest]).sum(1)
            total = total - recipe.fine * torch.log1p(1e-6 - on_decisive).mean()
        return total

    options = {"rate": RATE, "decay": DECAY, "saved": saved, "after": after}
    seconds = fit(model, loss, steps=steps or recipe.steps, **options)
    return model.eval(), seconds


def _with_blanks(tokens: Tensor) -> Tensor:
    """Hide words, so that a review with a blank in it is nothing new to the model."""
    hide = (torch.rand(tokens.shape) < HIDE) & (torch.rand(len(tokens), 1) < 0.5)
    hide[:, 0] = False
    return tokens.masked_fill(hide & (tokens != INDEX[PAD]), INDEX[BLANK])


def _write(name: str, recipe: Recipe, seeds: dict[str, dict]) -> None:
    path = HERE / "scores" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    weights = sum(p.numel() for p in Transformer(recipe.config).parameters())
    record = {"weights": weights, "steps": recipe.steps, "shipped": recipe.shipped, "seeds": seeds}
    path.write_text(json.dumps(record, indent=1) + "\n")
