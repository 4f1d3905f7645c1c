"""The rendered site, served and opened in a real browser."""

from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from course.serve import start_server

LESSON = "modules/m03_scaled_dot_product/lesson.html"
ROOT = Path(__file__).parents[2]
TOUR = "modules/m00_tour/lesson.html"


def whole(path: str) -> str:
    """The tour shows one step at a time; here the page with all of them."""
    return f"{path}?tour.all=1" if path == TOUR else path


LESSONS = sorted(
    whole(lesson.relative_to(ROOT).with_suffix(".html").as_posix())
    for lesson in ROOT.glob("modules/*/lesson.qmd")
)
PAGES = ["index.html", *LESSONS]
WIDTHS = [320, 390, 768, 1280]
THEMES = ["light", "dark"]
# The widgets run, and all sections are laid out: until then they have no text to read.
ALL_LIVE = """() => !document.documentElement.classList.contains("arriving")
  && [...document.querySelectorAll(".widget")]
    .every((widget) => widget.querySelector(".widget-live"))"""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.site)


@pytest.fixture(scope="session")
def by_quarto(site) -> bool:
    return 'content="quarto-' in (site / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def served(site):
    server = start_server(site, 0)
    yield server.url
    server.shutdown()


class Trouble:
    """What a page should never do: console errors, failed responses, other hosts."""

    def __init__(self, page, host):
        self.found = []
        page.on("console", lambda m: m.type == "error" and self.found.append(m.text))
        page.on("pageerror", lambda error: self.found.append(str(error)))
        page.on("response", lambda r: r.status >= 400 and self.found.append(f"{r.status} {r.url}"))
        page.on("request", lambda r: self.ask(r.url, host))

    def ask(self, url, host):
        if not url.startswith(("data:", "blob:")) and urlsplit(url).netloc != host:
            self.found.append(f"asked for {url}")


@pytest.fixture
def open_page(browser, served, by_quarto):
    """``with open_page(path, width=…, theme=…) as page``; fails on any trouble."""

    @contextmanager
    def opened(path, *, width=1280, theme="light", base=None, live=True, **context):
        base = base or served
        session = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, **context
        )
        page = session.new_page()
        trouble = Trouble(page, urlsplit(base).netloc)
        page.goto(base + path)
        if live:
            page.wait_for_function(ALL_LIVE)
        yield page
        session.close()
        # Quarto's pages name no icon, so the browser asks for one that isn't there.
        mine = [t for t in trouble.found if not (by_quarto and "favicon.ico" in t)]
        assert not [t for t in mine if not (by_quarto and "404 (" in t)], mine

    return opened
