"""What the tests of pages share."""

import gc
import os
import signal
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
import torch
from bs4 import BeautifulSoup
from filelock import FileLock
from playwright.sync_api import sync_playwright

from course.browser import FLAGS, find_browser
from tests.crashes import pytest_sessionfinish, pytest_testnodedown  # noqa: F401

ROOT = Path(__file__).parents[1]
_OPEN = ExitStack()  # Playwright, where a test of this process has started it


IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ


def pytest_configure():
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts what runs in the background deaf to Ctrl-C, and programs inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if IS_WORKER:  # the workers share the processors, and so do the kernels that they start
        torch.set_num_threads(1)
        os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_unconfigure():
    _OPEN.close()


def pytest_collection_modifyitems(items):
    """Give a test in a browser a second try, which the summary names: a busy machine answers late.

    A fault fails both times.
    """
    for item in items:
        if {"browser", "other"} & set(item.fixturenames):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish():
    gc.freeze()  # what is imported by now stays: no collection need look at it again


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """``--site DIR`` of ``python3 -m course test``, or the site as it renders now."""
    if given := os.environ.get("COURSE_SITE"):
        return Path(given)
    from course.render.site import render_site

    # One worker renders; the others wait for it, and leave the site in its place.
    folder = tmp_path_factory.getbasetemp()
    rendered = (folder.parent if IS_WORKER else folder) / "rendered"
    with FileLock(f"{rendered}.lock"):
        if not rendered.exists():
            render_site(ROOT, cell_timeout=300)
            rendered.touch()
    return ROOT / "_site"


@pytest.fixture(scope="session")
def read(site):
    """``read(path)``: a page as HTML, parsed once for all tests, so none may change it."""

    @cache
    def soup(path: str) -> BeautifulSoup:
        return BeautifulSoup((site / path).read_text(encoding="utf-8"), "html.parser")

    return soup


# Chromium with windows draws a popup of its address bar for each page, which takes longer than the
# page. A later --disable-features replaces Playwright's own, so those that matter here come again.
_FEATURES_OFF = (
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
    "AimEnabled", "HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying",
    "OptimizationHints", "PaintHolding", "PreconnectToSearch",
)  # fmt: skip
BROWSER_FLAGS = [
    *FLAGS,
    "--disable-background-networking",
    "--disable-component-update",
    f"--disable-features={','.join(_FEATURES_OFF)}",
]


_find_browser = cache(find_browser)


@cache
def the_browser():
    """One for all tests of a process: Playwright can't be started twice in it."""
    path = _find_browser()
    if not path:
        pytest.skip("no Chrome, Chromium or Edge on this machine", allow_module_level=True)
    playwright = _OPEN.enter_context(sync_playwright())
    return playwright.chromium.launch(executable_path=path, args=BROWSER_FLAGS)


@pytest.fixture(scope="session")
def browser():
    return the_browser()
