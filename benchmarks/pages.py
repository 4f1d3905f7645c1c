"""Measure each page's load and input time: `python -m benchmarks.pages [--site DIR] [--json FILE]`.

A first visit in Chromium: CPU slowed four times, files gzipped, no cache. Prints for each page the
median of five visits of every figure that has a budget:

- size: all files loaded before the first touch but figures, in KB, gzipped
- LCP: largest contentful paint · CLS: layout shift · TBT: blocking time, all long tasks
- input: all tasks of the page's thread for one input event on the first control, 95th percentile
  of 60: script with its promise jobs, style, layout and painting; beside it the same for a range
  input with an empty handler
- unslowed: these two at the machine's own speed, as Chromium slows short work by more than four
  times (README.md)
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import statistics
import threading
from datetime import date
from functools import cache
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import CDPSession, ElementHandle, Page, sync_playwright

from course.browser import find_browser

ROOT = Path(__file__).parents[1]
SLOWDOWN = 4
VISITS = 5
EVENTS = 60
FIGURES = (".png", ".svg", ".jpg")

OBSERVE = """
  window.vitals = {lcp: 0, cls: 0, tbt: 0};
  const watch = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take))
    .observe({type, buffered: true});
  watch("largest-contentful-paint", (e) => { vitals.lcp = e.startTime; });
  watch("layout-shift", (e) => { if (!e.hadRecentInput) vitals.cls += e.value; });
  watch("longtask", (e) => { vitals.tbt += Math.max(0, e.duration - 50); });
"""

# Send an input event, and wait two frames for its effects.
SEND_EVENT = """([input, i]) => new Promise((done) => {
  const [low, high] = [+input.min, +input.max];
  if (input.options) input.selectedIndex = i % input.options.length;
  else input.value = low + (high - low) * ((i % 5) / 4);
  if (input.matches("button")) input.click();
  else input.dispatchEvent(new Event("input", {bubbles: true}));
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
})"""
EMPTY_HANDLER = """() => {
  const input = Object.assign(document.createElement("input"), {type: "range", min: 0, max: 4});
  input.addEventListener("input", () => {});
  return document.body.appendChild(input);
}"""
# The first slider or menu of a page, or else the first button that isn't a link.
CONTROLS = ["main .widget :is(input[type=range], select)", "main .widget button"]
# ScriptDuration would leave out the promise jobs in which a widget draws.
WORK = "TaskDuration"


class _Gzip(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        file = Path(self.translate_path(self.path))
        file = file / "index.html" if file.is_dir() else file
        if not file.is_file():
            return self.send_error(404)
        data = _gzipped(file)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(file)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@cache
def _gzipped(file: Path) -> bytes:
    """Compress each file once, so that no visit shares the machine with this work."""
    return gzip.compress(file.read_bytes(), 9)


def serve(site: Path) -> ThreadingHTTPServer:
    handler = type("Handler", (_Gzip,), {"directory": str(site)})

    def start(*arguments: object) -> _Gzip:
        return handler(*arguments, directory=str(site))

    server = ThreadingHTTPServer(("127.0.0.1", 0), start)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def visit(browser, url: str) -> dict[str, float]:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    sizes: list[int] = []
    page.on("response", lambda r: sizes.append(_length(r)))
    page.add_init_script(OBSERVE)
    tools = page.context.new_cdp_session(page)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    page.goto(url, wait_until="networkidle")
    _wait_until_laid_out(page, tools)
    page.wait_for_timeout(1000)
    vitals = page.evaluate("vitals")
    size = sum(sizes)  # before the first touch, which may fetch a model
    latency, floor = event_times(page, tools)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    unslowed, unslowed_floor = event_times(page, tools)
    page.context.close()
    return {
        "size_kb": size / 1000, "lcp_s": vitals["lcp"] / 1000, "cls": vitals["cls"],
        "tbt_ms": vitals["tbt"], "input_ms": latency, "input_floor_ms": floor,
        "unslowed_ms": unslowed, "unslowed_floor_ms": unslowed_floor,
    }  # fmt: skip


def _wait_until_laid_out(page: Page, tools: CDPSession) -> None:
    """Wait until the page is laid out, without the script of Playwright's waiting: a long task."""
    arriving = {"expression": "document.documentElement.classList.contains('arriving')"}
    while tools.send("Runtime.evaluate", arriving)["result"]["value"]:
        page.wait_for_timeout(200)


def event_times(page: Page, tools: CDPSession) -> tuple[float, float]:
    """Return the 95th percentiles in ms of the page's first control and of an empty handler."""
    # Time of the page's own thread, without other work of the machine.
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    slider = next(filter(None, map(page.query_selector, CONTROLS)))
    empty = page.evaluate_handle(EMPTY_HANDLER).as_element()
    return _percentile_95(page, tools, slider), _percentile_95(page, tools, empty)


def _percentile_95(page: Page, tools: CDPSession, slider: ElementHandle) -> float:
    def work() -> float:
        metrics = tools.send("Performance.getMetrics")["metrics"]
        return 1000 * next(m["value"] for m in metrics if m["name"] == WORK)

    times = []
    for i in range(EVENTS):
        before = work()
        page.evaluate(SEND_EVENT, [slider, i])
        times.append(work() - before)
    return sorted(times)[int(EVENTS * 0.95)]


def _length(response) -> int:
    if response.url.endswith(FIGURES) and "/figure-html/" in response.url:
        return 0
    return int(response.headers.get("content-length", 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=ROOT / "_site")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    chosen = parser.parse_args()
    server = serve(chosen.site)
    base = f"http://127.0.0.1:{server.server_address[1]}/"
    lessons = sorted(page.relative_to(chosen.site) for page in chosen.site.glob("modules/*/*.html"))
    others = [
        Path(f"{name}.html")
        for name in ("index", "explorer", "playground", "pronoun", "longer", "ahead")
    ]
    pages = [p.as_posix() for p in [*others, *lessons] if (chosen.site / p).exists()]
    results = {}
    print(
        f"{'page':42} {'KB':>6} {'LCP s':>6} {'CLS':>6} {'TBT ms':>7} "
        f"{'input ms (floor)':>17} {'unslowed ms':>13}"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        version = browser.version
        for path in pages:
            visits = [visit(browser, base + path) for _ in range(VISITS)]
            r = {key: statistics.median(v[key] for v in visits) for key in visits[0]}
            results[path] = {key: round(value, 4) for key, value in r.items()}
            print(
                f"{path:42} {r['size_kb']:6.0f} {r['lcp_s']:6.2f} {r['cls']:6.3f} "
                f"{r['tbt_ms']:7.0f} {r['input_ms']:11.1f} ({r['input_floor_ms']:.1f}) "
                f"{r['unslowed_ms']:7.1f} ({r['unslowed_floor_ms']:.1f})"
            )
    if chosen.json:
        record = {
            "date": date.today().isoformat(), "browser": f"Chromium {version}",
            "cpu": platform.machine(), "slowdown": SLOWDOWN, "visits": VISITS, "pages": results,
        }  # fmt: skip
        chosen.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
