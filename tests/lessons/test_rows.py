"""The rows of the curriculum: each stands where the table says, with its content."""

import re

import pytest

from tests.lessons.rows import FURTHER, LESSONS, ROWS


def missing(page, selector, content):
    """Return which of ``content`` is not in the element ``selector`` of ``page``."""
    element = page.select_one(selector)
    if element is None:
        return [selector]
    text = re.sub(r"\s+", " ", element.get_text())
    return [
        part
        for part in content
        if not (element.select_one(part) if part[0] in "#." else part in text)
    ]


@pytest.mark.parametrize(
    "row", ROWS, ids=[f"{row}-{lesson}-{selector}" for row, lesson, selector, *_ in ROWS]
)
def test_row_has_its_content(read, row):
    _, lesson, selector, *content = row
    page = read(FURTHER.get(lesson) or f"modules/{LESSONS[lesson]}/lesson.html")
    assert not missing(page, selector, content)


def test_no_lesson_is_left_out(site):
    assert {page.parent.name for page in site.glob("modules/m*/lesson.html")} == set(
        LESSONS.values()
    )
