"""The rendered lessons, read as HTML."""

from functools import cache

import pytest
from bs4 import BeautifulSoup

from tests.conftest import ROOT


@pytest.fixture(scope="session")
def read(site):
    """``read(path)``: a page as HTML, parsed once for all tests, so none may change it."""

    @cache
    def soup(path: str) -> BeautifulSoup:
        return BeautifulSoup((site / path).read_text(encoding="utf-8"), "html.parser")

    return soup


@pytest.fixture(scope="module")
def page(request, read) -> BeautifulSoup:
    """The page of a module that names its ``PAGE``."""
    return read(request.module.PAGE)


LESSONS = sorted(
    lesson.relative_to(ROOT).with_suffix(".html").as_posix()
    for lesson in ROOT.glob("modules/*/lesson.qmd")
)


@pytest.fixture(params=LESSONS)
def lesson(request, read) -> BeautifulSoup:
    return read(request.param)
