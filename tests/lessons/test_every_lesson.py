"""What holds in each lesson and further page; tests/site looks at the pages in a browser."""

import re

import pytest

from tests.conftest import ROOT
from tests.lessons.conftest import LESSONS


def test_outputs_are_short_and_neither_warnings_nor_errors(lesson):
    assert not lesson.select(".cell-output-stderr, .cell-output-error")
    assert " at 0x" not in lesson.select_one("main").get_text(), "an object is shown by its address"
    for output in lesson.select("main .cell .cell-output-stdout pre"):
        lines = output.get_text().rstrip().splitlines()
        assert len(lines) <= 10, lines
        assert max(map(len, lines)) <= 80, lines


def test_every_map_says_where_it_comes_from(lesson):
    maps = lesson.select("main figure, main .widget")
    assert maps
    for drawn in maps:
        badge = drawn.select_one(".source")
        assert badge, drawn.get("id")
        assert badge.get_text() in {"trained", "random", "constructed"}


LABEL_OF_A_DRAWING = re.compile(r"^#\| label: (\S+)\n(?:#\|.*\n)*# without numbers: ", re.M)
DRAWINGS = {
    label for path in [*ROOT.glob("*.qmd"), *ROOT.glob("modules/*/lesson.qmd")]
    for label in LABEL_OF_A_DRAWING.findall(path.read_text("utf-8"))
}  # fmt: skip


def test_every_figure_is_followed_by_its_numbers(lesson):
    for drawn in lesson.select("main .cell:has(figure)"):
        if drawn.select_one("figure").parent.get("id") in DRAWINGS:
            continue
        numbers = drawn.find_next_sibling()
        tables = numbers.select(":scope > .cell-output > .screen-reader-only table")
        assert tables, drawn.get("id")
        assert not numbers.select("a, code")  # nothing to tab to, and no code
        for table in tables:
            headers = [header.get_text().strip() for header in table.select("thead th")]
            assert table.caption.get_text().strip()
            assert len(headers) > 1
            assert all(headers), headers
            assert re.search(r"\d", " ".join(row.get_text() for row in table.select("tbody tr")))


@pytest.mark.parametrize("lesson", [page for page in LESSONS if "/m" in page], indirect=True)
def test_a_lesson_has_exercises_and_a_recap(lesson):
    assert lesson.select(".exercise")
    assert lesson.select("#recap")


@pytest.mark.parametrize("lesson", LESSONS, indirect=True)
def test_the_time_under_the_title_is_that_of_the_map(lesson, read):
    title = lesson.h1.get_text()
    [entry] = [li for li in read("index.html").select(".course-map li") if f"{title}." in li.text]
    [minutes] = re.findall(r"(\d+) minutes", entry.text)
    assert lesson.select_one("#title-block-header .reading-time").text == f"About {minutes} minutes"
