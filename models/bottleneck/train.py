"""Train the recall models: four of them, five seeds each. `python3 -m course train bottleneck`"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from models.bottleneck.model import LETTERS, Config, Recall
from models.training import Report, fit

HERE = Path(__file__).parent
SEEDS = (0, 1, 2, 3, 4)
SHIPPED = 0
STEPS, MORE = 1500, 6000
RATE, DECAY, BATCH = 5e-3, 0.01, 64
LONGEST = 16  # training
LENGTHS = (2, 4, 6, 8, 10, 12, 14, 16, 20, 24)
LISTS, SCORED_BY = 500, 1_000_000  # test lists of each length, and their seed
MODELS = {
    "attention": (Config(32, attention=True), STEPS),
    "without": (Config(32, attention=False), STEPS),
    "wider": (Config(64, attention=False), STEPS),
    "wider and longer": (Config(64, attention=False), MORE),
}


def train(workdir: Path, report: Report) -> None:
    """Train all models and seeds; write weights/ and scores/ beside this file."""
    found, done = {}, 0
    to_do = len(SEEDS) * sum(steps for _, steps in MODELS.values())
    for name, (config, steps) in MODELS.items():
        seeds = {}
        for seed in SEEDS:
            what, before = f"{name}, seed {seed}", done

            def after(step: int, loss: float, what: str = what, before: int = before) -> None:
                report(what, before + step, to_do, loss)

            saved = workdir / f"{name.replace(' ', '-')}-{seed}.pt"
            model = train_one(config, seed, steps, saved, after)
            if name == "attention" and seed == SHIPPED:
                model = ship(model)  # in float16, as it is shipped
            seeds[str(seed)] = score(model)
            done += steps
        weights = sum(p.numel() for p in model.parameters())
        about = {"state": config.state, "weights": weights, "steps": steps}
        found[name] = about | {"seeds": seeds}
    setting = {"longest": LONGEST, "lists": LISTS, "shipped": SHIPPED, "lengths": LENGTHS}
    (HERE / "scores").mkdir(exist_ok=True)
    text = json.dumps({**setting, "models": found}, indent=1)
    (HERE / "scores" / "recall.json").write_text(text + "\n")


def train_one(
    config: Config, seed: int, steps: int, saved: Path, after: Callable[[int, float], None]
) -> Recall:
    torch.manual_seed(seed)
    model = Recall(config)

    def loss() -> torch.Tensor:
        length = int(torch.randint(1, LONGEST + 1, ()))
        letters = torch.randint(len(LETTERS), (BATCH, length))
        return F.cross_entropy(model(letters).flatten(0, 1), letters.flatten())

    fit(model, loss, steps=steps, rate=RATE, decay=DECAY, saved=saved, after=after)
    return model.eval()


def score(model: Recall, lists: int = LISTS) -> dict:
    """Return the share of right letters at each length, and the weight where it should be."""
    chance = torch.Generator().manual_seed(SCORED_BY)
    found = {"right": []}
    for length in LENGTHS:
        letters = torch.randint(len(LETTERS), (lists, length), generator=chance)
        said, weights = model.say(letters)
        found["right"].append(round((said == letters).float().mean().item(), 4))
        if length == LONGEST and model.attention is not None:
            # The state after the letter to be repeated, and its two neighbours.
            found["looks at"] = {str(offset): _share(weights, offset) for offset in (-1, 0, 1)}
    return found


def ship(model: Recall) -> Recall:
    """Write the weights in float16, and return the model that loads them."""
    path = HERE / "weights" / "attention.safetensors"
    path.parent.mkdir(exist_ok=True)
    save_file({name: t.half().contiguous() for name, t in model.state_dict().items()}, path)
    return shipped()


def shipped() -> Recall:
    """Load the model with attention from the weights beside this file."""
    model = Recall(MODELS["attention"][0])
    weights = load_file(HERE / "weights" / "attention.safetensors")
    model.load_state_dict({name: t.float() for name, t in weights.items()})
    return model.eval()


def _share(weights: torch.Tensor, offset: int) -> float:
    return round(weights.diagonal(offset, 1, 2).mean().item(), 3)
