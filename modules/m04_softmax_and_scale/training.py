"""Train layers that differ only in the division by √dₖ, and write training.json beside this file.

The task: among eight random words, find the one whose first half is the question's, and read out
its label. A minute on one processor: ``python -m modules.m04_softmax_and_scale.training``
"""

import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from attention import scaled_dot_product_attention

SCORES = Path(__file__).with_name("training.json")
BATCH, KEYS, SIZE, LABELS = 64, 8, 32, 8
KEY_SIZE, SMALL = 512, 64
RATES, SEEDS, STEPS, MEAN_OF = (0.1, 0.3, 1.0, 3.0), (0, 1, 2), 500, 20
LONG_RATE, LONG_STEPS = 0.3, 2000
# What keeps the undivided layers back: how they start, or how far they step?
RIVALS = {
    "short steps": {"longest": 0.3},
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


def train(
    divided: bool,
    rate: float,
    seed: int,
    *,
    d_k: int = KEY_SIZE,
    steps: int = STEPS,
    longest: float = math.inf,
    spread: float = 1.0,
    slowed: float = 1.0,
) -> list[float]:
    """Return the share of right answers over each ``MEAN_OF`` steps of plain gradient descent.

    Queries and keys start with numbers of ``spread``, and their rate is divided by ``slowed``. A
    gradient longer than ``longest`` is cut to that length.
    """
    torch.manual_seed(seed)
    scale = d_k**-0.5 if divided else 1.0
    w_q, w_k = torch.randn(2, SIZE, d_k) / SIZE**0.5 * spread
    weights = [w.requires_grad_() for w in (w_q, w_k, torch.randn(LABELS, LABELS))]
    rates = [{"params": weights[:2], "lr": rate / slowed}, {"params": weights[2:]}]
    optimizer, right = torch.optim.SGD(rates, rate), torch.zeros(steps)
    for step in range(steps):
        *inputs, answer = ask()
        q, k, v = (x @ w for x, w in zip(inputs, weights, strict=True))
        output, _ = scaled_dot_product_attention(q, k, v, scale=scale)
        logits = output[:, 0]
        optimizer.zero_grad()
        F.cross_entropy(logits, answer).backward()
        torch.nn.utils.clip_grad_norm_(weights, longest)
        optimizer.step()
        right[step] = (logits.argmax(-1) == answer).float().mean()
    return [round(share, 4) for share in right.view(-1, MEAN_OF).mean(-1).tolist()]


def _all(d_k: int) -> dict[str, dict[str, list[list[float]]]]:
    return {
        name: {
            str(rate): [train(name == "divided", rate, seed, d_k=d_k) for seed in SEEDS]
            for rate in RATES
        }
        for name in ("divided", "undivided")
    }


def main() -> None:
    torch.set_num_threads(1)  # matrices this small gain nothing from more
    found = {"mean of steps": MEAN_OF} | _all(KEY_SIZE) | {"keys of 64": _all(SMALL)}
    long = [train(False, LONG_RATE, seed, steps=LONG_STEPS) for seed in SEEDS]
    found |= {"undivided, long": [curve[-5:] for curve in long]}
    found["rivals"] = {
        name: {
            str(rate): [train(False, rate, seed, **how)[-5:] for seed in SEEDS] for rate in RATES
        }
        for name, how in RIVALS.items()
    }
    SCORES.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
