"""Time what m10 shows, in processor time of one thread, and write timings.json.

``time.process_time`` counts the seconds that this process computes, the system's work for it
included, so that other work on the machine hardly matters. Each part runs in a process of its own.
Attention is timed twice: as it is, and with a C library that is set to keep freed memory. Without
that, attention by hand spends most of its time on memory that the system clears for each call. All
in 32-bit numbers. Five minutes, 8 GB:

    python -m modules.m10_cost.timings           # all parts
    python -m modules.m10_cost.timings layers    # print one
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import torch
import torch.nn.functional as F

from attention import MultiHeadAttention, scaled_dot_product_attention
from benchmarks import report

RESULTS = Path(__file__).with_name("timings.json")
TIMED = "processor time of one thread (time.process_time), in ms: median, fastest and slowest round"
WIDTH, HEADS, HEAD_DIM, KEYS = 4096, 32, 128, 4096
BATCHES = (1, 2, 4, 8)
WARM = 3  # rounds: even with memory kept, the first ask for some, as the calls share it
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
# By default glibc gets each array above 32 MiB from the system and gives it back
# after use. Smaller ones it keeps, or not, depending on what the process did before.
SETTINGS = {
    "as it is": {},
    "memory kept": {"MALLOC_MMAP_THRESHOLD_": str(2**36), "MALLOC_TRIM_THRESHOLD_": str(2**36)},
}
SHAPES = ((512, 8), (512, 64), (128, 2), (128, 16))  # width, heads


def in_turn(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, dict]:
    """Warm up, then time the calls in turn; short ones are repeated within a round."""
    repeats = {}
    for name, call in calls.items():
        call()
        _, once, _ = timed(call)
        repeats[name] = 1 + int(20 / once)
    times = {name: [] for name in calls}
    for _ in range(WARM + rounds):
        for name, call in calls.items():
            times[name].append(timed(call, repeats[name]))
    return {name: summary(rows[WARM:]) for name, rows in times.items()}


def timed(call: Callable[[], object], repeats: int = 1) -> tuple[float, float, float]:
    """Page faults, processor ms, and those of them that the system took: the mean of one call."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.process_time()
    for _ in range(repeats):
        call()
    ms = 1e3 * (time.process_time() - start)
    after = resource.getrusage(resource.RUSAGE_SELF)
    faults = after.ru_minflt - before.ru_minflt
    return faults / repeats, ms / repeats, 1e3 * (after.ru_stime - before.ru_stime) / repeats


def summary(rows: list[tuple[float, float, float]]) -> dict:
    faults, ms, system = zip(*rows, strict=True)
    return {
        "ms": round(statistics.median(ms), 4),
        "fastest_ms": round(min(ms), 4),
        "slowest_ms": round(max(ms), 4),
        "system_ms": round(statistics.median(system), 4),
        "page_faults": round(statistics.median(faults)),
    }


def first_calls(count: int = 24) -> list[float]:
    """Milliseconds of the first calls in this process, one after another."""
    q, k, v = (torch.randn(1, 8, 512, 64) for _ in "qkv")
    return [round(timed(lambda: scaled_dot_product_attention(q, k, v))[1], 3) for _ in range(count)]


def attention(length: str) -> dict:
    """Causal attention, 8 heads of 64: by hand, fused, and fused without a mask."""
    q, k, v = (torch.randn(1, 8, int(length), 64) for _ in "qkv")
    calls = {
        "by hand": lambda: scaled_dot_product_attention(q, k, v, is_causal=True),
        "fused": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "fused, no mask": lambda: F.scaled_dot_product_attention(q, k, v),
    }
    return in_turn(calls, rounds=5)


