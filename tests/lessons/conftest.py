"""The rendered lessons, read as HTML."""

import pytest
from bs4 import BeautifulSoup

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def page(request, read) -> BeautifulSoup:
    """The page of a module that names its ``PAGE``."""
    return read(request.module.PAGE)


LESSONS = sorted(
    lesson.relative_to(ROOT).with_suffix(".html").as_posix()
    for lesson in ROOT.glob("modules/*/lesson.qmd")
)


@pytest.fixture(params=[*LESSONS, "pronoun.html", "longer.html", "ahead.html"])
def lesson(request, read) -> BeautifulSoup:
    return read(request.param)
