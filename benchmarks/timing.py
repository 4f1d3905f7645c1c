"""Time calls reliably: warm-up, synchronisation, interleaved rounds, spread."""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import torch

RUNS = 5  # a figure is the median of the runs, a run the median of its rounds
SAMPLE_S = 0.02  # a short call is repeated so long: the first finds another call's numbers cached
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
    repeats = {name: 1 + int(SAMPLE_S / _time(call, device)) for name, call in calls.items()}
    round_s = sum(n * _time(calls[name], device, n) for name, n in repeats.items())
    rounds = max(1, min(30, int(budget_s / RUNS / round_s)))
    best: dict[str, Timing] = {}
    for _ in range(ATTEMPTS):  # by its spread, whatever the figures
        attempt = _attempt(calls, repeats, device, rounds)
        if not best or _spread(attempt) < _spread(best):
            best = attempt
        if _spread(best) <= CALM:
            break
    return best


def _attempt(
    calls: dict[str, Callable[[], object]], repeats: dict[str, int], device: str, rounds: int
) -> dict[str, Timing]:
    runs: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(RUNS):
        round_times: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(rounds):
            first = turn % len(calls)  # reversed turns would call the outer ones twice in a row
            for name in [*calls][first:] + [*calls][:first]:
                round_times[name].append(_time(calls[name], device, repeats[name]))
        for name, times in round_times.items():
            runs[name].append(statistics.median(times))
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


def _time(call: Callable[[], object], device: str, repeats: int = 1) -> float:
    """Return the seconds of one call, the mean of several in a row."""
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / repeats
