"""Train each number of heads on each number of questions, and fewer heads in easier conditions.

`python3 -m course train heads`
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from models.heads.task import HEADS, LENGTH, QUESTIONS, Recall, examples
from models.training import Report, fit, part_of

STEPS, BATCH, RATE, TESTS = 500, 64, 5e-3, 2000
SEEDS = range(5)
SCORES = Path(__file__).with_name("scores.json")

# Is it the number of heads, or the time and what reads the mix? Each line is trained afresh for
# each of BUDGETS, until all its seeds have everything right: more steps would show nothing new.
BUDGETS = [125, 250, 500, 1000, 3000, 10000]
LINES = {
    "2": {
        "1 head": {"num_heads": 1},
        "1 head, places alone": {"num_heads": 1, "by_position": True},
        "1 head, MLP": {"num_heads": 1, "mlp": True},
        "2 heads": {"num_heads": 2},
    },
    "4": {
        "1 head": {"num_heads": 1},
        "1 head, MLP": {"num_heads": 1, "mlp": True},
        "2 heads": {"num_heads": 2},
        "4 heads": {"num_heads": 4},
    },
}
# Four questions and fewer heads, with more to read the mix.
READERS = {
    "1 head, MLP of 512": {"num_heads": 1, "mlp": True, "hidden": 512},
    "2 heads, MLP": {"num_heads": 2, "mlp": True},
}
READER_STEPS = 3000
LOOKED_INTO = [
    "1 head",
    "1 head, MLP",
    "2 heads",
]  # their weights, after STEPS
MISTAKEN = "1 head"  # whose wrong answers are recorded, after STEPS


def train(workdir: Path, report: Report) -> None:
    """Train all; write scores.json: accuracy by questions, by heads, for each seed, and lines."""
    lines = sum(len(by_line) for by_line in LINES.values())
    fixed = len(QUESTIONS) * len(HEADS) + len(LOOKED_INTO) + 1
    readers = len(READERS) * READER_STEPS
    steps = len(SEEDS) * (fixed * STEPS + lines * sum(BUDGETS) + readers)
    run = Run(workdir, report, steps)
    accuracy = {
        name: {str(heads): run.scores(name, STEPS, num_heads=heads) for heads in HEADS}
        for name in QUESTIONS
    }
    curves = {
        name: {line: run.curve(name, options) for line, options in by_line.items()}
        for name, by_line in LINES.items()
    }
    record = {
        "seeds": list(SEEDS),
        # Equal for every number of heads; a test compares it with the models.
        "parameters": {name: parameters(name) for name in QUESTIONS},
        "parameters with the MLP": {name: parameters(name, mlp=True) for name in LINES},
        "steps": STEPS,
        "accuracy": accuracy,
        "curves": curves,
        "readers": {
            line: run.scores("4", READER_STEPS, **options) for line, options in READERS.items()
        },
        "weights": {line: run.weights("2", STEPS, LINES["2"][line]) for line in LOOKED_INTO},
        "answers": {MISTAKEN: run.answers("2", STEPS, LINES["2"][MISTAKEN])},
    }
    SCORES.write_text(json.dumps(record, indent=1) + "\n")


def parameters(questions: str, *, mlp: bool = False) -> int:
    model = Recall(1, len(QUESTIONS[questions]), mlp=mlp)
    return sum(p.numel() for p in model.parameters())


class Run:
    """All trainings of one call, with the steps done over all of them."""

    def __init__(self, workdir: Path, report: Report, steps: int) -> None:
        self.workdir, self.report, self.steps, self.done = workdir, report, steps, 0

    def curve(self, questions: str, options: dict) -> dict[str, list[float]]:
        shares: dict[str, list[float]] = {}
        for budget in BUDGETS:
            shares[str(budget)] = self.scores(questions, budget, **options)
            if min(shares[str(budget)]) == 1:
                break
        self.done += len(SEEDS) * sum(budget for budget in BUDGETS if str(budget) not in shares)
        return shares

    def scores(self, questions: str, steps: int, **options: object) -> list[float]:
        """Return each seed's share of positions with every question right."""
        models = self.models(questions, steps, **options)
        return [score(model, QUESTIONS[questions]) for model in models]

    def weights(self, questions: str, steps: int, options: dict) -> list[list[list[float]]]:
        """Return each seed's ``looks``."""
        models = self.models(questions, steps, **options)
        return [looks(model, QUESTIONS[questions]) for model in models]

    def answers(self, questions: str, steps: int, options: dict) -> list[dict[str, Any]]:
        """Return each seed's ``answer_shares``."""
        models = self.models(questions, steps, **options)
        return [answer_shares(model, QUESTIONS[questions]) for model in models]

    def models(self, questions: str, steps: int, **options: object) -> Iterator[Recall]:
        """Train one model a seed."""
        for seed in SEEDS:
            kind = " ".join(f"{name}={value}" for name, value in options.items())
            what = f"{questions} at once, {kind}, {steps} steps, seed {seed}"
            after = part_of(self.report, what, self.done, self.steps)
            saved = self.workdir / (what.replace(", ", "-").replace(" ", "-") + ".pt")
            yield train_one(QUESTIONS[questions], seed, steps, saved, after, **options)
            self.done += steps


def train_one(
    back: list[int], seed: int, steps: int, saved: Path,
    after: Callable[[int, float], None], **options: object,
) -> Recall:  # fmt: skip
    """``options`` are those of Recall, ``num_heads`` among them."""
    torch.manual_seed(seed)
    model = Recall(num_questions=len(back), **options)

    def of_a_batch() -> torch.Tensor:
        words, answers = examples(BATCH, back)
        logits = model(words)[:, max(back) :]
        return F.cross_entropy(logits.flatten(0, 2), answers.flatten())

    fit(model, of_a_batch, steps=steps, rate=RATE, decay=0.0, saved=saved, after=after)
    return model.eval()


@torch.no_grad()
def score(model: Recall, back: list[int]) -> float:
    """Return the share of positions with every question right, on unseen words."""
    guesses, answers = _on_unseen_words(model, back)
    return round((guesses == answers).all(-1).float().mean().item(), 4)


@torch.no_grad()
def answer_shares(model: Recall, back: list[int]) -> dict[str, Any]:
    """Return how often each question is right, and how often all get the same answer."""
    guesses, answers = _on_unseen_words(model, back)
    each = (guesses == answers).float().mean((0, 1)).tolist()
    same = (guesses == guesses[..., :1]).all(-1).float().mean().item()
    return {"each": [round(share, 4) for share in each], "same": round(same, 4)}


def _on_unseen_words(model: Recall, back: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the model's answers and the right ones, (B, L - max(back), questions) each."""
    words, answers = examples(TESTS, back, torch.Generator().manual_seed(10**6))
    return model(words)[:, LENGTH - answers.shape[1] :].argmax(-1), answers


@torch.no_grad()
def looks(model: Recall, back: list[int]) -> list[list[float]]:
    """Return each head's mean weight on each of the words asked for, on unseen words."""
    words, _ = examples(TESTS, back, torch.Generator().manual_seed(10**6))
    x = model.word(words) + model.position.weight
    _, weights = model.attention(x, return_attention=True)  # (B, H, L, L)
    mean = weights.mean(0)
    return [
        [
            round(head.diagonal(-distance)[max(back) - distance :].mean().item(), 4)
            for distance in back
        ]
        for head in mean
    ]
