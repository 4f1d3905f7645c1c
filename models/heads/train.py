"""Train each number of heads on each number of questions. `python3 -m course train heads`"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F

from models.heads.task import HEADS, LENGTH, QUESTIONS, Recall, examples
from models.training import Report, fit, part_of

STEPS, BATCH, RATE, TESTS = 500, 64, 5e-3, 2000
SEEDS = range(5)
SCORES = Path(__file__).with_name("scores.json")


def train(workdir: Path, report: Report) -> None:
    """Train all; write scores.json: accuracy by questions, by heads, for each seed."""
    accuracy, parameters = {}, {}
    done, to_do = 0, len(QUESTIONS) * len(HEADS) * len(SEEDS) * STEPS
    for name, back in QUESTIONS.items():
        for heads in HEADS:
            models = []
            for seed in SEEDS:
                what = f"{name} at once, {heads} heads, seed {seed}"
                saved = workdir / f"{name}-{heads}-{seed}.pt"
                after = part_of(report, what, done, to_do)
                models.append(train_one(heads, back, seed, saved, after))
                done += STEPS
            shares = [score(model, back) for model in models]
            accuracy.setdefault(name, {})[str(heads)] = shares
            # Equal for every number of heads; a test compares it with the models.
            parameters[name] = sum(p.numel() for p in models[0].parameters())
    found = {"seeds": list(SEEDS), "parameters": parameters, "accuracy": accuracy}
    SCORES.write_text(json.dumps(found, indent=1) + "\n")


def train_one(
    num_heads: int, back: list[int], seed: int, saved: Path, after: Callable[[int, float], None]
) -> Recall:
    torch.manual_seed(seed)
    model = Recall(num_heads, len(back))

    def of_a_batch() -> torch.Tensor:
        words, answers = examples(BATCH, back)
        logits = model(words)[:, max(back) :]
        return F.cross_entropy(logits.flatten(0, 2), answers.flatten())

    fit(model, of_a_batch, steps=STEPS, rate=RATE, decay=0.0, saved=saved, after=after)
    return model.eval()


@torch.no_grad()
def score(model: Recall, back: list[int]) -> float:
    """Return the share of positions with every question right, on unseen words."""
    words, answers = examples(TESTS, back, torch.Generator().manual_seed(10**6))
    found = model(words)[:, LENGTH - answers.shape[1] :].argmax(-1)
    return round((found == answers).all(-1).float().mean().item(), 4)
