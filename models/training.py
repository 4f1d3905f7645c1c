"""The loop in which every model of the course is trained. It goes on where it was interrupted."""

import math
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

# What is trained, its step, how many there are, and the loss: called after every step.
Report = Callable[[str, int, int, float], None]
SAVE_EVERY = 10.0  # seconds


def fit(
    model: nn.Module, loss: Callable[[], Tensor], *, steps: int, rate: float, saved: Path,
    report: Report, decay: float = 0.01, each_step: Callable[[int], None] | None = None,
) -> None:  # fmt: skip
    """Train ``model``, with AdamW and a rate that rises for 100 steps, then falls to 0.

    ``loss`` draws its batch by PyTorch's global generator, whose state is kept in ``saved`` with
    all else: an interrupted training ends with the same weights as one that wasn't.
    ``each_step`` is called with the number of steps done, from 0, before the model moves on.
    """
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=decay, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1, (s + 1) / 100) * (1 + math.cos(math.pi * s / steps)) / 2
    )
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    step, written = _resume(parts, saved), time.monotonic()
    while step < steps:
        if each_step:
            each_step(step)
        now = loss()
        optimizer.zero_grad()
        now.backward()
        optimizer.step()
        schedule.step()
        step += 1
        report(saved.stem, step, steps, now.item())
        if time.monotonic() - written > SAVE_EVERY:
            _save(parts, step, saved)
            written = time.monotonic()
    if each_step:
        each_step(step)
    _save(parts, step, saved)


def _save(parts: dict[str, object], step: int, saved: Path) -> None:
    saved.parent.mkdir(parents=True, exist_ok=True)
    state = {name: part.state_dict() for name, part in parts.items()}
    aside = saved.with_suffix(".new")  # put in place whole: an interruption leaves no half
    torch.save(state | {"step": step, "random": torch.get_rng_state()}, aside)
    aside.replace(saved)


def _resume(parts: dict[str, object], saved: Path) -> int:
    if not saved.is_file():
        return 0
    state = torch.load(saved)
    for name, part in parts.items():
        part.load_state_dict(state[name])
    torch.set_rng_state(state["random"])
    return state["step"]
