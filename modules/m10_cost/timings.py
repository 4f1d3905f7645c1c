"""Time what m10 shows: first calls, and a decoding step's two kinds of work; write timings.json.

On one thread, in 32-bit numbers, with matrices and caches far larger than the processor's own
memory. Two minutes: ``python -m modules.m10_cost.timings``
"""

import json
import platform
import time
from datetime import date
from pathlib import Path

import torch
import torch.nn.functional as F

from attention import scaled_dot_product_attention
from benchmarks import report
from benchmarks.timing import interleave

RESULTS = Path(__file__).with_name("timings.json")
WIDTH, HEADS, HEAD_DIM, KEYS = 4096, 32, 128, 4096
BATCHES = (1, 2, 4, 8)


def first_calls(count: int = 24) -> list[float]:
    """Milliseconds of the first calls in this process, one after another."""
    q, k, v = (torch.randn(1, 8, 512, 64) for _ in "qkv")
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        scaled_dot_product_attention(q, k, v)
        taken.append(1e3 * (time.perf_counter() - start))
    return taken


def decoding() -> dict[str, dict]:
    """One new token for each text: times a matrix that all share, and over caches of their own."""
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
    times = interleave(calls, "cpu", budget_s=20)
    return {
        name: {
            "ms": 1e3 * found.seconds,
            "fastest_ms": 1e3 * found.fastest,
            "slowest_ms": 1e3 * found.slowest,
        }
        for name, found in times.items()
    }


@torch.no_grad()
def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    calls = first_calls()
    times = decoding()
    matrix_bytes, product_flops = 4 * WIDTH**2, 2 * 2048**3
    found = {
        "date": str(date.today()),
        "device": report.described([], "cpu", "float32", None)["device"],
        "threads": 1,
        "dtype": "float32",
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "sizes": {"width": WIDTH, "heads": HEADS, "head_dim": HEAD_DIM, "keys": KEYS},
        "first_calls_ms": calls,
        "times": times,
        "flops": product_flops / times["product"]["ms"] * 1e3,
        "bandwidth": matrix_bytes / times["matrix 1"]["ms"] * 1e3,
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
