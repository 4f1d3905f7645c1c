"""Write measurements as a table, a PNG and JSON, and compare them with the budgets."""

import json
import platform
from datetime import date
from pathlib import Path

import torch

MEMORY_CASES = ["causal", "ends", "window", "padded", "padded causal", "dropout", "shared heads"]
BUDGETED_CASES = [*MEMORY_CASES[:4], "shared heads"]
DECODING_KEYS, MEMORY_LENGTH = 4096, 8192  # the lengths that the budgets are stated for


def described(rows: list[dict], device: str, dtype: str, matmul: float | None) -> dict:
    name = torch.cuda.get_device_name() if device == "cuda" else _cpu_name()
    return {
        "date": date.today().isoformat(),
        "device": name, "kind": device, "dtype": dtype, "threads": torch.get_num_threads(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__,
                     "cuda": torch.version.cuda if device == "cuda" else None},
        "system": platform.platform(terse=True),
        "matmul_tflops": matmul,
        "budgets": budgets(rows),
        "rows": rows,
    }  # fmt: skip


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def budgets(rows: list[dict]) -> list[dict]:
    """Return the budgets that these rows can answer, each with the worst value over the lengths.

    Leave out a budget that is stated for a length that was not measured.
    """
    lines = []

    def line(what: str, values: list[float], most: float, unit: str) -> None:
        if values:
            holds = max(values) <= most
            lines.append(
                {"what": what, "worst": max(values), "most": most, "unit": unit, "holds": holds}
            )

    for which in ("forward", "forward + backward"):
        ours = [r for r in rows if r["name"] == "MultiHeadAttention" and r["pass"] == which]
        line(f"layer / nn.MultiheadAttention, {which}", [r["ratio"] for r in ours], 1.0, "×")
        line(f"layer / bare projections, {which}", [r["ratio_to_bare"] for r in ours], 1.05, "×")
    cached = [r for r in rows if r["name"] == "cached" and r["length"] == DECODING_KEYS]
    line("cached / recomputed step", [r["ratio"] for r in cached], 0.02, "×")
    names = {f"fused, {case}" for case in BUDGETED_CASES}
    measured = [r for r in rows if r["section"] == "memory" and r["length"] == MEMORY_LENGTH]
    taken = [r["mb"] for r in measured if r["name"] in names]
    line(f"fused attention's memory, {MEMORY_LENGTH} keys", taken, 64.0, "MB")
    direct = [
        r["ratio"]
        for r in rows
        if r["section"].startswith("backend") and r["name"] == "fused_attention"
    ]
    line("fused_attention / PyTorch's best, GPU", direct, 1.02, "×")
    return lines


def table(result: dict) -> str:
    versions = f"torch {result['versions']['torch']}, {result['threads']} threads"
    out = [f"{result['device']}, {result['dtype']}, {versions}, {result['date']}"]
    if result["matmul_tflops"]:
        out.append(f"matrix product {result['matmul_tflops']:.0f} TFLOP/s")
    section = None
    for row in result["rows"]:
        heading = (row["section"], row.get("pass", ""))
        if heading != section:
            section = heading
            out.append("\n" + ", ".join(filter(None, heading)))
        start = f"{row['length']:>7} {row['name']:<32}"
        if "mb" in row:
            out.append(f"{start} {row['mb']:>10.1f} MB")
            continue
        spread = f"{row['fastest_ms']:.2f} … {row['slowest_ms']:.2f}"
        text = f"{start} {row['ms']:>10.2f} ms  ({spread})  {row['ratio']:.3f} × {row['to']}"
        if "ratio_to_bare" in row:
            text += f", {row['ratio_to_bare']:.3f} × bare"
        if "tflops" in row:
            text += f", {row['tflops']:.0f} TFLOP/s, {100 * row['of_matmul']:.0f} %"
        out.append(text)
    out.append("\nbudgets that these lengths can answer (the worst over them)")
    for b in result["budgets"]:
        word = "holds" if b["holds"] else "MISSED"
        out.append(f"  {b['what']:<48} {b['worst']:.3f} ≤ {b['most']} {b['unit']}  {word}")
    return "\n".join(out)


def save(result: dict, stem: Path) -> list[Path]:
    data, picture = stem.with_suffix(".json"), stem.with_suffix(".png")
    data.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    _draw(result).savefig(picture, dpi=120)
    return [picture, data]


def _draw(result: dict):
    from matplotlib.figure import Figure

    sections, passes = ("function, causal", "layer, train mode"), ("forward", "forward + backward")
    wanted = [(section, which) for section in sections for which in passes]
    figure = Figure(figsize=(11, 8), layout="constrained")
    for axes, (section, which) in zip(figure.subplots(2, 2).flat, wanted, strict=True):
        rows = [r for r in result["rows"] if (r["section"], r.get("pass")) == (section, which)]
        for marker, name in zip("os^", dict.fromkeys(r["name"] for r in rows), strict=False):
            mine = [r for r in rows if r["name"] == name]
            middle = [r["ms"] for r in mine]
            below = [r["ms"] - r["fastest_ms"] for r in mine]
            above = [r["slowest_ms"] - r["ms"] for r in mine]
            axes.errorbar(
                [r["length"] for r in mine], middle, yerr=[below, above], marker=marker, label=name
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(sorted({r["length"] for r in rows}))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set(title=f"{section}: {which}", xlabel="length", ylabel="ms, median of five runs")
        axes.legend()
        axes.grid(alpha=0.3)
    figure.suptitle(f"{result['device']}, {result['dtype']}, torch {result['versions']['torch']}")
    return figure
