"""Train two translators and a control, eight seeds each. `python3 -m course train alignment`"""

import json
import random
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor

from models.alignment.data import KINDS, Example, examples, kind
from models.alignment.model import Translator
from models.training import Report, fit, part_of

HERE = Path(__file__).parent
SEEDS, SHIPPED = tuple(range(8)), 0
BATCH, RATE, DECAY, TESTS = 64, 4e-3, 0.01, 500
STEPS = {"reversal": 400, "phrases": 800}
VARIANTS = {
    "reversal": ("reversal", False), "phrases": ("phrases", False),
    "phrases-mixed": ("phrases", True),
}  # fmt: skip


def train(workdir: Path, report: Report) -> None:
    """Train all variants and seeds; write weights/ and scores/ beside this file."""
    done, to_do = 0, sum(STEPS[task] for task, _ in VARIANTS.values()) * len(SEEDS)
    for name, (task, mixes) in VARIANTS.items():
        seeds = {}
        for seed in SEEDS:
            after = part_of(report, f"{name}, seed {seed}", done, to_do)
            model = train_one(task, seed, workdir / f"{name}-{seed}.pt", after, mixes=mixes)
            done += STEPS[task]
            seeds[str(seed)] = scores(model, task)
            if seed == SHIPPED and not mixes:
                (HERE / "weights").mkdir(exist_ok=True)
                save_file(model.state_dict(), HERE / "weights" / f"{name}.safetensors")
        weights = sum(parameter.numel() for parameter in model.parameters())
        record = {"weights": weights, "shipped": SHIPPED, "tests": TESTS, "seeds": seeds}
        (HERE / "scores").mkdir(exist_ok=True)
        path = HERE / "scores" / f"{name}.json"
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def train_one(
    task: str, seed: int, saved: Path, after: Callable[[int, float], None], *,
    mixes: bool = False, steps: int | None = None,
) -> Translator:  # fmt: skip
    torch.manual_seed(seed)
    model = Translator(task, mixes=mixes)

    def loss() -> Tensor:
        # From PyTorch's generator, whose state is saved for an interrupted training.
        batch = examples(task, random.Random(int(torch.randint(2**31, ()))), BATCH)
        source, so_far, to_come, lengths = model.batch(
            [example.source for example in batch], [example.target for example in batch]
        )
        logits, _ = model(source, so_far, lengths)
        return F.cross_entropy(logits.flatten(0, 1), to_come.flatten(), ignore_index=0)

    fit(model, loss, steps=steps or STEPS[task], rate=RATE, decay=DECAY, saved=saved, after=after)
    return model.eval()


@torch.no_grad()
def scores(model: Translator, task: str) -> dict[str, float | dict[str, float]]:
    """Score held-out examples: translations right in every word, and words that look right.

    ``aligned``: the share of target words with their largest weight on the word they come from;
    ``weight``: the mean weight there; ``aligned_by_kind``: by what the source word is.
    """
    tests = examples(task, random.Random(1000), TESTS, held_out=True)
    sources, targets = [e.source for e in tests], [e.target for e in tests]
    written = model.translate(sources, max(map(len, targets)))
    right = [row[: len(target)] == target for row, target in zip(written, targets, strict=True)]
    source, so_far, _, lengths = model.batch(sources, targets)
    _, weights = model(source, so_far, lengths)
    looks = [look for map_, e in zip(weights, tests, strict=True) for look in _looks(map_, e)]
    shares = {
        "exact": _share(right),
        "aligned": _share([hit for _, hit, _ in looks]),
        "weight": _share([weight for *_, weight in looks]),
    }
    if task == "phrases":
        kinds = {name: [hit for n, hit, _ in looks if n == name] for name in [*KINDS, "end"]}
        shares["aligned_by_kind"] = {name: _share(hits) for name, hits in kinds.items()}
    return shares


def _looks(weights: Tensor, example: Example) -> list[tuple[str, bool, float]]:
    """Yield for each target word its source word's kind, if it looks most there, and how much."""
    return [
        (kind(example.source[i]), int(row.argmax()) == i, float(row[i]))
        for row, i in zip(weights, example.alignment, strict=False)  # padding follows
    ]


def _share(hits: list[float]) -> float:
    return round(sum(hits) / len(hits), 4)
