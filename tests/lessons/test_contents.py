"""Each part of a lesson has the contents that contents.py lists."""

import pytest

from tests.lessons.contents import CONTENTS, FURTHER, LESSONS
from tests.lessons.page_text import in_order


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


PARTS = [(lesson, part) for lesson, parts in CONTENTS.items() for part in parts]


@pytest.mark.parametrize(("lesson", "part"), PARTS)
def test_a_part_has_its_contents(read, lesson, part):
    page = read(FURTHER.get(lesson) or f"modules/{LESSONS[lesson]}/lesson.html")
    assert not [content for content in CONTENTS[lesson][part] if not stands(page, part, content)]
