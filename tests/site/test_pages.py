"""The frame of a page, its colours and its links; what every page must hold is in test_audit.py."""

import re

import pytest
from playwright.sync_api import expect

from tests.site.conftest import LESSON, START, THEMES
from tests.site.reading import axe_violations, settle


@pytest.mark.slow
def test_no_axe_violation_in_any_step(open_page):
    with open_page(f"{LESSON}?steps.causal=1") as page:
        for step in range(1, 5):
            page.get_by_label("Step", exact=True).fill(str(step))
            settle(page)
            assert not axe_violations(page, "#step-slider"), step


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_page_keep_the_course_s_colours(open_page, theme):
    want = {"light": ["rgb(252, 251, 247)", "rgb(28, 33, 43)"],
            "dark": ["rgb(22, 21, 15)", "rgb(236, 232, 220)"]}[theme]  # fmt: skip
    with open_page(LESSON, theme=theme) as page:
        colours = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('main p')).color]"
        )
        assert colours == want


def test_query_key_and_value_have_one_colour_each_everywhere(open_page):
    with open_page(LESSON) as page:
        colours = page.evaluate(
            """() => Object.fromEntries(["q", "k", "v"].map((c) => [c, [...new Set(
              [...document.querySelectorAll(`main :is(span, mi).${c}, main .arithmetic .${c}`)]
                .map((e) => getComputedStyle(e).color))]]))"""
        )
        assert {name: len(found) for name, found in colours.items()} == {"q": 1, "k": 1, "v": 1}
        assert page.locator("math mi.q").count() > 3
        assert len({found[0] for found in colours.values()}) == 3


def test_the_theme_is_followed_live(open_page):
    script = """async () => {
      const {observeTheme} = await import(new URL("../../widgets/lib/surroundings.js", location));
      const seen = [];
      const stop = observeTheme((colours) => seen.push(colours.page, colours.noSuchToken));
      const classes = ["quarto-dark", "quarto-light"];
      const flip = () => classes.forEach((c) => document.body.classList.toggle(c));
      const soon = () => new Promise((done) => setTimeout(done, 50));
      flip(); await soon(); stop(); flip(); await soon();
      return seen;
    }"""
    with open_page(LESSON) as page:
        assert page.evaluate(script) == ["rgb(252, 251, 247)", None, "rgb(22, 21, 15)", None]


def test_a_colour_is_looked_up_once_for_all_who_follow_the_theme(open_page):
    """Each look styles the page at once, which a drawing of many pictures must not do for each."""
    script = """async () => {
      const {observeTheme} = await import(new URL("../../widgets/lib/surroundings.js", location));
      const real = window.getComputedStyle;
      let looks = 0;
      window.getComputedStyle = (...given) => (looks += 1, real.apply(window, given));
      const look = (colors) => [colors.value, colors.noToken];
      const stops = Array.from({length: 9}, () => observeTheme(look));
      stops.forEach((stop) => stop());
      window.getComputedStyle = real;
      return looks;
    }"""
    with open_page(LESSON) as page:
        assert page.evaluate(script) <= 3


def test_links_within_the_page_keep_what_was_chosen(open_page):
    with open_page(LESSON) as page:
        page.evaluate("window.isTheSamePage = true")
        page.get_by_label("Step", exact=True).fill("2")
        page.locator("#TOC a[href$=sec-formula]").click()
        expect(page.locator("#sec-formula h2")).to_be_in_viewport()
        assert page.url.endswith("?steps.step=2#sec-formula")
        assert page.evaluate("window.isTheSamePage")


# ---- The frame that the embedded engine makes ---------------------------------------------------


@pytest.fixture
def ours(by_quarto):
    if by_quarto:
        pytest.skip("Quarto's own frame")


