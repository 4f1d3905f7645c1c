"""A widget whose script can't be loaded says so, and takes nothing else with it."""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.site.conftest import LESSON, TOUR
from tests.site.settling import settle

SENTENCE = "its script could not be loaded, or failed"
MASKS = "modules/m05_masks/lesson.html"
# Step -> its figure
FIGURES = {1: "#tour-why", 3: "#tour-scores", 4: "#tour-softmax", 5: "#tour-heads", 6: "#tour-mask",
           8: "#tour-patterns"}  # fmt: skip


@contextmanager
def page_without(browser, url, script, mark=".failure"):
    session = browser.new_context(viewport={"width": 1280, "height": 900})
    page = session.new_page()
    page.route(f"**/widgets/{script}", lambda route: route.abort())
    page.goto(url)
    page.wait_for_selector(mark, state="attached")
    yield page
    session.close()


def assert_told(part):
    expect(part.locator(".failure")).to_contain_text(SENTENCE)
    assert not [e for e in part.locator(".observablehq--error").all() if e.is_visible()]


def test_without_its_player_the_tour_is_one_text_with_live_figures(browser, served):
    with page_without(browser, served + TOUR, "tour.js") as page:
        assert_told(page.locator(".tour-strip"))
        for figure in FIGURES.values():
            expect(page.locator(f"{figure} .widget-live .sentence")).to_be_attached()
            assert page.locator(f"section:has({figure}) > h2").is_visible()
        expect(page.locator(".failure")).to_have_count(1)
        page.locator("#tour-scores table.scores td").nth(3).click()
        settle(page)
        for figure, does in [("#tour-scores", "cat asks The"), ("#tour-softmax", "cat gives The")]:
            expect(page.locator(f"{figure} .sentence")).to_contain_text(does)
        page.get_by_role("combobox", name="… because it was").select_option(index=1)
        expect(page.locator("#tour-why .token").last).to_have_text("warm")


def test_without_its_figures_the_tour_still_turns_its_pages(browser, served):
    with page_without(browser, served + TOUR, "tour-figures.js") as page:
        expect(page.locator(".failure")).to_have_count(len(FIGURES))
        for step, figure in FIGURES.items():
            page.locator(".tour-strip li a").nth(step - 1).click()
            assert_told(page.locator(figure))
            expect(page.locator(f"{figure} .fallback")).to_be_visible()


def test_the_other_widgets_of_a_page_live_on(browser, served):
    lesson = "modules/m01_why_attention/lesson.html"
    with page_without(browser, served + lesson, "path-tracer.js") as page:
        assert_told(page.locator("#path-tracer"))
        expect(page.locator("#path-tracer .fallback")).to_be_visible()
        expect(page.locator("#flow-map .widget-live .sentence")).to_be_visible()


@pytest.mark.parametrize("script", ["assets/vendor/ojs-runtime.js", "assets/frame/frame.js"])
def test_without_a_script_that_all_widgets_need_the_page_says_so(
    browser, served, by_quarto, script
):
    if by_quarto:
        pytest.skip("Quarto's pages say nothing")
    session = browser.new_context(viewport={"width": 390, "height": 900})
    page = session.new_page()
    page.goto(served + MASKS)
    note = page.locator(".without-scripts-note")
    expect(page.locator("#mask-builder .widget-live")).to_be_attached()
    expect(note).not_to_be_visible()
    page.route(f"**/{script}", lambda route: route.abort())
    page.reload()
    expect(note).to_contain_text("reload the page")
    expect(page.locator("#mask-builder")).to_be_visible()
    session.close()


def test_a_diagram_that_can_not_be_drawn_leaves_its_table(browser, served):
    mark = "#four-steps.failed"
    with page_without(browser, served + LESSON, "lib/diagram.js", mark=mark) as page:
        page.locator("details:has(#four-steps) > summary").click()
        assert page.locator("#four-steps .fallback").is_visible()
        assert not [e for e in page.locator(".observablehq--error").all() if e.is_visible()]
        expect(page.locator("#step-slider .widget-live .sentence")).to_be_attached()
