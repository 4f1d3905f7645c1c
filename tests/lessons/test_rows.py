"""The rows of the curriculum: each stands where rows.py says, with its content."""

import pytest

from tests.lessons.reading import in_order
from tests.lessons.rows import FURTHER, LESSONS, ROWS


def stands(page, part, content):
    element, kind, name = page.select_one(part), content[0], content[1:]
    if element is None:
        return False
    if kind == "$":
        return any(name in tex.get_text() for tex in element.select("annotation"))
    if kind.isdigit():
        return in_order(element.get_text(), content)
    selectors = {"@": f"[data-cites~='{name}']", "=": f".term[href$='#term-{name}']"}
    return bool(element.select(selectors.get(kind, content)))


@pytest.mark.parametrize(
    "row", ROWS, ids=[f"{row}-{lesson}-{selector}" for row, lesson, selector, *_ in ROWS]
)
def test_row_has_its_content(read, row):
    _, lesson, part, *contents = row
    page = read(FURTHER.get(lesson) or f"modules/{LESSONS[lesson]}/lesson.html")
    assert not [content for content in contents if not stands(page, part, content)]


def test_no_lesson_is_left_out(site):
    lessons = {page.parent.name for page in site.glob("modules/m*/lesson.html")}
    assert lessons == set(LESSONS.values())
