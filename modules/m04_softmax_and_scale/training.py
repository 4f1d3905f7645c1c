"""Train layers that differ only in the division by √dₖ, and write training.json beside this file.

The task: among eight random words, find the one whose first half is the question's, and read out
its label. Two minutes on one processor: ``python -m modules.m04_softmax_and_scale.training``
"""

import json
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from attention import scaled_dot_product_attention

SCORES = Path(__file__).with_name("training.json")
BATCH, KEYS, SIZE, LABELS = 64, 8, 32, 8
KEY_SIZE, SMALL = 512, 64
RATES, SEEDS, STEPS, MEAN_OF = (0.1, 0.3, 1.0, 3.0), (0, 1, 2), 500, 20
SATURATED, FRESH = 0.01, 40  # a row is saturated below this slope; batches of fresh rows
# At which rates and steps rows are looked at: the beginning, after one step at 3, and stuck at 3.
LOOKS = {"at first": (0.3, 0), "one step": (3.0, 1), "stuck": (3.0, 500)}
# What keeps the undivided layers back: how they start, or how far they step?
RIVALS = {
    "small start": {"spread": KEY_SIZE**-0.25},
    "slow queries and keys": {"slowed": KEY_SIZE**0.5},
    "small start, slow": {"spread": KEY_SIZE**-0.25, "slowed": KEY_SIZE**0.5},
}


def ask() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns: question (B, 1, 32), words (B, 8, 32), labels, one-hot (B, 8, 8), answer (B,)."""
    words = torch.randn(BATCH, KEYS, SIZE)
    rows, which = torch.arange(BATCH), torch.randint(KEYS, (BATCH,))
    question = torch.randn(BATCH, 1, SIZE)
    question[:, 0, : SIZE // 2] = words[rows, which, : SIZE // 2]
    labels = torch.randint(LABELS, (BATCH, KEYS))
    return question, words, F.one_hot(labels, LABELS).float(), labels[rows, which]


def descend(
    divided: bool,
    rate: float,
    seed: int,
    *,
    d_k: int = KEY_SIZE,
    steps: int = STEPS,
    spread: float = 1.0,
    slowed: float = 1.0,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return at each step the shares of right answers and of stuck rows, and the weights.

    The descent is plain. A row is stuck if it is saturated, and its answer wrong. Queries and keys
    start with numbers of ``spread``, and their rate is divided by ``slowed``.
    """
    torch.manual_seed(seed)
    scale = d_k**-0.5 if divided else 1.0
    w_q, w_k = torch.randn(2, SIZE, d_k) / SIZE**0.5 * spread
    weights = [w.requires_grad_() for w in (w_q, w_k, torch.randn(LABELS, LABELS))]
    rates = [{"params": weights[:2], "lr": rate / slowed}, {"params": weights[2:]}]
    optimizer = torch.optim.SGD(rates, rate)
    right, stuck = torch.zeros(2, steps)
    for step in range(steps):
        *inputs, answer = ask()
        q, k, v = (x @ w for x, w in zip(inputs, weights, strict=True))
        output, rows = scaled_dot_product_attention(q, k, v, scale=scale)
        logits = output[:, 0]
        optimizer.zero_grad()
        F.cross_entropy(logits, answer).backward()
        optimizer.step()
        is_right = logits.argmax(-1) == answer
        right[step] = is_right.float().mean()
        stuck[step] = (_is_saturated(rows[:, 0]) & ~is_right).float().mean()
    return right, stuck, weights


def _is_saturated(rows: Tensor) -> Tensor:
    best = rows.detach().double().amax(-1)
    return best * (1 - best) < SATURATED


def _means(shares: Tensor) -> list[float]:
    return [round(share, 4) for share in shares.view(-1, MEAN_OF).mean(-1).tolist()]


def train(divided: bool, rate: float, seed: int, **options) -> list[float]:
    """Return the share of right answers over each ``MEAN_OF`` steps of ``descend``."""
    return _means(descend(divided, rate, seed, **options)[0])


@cache
def _curves(divided: bool, rate: float, seed: int, d_k: int) -> tuple[list[float], list[float]]:
    right, stuck, _ = descend(divided, rate, seed, d_k=d_k)
    return _means(right), _means(stuck)


@torch.no_grad()
def look(weights: list[Tensor], divided: bool) -> dict[str, float]:
    """Return what the rows of fresh examples are like.

    saturated: the share of rows whose largest weight has a slope w(1 - w) below ``SATURATED``, and
    of the wrong ones among them; spread: of the scores that softmax gets, in a row
    """
    torch.manual_seed(99)
    d_k = weights[0].shape[1]
    batches = zip(*(ask() for _ in range(FRESH)), strict=True)
    question, words, labels, answer = (torch.cat(batch) for batch in batches)
    q, k, v = (x @ w for x, w in zip((question, words, labels), weights, strict=True))
    scale = d_k**-0.5 if divided else 1.0
    output, rows = scaled_dot_product_attention(q, k, v, scale=scale)
    scores, rows = (q @ k.mT)[:, 0], rows[:, 0].double()
    flat, wrong = _is_saturated(rows), output[:, 0].argmax(-1) != answer
    statistics = {
        "saturated": flat.double().mean(),
        "saturated of the wrong": flat[wrong].double().mean(),
        "spread": (scores * scale).std(-1).mean(),
    }
    return {name: float(f"{value.item():.4g}") for name, value in statistics.items()}


def _all(d_k: int) -> dict[str, dict[str, list[list[float]]]]:
    return {
        name: {
            str(rate): [_curves(name == "divided", rate, seed, d_k)[0] for seed in SEEDS]
            for rate in RATES
        }
        for name in ("divided", "undivided")
    }


def _looks() -> dict[str, dict[str, list[dict[str, float]]]]:
    return {
        name: {
            kind: [
                look(descend(kind == "divided", rate, seed, steps=steps)[-1], kind == "divided")
                for seed in SEEDS
            ]
            for kind in ("divided", "undivided")
        }
        for name, (rate, steps) in LOOKS.items()
    }


def _stuck() -> dict[str, dict[str, list[list[float]]]]:
    return {
        kind: {
            str(rate): [_curves(kind == "divided", rate, seed, KEY_SIZE)[1] for seed in SEEDS]
            for rate in RATES
        }
        for kind in ("divided", "undivided")
    }


def main() -> None:
    torch.set_num_threads(1)  # matrices this small gain nothing from more
    record = {"mean of steps": MEAN_OF} | _all(KEY_SIZE) | {"keys of 64": _all(SMALL)}
    record["rivals"] = {
        name: {str(rate): [train(False, rate, seed, **options) for seed in SEEDS] for rate in RATES}
        for name, options in RIVALS.items()
    }
    record["rows"], record["stuck"] = _looks(), _stuck()
    SCORES.write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
