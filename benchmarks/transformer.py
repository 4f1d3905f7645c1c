"""Time the models in a page: `python -m benchmarks.transformer [--json FILE]`.

Each committed model runs in Chromium, at the machine's own speed, on 32 random tokens or its
longest input. Prints the median in milliseconds of 200 forward passes with all their values, after
a warm-up, and the 5th and 95th percentile. The budget is 2 ms.
"""

from __future__ import annotations

import argparse
import json
import platform
from datetime import date
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.pages import serve
from course.browser import find_browser
from models.weights import committed

ROOT = Path(__file__).parents[1]
TOKENS = 32
BUDGET_MS = 2.0

MEASURE = """async ([path, most]) => {
  const {transformer} = await import("/widgets/lib/transformer.js");
  const buffer = await (await fetch(path)).arrayBuffer();
  const started = performance.now();
  const model = transformer(buffer, path);
  const load = performance.now() - started;
  const {vocabulary, max_len} = model.config;
  const length = Math.min(most, max_len);
  const tokens = () => Array.from({length}, () => Math.floor(Math.random() * vocabulary.length));
  const time = () => {
    const ids = tokens();
    const before = performance.now();
    for (let i = 0; i < 10; i += 1) model.run(ids);  // a browser's clock is coarse
    return (performance.now() - before) / 10;
  };
  for (let i = 0; i < 50; i += 1) time();
  const times = Array.from({length: 200}, time).sort((a, b) => a - b);
  return {tokens: length, load_ms: load, fastest_ms: times[10], median_ms: times[100], slowest_ms: times[190]};
}"""  # noqa: E501


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the figures here")
    chosen = parser.parse_args()
    server = serve(ROOT)
    base = f"http://127.0.0.1:{server.server_address[1]}/"
    results = {}
    print(f"{'model':46} {'tokens':>6} {'ms':>6} {'(range)':>13} {'parsing ms':>11}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        version = browser.version
        page = browser.new_page()
        page.goto(f"{base}package.json")  # any page of this server
        for file in committed():
            if "storyteller" in file.parts:  # far larger; benchmarks.storyteller times its tokens
                continue
            path = file.relative_to(ROOT).as_posix()
            r = results[path] = page.evaluate(MEASURE, [f"/{path}", TOKENS])
            spread = f"({r['fastest_ms']:.2f} – {r['slowest_ms']:.2f})"
            over = "" if r["median_ms"] <= BUDGET_MS else "  over the budget"
            print(
                f"{path.removeprefix('models/'):46} {r['tokens']:6} {r['median_ms']:6.2f} "
                f"{spread:>13} {r['load_ms']:11.1f}{over}"
            )
    if chosen.json:
        record = {
            "date": date.today().isoformat(), "browser": f"Chromium {version}",
            "cpu": platform.machine(), "budget_ms": BUDGET_MS, "models": results,
        }  # fmt: skip
        chosen.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
