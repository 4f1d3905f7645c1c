"""The menu *Save*: a widget as a picture, or embedded alone, where it is as it was.

tests/site/test_widgets.py makes a picture of each.
"""

import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.site.axe import axe_violations
from tests.site.conftest import ALL_LIVE
from tests.site.settling import settle

M05 = "modules/m05_masks/lesson.html"


@pytest.fixture
def menu(open_page):
    with open_page(M05, permissions=["clipboard-read", "clipboard-write"]) as page:
        card = page.locator("#mask-builder")
        card.scroll_into_view_if_needed()
        yield card


def open_menu(card):
    card.locator(".widget-save summary").click()
    return card.get_by_role("group", name=re.compile("^Save: "))


def test_a_picture_is_a_file(menu):
    acts = open_menu(menu)
    with menu.page.expect_download() as download:
        acts.get_by_role("button", name="Picture, PNG").click()
    file = Path(download.value.path())
    assert download.value.suggested_filename == "attention-mask-builder.png"
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    assert width == 2 * round(menu.bounding_box()["width"])
    assert height > 400
    expect(acts.get_by_role("status")).to_have_text("Saved.")
    with menu.page.expect_download() as download:
        acts.get_by_role("button", name="Picture, SVG").click()
    words = "".join(ET.parse(download.value.path()).getroot().itertext())
    assert "constructed" in words
    assert "mask = create_causal_mask(6)" in words


def test_the_menu_opens_and_closes_by_keyboard(menu):
    summary = menu.locator(".widget-save summary")
    summary.focus()
    menu.page.keyboard.press("Enter")
    button = menu.get_by_role("button", name="Picture, PNG")
    expect(button).to_be_visible()
    assert axe_violations(menu.page, "#mask-builder") == []
    menu.page.keyboard.press("Tab")
    expect(button).to_be_focused()
    menu.page.keyboard.press("Escape")
    expect(button).to_be_hidden()
    expect(summary).to_be_focused()


def test_what_is_copied_opens_the_widget_alone_as_it_was(menu, visit, served):
    menu.get_by_role("radio", name="both ways").or_(menu.get_by_label("both ways")).first.check()
    menu.page.wait_for_url("**mask.causal=0*")
    sentence = menu.locator(".sentence").inner_text()
    acts = open_menu(menu)
    acts.get_by_role("button", name="Copy code to embed").click()
    expect(acts.get_by_role("status")).to_have_text("Copied.")
    code = menu.page.evaluate("navigator.clipboard.readText()")
    match = re.fullmatch(r'<iframe src="([^"]+)" title="[^"]+" width="100%" height="(\d+)".*', code)
    address = match[1].replace("&amp;", "&")
    with visit(served, width=600) as (page, trouble):
        page.goto(address)
        page.wait_for_function(ALL_LIVE)
        assert page.locator("#mask-builder .sentence").inner_text() == sentence
        assert not trouble()


@pytest.mark.parametrize(("width", "theme"), [(320, "light"), (800, "dark")])
def test_alone_there_is_nothing_else(open_page, width, theme):
    with open_page(f"{M05}?embed=leak-test", width=width, theme=theme) as page:
        seen = page.locator("body").inner_text()
        assert "constructed" in seen
        assert "Masks" in page.locator(".embed-from").inner_text()
        others = page.locator("h1, #quarto-sidebar, .prediction, #mask-builder")
        assert not others.filter(visible=True).count()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert axe_violations(page, "body", rules=["color-contrast", "aria-allowed-role"]) == []
        controls = page.locator("#leak-test .widget-controls").locator("input, button")
        assert controls.first.is_visible()


def test_an_unknown_name_shows_the_whole_page(open_page):
    with open_page(f"{M05}?embed=none") as page:
        assert page.locator("h1").is_visible()


@pytest.mark.parametrize("address", ["?embed=swapped-look", "#swapped-look"])
def test_a_widget_behind_a_question_is_shown_where_the_address_asks_for_it(open_page, address):
    with open_page(f"pronoun.html{address}") as page:
        page.locator("#swapped-look input[type=checkbox]").check()
        expect(page.locator("#swapped-look .says")).to_contain_text("trophy")
    with open_page("pronoun.html") as page:
        settle(page)
        assert page.locator(".after-prediction:has(#swapped-look)").evaluate("(e) => e.inert")
