"""Around the lessons: copying, links at headings, paper, files, touch."""

import re

import pytest
from playwright.sync_api import expect

from tests.site.conftest import LESSON, PAGES

M02 = "modules/m02_query_key_value/lesson.html"
M05 = "modules/m05_masks/lesson.html"
PICTURE = "(button) => getComputedStyle(button.querySelector('i'), '::before').maskImage"
OPACITY = "(e) => getComputedStyle(e).opacity"
GROWN = """() => [...document.querySelectorAll("math mo")].some((sign) =>
  sign.textContent === "(" && sign.getBoundingClientRect().height
    > 1.5 * parseFloat(getComputedStyle(sign).fontSize))"""
FONTS = "[...document.fonts].filter((f) => f.status === 'loaded').map((f) => f.family)"


@pytest.mark.usefixtures("ours")
def test_code_is_copied_and_links_at_headings_can_be_hit(open_page):
    with open_page(LESSON, permissions=["clipboard-read", "clipboard-write"]) as page:
        listing = page.locator(".code-copy-outer-scaffold:visible").first
        button = listing.locator(".code-copy-button")
        before = button.evaluate(PICTURE)
        assert "svg" in before, "the button has no picture"
        listing.hover()
        button.click()
        expect(button).to_have_attribute("aria-label", "Copied")
        assert button.evaluate(PICTURE) != before
        code = listing.locator("code")
        assert page.evaluate("navigator.clipboard.readText()") == code.text_content()

        heading = page.locator("main section > h2").first
        link = heading.locator(".anchorjs-link")
        heading.hover()
        box = link.bounding_box()
        assert box["width"] >= 12
        assert box["height"] >= 20, "a pointer can hit it"
        assert link.evaluate(OPACITY) == "1"
        page.mouse.move(0, 0)
        link.focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
        assert link.evaluate(OPACITY) == "1", "it isn't seen when focused"


@pytest.mark.usefixtures("ours")
def test_on_a_touch_screen_no_copy_button_covers_code(open_page):
    with open_page(M05, width=390, has_touch=True, is_mobile=True) as page:
        covered = page.evaluate("""() => [...document.querySelectorAll(".code-copy-button")]
          .filter((e) => e.checkVisibility()).filter((button) =>
            button.getBoundingClientRect().bottom > 1 +
              button.parentElement.querySelector("pre").getBoundingClientRect().top).length""")
        assert not covered


def test_formulas_have_a_font_whose_signs_grow(open_page):
    with open_page(LESSON) as page:
        page.evaluate("document.fonts.ready")
        assert any("Course Math" in name for name in page.evaluate(FONTS))
        assert page.evaluate(GROWN)


def test_no_mark_is_left_alone_after_a_formula(site):
    for path in PAGES:
        text = (site / path.partition("?")[0]).read_text(encoding="utf-8")
        rest = re.sub(r'<span class="with-mark">.*?</span>', "", text, flags=re.S)
        assert not re.findall(r"</math>[.,;:!?]", rest), path


# ---- Without scripts, a server or storage --------------------------------------------------------


@pytest.mark.usefixtures("ours")
def test_without_scripts_the_sidebar_covers_nothing(open_page):
    with open_page(LESSON, live=False, width=600, java_script_enabled=False) as page:
        title = page.locator("h1").bounding_box()
        sidebar = page.locator("#quarto-sidebar").bounding_box()
        assert sidebar["y"] > title["y"] + 1000


@pytest.mark.usefixtures("ours")
def test_opened_from_a_file_a_page_is_styled_and_says_why_nothing_moves(browser, site):
    page = browser.new_page()
    page.goto((site / LESSON).resolve().as_uri())
    assert "python3 -m course preview" in page.locator(".from-file-note").inner_text()
    assert page.locator(".widget .fallback").first.is_visible()
    page.locator(".answer summary").first.click()
    assert page.locator(".answer > div").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).getPropertyValue('--color-page')")
    position = "(e) => getComputedStyle(e).position"
    assert page.locator("#quarto-sidebar").evaluate(position) == "sticky"
    page.close()


# ---- Touch --------------------------------------------------------------------------------------


SWIPE = """(plane) => {
  const {left, top} = plane.getBoundingClientRect();
  for (const [type, down] of [["pointerdown", 5], ["pointermove", 60], ["pointerup", 90]])
    plane.dispatchEvent(new PointerEvent(type, {bubbles: true, pointerId: 7, pointerType: "touch",
      clientX: left + 5, clientY: top + down}));
}"""


def test_a_finger_on_a_plane_scrolls_and_taps(open_page):
    with open_page(M02, width=390, has_touch=True) as page:
        plane = page.locator(".query-plane .plane svg").first
        plane.scroll_into_view_if_needed()
        action = "(e) => getComputedStyle(e).touchAction"
        assert "pan-y" in plane.evaluate(action)
        handle = plane.locator(".query .handle").bounding_box()
        assert min(handle["width"], handle["height"]) >= 40
        state = "(e) => JSON.stringify(e.closest('.widget-live').state)"
        before = plane.evaluate(state)
        box = plane.bounding_box()
        plane.evaluate(SWIPE)
        assert plane.evaluate(state) == before
        page.touchscreen.tap(box["x"] + 8, box["y"] + 8)
        assert plane.evaluate(state) != before
