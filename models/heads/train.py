"""Train every number of heads on every number of questions, alike, and score what was learned."""

import json
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F

from models.heads.model import HEADS, LENGTH, QUESTIONS, Recall, examples

STEPS, BATCH, RATE = 500, 64, 5e-3
TESTS, SEEDS = 2000, range(5)
SCORES = Path(__file__).with_name("scores.json")


def train(num_heads: int, back: list[int], seed: int) -> Recall:
    torch.manual_seed(seed)
    draw = torch.Generator().manual_seed(seed)
    model = Recall(num_heads, len(back))
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)
    for _ in range(STEPS):
        words, answers = examples(BATCH, back, draw)
        logits = model(words)[:, max(back) :]
        loss = F.cross_entropy(logits.flatten(0, 2), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def score(model: Recall, back: list[int]) -> float:
    """The share of positions with every question right, on words never trained on."""
    words, answers = examples(TESTS, back, torch.Generator().manual_seed(10**6))
    found = model(words)[:, LENGTH - answers.shape[1] :].argmax(-1)
    return round((found == answers).all(-1).float().mean().item(), 4)


def scores(progress: Callable[[int, int], None] = lambda done, of: None) -> dict:
    """``{"accuracy": {questions: {heads: [one for each seed]}}, "parameters": {questions: …}}``."""
    accuracy, parameters, done = {}, {}, 0
    for name, back in QUESTIONS.items():
        accuracy[name] = {}
        for heads in HEADS:
            models = [train(heads, back, seed) for seed in SEEDS]
            accuracy[name][str(heads)] = [score(model, back) for model in models]
            done += 1
            progress(done, len(QUESTIONS) * len(HEADS))
        parameters[name] = sum(p.numel() for p in models[0].parameters())
    return {"seeds": list(SEEDS), "accuracy": accuracy, "parameters": parameters}


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = scores(lambda done, of: print(f"{done} of {of}", flush=True))
    SCORES.write_text(json.dumps(found, indent=1) + "\n")
