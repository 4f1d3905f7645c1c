"""Measure the height of each widget, so that the page reserves it before the widget runs.

``python3 -m course rooms`` writes ``assets/rooms.css``: without it a page jumps when its widgets
start. Run it after a change of a widget's height; a test of the pages compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from course.browser import FLAGS, find_or_install_browser
from course.problems import Problem
from course.render.read.project import load_project
from course.serve import start_server

# Widths of the window in px; a height holds from one width down to the next.
WIDTHS = [1600, 1440, 1280, 1024, 928, 860, 768, 690, 600, 520, 480, 430, 390, 360, 320]
STEP = 1.0  # rem: smaller changes of height move nothing that a reader notices
HEADER = (
    "/* Written by `python3 -m course rooms`: the height of each widget, kept until it runs. */"
)

_HAS_WIDGET = re.compile(r'class="(?:widget|diagram)\b')
_FREE = (
    ":is(.widget, .diagram) { min-height: 0 !important; content-visibility: visible !important; }"
)
_LIVE = """() => [...document.querySelectorAll(".widget, .diagram")]
  .every((widget) => widget.querySelector(".widget-live, .diagram-live svg"))"""
_UNFOLD = """() => document.querySelectorAll("main details:has(.widget, .diagram)")
  .forEach((box) => { box.open = true; })"""
_HEIGHTS = """() => Object.fromEntries([...document.querySelectorAll(":is(.widget, .diagram)[id]")]
  .map((e) => [e.id, e.getBoundingClientRect().height
    / parseFloat(getComputedStyle(document.documentElement).fontSize)]))"""

Heights = dict[str, float]


def write_rooms(root: Path) -> int:
    """Measure the rendered site in ``_site/`` and write ``assets/rooms.css``."""
    site = root / "_site"
    if not (site / "index.html").is_file():
        raise Problem(
            "_site/index.html", None, "is not there: run `python3 -m course render` first"
        )
    browser = find_or_install_browser()
    if not browser:
        raise Problem("course/rooms.py", None, "needs Chrome, Chromium or Edge: name it in CHROME")
    pages = [
        path for path in pages_of(root) if _HAS_WIDGET.search((site / path).read_text("utf-8"))
    ]
    measured = measure(site, browser, pages)
    (root / "assets/rooms.css").write_text(stylesheet(measured), encoding="utf-8")
    print(f"assets/rooms.css: {len(measured[WIDTHS[0]])} widgets at {len(WIDTHS)} widths")
    return 0


def pages_of(root: Path) -> list[str]:
    """Return the addresses of all pages, in the order of `project: render:`."""
    return [source.removesuffix(".qmd") + ".html" for source in load_project(root).sources]


def measure(
    site: Path, browser: str, pages: Iterable[str], widths: Iterable[int] = WIDTHS
) -> dict[int, Heights]:
    """Return the height of each widget in rem, by width of the window and by id."""
    from playwright.sync_api import sync_playwright

    heights: dict[int, Heights] = {width: {} for width in widths}
    server = start_server(site, 0)
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        page = chrome.new_page()
        for path in pages:
            page.goto(f"{server.url}{path}?tour.all=1")
            page.evaluate(_UNFOLD)
            page.wait_for_function(_LIVE)
            page.add_style_tag(content=_FREE)
            for width in heights:
                page.set_viewport_size({"width": width, "height": 900})
                page.wait_for_timeout(200)
                heights[width] |= page.evaluate(_HEIGHTS)
        chrome.close()
    server.shutdown()
    return heights


def stylesheet(measured: dict[int, Heights]) -> str:
    """CSS from the widest window down, with each height that differs from the one above."""
    current: Heights = {}
    lines = [HEADER]
    for i, (width, heights) in enumerate(measured.items()):
        # Whole rems, and one rule a height: what repeats is compressed, and each page loads this.
        new = {n: round(h) for n, h in heights.items() if abs(h - current.get(n, 0)) >= STEP}
        current |= new
        if not new:
            continue
        narrower = f" and (max-width: {width}px)" if i else ""
        lines.append(f"@media (scripting: enabled){narrower} {{")
        rooms: dict[int, list[str]] = {}
        for name, height in new.items():
            rooms.setdefault(height, []).append(f"#{name}")
        lines += [
            f"  {', '.join(rooms[room])} {{ min-height: {room}rem; }}" for room in sorted(rooms)
        ]
        lines.append("}")
    return "\n".join(lines) + "\n"
