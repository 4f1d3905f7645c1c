"""Time and weigh five ways to the same output; write measured.json.

The two ways in tiles are the lesson's own cells and PyTorch's kernel. Two minutes of a processor:
``python -m modules.m11_fast_and_exact.measure``
"""

import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from attention import fused_attention, scaled_dot_product_attention
from benchmarks.report import _cpu_name

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
HEADS, SIZE, TILE = 8, 64, 128
LENGTHS, ROUNDS = (1024, 4096), 7
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def cells(*labels: str) -> dict:
    """Run cells of the lesson, by their labels, and return what they define."""
    text = (HERE / "lesson.qmd").read_text(encoding="utf-8")
    names = {}
    for label in labels:
        match = re.search(rf"```{{python}}\n#\| label: {label}\n(.*?)```", text, re.S)
        exec(match[1], names)
    return names


def row_by_row(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """One query at a time, as with a pencil."""
    output = np.empty_like(q)
    for i, query in enumerate(q):
        scores = k @ query / np.sqrt(len(query))
        weights = np.exp(scores - scores.max())
        output[i] = weights / weights.sum() @ v
    return output


def ways(length: int) -> dict[str, Callable[[], object]]:
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, HEADS, length, SIZE) for _ in "qkv")
    tiled = cells("take-in", "tiled")["tiled_attention"]
    heads = [(q[0, h], k[0, h], v[0, h]) for h in range(HEADS)]
    return {
        "rows": lambda: [row_by_row(*(t.numpy() for t in head)) for head in heads],
        "three": lambda: (q / SIZE**0.5 @ k.mT).softmax(-1) @ v,
        "whole": lambda: scaled_dot_product_attention(q, k, v)[0],
        "tiles": lambda: [tiled(*head, queries=TILE, keys=TILE) for head in heads],
        "fused": lambda: fused_attention(q, k, v),
    }


def peak_mb(name: str, length: int) -> float:
    """The peak beyond what was there before the call, in 10^6 bytes; in a new process."""
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
    command = [sys.executable, "-m", "modules.m11_fast_and_exact.measure", name, str(length)]
    result = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return float(result.stdout)


def _own_peak(name: str, length: int) -> float:
    def resident(field: str) -> float:
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
        return int(line.split()[1]) * 1024 / 1e6  # the system counts in KiB

    ways(256)[name]()  # load libraries, start threads
    call = ways(length)[name]
    RESET.write_text("5")  # reset the peak to the present resident size
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before


def in_turn(calls: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Processor milliseconds of each call, in rounds: other work on the machine hardly counts."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(ROUNDS + 1):  # the first warms up
        for name in list(calls)[:: 1 if turn % 2 else -1]:
            start = time.process_time()
            calls[name]()
            seconds[name].append(1e3 * (time.process_time() - start))
    return {name: ms[1:] for name, ms in seconds.items()}


def run() -> dict:
    rows = []
    for length in LENGTHS:
        with torch.no_grad():
            times = in_turn(ways(length))
        for name, ms in times.items():
            to_three = [mine / three for mine, three in zip(ms, times["three"], strict=True)]
            rows.append({
                "way": name, "length": length, "ms": statistics.median(ms), "fastest_ms": min(ms),
                "slowest_ms": max(ms), "to_three": to_three, "peak_mb": peak_mb(name, length),
            })  # fmt: skip
    return {
        "date": datetime.date.today().isoformat(),
        "device": _cpu_name(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "heads": HEADS, "head_dim": SIZE, "tile": TILE, "dtype": "float32",
        "rows": rows,
    }  # fmt: skip


if __name__ == "__main__" and len(sys.argv) == 3:
    with torch.no_grad():
        print(_own_peak(sys.argv[1], int(sys.argv[2])))
elif __name__ == "__main__":
    torch.set_num_threads(1)
    MEASURED.write_text(json.dumps(run(), indent=1) + "\n", encoding="utf-8")
