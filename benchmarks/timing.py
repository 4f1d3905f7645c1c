"""Time calls reliably: warm-up, synchronisation, interleaved rounds, spread."""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch

RUNS = 5  # a figure is the median of the runs, a run the median of its rounds
CALM, ATTEMPTS = 1.25, 4  # slowest / fastest run; above it other work disturbed, so measure again


class Timing(NamedTuple):
    """Seconds of one call: the median, the fastest and the slowest run."""

    seconds: float
    fastest: float
    slowest: float
    runs: list[float]


def interleave(
    calls: dict[str, Callable[[], object]], device: str, budget_s: float = 3.0
) -> dict[str, Timing]:
    """Time the calls in turn, so that a slow spell of the machine affects all alike."""
    for call in calls.values():
        _time(call, device)
    round_s = sum(_time(call, device) for call in calls.values())
    rounds = max(1, min(30, int(budget_s / RUNS / max(round_s, 1e-9))))
    best: dict[str, Timing] = {}
    for _ in range(ATTEMPTS):  # by its spread alone, whatever the figures
        attempt = _attempt(calls, device, rounds)
        if not best or _spread(attempt) < _spread(best):
            best = attempt
        if _spread(best) <= CALM:
            break
    return best


def _attempt(calls: dict[str, Callable[[], object]], device: str, rounds: int) -> dict[str, Timing]:
    runs: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(RUNS):
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(rounds):
            names = (
                list(calls) if turn % 2 == 0 else list(calls)[::-1]
            )  # rotate, so that no call is always first
            for name in names:
                taken[name].append(_time(calls[name], device))
        for name, seconds in taken.items():
            runs[name].append(statistics.median(seconds))
    return {
        name: Timing(statistics.median(each), min(each), max(each), each)
        for name, each in runs.items()
    }


def _spread(times: dict[str, Timing]) -> float:
    return max(t.slowest / t.fastest for t in times.values())


def ratio(ours: Timing, theirs: Timing) -> float:
    """Return the median over the runs of ours / theirs, each pair from the same run."""
    pairs = zip(ours.runs, theirs.runs, strict=True)
    return statistics.median(mine / other for mine, other in pairs)


def _time(call: Callable[[], object], device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start
