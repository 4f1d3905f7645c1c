"""How fast the storyteller is in a page: `python -m benchmarks.storyteller`.

In Chromium, its processor not slowed, then slowed by four: from the file's arrival to the first
guess after twelve tokens, each time in a fresh page; then milliseconds of a token that it writes,
all that a page shows of it included. Medians, with the fastest and the slowest. The budgets, not
slowed: 300 ms to the first guess, 4 ms a token.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

from benchmarks.pages import serve
from course.browser import find_browser

ROOT = Path(__file__).parents[1]
PAGES = 5
BUDGETS_MS = {"first": 300.0, "token": 4.0}

BEGIN = """async () => {
  const [{transformer}, {storyteller, randomFrom}, {reader}] = await Promise.all(
    ["transformer", "storyteller", "reader"].map((name) => import(`/widgets/lib/${name}.js`)));
  const path = "/models/storyteller/weights/storyteller.safetensors";
  const buffer = await (await fetch(path)).arrayBuffer();
  window.first = () => {
    window.read = reader(storyteller(transformer(buffer, path)), randomFrom(0));
    window.text = read({text: "Once upon a time there was a little rabbit who had"}).text;
  };
  window.token = () => { text = read({text, temperature: 0.8, write: true}).text; };
}"""
# A browser's clock is coarse.
TIME = """([name, times]) => {
  const begun = performance.now();
  for (let i = 0; i < times; i += 1) window[name]();
  return (performance.now() - begun) / times;
}"""


def main() -> None:
    server = serve(ROOT)
    base = f"http://127.0.0.1:{server.server_address[1]}/"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        for slowed in (1, 4):
            runs = [_visit(browser, base, slowed) for _ in range(PAGES)]
            for name, title in (("first", "to the first guess"), ("token", "a token")):
                waited, worked = zip(*(run[name] for run in runs), strict=True)
                over = slowed == 1 and median(waited) > BUDGETS_MS[name]
                print(
                    f"processor slowed by {slowed}: {title} {_range(waited)}, "
                    f"of its processor {_range(worked)}{', over the budget' if over else ''}"
                )


def _visit(browser: Browser, base: str, slowed: int) -> dict[str, tuple[float, float]]:
    """Return each measurement's wall-clock and processor time of the page, in ms."""
    page = browser.new_page()
    page.goto(f"{base}package.json")  # any page of this server
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    session.send("Emulation.setCPUThrottlingRate", {"rate": slowed})
    page.evaluate(BEGIN)

    def processor() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration") * 1000

    times_by_name = {}
    for name, times in (("first", 1), ("token", 100)):
        before = processor()
        waited = page.evaluate(TIME, [name, times])
        times_by_name[name] = waited, (processor() - before) / times
    page.close()
    return times_by_name


def _range(times: tuple[float, ...]) -> str:
    return f"{median(times):.1f} ms ({min(times):.1f} – {max(times):.1f})"


if __name__ == "__main__":
    main()
