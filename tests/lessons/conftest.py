"""The rendered lessons, read as HTML."""

import os
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from course.render.site import render_site

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site() -> Path:
    if given := os.environ.get("COURSE_SITE"):
        return Path(given)
    render_site(ROOT, cell_timeout=300)
    return ROOT / "_site"


@pytest.fixture(scope="session")
def read(site):
    def soup(path: str) -> BeautifulSoup:
        return BeautifulSoup((site / path).read_text(encoding="utf-8"), "html.parser")

    return soup


LESSONS = sorted(
    lesson.relative_to(ROOT).with_suffix(".html").as_posix()
    for lesson in ROOT.glob("modules/*/lesson.qmd")
)


@pytest.fixture(params=LESSONS)
def lesson(request, read) -> BeautifulSoup:
    return read(request.param)
