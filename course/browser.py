"""Find a Chrome, Chromium or Edge to test the site in, or install Chromium if possible."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_COMMANDS = (
    "chromium-headless-shell",  # Chromium without windows, at less than half the cost
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "microsoft-edge", "msedge",
)  # fmt: skip
# Text as wide as readers have it: without windows, hints would make it 4 % wider.
FLAGS = ("--no-sandbox", "--font-render-hinting=none")
_PATHS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "{ProgramFiles}/Google/Chrome/Application/chrome.exe",
    "{ProgramFiles(x86)}/Google/Chrome/Application/chrome.exe",
    "{LOCALAPPDATA}/Google/Chrome/Application/chrome.exe",
    "{ProgramFiles(x86)}/Microsoft/Edge/Application/msedge.exe",
)


def find_browser() -> str | None:
    """Return the path of a browser, preferring ``CHROME`` of the environment; None without one."""
    if chosen := os.environ.get("CHROME"):
        return shutil.which(chosen)
    for command in _COMMANDS:
        if path := shutil.which(command):
            return path
    paths = (_with_environment(path) for path in _PATHS)
    return next((p for p in paths if p and Path(p).is_file()), None) or _playwrights_own()


def find_or_install_browser() -> str | None:
    return find_browser() or _install_by_playwright() or _install_by_apt()


def _with_environment(path: str) -> str | None:
    try:
        return path.format_map(os.environ)
    except KeyError:
        return None


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None


def _install_by_playwright() -> str | None:
    print("no Chrome or Chromium here; installing one for the tests …", flush=True)
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    result = subprocess.run(command, capture_output=True)
    return None if result.returncode else find_browser()


def _install_by_apt() -> str | None:
    apt = shutil.which("apt-get")
    if not apt or os.geteuid() != 0:
        return None
    _is_done([apt, "update", "-qq"])
    for package in ("chromium-headless-shell", "chromium"):
        if _is_done([apt, "install", "-y", "-qq", package]):
            return find_browser()
    return None


def _is_done(command: list[str]) -> bool:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.run(command, **quiet).returncode == 0
