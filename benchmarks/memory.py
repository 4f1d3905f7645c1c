"""Measure the peak memory of one attention call on the CPU, beyond its inputs and output.

    python3 -m benchmarks.memory fused causal 8192

prints MB. It runs in a process of its own, as memory that was freed before would hide new use.
``peak_mb`` forks that process from one that has imported PyTorch and done nothing else.
"""

import atexit
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

HEADS, HEAD_DIM, WINDOW, PADDED = 8, 64, 256, 1000
ROOT = Path(__file__).resolve().parent.parent
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_mb(call: str, case: str, length: int, *, backward: bool = False, heads: int = HEADS):
    """Measure in a new process; None outside Linux: only Linux reports the peak."""
    if not RESET.exists():
        return None
    server = _importer()
    print(json.dumps([call, case, length, heads, backward]), file=server.stdin, flush=True)
    reply = server.stdout.readline()
    if not reply.startswith("MB"):
        raise RuntimeError(f"{call}, {case}, {length}: {reply or 'the measuring process ended'}")
    return float(reply.split()[1])


@functools.cache
def _importer() -> subprocess.Popen:
    """A process that imports PyTorch once, and ends when this one does."""
    # Return freed memory at once, or the peak would count what the allocator keeps.
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
    command = [sys.executable, "-m", "benchmarks.memory"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=ROOT, env=env, **pipes)
    atexit.register(process.communicate)  # it ends with its input
    return process


def _serve() -> None:
    """Answer each line of arguments from a fork of its own."""
    import attention  # noqa: F401

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _answer(line)
        if os.waitpid(child, 0)[1]:
            print("failed: the process was ended", flush=True)


def _answer(line: str) -> None:
    try:
        print("MB", _measure(*json.loads(line)), flush=True)
    except Exception as error:
        print(f"failed: {error!r}", flush=True)
    finally:  # whatever happened, a fork must not go on as the one that serves
        os._exit(0)


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


if __name__ == "__main__" and len(sys.argv) == 1:
    _serve()
elif __name__ == "__main__":
    call, case, length, heads, *rest = [*sys.argv[1:], *([str(HEADS)] if len(sys.argv) < 5 else [])]
    print(_measure(call, case, int(length), int(heads), rest == ["backward"]))
