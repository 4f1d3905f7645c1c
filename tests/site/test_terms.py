"""A term's note: by pointer, keyboard and touch; without a script; and the glossary's page."""

import pytest
from playwright.sync_api import expect

from course.render.read.glossary import read_glossary, slug
from tests.site.conftest import ROOT

HOME, TARGET = "index.html", "**/glossary.html#term-attention"


def first(page):
    link = page.locator("main a.term[href$='#term-attention']").first
    return link, page.locator(f"#{link.get_attribute('aria-describedby')}")


def test_pointer_and_keyboard_show_the_note(open_page):
    with open_page(HOME) as page:
        link, note = first(page)
        expect(note).to_be_hidden()
        link.hover()
        note.hover()
        page.wait_for_timeout(400)
        expect(note, "a pointer may rest on it").to_be_visible()
        page.mouse.move(5, 500)
        expect(note).to_be_hidden()

        link.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        expect(link).to_be_focused()
        expect(note).to_be_visible()
        page.keyboard.press("Escape")
        expect(note).to_be_hidden()
        page.keyboard.press("Enter")
        page.wait_for_url(TARGET)


def test_a_tap_shows_the_note_and_a_second_follows_the_link(open_page):
    with open_page(HOME, width=390, has_touch=True) as page:
        link, note = first(page)
        link.tap()
        expect(note).to_be_visible()
        page.locator("main h2").first.tap()
        expect(note).to_be_hidden()
        link.tap()
        expect(note).to_be_visible()
        link.tap()
        page.wait_for_url(TARGET)


@pytest.mark.parametrize("width", [320, 1280])
def test_notes_stay_in_view_and_move_nothing(open_page, width):
    with open_page(HOME, width=width) as page:
        places = """[...document.querySelectorAll("main p:not(.term-note p)")]
          .map((p) => p.getBoundingClientRect().y).filter((y) => y && y < innerHeight)"""
        for link in page.locator("main a.term").all():
            link.scroll_into_view_if_needed()
            before = page.evaluate(places)
            link.hover()
            note = page.locator(f"#{link.get_attribute('aria-describedby')}")
            expect(note).to_be_in_viewport(ratio=1)
            assert page.evaluate(places) == before
            page.keyboard.press("Escape")


def test_without_scripts_a_term_is_a_link(open_page):
    with open_page(HOME, live=False, java_script_enabled=False) as page:
        link, note = first(page)
        expect(note).to_be_hidden()
        link.click()
        page.wait_for_url(TARGET)
        expect(page.locator("#term-attention")).to_be_in_viewport()


def test_the_glossary_has_every_term_in_order(read):
    terms = [term["id"] for term in read("glossary.html").select(".glossary dt [id^=term-]")]
    entries = read_glossary(ROOT).entries
    assert terms == [f"term-{slug(term)}" for term in sorted(entries, key=str.lower)]