@pytest.mark.usefixtures("ours")
def test_the_system_chooses_the_theme_first(open_page):
    with open_page(LESSON, theme="dark") as page:
        assert page.evaluate("document.body.className") == "quarto-dark"
        page.emulate_media(color_scheme="light")
        page.wait_for_function("() => document.body.className === 'quarto-light'")


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_the_readers_theme_stays_and_is_there_before_anything_is_painted(open_page, key):
    with open_page(LESSON, fresh=True) as page:
        toggle = page.locator(".quarto-color-scheme-toggle")
        toggle.press(key)
        expect(toggle).to_have_attribute("aria-pressed", "true")
        assert page.evaluate("localStorage['quarto-color-scheme']") == "alternate"
        # The frame's script is a module, so it runs after the parser has reached the text.
        page.add_init_script(
            "new MutationObserver(() => { if (document.querySelector('main') && !window.atFirst) "
            "window.atFirst = document.body.className; }).observe(document, "
            "{childList: true, subtree: true});"
        )
        page.reload()
        assert page.evaluate("window.atFirst") == "quarto-dark"


@pytest.mark.usefixtures("ours")
def test_the_skip_link_comes_first_and_leads_to_the_text(open_page):
    with open_page(LESSON) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip-link"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "quarto-document-content"


def test_what_scrolls_sideways_is_reached_by_keyboard(open_page):
    with open_page(LESSON, width=390) as page:
        page.wait_for_selector("pre[tabindex='0']", state="attached")


@pytest.mark.usefixtures("ours")
def test_the_contents_follow_the_scroll(open_page):
    with open_page(LESSON) as page:
        active = page.locator("#TOC a.active")
        page.locator("#sec-formula").evaluate("(e) => e.scrollIntoView()")
        expect(active).to_have_attribute("href", "#sec-formula")
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        expect(active).to_have_text(page.locator("#TOC a").last.inner_text())


@pytest.mark.usefixtures("ours")
def test_the_sidebar_shows_this_page_s_place(open_page):
    with open_page("glossary.html") as page:
        page.set_viewport_size({"width": 1280, "height": 600})
        page.reload()
        expect(page.locator("#quarto-sidebar a.active")).to_be_in_viewport()
        assert page.evaluate("scrollY") == 0


@pytest.mark.usefixtures("ours")
def test_the_sidebar_on_a_phone(open_page):
    with open_page(LESSON, width=390) as page:
        sidebar = page.locator("#quarto-sidebar")
        expect(sidebar).to_be_hidden()
        page.locator(".quarto-btn-toggle").focus()
        page.keyboard.press("Enter")
        expect(sidebar).to_be_visible()
        expect(sidebar.locator("a.active")).to_have_text("Scaled dot-product attention")
        page.keyboard.press("Escape")
        expect(sidebar).to_be_hidden()


def test_answers_unfold_by_keyboard(open_page):
    with open_page(LESSON) as page:
        body = page.locator(".answer > div").first
        expect(body).to_be_hidden()
        page.locator(".answer > summary").first.focus()
        page.keyboard.press("Enter")
        expect(body).to_be_visible()


def test_a_link_to_a_box_opens_it(open_page):
    with open_page("modules/m06_multi_head/lesson.html") as page:
        expect(page.locator("#why-late > div")).to_be_hidden()
        page.evaluate("location.hash = 'why-late'")
        expect(page.locator("#why-late > div")).to_be_visible()


def test_in_print_all_boxes_are_open(open_page):
    with open_page(LESSON) as page:
        page.emulate_media(media="print")
        boxes = page.locator("main :is(.box, .answer) > div")
        assert boxes.count() > 3
        assert all(box.is_visible() for box in boxes.all())


@pytest.mark.usefixtures("ours")
def test_copying_code(open_page):
    with open_page(LESSON, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.locator("#numpy .code-copy-button").click()
        assert page.evaluate("navigator.clipboard.readText()").startswith("scores = Q @ K.T")


def test_previous_and_next(open_page):
    with open_page("index.html") as page:
        page.locator(".nav-page-next a").click()
        expect(page).to_have_url(re.compile(START))
        page.locator(".nav-page-previous a").click()
        expect(page).to_have_url(re.compile(r"index\.html$|/$"))
