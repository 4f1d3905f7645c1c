"""A widget whose script can't be loaded says so, and takes nothing else with it."""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.site.conftest import LESSON, TOUR

MASKS = "modules/m05_masks/lesson.html"
# Step -> its figure
FIGURES = {1: "#tour-why", 3: "#tour-scores", 4: "#tour-softmax", 5: "#tour-heads", 6: "#tour-mask",
           8: "#tour-patterns"}  # fmt: skip


@pytest.fixture
def without(visit, served):
    """``with without(script, path) as page``: a lesson whose widgets lack a script."""

    @contextmanager
    def opened(script, path):
        with visit(served, fresh=True) as (page, _):
            page.route(f"**/widgets/{script}", lambda route: route.abort())
            page.goto(served + path)
            yield page

    return opened


def assert_told(part):
    expect(part.locator(".failure")).to_contain_text("its script could not be loaded, or failed")
    assert not [e for e in part.locator(".observablehq--error").all() if e.is_visible()]


def test_without_its_player_the_tour_is_one_text_with_live_figures(without):
    with without("tour.js", TOUR) as page:
        assert_told(page.locator(".tour-strip"))
        for figure in FIGURES.values():
            expect(page.locator(f"{figure} .widget-live .sentence")).to_be_attached()
            assert page.locator(f"section:has({figure}) > h2").is_visible()
        expect(page.locator(".failure")).to_have_count(1)
        page.locator("#tour-scores table.scores td").nth(3).click()
        expect(page.locator("#tour-softmax .sentence")).to_contain_text("cat gives The")


def test_without_its_figures_the_tour_still_turns_its_pages(without):
    with without("tour-figures.js", TOUR) as page:
        expect(page.locator(".failure")).to_have_count(len(FIGURES))
        for step, figure in FIGURES.items():
            page.locator(".tour-strip li a").nth(step - 1).click()
            assert_told(page.locator(figure))
            expect(page.locator(f"{figure} .fallback")).to_be_visible()


def test_a_diagram_that_can_not_be_drawn_leaves_its_table(without):
    with without("lib/diagram.js", LESSON) as page:
        page.wait_for_selector("#four-steps.failed", state="attached")
        page.locator("details:has(#four-steps) > summary").click()
        assert page.locator("#four-steps .fallback").is_visible()
        assert not [e for e in page.locator(".observablehq--error").all() if e.is_visible()]
        expect(page.locator("#step-slider .widget-live .sentence")).to_be_attached()


@pytest.mark.parametrize("script", ["assets/vendor/ojs-runtime.js", "assets/frame/frame.js"])
def test_without_a_script_that_all_widgets_need_the_page_says_so(visit, served, ours, script):
    with visit(served, width=390, fresh=True) as (page, _):
        page.goto(served + MASKS)
        note = page.locator(".without-scripts-note")
        expect(page.locator("#mask-builder .widget-live")).to_be_attached()
        expect(note).not_to_be_visible()
        page.route(f"**/{script}", lambda route: route.abort())
        page.reload()
        expect(note).to_contain_text("reload the page")
        expect(page.locator("#mask-builder")).to_be_visible()
