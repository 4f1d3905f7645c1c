"""What holds in each lesson and further page: short cells, badges on maps, no other hosts."""

import re

import pytest

from course.lessons import MOST_LINES
from tests.conftest import ROOT
from tests.lessons.conftest import LESSONS

MOST_LINES_OF_OUTPUT = 10
# What fits at 1280 px: a longer line would hide its end.
MOST_LETTERS = {"exercise": 72, "bug-hunt": 74, "page": 80}


def test_cells_and_outputs_are_short(lesson):
    for cell in lesson.select("main .cell"):
        for code in cell.select("pre.python"):
            assert len(code.get_text().strip().splitlines()) <= MOST_LINES, cell.get("id")
        for output in cell.select(".cell-output-stdout pre"):
            lines = output.get_text().rstrip().splitlines()
            assert len(lines) <= MOST_LINES_OF_OUTPUT, cell.get("id")
            assert max(map(len, lines)) <= 80, lines


def _within(code, box):
    return code.find_parent(class_=box) is not None


def test_no_line_of_code_is_cut_off_on_a_desk(lesson):
    for code in lesson.select("main pre.sourceCode"):
        if _within(code, "hidden"):  # Quarto keeps the sources that aren't shown
            continue
        most = next(n for box, n in MOST_LETTERS.items() if box == "page" or _within(code, box))
        assert not [line for line in code.get_text().splitlines() if len(line) > most]


def test_no_object_is_shown_by_its_address(lesson):
    assert " at 0x" not in lesson.select_one("main").get_text()


def test_no_warning_and_no_error_is_left_in_a_lesson(lesson):
    assert not lesson.select(".cell-output-stderr, .cell-output-error")


def test_every_map_says_where_it_comes_from(lesson):
    maps = lesson.select("main figure, main .widget")
    assert maps
    for drawn in maps:
        badge = drawn.select_one(".source")
        assert badge, drawn.get("id")
        assert badge.get_text() in {"trained", "random", "constructed"}


def test_every_image_has_a_text(lesson):
    assert all(image.get("alt") for image in lesson.select("main img"))


LABEL_OF_A_DRAWING = re.compile(r"^#\| label: (\S+)\n(?:#\|.*\n)*# without numbers: ", re.M)
DRAWINGS = {
    label for path in ROOT.glob("modules/*/lesson.qmd")
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
            assert table.caption.get_text().strip()
            headers = [header.get_text().strip() for header in table.select("thead th")]
            assert len(headers) > 1
            assert all(headers), headers
            assert any(
                char.isdigit() for row in table.select("tbody tr") for char in row.get_text()
            )


def test_every_widget_stands_before_it_runs(lesson):
    for widget in lesson.select(".widget"):
        assert widget.select_one(".fallback table"), widget.get("id")


def test_nothing_is_loaded_from_another_host(lesson):
    for element in lesson.select("script[src], link[href], img[src]"):
        address = element.get("src") or element.get("href")
        assert not re.match(r"(https?:)?//[^/]", address), address


@pytest.mark.parametrize("lesson", [page for page in LESSONS if "/m" in page], indirect=True)
def test_a_lesson_has_exercises_a_recap_a_theme_and_a_notebook(lesson):
    for part in (".exercise", "#recap", ".quarto-color-scheme-toggle",
                 ".notebook-link[href$=ipynb][download]"):  # fmt: skip
        assert lesson.select(part), part


@pytest.mark.parametrize("lesson", LESSONS, indirect=True)
def test_the_time_under_the_title_is_that_of_the_map(lesson, read):
    title = lesson.h1.get_text()
    [entry] = [li for li in read("index.html").select(".course-map li") if f"{title}." in li.text]
    [minutes] = re.findall(r"(\d+) minutes", entry.text)
    assert lesson.select_one("#title-block-header .reading-time").text == f"About {minutes} minutes"
