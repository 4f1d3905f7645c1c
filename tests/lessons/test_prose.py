"""Sentences of the lessons: computed results, reasons where they are needed, one percent sign."""

import re

import pytest

from course.render.read.page_source import read_page
from tests.conftest import ROOT

LESSONS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("modules/*/lesson.qmd"))
PAGES = ["index.qmd", "pronoun.qmd", "longer.qmd", "ahead.qmd", *LESSONS]
# Questions and goals set their numbers. Elsewhere a given number is written as a weight, 0.8.
GIVEN = {"prediction", "challenges"}
SPACE = "\N{NARROW NO-BREAK SPACE}"
POINTERS = re.compile(r"\((?:and )?(?:why|how|more|tried|details|(?:the )?box|box below)\)", re.I)
NOT_PROSE = "pre, code, script, style, svg, math"


def typed_percentages(path):
    """Yield each percentage that is typed as digits, except 100 %, the sum of all weights."""
    page, _ = read_page(ROOT, path)
    open_divs = []
    for block in page.prose:
        divs = {div.line: attributes for attributes, div in block.divs()}
        for line, text in zip(block.lines, block.prose.split("\n"), strict=True):
            if line.number in divs:
                opened = divs[line.number]
                open_divs.append(opened.classes) if opened else open_divs.pop()
            elif not any(GIVEN.intersection(classes) for classes in open_divs):
                texts = re.findall(r"([\d.,]*\d)\s*%", text)
                yield from (f"{line.number}: {number} %" for number in texts if number != "100")


@pytest.fixture(params=PAGES)
def prose(request, read):
    """The text of a page that shows, less its code, drawings and formulas."""
    main = read(request.param.replace(".qmd", ".html")).main
    strings = main.find_all(string=True)
    return "".join(text for text in strings if not text.find_parent(NOT_PROSE.split(", ")))


@pytest.mark.parametrize("path", PAGES)
def test_a_percentage_that_is_a_result_is_computed(path):
    assert not list(typed_percentages(path))


def test_no_pointer_stands_in_place_of_a_reason(prose):
    assert not POINTERS.findall(prose)


def test_percent_is_set_with_a_narrow_space_that_does_not_break(prose):
    # "+" as in "99+ %", which widgets show for what isn't quite all
    assert not re.findall(rf"\d\+?[^{SPACE}]?%", prose)


@pytest.mark.parametrize("path", PAGES)
def test_the_choice_marked_right_is_the_one_whose_reason_says_yes(path, read):
    for question in read(path.replace(".qmd", ".html")).select("[data-right]"):
        reasons = [item.get_text().strip() for item in question.select(".answer ol > li")]
        yes = [str(i) for i, reason in enumerate(reasons, 1) if reason.startswith("Yes")]
        assert yes == [question["data-right"]], (question.get("id"), reasons)
        assert all(reason.startswith(("Yes", "No")) for reason in reasons), question.get("id")
