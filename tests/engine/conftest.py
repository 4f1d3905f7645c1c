import pytest

from course.browser import find_browser
from tests.engine.ojs_lab import Lab
from tests.engine.sites import Site


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "site")


@pytest.fixture(scope="module")
def browser():
    playwright_api = pytest.importorskip("playwright.sync_api")
    path = find_browser()
    if not path:
        pytest.skip("no Chrome, Chromium or Edge on this machine")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return Lab(tmp_path_factory.mktemp("ojs") / "project")
