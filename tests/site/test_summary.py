"""The summary sheets: one a lesson, all of them on two printed pages."""

import re

from tests.site.conftest import LESSONS, START

SHEETS = "summary.html"


def test_every_lesson_has_its_sheet_and_the_page_has_all(read):
    titles = []
    for page in (read(path.partition("?")[0]) for path in LESSONS if path != START):
        [sheet] = page.select(".summary-sheet")
        titles.append(sheet.strong.get_text())
        assert titles[-1] == page.h1.get_text().strip()
    sheets = read(SHEETS).select(".summary-sheet")
    assert [sheet.strong.get_text() for sheet in sheets] == titles
    for sheet in sheets:
        parts = [part.get_text() for part in sheet.select("p > strong:first-child")]
        assert parts[1:] == ["Formula.", "Shapes.", "Trap."]
        assert len(sheet.select("pre")) == 1


def test_they_print_on_two_pages_and_none_is_cut_by_a_page_s_end(open_page):
    with open_page(SHEETS) as page:
        printed = page.pdf(format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
        page.emulate_media(media="print")
        rule = "(e) => e.map((sheet) => getComputedStyle(sheet).breakInside)"
        assert set(page.locator(".summary-sheet").evaluate_all(rule)) == {"avoid"}
