"""The menu *Save*: a widget as a picture, or embedded alone, where it is as it was.

tests/site/test_widgets.py makes a picture of each.
"""

import re
import struct
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.site.axe import axe_violations
from tests.site.conftest import ALL_LIVE

M05 = "modules/m05_masks/lesson.html"


def test_the_menu_saves_a_picture_and_copies_the_widget_as_it_is(open_page, visit, served):
    with open_page(M05, permissions=["clipboard-read", "clipboard-write"]) as page:
        card = page.locator("#mask-builder")
        card.get_by_label("both ways").first.check()
        page.wait_for_url("**mask.causal=0*")
        sentence = card.locator(".sentence").inner_text()
        summary = card.locator(".widget-save summary")
        summary.press("Enter")
        acts = card.get_by_role("group", name=re.compile("^Save: "))
        button, status = acts.get_by_role("button", name="Picture, PNG"), acts.get_by_role("status")
        expect(button).to_be_visible()
        assert axe_violations(page, "#mask-builder") == []
        page.keyboard.press("Tab")
        expect(button).to_be_focused()
        with page.expect_download() as download:
            button.click()
        assert download.value.suggested_filename == "attention-mask-builder.png"
        width, height = struct.unpack(">II", Path(download.value.path()).read_bytes()[16:24])
        assert width == 2 * round(card.bounding_box()["width"])
        assert height > 400
        expect(status).to_have_text("Saved.")
        with page.expect_download() as download:
            acts.get_by_role("button", name="Picture, SVG").click()
        assert "mask = torch.ones(6, 6" in Path(download.value.path()).read_text("utf-8")
        acts.get_by_role("button", name="Copy code to embed").click()
        expect(status).to_have_text("Copied.")
        code = page.evaluate("navigator.clipboard.readText()")
        page.keyboard.press("Escape")
        expect(button).to_be_hidden()
        expect(summary).to_be_focused()
    match = re.fullmatch(r'<iframe src="([^"]+)" title="[^"]+" width="100%" height="(\d+)".*', code)
    with visit(served, width=600) as (page, trouble):
        page.goto(match[1].replace("&amp;", "&"))
        page.wait_for_function(ALL_LIVE)
        assert page.locator("#mask-builder .sentence").inner_text() == sentence
        assert not trouble()


@pytest.mark.parametrize(("width", "theme"), [(320, "light"), (800, "dark")])
def test_alone_there_is_nothing_else(open_page, width, theme):
    with open_page(f"{M05}?embed=leak-test", width=width, theme=theme) as page:
        assert "constructed" in page.locator("body").inner_text()
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


def test_a_widget_in_a_closed_box_is_shown_alone_too(visit, served):
    with visit(served) as (page, _):  # open_page would open the box
        page.goto(f"{served}modules/m04_softmax_and_scale/lesson.html?embed=temperature")
        expect(page.locator("#temperature .widget-controls")).to_be_visible()


@pytest.mark.parametrize("address", ["?embed=did-fit-look", "#did-fit-look"])
def test_a_widget_behind_a_question_is_shown_where_the_address_asks_for_it(
    open_page, served, address
):
    with open_page("pronoun.html") as page:
        assert page.locator(".after-prediction:has(#did-fit-look)").evaluate("(e) => e.inert")
        page.goto("about:blank")
        page.goto(f"{served}pronoun.html{address}")
        page.locator("#did-fit-look select").first.select_option(index=1)
        expect(page.locator("#did-fit-look .says")).to_contain_text("finds: suitcase")
