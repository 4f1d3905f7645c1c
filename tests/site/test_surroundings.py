"""Around the lessons: copying, links at headings, paper, files, touch."""

import re

import pytest
from playwright.sync_api import expect

from tests.site.conftest import ALL_LIVE, LESSON, PAGES

M02 = "modules/m02_query_key_value/lesson.html"
M05 = "modules/m05_masks/lesson.html"
MASK = """(element) => getComputedStyle(element.querySelector("i"), "::before").maskImage"""
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
        before = button.evaluate(MASK)
        assert "svg" in before, "the button has no picture"
        listing.hover()
        button.click()
        expect(button).to_have_attribute("aria-label", "Copied")
        label = button.evaluate("(e) => getComputedStyle(e, '::after').content")
        assert "copied" in label
        assert button.evaluate(MASK) != before
        code = listing.locator("code")
        assert page.evaluate("navigator.clipboard.readText()") == code.text_content()

        heading = page.locator("main section > h2").first
        link = heading.locator(".anchorjs-link")
        heading.hover()
        box = link.bounding_box()
        assert box["width"] >= 12
        assert box["height"] >= 20
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


@pytest.mark.parametrize("path", PAGES)
def test_no_mark_is_left_alone_after_a_formula(site, path):
    text = (site / path.partition("?")[0]).read_text(encoding="utf-8")
    rest = re.sub(r'<span class="with-mark">.*?</span>', "", text, flags=re.S)
    assert not re.findall(r"</math>[.,;:!?]", rest)


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


def test_with_storage_full_a_question_still_answers(open_page):
    with open_page(LESSON) as page:
        assert not page.locator(".from-file-note").is_visible()
        page.evaluate("""() => { Storage.prototype.setItem = () => {
          throw new DOMException("full", "QuotaExceededError"); }; }""")
        question = page.locator(".prediction").first
        question.locator("input").first.check()
        question.get_by_role("button", name="Show me").click()
        assert question.locator("output").inner_text() != ""
        assert question.locator(".reason").first.is_visible()


# ---- Paper, touch, sizes -------------------------------------------------------------------------


def test_on_paper_a_widgets_place_is_no_taller_than_its_table(open_page):
    with open_page(M05) as page:
        page.emulate_media(media="print")
        gaps = page.evaluate("""() => [...document.querySelectorAll(".widget")].map((widget) =>
          widget.getBoundingClientRect().height - [...widget.children].reduce((sum, child) =>
            sum + child.getBoundingClientRect().height, 0))""")
        assert max(gaps) < 130, gaps


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


@pytest.mark.parametrize("path", [LESSON, "modules/m06_multi_head/lesson.html"])
def test_no_size_changes_while_sizes_are_told(visit, served, path):
    tell = """addEventListener("error", (event) => console.error(event.message))"""
    with visit(served, width=390, script=tell) as (page, trouble):
        page.goto(served + path)
        page.wait_for_function(ALL_LIVE)
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        for width in (800, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(300)
        assert trouble() == []
