"""Measure the peak memory of one attention call on the CPU, beyond its inputs and output.

    python3 -m benchmarks.memory fused causal 8192

prints MB. It runs in a process of its own, as memory that was freed before would hide new use.
"""

import os
import subprocess
import sys
from pathlib import Path

HEADS, HEAD_DIM, WINDOW, PADDED = 8, 64, 256, 1000
ROOT = Path(__file__).resolve().parent.parent
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_mb(call: str, case: str, length: int, *, backward: bool = False, heads: int = HEADS):
    """Measure in a new process; None outside Linux, which alone tells the peak."""
    if not RESET.exists():
        return None
    words = [call, case, str(length), str(heads), *(["backward"] if backward else [])]
    command = [sys.executable, "-m", "benchmarks.memory", *words]
    # Return freed memory at once, or the peak would count what the allocator keeps.
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return float(done.stdout)


def options_for(case: str, length: int, device: str = "cpu") -> dict[str, object]:
    """Make the options of a case before the measurement, because they are inputs."""
    import torch

    keys = torch.arange(length, device=device)
    return {
        "full": {},
        "causal": {"is_causal": True},
        "ends": {"is_causal": True},
        "window": {"is_causal": True, "window": WINDOW},
        "padded": {"mask": keys < length - PADDED},
        "padded causal": {"mask": keys < length - PADDED, "is_causal": True},
        "dropout": {"is_causal": True, "dropout_p": 0.1},
        "shared heads": {"is_causal": True},
    }[case]


def _resident(field: str) -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def _measure(call: str, case: str, length: int, heads: int, backward: bool) -> float:
    import torch

    from attention import fused_attention, scaled_dot_product_attention

    torch.set_num_threads(2)
    attend = {"fused": fused_attention, "explicit": scaled_dot_product_attention}[call]

    def run(key_len: int) -> float:
        query_len = key_len - 1 if case == "ends" else key_len
        kv_heads = heads // 8 if case == "shared heads" else heads  # 8 query heads to a key head
        counts = ((heads, query_len), (kv_heads, key_len), (kv_heads, key_len))
        shapes = [(1, count, length, HEAD_DIM) for count, length in counts]
        inputs = [torch.randn(shape, requires_grad=backward) for shape in shapes]
        options = options_for(case, key_len)
        RESET.write_text("5")  # reset the peak to the present resident size
        before = _resident("VmRSS")
        result = attend(*inputs, **options)
        output = result if call == "fused" else result[0]
        outside = output.nbytes
        if backward:
            output.backward(torch.ones(()).expand_as(output))
            outside += sum(t.grad.nbytes for t in inputs)
        return _resident("VmHWM") - before - outside / 2**20

    run(1280)  # warm-up: load libraries, start threads
    return run(length)


if __name__ == "__main__":
    call, case, length, heads, *rest = [*sys.argv[1:], *([str(HEADS)] if len(sys.argv) < 5 else [])]
    print(_measure(call, case, int(length), int(heads), rest == ["backward"]))
