"""The rendered site, served and opened in a real browser."""

import re
import shutil
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from course.render.read.project import load_project
from course.serve import start_server

LESSON = "modules/m03_scaled_dot_product/lesson.html"
ROOT = Path(__file__).parents[2]
START = "modules/start/lesson.html"
TOUR = "modules/m00_tour/lesson.html"


def whole(path: str) -> str:
    """The tour shows one step at a time; here the page with all of them."""
    return f"{path}?tour.all=1" if path == TOUR else path


LESSONS = sorted(
    whole(lesson.relative_to(ROOT).with_suffix(".html").as_posix())
    for lesson in ROOT.glob("modules/*/lesson.qmd")
)
SOURCES = ["sources/index.html", "sources/attention.html", "sources/flex.html"]
OTHERS = [
    source.replace(".qmd", ".html") for source in load_project(ROOT).sources if "/" not in source
]
PAGES = [*OTHERS, *SOURCES, *LESSONS]
WIDTHS = [320, 390, 768, 1280]
THEMES = ["light", "dark"]
# The folded boxes that hold a widget.
UNFOLD = """() => document.querySelectorAll("main details:has(.widget, .diagram)")
  .forEach((box) => { box.open = true; })"""
# The widgets run, and all sections are laid out: until then they have no text to read.
ALL_LIVE = """() => !document.documentElement.classList.contains("arriving")
  && [...document.querySelectorAll(".widget, .diagram")]
    .every((part) => part.closest("details:not([open])")
      || part.querySelector(".widget-live, .diagram-live svg"))"""


# What the quick run opens in a browser: what pages and widgets have in common, on a part of them.
# What is a widget's own, or seldom breaks, waits for the full run, or for that of its lesson.
QUICK = {"test_audit", "test_pages", "test_practice", "test_search", "test_web", "test_widgets"}


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.site)
            if item.path.stem not in QUICK:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def by_quarto(site) -> bool:
    return 'content="quarto-' in (site / "index.html").read_text(encoding="utf-8")


@pytest.fixture
def ours(by_quarto):
    if by_quarto:
        pytest.skip("Quarto's own frame")


@pytest.fixture(scope="session")
def served(site):
    server = let_keep_files(start_server(site, 0))
    yield server.url
    server.shutdown()


@pytest.fixture(scope="session")
def below(site, tmp_path_factory):
    """The address of the same site below a folder of a server, as on GitHub Pages."""
    root = tmp_path_factory.mktemp("server")
    shutil.copytree(site, root / "some/course")
    server = let_keep_files(start_server(root, 0))
    yield f"{server.url}some/course/"
    server.shutdown()


def let_keep_files(server):
    """Let the browser keep all but pages, which takes a third off the next page's load."""

    class Handler(server.RequestHandlerClass):
        def send_header(self, name, value):
            is_kept = not self.path.partition("?")[0].endswith((".html", "/"))
            super().send_header(
                name, "max-age=3600" if name == "Cache-Control" and is_kept else value
            )

    server.RequestHandlerClass = Handler
    return server


class Trouble:
    """What a page should never do: console errors, failed responses, other hosts."""

    def __init__(self, page, host):
        self.notes, self.page, self.host = [], page, host
        self._heard = {
            "console": lambda m: m.type == "error" and self.notes.append(m.text),
            "pageerror": lambda error: self.notes.append(str(error)),
            "response": lambda r: r.status >= 400 and self.notes.append(f"{r.status} {r.url}"),
            "request": lambda r: self.ask(r.url),
        }
        for event, listener in self._heard.items():
            page.on(event, listener)

    def ask(self, url):
        if not url.startswith(("data:", "blob:")) and urlsplit(url).netloc != self.host:
            self.notes.append(f"asked for {url}")

    def end(self):
        for event, listener in self._heard.items():
            self.page.remove_listener(event, listener)


MEDIA = "reduced_motion", "forced_colors", "contrast"
AS_NEW = {"media": "null", "reduced_motion": "null", "forced_colors": "null", "contrast": "null"}


def wipe(page, base):
    """Make ``page`` as if it were new, but for the files that it keeps."""
    page.unroute_all()
    page.mouse.move(-10, -10)
    page.goto("about:blank")
    page.emulate_media(**AS_NEW)
    tools = page.context.new_cdp_session(page)
    stored = {"origin": base, "storageTypes": "cookies,local_storage,indexeddb,cache_storage"}
    tools.send("Storage.clearDataForOrigin", stored)
    tools.send("Page.resetNavigationHistory")
    tools.detach()


@pytest.fixture(scope="session")
def idle():
    """Pages that a test has left, by their script: a new one takes half as long as a lesson."""
    return defaultdict(list)


@pytest.fixture
def visit(browser, by_quarto, idle):
    """``with visit(base, width=…, theme=…) as (page, trouble)``: an empty page, for ``base`` alone.

    ``trouble()`` returns what the page did so far that a page should never do. The page may have
    been another test's; ``fresh`` gives one that wasn't and won't be, for what can't be undone.
    ``script`` runs before each page's own.
    """

    @contextmanager
    def visited(base, *, width=1280, theme="light", script="", fresh=False, **context):
        viewport = {"width": width, "height": 900}
        media = {name: context.pop(name) for name in MEDIA if name in context}
        is_kept = not (fresh or context)
        if is_kept and idle[script]:
            page = idle[script].pop()
            page.set_viewport_size(viewport)
        else:
            page = browser.new_context(viewport=viewport, **context).new_page()
            page.add_init_script(script)
        page.emulate_media(color_scheme=theme, **media)
        trouble = Trouble(page, urlsplit(base).netloc)
        # Quarto's pages name no icon, so the browser asks for one that isn't there.
        icon = re.compile(r"favicon\.ico|404 \(")
        notes = trouble.notes
        yield page, lambda: [t for t in dict.fromkeys(notes) if not (by_quarto and icon.search(t))]
        if is_kept:
            trouble.end()
            wipe(page, base)
            idle[script].append(page)
        else:
            page.context.close()

    return visited


@pytest.fixture
def open_page(visit, served):
    """``with open_page(path, width=…, theme=…) as page``; fails on any trouble."""

    @contextmanager
    def opened(path, *, base=served, live=True, **context):
        with visit(base, **context) as (page, trouble):
            page.goto(base + path)
            page.evaluate(UNFOLD)
            if live:
                page.wait_for_function(ALL_LIVE)
            yield page
        assert not trouble(), trouble()

    return opened
