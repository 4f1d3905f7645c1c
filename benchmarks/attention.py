"""Time attention.py against PyTorch's own on this machine: `python3 -m course bench`.

Without the course: `python3 -m benchmarks.attention [--device cpu|cuda] [--quick] [--out DIR]`.
How to read the figures: benchmarks/README.md.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm

from attention import (
    BACKENDS,
    KVCache,
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
    usable_backends,
)
from benchmarks import memory, report
from benchmarks.timing import Timing, interleave, ratio

EMBED_DIM, HEADS, HEAD_DIM = 512, 8, 64
LENGTHS = [128, 256, 512, 1024, 2048, 4096, 8192]
CUDA_LENGTHS = [*LENGTHS, 16_384, 32_768]
EXPLICIT_UP_TO = {
    "forward": 8192,
    "forward + backward": 4096,
}  # the matrix of weights limits the length
PASSES = ("forward", "forward + backward")


class BareLayer(nn.Module):
    """The least work of a layer: projections and PyTorch's fused call, without checks."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(EMBED_DIM, 3 * EMBED_DIM)
        self.out = nn.Linear(EMBED_DIM, EMBED_DIM)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


def timed(
    calls: dict[str, Callable[[], Tensor]], which: str, device: str, leaves: list[Tensor]
) -> dict[str, Timing]:
    """Time the calls forward without gradients, or with the backward pass to ``leaves``."""

    def forward(call: Callable[[], Tensor]) -> None:
        with torch.no_grad():
            call()

    def both(call: Callable[[], Tensor]) -> None:
        output = call()
        output.backward(torch.ones((), device=device, dtype=output.dtype).expand_as(output))
        for leaf in leaves:
            leaf.grad = None

    run = forward if which == "forward" else both
    return interleave({name: lambda c=call: run(c) for name, call in calls.items()}, device)


def rows(section: str, which: str, length: int, times: dict[str, Timing], base: str) -> list[dict]:
    return [
        {
            "section": section, "pass": which, "length": length, "name": name,
            "ms": 1e3 * t.seconds, "fastest_ms": 1e3 * t.fastest, "slowest_ms": 1e3 * t.slowest,
            "ratio": ratio(t, times[base]), "to": base,
        }
        for name, t in times.items()
    ]  # fmt: skip


def functions(which: str, length: int, device: str, dtype: torch.dtype) -> list[dict]:
    """Time explicit and fused causal attention against PyTorch's call."""
    shape = (1, HEADS, length, HEAD_DIM)
    q, k, v = (torch.randn(shape, device=device, dtype=dtype, requires_grad=True) for _ in "qkv")
    calls = {
        "F.scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(
            q, k, v, is_causal=True
        ),
        "fused_attention": lambda: fused_attention(q, k, v, is_causal=True),
    }
    if length <= EXPLICIT_UP_TO[which]:
        calls["explicit"] = lambda: scaled_dot_product_attention(q, k, v, is_causal=True)[0]
    times = timed(calls, which, device, [q, k, v])
    return rows("function, causal", which, length, times, "F.scaled_dot_product_attention")


def layers(which: str, length: int, device: str, dtype: torch.dtype) -> list[dict]:
    """Time our layer, PyTorch's without weights, and the bare layer, all in train mode."""
    options = {"device": device, "dtype": dtype}
    ours = MultiHeadAttention(EMBED_DIM, HEADS).to(**options).train()
    theirs = nn.MultiheadAttention(EMBED_DIM, HEADS, batch_first=True, **options).train()
    bare = BareLayer().to(**options).train()
    x = torch.randn(1, length, EMBED_DIM, requires_grad=True, **options)
    calls = {
        "nn.MultiheadAttention": lambda: theirs(x, x, x, need_weights=False)[0],
        "bare projections + fused": lambda: bare(x),
        "MultiHeadAttention": lambda: ours(x),
    }
    leaves = [x, *ours.parameters(), *theirs.parameters(), *bare.parameters()]
    times = timed(calls, which, device, leaves)
    table = rows("layer, train mode", which, length, times, "nn.MultiheadAttention")
    table[-1]["ratio_to_bare"] = ratio(
        times["MultiHeadAttention"], times["bare projections + fused"]
    )
    return table


@torch.no_grad()
def decoding(keys: int, device: str, dtype: torch.dtype) -> list[dict]:
    """Time one more token after ``keys`` tokens: from the cache, and recomputing all."""
    layer = MultiHeadAttention(EMBED_DIM, HEADS).to(device, dtype).eval()
    x = torch.randn(1, keys, EMBED_DIM, device=device, dtype=dtype)
    cache = KVCache(1, HEADS, keys, HEAD_DIM, device=device, dtype=dtype)
    layer(x[:, :-1], cache=cache, is_causal=True)

    def step() -> None:
        layer(x[:, -1:], cache=cache, is_causal=True)
        cache.crop(keys - 1)  # the same step again

    calls = {"recomputed": lambda: layer(x, is_causal=True), "cached": step}
    return rows("decoding", "one step", keys, interleave(calls, device), "recomputed")