def layers() -> list[dict]:
    """The course's layer in four shapes: for each length, what the formula counts and the time."""
    rows = []
    for width, heads in SHAPES:
        layer = MultiHeadAttention(width, heads).eval()
        for n in LENGTHS[:5]:
            x = torch.randn(1, n, width)
            [timing] = in_turn({"": lambda layer=layer, x=x: layer(x)}, rounds=9).values()
            flops = 8 * n * width**2 + 4 * n * n * width
            rows.append({"width": width, "heads": heads, "length": n, "flops": flops, **timing})
    return rows


def parts() -> list[dict]:
    """Attention over 2,048 tokens of 512 numbers, in 8 heads of 64 and in 64 heads of 8."""
    rows = []
    for _, heads in SHAPES[:2]:
        q, k, v = (torch.randn(1, heads, 2048, 512 // heads) for _ in "qkv")
        scores = q @ k.mT
        calls = {
            "scores": lambda q=q, k=k: q @ k.mT,
            "softmax": lambda scores=scores: scores.softmax(-1),
            "mix": lambda scores=scores, v=v: scores @ v,
            "fused": lambda q=q, k=k, v=v: F.scaled_dot_product_attention(q, k, v),
        }
        rows.append({"heads": heads, "head_dim": 512 // heads, "times": in_turn(calls, rounds=5)})
    return rows


def decoding() -> dict[str, dict]:
    """One new token for each text: times a matrix that all share, and over caches of their own.

    Matrices and caches are far larger than the processor's own memory.
    """
    matrix = torch.randn(WIDTH, WIDTH)
    calls = {}
    for batch in BATCHES:
        x = torch.randn(batch, WIDTH)
        calls[f"matrix {batch}"] = lambda x=x: F.linear(x, matrix)
        q = torch.randn(batch, HEADS, 1, HEAD_DIM)
        k, v = (torch.randn(batch, HEADS, KEYS, HEAD_DIM) for _ in "kv")
        calls[f"cache {batch}"] = lambda q=q, k=k, v=v: F.scaled_dot_product_attention(q, k, v)
    large = torch.randn(2048, 2048)
    calls["product"] = lambda: large @ large
    calls["sum"] = lambda k=k: k.sum()  # hardly more than reading: 537 MB, of eight texts' keys
    return in_turn(calls, rounds=15)


PARTS = {
    "first-calls": first_calls,
    "attention": attention,
    "layers": layers,
    "parts": parts,
    "decoding": decoding,
}


@torch.no_grad()
def run(part: str, *arguments: str) -> object:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return PARTS[part](*arguments)


def in_a_process(part: str, *arguments: object, setting: str = "as it is") -> object:
    command = [sys.executable, "-m", __spec__.name, part, *map(str, arguments)]
    environment = os.environ | SETTINGS[setting]
    print(" ".join(map(str, (setting, part, *arguments))), flush=True)
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def main() -> None:
    torch.set_num_threads(1)
    described = report.described([], "cpu", "float32", None)
    times = in_a_process("decoding")
    summed_bytes, product_flops = 4 * BATCHES[-1] * HEADS * KEYS * HEAD_DIM, 2 * 2048**3
    record = {
        "date": str(date.today()),
        "device": described["device"],
        "system": described["system"],
        "threads": 1,
        "dtype": "float32",
        "timed": TIMED,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "libc": " ".join(platform.libc_ver()),
        },
        "sizes": {"width": WIDTH, "heads": HEADS, "head_dim": HEAD_DIM, "keys": KEYS},
        "first_calls_ms": in_a_process("first-calls", setting="memory kept"),
        "times": times,
        # What one core can do at most: the fastest round.
        "flops": product_flops / times["product"]["fastest_ms"] * 1e3,
        "bandwidth": summed_bytes / times["sum"]["fastest_ms"] * 1e3,
        "layers": in_a_process("layers"),
        "parts": in_a_process("parts", setting="memory kept"),
        "settings": SETTINGS,
        "attention": [
            {"setting": setting, "length": n, **in_a_process("attention", n, setting=setting)}
            for n in LENGTHS
            for setting in SETTINGS
        ],
    }
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(run(*sys.argv[1:]), indent=1))
    else:
        main()
