"""Train the recall models, each from several seeds. `python3 -m course train bottleneck`"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F

from models.bottleneck.model import LETTERS, Config, Recall
from models.training import Report, fit
from models.weights import load_into, save_plain

HERE = Path(__file__).parent
WEIGHTS = HERE / "weights" / "attention.safetensors"
SEEDS = (0, 1, 2, 3, 4)
SHIPPED = 0
STEPS, MORE = 1500, 6000
RATE, SLOWER, DECAY, BATCH = 5e-3, 2e-3, 0.01, 64
LONGEST = 16  # training
LENGTHS = (2, 4, 6, 8, 10, 12, 14, 16, 20, 24)
LISTS, SCORED_BY = 500, 1_000_000  # test lists of each length, and their seed
MODELS = {  # the model, steps, rate, seeds
    "attention": (Config(32, attention=True), STEPS, RATE, SEEDS),
    "without": (Config(32, attention=False), STEPS, RATE, SEEDS),
    "backwards": (Config(32, attention=False, backwards=True), STEPS, RATE, SEEDS),
    "wider": (Config(64, attention=False), STEPS, RATE, SEEDS),
    "wider and longer": (Config(64, attention=False), MORE, RATE, SEEDS),
    "widest and longer": (Config(256, attention=False), MORE, SLOWER, SEEDS[:3]),
}

BY_POSITION = ("without", "backwards")  # scored by the letter's position, too


def train(workdir: Path, report: Report) -> None:
    """Train all models and seeds; write weights/ and scores/ beside this file."""
    models, done = {}, 0
    to_do = sum(steps * len(seeds) for _, steps, _, seeds in MODELS.values())
    for name, (config, steps, rate, seeds_of_model) in MODELS.items():
        seeds = {}
        for seed in seeds_of_model:
            what, before = f"{name}, seed {seed}", done

            def after(step: int, loss: float, what: str = what, before: int = before) -> None:
                report(what, before + step, to_do, loss)

            saved = workdir / f"{name.replace(' ', '-')}-{seed}.pt"
            model = train_one(config, seed, steps, saved, after, rate)
            if name == "attention" and seed == SHIPPED:
                model = ship(model)  # in float16, as it is shipped
            seeds[str(seed)] = score(model, by_position=name in BY_POSITION)
            if name in BY_POSITION:
                seeds[str(seed)]["moves, untrained"] = moves(untrained(config, seed))
            done += steps
        weights = sum(p.numel() for p in model.parameters())
        about = {"state": config.state, "weights": weights, "steps": steps}
        models[name] = about | {"seeds": seeds}
    setting = {"longest": LONGEST, "lists": LISTS, "shipped": SHIPPED, "lengths": LENGTHS}
    (HERE / "scores").mkdir(exist_ok=True)
    text = json.dumps({**setting, "models": models}, indent=1)
    (HERE / "scores" / "recall.json").write_text(text + "\n")


def train_one(
    config: Config, seed: int, steps: int, saved: Path, after: Callable[[int, float], None],
    rate: float = RATE,
) -> Recall:  # fmt: skip
    model = untrained(config, seed)

    def loss() -> torch.Tensor:
        length = int(torch.randint(1, LONGEST + 1, ()))
        letters = torch.randint(len(LETTERS), (BATCH, length))
        return F.cross_entropy(model(letters).flatten(0, 1), letters.flatten())

    fit(model, loss, steps=steps, rate=rate, decay=DECAY, saved=saved, after=after)
    return model.eval()


def untrained(config: Config, seed: int) -> Recall:
    """Make the model that the training of ``seed`` starts from; seeds PyTorch's generator."""
    torch.manual_seed(seed)
    return Recall(config)


def score(model: Recall, lists: int = LISTS, *, by_position: bool = False) -> dict:
    """Return the share of right letters at each length, and the weight on the right state.

    ``by_position``: at the longest length in training, also by the letter's position; the same
    with teacher forcing (the right letters as inputs); and how far each letter of the list moves
    the reader's last state.
    """
    chance = torch.Generator().manual_seed(SCORED_BY)
    scores = {"right": []}
    for length in LENGTHS:
        letters = torch.randint(len(LETTERS), (lists, length), generator=chance)
        answers, weights = model.say(letters)
        right = (answers == letters).float()
        scores["right"].append(round(right.mean().item(), 4))
        if length == LONGEST and by_position:
            scores["by place"] = [round(share, 4) for share in right.mean(0).tolist()]
            right_forced = (_teacher_forced(model, letters) == letters).float()
            scores["by place, told"] = [round(share, 4) for share in right_forced.mean(0).tolist()]
            scores["moves"] = moves(model)
        if length == LONGEST and model.attention is not None:
            # The state after the letter to be repeated, and its two neighbours.
            scores["looks at"] = {str(offset): _share(weights, offset) for offset in (-1, 0, 1)}
    return scores


@torch.no_grad()
def moves(model: Recall) -> list[float]:
    """Measure how far another letter at each position of a list moves the reader's last state.

    The unit is the distance between the states of two lists that have nothing to do with each
    other, so that models whose states are larger don't seem to be moved more.
    """
    chance = torch.Generator().manual_seed(SCORED_BY)
    letters, others = torch.randint(len(LETTERS), (2, LISTS, LONGEST), generator=chance)
    last = model.read(letters)[1]  # (1, B, E)

    def distance(changed: torch.Tensor) -> torch.Tensor:
        return (model.read(changed)[1] - last).norm(dim=-1).mean()

    distances = []
    for position in range(LONGEST):
        changed = letters.clone()
        step = torch.randint(1, len(LETTERS), (LISTS,), generator=chance)  # never the same letter
        changed[:, position] = (letters[:, position] + step) % len(LETTERS)
        distances.append(round((distance(changed) / distance(others)).item(), 4))
    return distances


def ship(model: Recall) -> Recall:
    """Write the weights in float16, and return the model that loads them."""
    save_plain(model, WEIGHTS)
    return shipped()


def shipped() -> Recall:
    """Load the model with attention from the weights beside this file."""
    return load_into(Recall(MODELS["attention"][0]), WEIGHTS)


@torch.no_grad()
def _teacher_forced(model: Recall, letters: torch.Tensor) -> torch.Tensor:
    return model(letters).argmax(-1)


def _share(weights: torch.Tensor, offset: int) -> float:
    return round(weights.diagonal(offset, 1, 2).mean().item(), 3)
