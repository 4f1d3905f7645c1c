"""The frame of a page, its colours and its links; what every page must hold is in test_audit.py."""

import re

import pytest
from playwright.sync_api import expect

from tests.site.axe import axe_violations
from tests.site.conftest import LESSON, START
from tests.site.settling import settle


@pytest.mark.slow
def test_no_axe_violation_in_any_step(open_page):
    with open_page(f"{LESSON}?steps.causal=1") as page:
        for step in range(1, 5):
            page.get_by_label("Step", exact=True).fill(str(step))
            settle(page)
            assert not axe_violations(page, "#step-slider"), step


COLOURS = """() => Object.fromEntries(["q", "k", "v"].map((c) => [c, [...new Set(
  [...document.querySelectorAll(`main :is(span, mi).${c}, main .arithmetic .${c}`)]
    .map((e) => getComputedStyle(e).color))]]))"""
FOLLOW_THEME = """async () => {
  const {observeTheme} = await import(new URL("../../widgets/lib/surroundings.js", location));
  const seen = [];
  const stop = observeTheme(({page}) => seen.push(page));
  const classes = ["quarto-dark", "quarto-light"];
  const flip = () => classes.forEach((c) => document.body.classList.toggle(c));
  const soon = () => new Promise((done) => setTimeout(done, 50));
  flip(); await soon(); stop(); flip(); await soon();
  return seen;
}"""


def test_colours_are_the_same_everywhere_and_follow_the_theme(open_page):
    with open_page(LESSON) as page:
        colours = page.evaluate(COLOURS)
        assert {name: len(shades) for name, shades in colours.items()} == {"q": 1, "k": 1, "v": 1}
        assert page.locator("math mi.q").count() > 3
        assert len({shades[0] for shades in colours.values()}) == 3
        assert page.evaluate(FOLLOW_THEME) == ["rgb(252, 251, 247)", "rgb(22, 21, 15)"]


# ---- The frame that the embedded engine makes ---------------------------------------------------


@pytest.mark.usefixtures("ours")
def test_the_system_chooses_the_theme_first(open_page):
    with open_page(LESSON, theme="dark") as page:
        assert page.evaluate("document.body.className") == "quarto-dark"
        page.emulate_media(color_scheme="light")
        page.wait_for_function("() => document.body.className === 'quarto-light'")


# The frame's script is a module, so it runs after the parser has reached the text.
NOTE_FIRST_THEME = """new MutationObserver(() => {
  if (document.querySelector('main') && !window.atFirst) window.atFirst = document.body.className;
}).observe(document, {childList: true, subtree: true});"""


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_the_readers_theme_stays_and_is_there_before_anything_is_painted(open_page, key):
    with open_page(LESSON, fresh=True) as page:
        toggle = page.locator(".quarto-color-scheme-toggle")
        toggle.press(key)
        expect(toggle).to_have_attribute("aria-pressed", "true")
        assert page.evaluate("localStorage['quarto-color-scheme']") == "alternate"
        page.add_init_script(NOTE_FIRST_THEME)
        page.reload()
        assert page.evaluate("window.atFirst") == "quarto-dark"


@pytest.mark.usefixtures("ours")
def test_links_lead_where_they_say_and_the_contents_follow(open_page):
    with open_page(LESSON) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip-link"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "quarto-document-content"

        page.evaluate("window.isTheSamePage = true")
        page.get_by_label("Step", exact=True).fill("2")
        page.locator("#TOC a[href$=sec-formula]").click()
        expect(page.locator("#sec-formula h2")).to_be_in_viewport()
        assert page.url.endswith("?steps.step=2#sec-formula"), "it loses what was chosen"
        assert page.evaluate("window.isTheSamePage")

        active = page.locator("#TOC a.active")
        page.locator("#sec-formula").evaluate("(e) => e.scrollIntoView()")
        expect(active).to_have_attribute("href", "#sec-formula")
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        expect(active).to_have_text(page.locator("#TOC a").last.inner_text())

    with open_page("index.html") as page:
        page.locator(".nav-page-next a").click()
        expect(page).to_have_url(re.compile(START))
        page.locator(".nav-page-previous a").click()
        expect(page).to_have_url(re.compile(r"index\.html$|/$"))


@pytest.mark.usefixtures("ours")
def test_the_sidebar_shows_this_page_s_place_and_opens_on_a_phone(open_page):
    with open_page("glossary.html") as page:
        page.set_viewport_size({"width": 1280, "height": 600})
        page.reload()
        expect(page.locator("#quarto-sidebar a.active")).to_be_in_viewport()
        assert page.evaluate("scrollY") == 0
    with open_page(LESSON, width=390) as page:
        sidebar = page.locator("#quarto-sidebar")
        expect(sidebar).to_be_hidden()
        page.locator(".quarto-btn-toggle").focus()
        page.keyboard.press("Enter")
        expect(sidebar).to_be_visible()
        expect(sidebar.locator("a.active")).to_have_text("Scaled dot-product attention")
        page.keyboard.press("Escape")
        expect(sidebar).to_be_hidden()
        # What scrolls sideways is reached by keyboard.
        page.wait_for_selector("pre[tabindex='0']", state="attached")


def test_boxes_open_by_keyboard_by_a_link_and_in_print(open_page):
    with open_page("modules/m06_multi_head/lesson.html") as page:
        late = page.locator("#why-late > div")
        expect(late).to_be_hidden()
        page.evaluate("location.hash = 'why-late'")
        expect(late).to_be_visible()
        body = page.locator(".answer > div").first
        expect(body).to_be_hidden()
        page.locator(".answer > summary").first.focus()
        page.keyboard.press("Enter")
        expect(body).to_be_visible()
        page.emulate_media(media="print")
        boxes = page.locator("main :is(.box, .answer) > div")
        assert boxes.count() > 3
        assert all(box.is_visible() for box in boxes.all())
