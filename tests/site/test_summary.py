"""The summary sheets: one a lesson, all of them on two printed pages."""

import re

from playwright.sync_api import expect

from tests.site.conftest import LESSONS, START

SHEETS = "summary.html"


def test_every_lesson_has_its_sheet_and_the_page_has_all(open_page):
    titles = []
    for path in LESSONS:
        if path == START:
            continue
        with open_page(path) as page:
            sheet = page.locator(".summary-sheet")
            expect(sheet).to_have_count(1)
            titles.append(sheet.locator("strong").first.text_content())
            assert titles[-1] == page.locator("h1").text_content().strip()
    with open_page(SHEETS) as page:
        sheets = page.locator(".summary-sheet").all()
        assert [sheet.locator("strong").first.text_content() for sheet in sheets] == titles
        for sheet in sheets:
            parts = sheet.locator("p > strong:first-child").all_text_contents()
            assert parts[1:] == ["Formula.", "Shapes.", "Trap."]
            expect(sheet.locator("pre")).to_have_count(1)


def test_they_print_on_two_pages(open_page):
    with open_page(SHEETS) as page:
        printed = page.pdf(format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2


def test_no_sheet_is_cut_by_a_page_s_end(open_page):
    with open_page(SHEETS) as page:
        page.emulate_media(media="print")
        rule = "(e) => e.map((sheet) => getComputedStyle(sheet).breakInside)"
        assert set(page.locator(".summary-sheet").evaluate_all(rule)) == {"avoid"}
