"""More scores for the page on longer texts: hands of other speeds, larger steps.

`python3 -m models.positions.further` writes further.json, in some minutes of a calm core.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from models.positions.held import HANDS, SPEEDS, right_with_held
from models.positions.task import LENGTH, LONGEST, Reader, examples
from models.positions.train import (
    BATCH,
    BEYOND,
    SCORES,
    SHORT,
    SHORT_RATE,
    STEPS,
    load,
    loss_of,
    right,
    stretched,
)
from models.training import fit

FURTHER = SCORES.with_name("further.json")
BASES = {10_000.0: range(5), 500_000.0: range(5)}  # the seeds that are scored on rows of 128
SLOWED = 250_000.0  # a base with which hand 2 doesn't come half round in rows of LONGEST
DEGREES = {15: range(3), 20: range(2), 27: range(2), 40: range(2)}  # hand 2's, a position
BIN = 8  # positions that share a number


class Turning(nn.Module):
    """Rotary of any speeds, in radians a position, by complex numbers."""

    def __init__(self, speeds: Sequence[float]) -> None:
        super().__init__()
        self.speeds = torch.tensor(speeds)

    def forward(self, heads: Tensor, offset: int = 0, *, position_ids: Tensor | None = None):
        if position_ids is None:
            position_ids = torch.arange(offset, offset + heads.shape[-2])
        angles = position_ids[:, None] * self.speeds
        hands = torch.view_as_complex(heads.unflatten(-1, (-1, 2)).contiguous())
        turned = hands * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(turned).flatten(-2)


def train_one(seed: int, speeds: Sequence[float], rate: float) -> Reader:
    """Train a rotary model with hands of these speeds, as train.py trains the others."""
    torch.manual_seed(seed)
    model = Reader("rotary")
    for layer in model.layers:
        layer.attention.rotary = Turning(speeds)
    return fit_rows(model, LENGTH, STEPS, rate)


def larger_steps(model: Reader, name: str, seed: int) -> Reader:
    """Train a little more on the longest rows, at ten times the small rate."""
    torch.manual_seed(seed)
    return fit_rows(stretched(model, BEYOND[name]).train(), LONGEST, SHORT, 10 * SHORT_RATE)


def fit_rows(model: Reader, length: int, steps: int, rate: float) -> Reader:
    def loss() -> Tensor:
        signs, answers = examples(BATCH, length)
        return loss_of(model(signs), answers)

    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "model.pt"
        options = {"steps": steps, "rate": rate, "decay": 0.0, "saved": saved}
        fit(model, loss, after=lambda *_: None, **options)
    return model.eval()


def late(model: Reader) -> dict[str, float]:
    """Return the share right of each question at the last LENGTH positions of the longest rows."""
    return {name: round(shares[-LENGTH:].nanmean().item(), 4)
            for name, shares in right(model, LONGEST).items()}  # fmt: skip


def binned(model: Reader, length: int) -> list[float]:
    """Return the share right about three back, in bins of BIN positions."""
    shares = right(model, length)["back"].unflatten(0, (-1, BIN)).nanmean(-1)
    return [round(share, 4) for share in shares.tolist()]


def of_base(base: float) -> tuple[float, ...]:
    return tuple(base ** (-hand / HANDS) for hand in range(HANDS))


def with_hand_2(degrees: float) -> tuple[float, ...]:
    """Return speeds with ``degrees`` as the second; the slow ones are those of base 10,000."""
    return SPEEDS[0], math.radians(degrees), *SPEEDS[2:]


def rounded(shares: dict[str, float]) -> dict[str, float]:
    return {name: round(share, 4) for name, share in shares.items()}


def score_hand_2(degrees: float, seed: int, rate: float) -> dict[str, dict[str, float]]:
    """Train with this hand 2; return how often it is right, as it is and with hand 2 or 3 held."""
    speeds = with_hand_2(degrees)
    model = train_one(seed, speeds, rate)
    near = {
        name: round(shares.nanmean().item(), 4) for name, shares in right(model, LENGTH).items()
    }
    held = {f"hand {hand + 1} held": rounded(right_with_held(model, [hand], speeds=speeds))
            for hand in (1, 2)}  # fmt: skip
    return {"as trained": near, "longer": late(model), **held}


def main() -> None:
    rate = json.loads(SCORES.read_text(encoding="utf-8"))["rate"]["rotary"]
    record = json.loads(FURTHER.read_text(encoding="utf-8")) if FURTHER.is_file() else {}

    def once(key: str, make) -> None:
        """Store ``make()`` under this key, so that an interrupted run goes on."""
        if key not in record:
            record[key] = make()
            FURTHER.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            print(key, record[key], file=sys.stderr, flush=True)

    for name in BEYOND:
        once(f"larger steps, {name}", lambda name=name: late(larger_steps(load("rotary"), name, 0)))
    for degrees, seeds in DEGREES.items():
        for seed in seeds:
            once(f"hand 2 of {degrees}, seed {seed}",
                 lambda degrees=degrees, seed=seed: score_hand_2(degrees, seed, rate))  # fmt: skip
    for seed in BASES[10_000.0]:

        def slow(seed=seed):
            model = load("rotary") if seed == 0 else train_one(seed, SPEEDS, rate)
            for layer in model.layers:
                layer.attention.rotary = Turning(of_base(SLOWED))
            near = {name: round(shares.nanmean().item(), 4)
                    for name, shares in right(model, LENGTH).items()}  # fmt: skip
            return {"near": near, "longer": late(model)}

        once(f"slowed to {SLOWED:.0f}, seed {seed}", slow)
    for base, seeds in BASES.items():
        for seed in seeds:

            def make(base=base, seed=seed):
                shipped = base == 10_000 and seed == 0
                model = load("rotary") if shipped else train_one(seed, of_base(base), rate)
                # Held at the length at which it does harm: 64, or 128 for the slower hand.
                length = LONGEST if base == 10_000 else 2 * LONGEST
                held = right_with_held(model, [1], speeds=of_base(base), length=length)
                return {"rows of 128": binned(model, 2 * LONGEST), "hand 2 held": rounded(held)}

            once(f"base {base:.0f}, seed {seed}", make)


if __name__ == "__main__":
    main()