@torch.no_grad()
def small_call(device: str, dtype: torch.dtype, length: int = 16) -> list[dict]:
    """Time attention so short that what stands around the kernel counts."""
    shape = (1, HEADS, length, HEAD_DIM)
    q, k, v = (torch.randn(shape, device=device, dtype=dtype) for _ in "qkv")
    base = "F.scaled_dot_product_attention"
    calls = {
        base: lambda: F.scaled_dot_product_attention(q, k, v),
        "fused_attention": lambda: fused_attention(q, k, v),
    }
    return rows("small call", "forward", length, interleave(calls, device), base)


def memory_rows(lengths: list[int]) -> list[dict]:
    measured = []
    for call, case in [("explicit", "causal"), *(("fused", c) for c in report.MEMORY_CASES)]:
        for length in lengths:
            if call == "fused" or length <= 4096:
                row = {"section": "memory", "length": length, "name": f"{call}, {case}"}
                measured.append(row | {"mb": memory.peak_mb(call, case, length)})
    return measured


def backends(which: str, length: int, matmul: float, causal: bool = True) -> list[dict]:
    """Time each backend of a GPU, and the best called directly, beside a matrix product."""
    shape = (1, 4 * HEADS, length, HEAD_DIM)
    options = {"device": "cuda", "dtype": torch.bfloat16, "requires_grad": True}
    q, k, v = (torch.randn(shape, **options) for _ in "qkv")
    usable = usable_backends(q[..., :128, :], k[..., :128, :], v[..., :128, :], is_causal=causal)
    calls = {
        "best, called directly": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    }
    for name in BACKENDS:
        if usable[name] is None and (name != "math" or length <= 4096):
            calls[name] = lambda b=name: fused_attention(q, k, v, is_causal=causal, backend=b)
    calls["fused_attention"] = lambda: fused_attention(q, k, v, is_causal=causal)
    table = rows(
        "backend, bfloat16",
        which,
        length,
        timed(calls, which, "cuda", [q, k, v]),
        "best, called directly",
    )
    products = (
        2 if which == "forward" else 7
    )  # two matrix products, QKᵀ and WV; the backward pass has five
    flops = products * 2 * shape[1] * length * length * HEAD_DIM / (2 if causal else 1)
    for row in table:
        row["tflops"] = flops / (row["ms"] * 1e9)
        row["of_matmul"] = row["tflops"] / matmul
    return table


def matmul_tflops(size: int = 8192) -> float:
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in "ab")
    return 2 * size**3 / interleave({"matmul": lambda: a @ b}, "cuda")["matmul"].seconds / 1e12


def run(device: str, quick: bool) -> dict:
    """Measure all; ``quick`` takes short lengths only, to see that it works."""
    cuda = device == "cuda"
    lengths = [128, 512] if quick else CUDA_LENGTHS if cuda else LENGTHS
    dtype = torch.bfloat16 if cuda else torch.float32
    keys = 512 if quick else report.DECODING_KEYS
    matmul = matmul_tflops() if cuda else None
    jobs: list[Callable[[], list[dict]]] = [
        lambda w=which, n=n, m=measure: m(w, n, device, dtype)
        for measure in (layers, functions) for n in lengths for which in PASSES
    ]  # fmt: skip
    jobs.append(lambda: decoding(keys, device, dtype))
    jobs.append(lambda: small_call(device, dtype))
    if cuda:
        jobs += [lambda w=which, n=n: backends(w, n, matmul) for n in lengths for which in PASSES]
    elif memory.peak_mb("fused", "full", 64) is not None:
        jobs.append(lambda: memory_rows([n for n in lengths if n >= 2048] or lengths))
    measured = [row for job in tqdm(jobs, desc="bench", leave=False) for row in job()]
    return report.described(measured, device, str(dtype).removeprefix("torch."), matmul)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--threads", type=int, help="of the CPU (default: PyTorch's choice)")
    parser.add_argument("--quick", action="store_true", help="only short lengths, not for keeping")
    parser.add_argument("--out", type=Path, help="a folder (default: results/, with --quick none)")
    options = parser.parse_args(arguments)
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds no NVIDIA GPU here")
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    result = run(device, options.quick)
    print(report.table(result))
    if options.quick and options.out is None:
        return 0
    folder = options.out or Path(__file__).parent / "results"
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"attention-{device}{'-quick' if options.quick else ''}"
    for path in report.save(result, folder / stem):
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
