"""The training loop of the course's models; an interrupted training resumes."""

import math
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

# (name of the model, steps done over all models, steps in all, loss)
Report = Callable[[str, int, int, float], None]
SAVE_EVERY = 10.0  # seconds


def part_of(report: Report, what: str, done: int, of: int) -> Callable[[int, float], None]:
    """Make ``fit``'s ``after`` for one of several trainings, after ``done`` of ``of`` steps."""
    return lambda step, loss: report(what, done + step, of, loss)


def cosine(done: float) -> float:
    return (1 + math.cos(math.pi * done)) / 2


def fit(
    model: nn.Module, loss: Callable[[], Tensor], *, steps: int, rate: float, decay: float,
    saved: Path, after: Callable[[int, float], None],
    optimizer: torch.optim.Optimizer | None = None, fall: Callable[[float], float] = cosine,
) -> float:  # fmt: skip
    """Train ``model``, with AdamW and a rate that rises for 100 steps, then falls to 0.

    ``optimizer``: another than AdamW. ``fall``: the rate's share, by the share of steps done.

    ``loss`` draws its batch by PyTorch's global generator, whose state is saved in ``saved`` with
    the weights: an interrupted training ends with the same weights as an uninterrupted one.
    ``after`` is called after each step, with the number of steps done and the loss.
    Returns: seconds of processor time, including those before an interruption.
    """
    if optimizer is None:
        optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=decay, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1, (s + 1) / 100) * fall(s / steps)
    )
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    settings = {"steps": steps, "rate": rate, "decay": decay}
    step, seconds = _resume(parts, settings, saved)
    started, written = time.process_time(), time.monotonic()
    while step < steps:
        now = loss()
        optimizer.zero_grad()
        now.backward()
        optimizer.step()
        schedule.step()
        step += 1
        after(step, now.item())
        if step == steps or time.monotonic() - written > SAVE_EVERY:
            written = time.monotonic()
            _save(parts, settings, (step, seconds + time.process_time() - started), saved)
    return seconds + time.process_time() - started


def _save(parts: dict, settings: dict, done: tuple[int, float], saved: Path) -> None:
    saved.parent.mkdir(parents=True, exist_ok=True)
    state = {name: part.state_dict() for name, part in parts.items()}
    state |= {"settings": settings, "done": done, "random": torch.get_rng_state()}
    aside = saved.with_suffix(
        ".new"
    )  # replaced at once, so that an interruption leaves no partial file
    torch.save(state, aside)
    aside.replace(saved)


def _resume(parts: dict, settings: dict, saved: Path) -> tuple[int, float]:
    state = torch.load(saved) if saved.is_file() else {}
    if state.get("settings") != settings:
        return 0, 0.0
    for name, part in parts.items():
        part.load_state_dict(state[name])
    torch.set_rng_state(state["random"])
    return state["done"]
