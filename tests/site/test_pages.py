"""Every page: quiet, within its width, open to all, and whole where its frame is ours."""

import re
import shutil

import pytest
from playwright.sync_api import expect

from course.serve import start_server
from tests.site.conftest import ALL_LIVE, LESSON, PAGES, THEMES, TOUR
from tests.site.geometry import SIDEWAYS
from tests.site.reading import axe_violations


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("path", PAGES)
def test_quiet_and_within_the_width(open_page, path, width, theme):
    with open_page(path, width=width, theme=theme) as page:
        page.mouse.wheel(0, 100_000)
        assert page.evaluate(SIDEWAYS) <= 0


PLACES = """() => [...document.querySelectorAll(".widget *")]
  .filter((e) => e.checkVisibility()).map((e) => {
  const {x, y, width, height} = e.getBoundingClientRect();
  const widget = e.closest(".widget").getBoundingClientRect();
  const {fontSize, fontWeight, display, visibility, opacity} = getComputedStyle(e);
  return [e.localName, ...[x - widget.x, y - widget.y, width, height].map(Math.round),
    fontSize, fontWeight, display, visibility, opacity];
})"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("path", PAGES)
def test_the_themes_differ_in_colours_alone(open_page, path, width):
    """So what is legible in every state of a widget in one theme is so in the other."""
    with open_page(path, width=width) as light, open_page(path, width=width, theme="dark") as dark:
        assert light.evaluate(PLACES) == dark.evaluate(PLACES)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("path", PAGES)
def test_no_axe_violation(open_page, by_quarto, path, width, theme):
    """Under Quarto within main: the frame is Quarto's own, and breaks rules."""
    with open_page(path, width=width, theme=theme) as page:
        unfold(page)
        assert not axe_violations(page, "main" if by_quarto else None)


@pytest.mark.parametrize("step", range(1, 5))
def test_no_axe_violation_in_any_step(open_page, step):
    with open_page(f"{LESSON}?steps.step={step}&steps.causal=1") as page:
        assert not axe_violations(page, "#step-slider")


def unfold(page):
    for header in page.locator("main [data-bs-toggle=collapse]").all():
        header.click()
        page.wait_for_timeout(400)  # Bootstrap unfolds in its own time


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_page_keep_the_course_s_colours(open_page, theme):
    want = {"light": ["rgb(255, 255, 255)", "rgb(28, 33, 43)"],
            "dark": ["rgb(20, 23, 28)", "rgb(228, 231, 236)"]}[theme]  # fmt: skip
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
        assert page.evaluate(script) == ["rgb(255, 255, 255)", None, "rgb(20, 23, 28)", None]


@pytest.mark.parametrize("path", PAGES)
def test_no_page_loads_a_browsers_language_tables(open_page, path):
    # The first call takes a tenth of a second on a phone; Inputs makes it for unformatted numbers.
    count = """window.asked = 0;
      const own = Number.prototype.toLocaleString;
      Number.prototype.toLocaleString = function (...how) {
        asked++;
        return own.apply(this, how);
      };"""
    with open_page(path) as page:
        page.add_init_script(count)
        page.reload()
        page.wait_for_function(ALL_LIVE)
        assert page.evaluate("asked") == 0


def test_links_within_the_page_keep_what_was_chosen(open_page):
    with open_page(LESSON) as page:
        page.evaluate("window.isTheSamePage = true")
        page.get_by_label("Step", exact=True).fill("2")
        page.locator("#TOC a", has_text="A worked example").click()
        expect(page.locator("#sec-worked h2")).to_be_in_viewport()
        assert page.url.endswith("?steps.step=2#sec-worked")
        assert page.evaluate("window.isTheSamePage")


def test_served_from_a_subpath(open_page, site, tmp_path):
    shutil.copytree(site, tmp_path / "some" / "course")
    server = start_server(tmp_path, 0)
    for path in PAGES:
        with open_page(path, base=f"{server.url}some/course/") as page:
            assert page.locator(".widget-live").first.is_visible()
    server.shutdown()


# ---- The frame that the embedded engine makes ---------------------------------------------------


@pytest.fixture
def ours(by_quarto):
    if by_quarto:
        pytest.skip("Quarto's own frame")


@pytest.mark.usefixtures("ours")
def test_the_dark_mode_toggle_stays(open_page):
    with open_page(LESSON) as page:
        page.locator(".quarto-color-scheme-toggle").click()
        assert "quarto-dark" in page.locator("body").get_attribute("class")
        page.reload()
        assert "quarto-dark" in page.locator("body").get_attribute("class")
        assert page.evaluate("localStorage['quarto-color-scheme']") == "alternate"


@pytest.mark.usefixtures("ours")
def test_the_contents_follow_the_scroll(open_page):
    with open_page(LESSON) as page:
        page.locator("#sec-worked").evaluate("(e) => e.scrollIntoView()")
        expect(page.locator("#TOC a.active")).to_have_text("A worked example, put right")


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


@pytest.mark.usefixtures("ours")
def test_answers_unfold_by_keyboard(open_page):
    with open_page(LESSON) as page:
        header = page.locator(".callout-header[data-bs-toggle]").first
        body = page.locator(".callout-collapse").first
        expect(body).to_be_hidden()
        header.focus()
        page.keyboard.press("Enter")
        expect(body).to_be_visible()


@pytest.mark.usefixtures("ours")
def test_copying_code(open_page):
    with open_page(LESSON, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.locator("#numpy .code-copy-button").click()
        assert page.evaluate("navigator.clipboard.readText()").startswith("scores = Q @ K.T")


def test_previous_and_next(open_page):
    with open_page("index.html") as page:
        page.locator(".nav-page-next a").click()
        expect(page).to_have_url(re.compile(TOUR))
        page.locator(".nav-page-previous a").click()
        expect(page).to_have_url(re.compile(r"index\.html$|/$"))


HEIGHTS = """() => Object.fromEntries([...document.querySelectorAll(".widget")]
  .map((widget) => [widget.id, widget.getBoundingClientRect().height]))"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("path", PAGES)
def test_widgets_take_the_room_that_was_kept_for_them(open_page, path, width):
    """Their place before they run (the modules never arrive), and after: nothing may jump."""
    with open_page(path, width=width) as page:
        after = page.evaluate(HEIGHTS)
        page.route(re.compile(r"/widgets/.*\.js"), lambda route: None)
        page.reload(wait_until="commit")
        page.wait_for_selector(".widget .static-form")
        page.wait_for_timeout(300)
        static = page.locator(".widget .static-form")
        assert all(form.is_visible() for form in static.all())
        before = page.evaluate(HEIGHTS)
        assert {name: before[name] for name in after} == pytest.approx(after, abs=25)
        page.unroute_all(behavior="ignoreErrors")
