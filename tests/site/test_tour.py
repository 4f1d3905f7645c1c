"""The tour's player: one step at a time, by every means; all of them where there is none."""

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.site.axe import axe_violations
from tests.site.conftest import TOUR, WIDTHS
from tests.site.geometry import ILLEGIBLE
from tests.site.settling import settle

STEPS = [f"step-{name}" for name in
         ("why", "roles", "scores", "softmax", "heads", "mask", "code", "patterns")]  # fmt: skip

REST = ["exercises", "recap", "quarto-bibliography"]  # what follows the tour
PLAY, NEXT = ".play", ".tour-pager .next"


def shown(page):
    """The ids of the steps that a reader sees."""
    settle(page)
    return [step for step in STEPS if page.locator(f"#{step} > h2").is_visible()]


def assert_at(page, step, why=""):
    assert shown(page) == [STEPS[step - 1]], why
    # Quarto makes the address a whole one.
    current = page.locator(".tour-strip [aria-current=step]").evaluate("(link) => link.hash")
    assert current == f"#{STEPS[step - 1]}"
    assert page.locator(".tour-controls .count").inner_text() == f"Step {step} / 8"
    for name in REST:
        assert page.locator(f"#{name} > h2").is_visible() == (step == 8), name


def choose(page, step):
    page.locator(".tour-strip li a").nth(step - 1).click()


def blur(page):
    page.evaluate("document.activeElement.blur()")


def is_found_by_search(page, part):
    """The browser's own search found ``part``, which isn't shown."""
    page.locator(part).evaluate("(e) => e.dispatchEvent(new Event('beforematch'))")


def test_by_mouse(open_page, by_quarto):
    with open_page(TOUR) as page:
        assert_at(page, 1)
        expect(page.get_by_label("Previous step")).to_be_disabled()
        page.get_by_label("Next step").click()
        assert_at(page, 2)
        page.get_by_label("Previous step").click()
        drawn = page.locator("#tour-scores .widget-stage > *")
        if not by_quarto:  # Quarto starts the figures before the player
            assert drawn.count() == 0
        for step in range(2, 9):
            page.locator(NEXT).click()
            assert_at(page, step)
            assert page.locator(".tour-strip").bounding_box()["y"] >= 0  # the reader is at its top
        assert drawn.count() > 0, "a figure is drawn when its step is shown"
        expect(page.locator(NEXT)).to_have_count(0)
        expect(page.get_by_label("Next step")).to_be_disabled()
        page.locator(".tour-pager button").first.click()
        assert_at(page, 7)
        choose(page, 3)
        assert_at(page, 3)
        assert not axe_violations(page, ".tour-pager")


def test_by_keyboard_and_keys_of_other_parts_of_the_page_stay_theirs(open_page):
    with open_page(TOUR) as page:
        for step in (2, 3, 4):
            page.keyboard.press("ArrowRight")
            assert_at(page, step)
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Space")
        expect(page.locator(PLAY)).to_have_text("Pause")
        assert page.evaluate("scrollY") == 0
        page.keyboard.press("Space")
        expect(page.locator(PLAY)).to_have_text("Play")
        assert_at(page, 3)
        page.locator(".tour-strip li a").nth(5).focus()
        page.keyboard.press("Enter")
        assert_at(page, 6)
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.textContent") == "Code"
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"

        choose(page, 3)
        page.locator("#tour-scores .matrix td").nth(0).click()
        page.keyboard.press("ArrowRight")
        assert_at(page, 3, "to the next cell, not to the next step")
        assert page.evaluate("document.activeElement.cellIndex") == 2
        choose(page, 5)
        page.locator("#predict-mask input").first.focus()
        page.keyboard.press("ArrowRight")
        assert_at(page, 5, "to the next choice")
        blur(page)
        page.keyboard.press("Alt+ArrowRight")
        assert_at(page, 5, "to the browser's next page")
        choose(page, 8)
        blur(page)
        page.locator("#exercises h2").evaluate("(e) => e.scrollIntoView()")
        page.keyboard.press("ArrowLeft")
        assert_at(page, 8, "below the tour")


def test_it_plays_to_the_end_and_stops_and_leaves_the_history_as_it_was(open_page):
    with open_page(TOUR, live=False, fresh=True) as page:
        page.clock.install()
        page.reload()
        page.wait_for_selector(".tour-controls")
        entries = page.evaluate("history.length")
        page.locator(PLAY).click()
        for step in range(2, 9):
            page.clock.run_for(8000)
            expect(page.locator(".count")).to_have_text(f"Step {step} / 8")
        expect(page.locator(PLAY)).to_have_text("Play")
        page.clock.run_for(30_000)
        expect(page.locator(".count")).to_have_text("Step 8 / 8")
        assert page.url.endswith("tour.step=8")
        assert page.evaluate("history.length") == entries
        page.keyboard.press("ArrowLeft")  # by the reader: Back undoes it
        page.clock.run_for(1000)
        assert page.evaluate("history.length") == entries + 1
        page.keyboard.press("ArrowRight")
        page.locator(PLAY).click()  # from the start again
        expect(page.locator(".count")).to_have_text("Step 1 / 8")


ANIMATED = "(e) => getComputedStyle(e, '::after').animationName"


def test_any_touch_stops_it_and_nothing_moves_where_motion_is_not_wanted(open_page):
    with open_page(TOUR) as page:
        play = page.locator(PLAY)
        for stops in [
            lambda: page.locator("#step-why p").first.click(),
            lambda: page.mouse.wheel(0, 1),
            lambda: play.dispatch_event("wheel"),  # where a press would not stop but toggle
            lambda: page.keyboard.press("ArrowDown"),
            play.click,
        ]:
            play.click()
            expect(play).to_have_text("Pause")
            stops()
            expect(play).to_have_text("Play")
        play.click()
        for motion, name in (("no-preference", "tour-fills"), ("reduce", "none")):
            page.emulate_media(reduced_motion=motion)
            assert page.locator(".tour-strip [aria-current]").evaluate(ANIMATED) == name


SWIPE = """([across, down, selector]) => {
  const target = document.querySelector(selector);
  const finger = (x, y) => new Touch({identifier: 1, target, clientX: x, clientY: y});
  const send = (type, now, list) => target.dispatchEvent(new TouchEvent(type,
    {bubbles: true, touches: list, changedTouches: [now]}));
  const [from, to] = [finger(200, 400), finger(200 + across, 400 + down)];
  send("touchstart", from, [from]);
  send("touchend", to, []);
}"""
SWIPES = [  # tests/widgets/test_tour.py has more of what counts as one
    (-120, 10, "#step-why p", 2), (-120, 10, "#step-roles p", 3), (120, -10, "#step-scores p", 2),
    (-30, 0, "#step-roles p", 2), (-120, 0, "#step-roles pre", 2), (-120, 0, "#exercises h2", 2),
]  # fmt: skip


def test_by_swipe_and_by_tap(open_page):
    with open_page(TOUR, width=390, has_touch=True, is_mobile=True) as page:
        for across, down, selector, step in SWIPES:
            page.evaluate(SWIPE, [across, down, selector])
            assert_at(page, step, (across, down, selector))
        page.locator(".tour-strip li a").nth(3).tap()
        assert_at(page, 4)
        for name in ("Pause", "Play"):
            page.locator(PLAY).tap()
            expect(page.locator(PLAY)).to_have_text(name)


def test_the_address_and_back(open_page):
    with open_page(TOUR) as page:
        for step in (5, 7):
            choose(page, step)
            page.wait_for_url(f"**tour.step={step}")
        page.reload()
        page.wait_for_selector(".tour-controls")
        assert_at(page, 7)
        for step in (5, 1):
            page.go_back()
            assert_at(page, step)


@pytest.mark.parametrize("anchor", ["step-mask", "tour-mask"])
def test_a_link_into_a_step_shows_it(open_page, anchor):
    with open_page(f"{TOUR}#{anchor}") as page:
        assert_at(page, 6)
        page.locator("#TOC a", has_text="Many heads").click()
        assert_at(page, 5)
        expect(page.locator("#step-heads")).to_be_in_viewport()
        page.locator("#TOC a", has_text="Exercises").click()
        assert_at(page, 8, "what follows the tour is shown with its last step")
        expect(page.locator("#exercises h2")).to_be_in_viewport()


def test_all_steps_at_once_and_those_that_a_browser_s_search_finds(open_page):
    with open_page(f"{TOUR}?tour.step=3") as page:
        page.get_by_label("All steps at once").check()
        assert shown(page) == STEPS
        assert all(page.locator(f"#{name} > h2").is_visible() for name in REST)
        expect(page.locator(".tour-pager")).to_be_hidden()
        page.keyboard.press("ArrowRight")
        assert shown(page) == STEPS
        page.get_by_label("All steps at once").uncheck()
        assert_at(page, 3)
        assert page.locator("#step-softmax").get_attribute("hidden") == "until-found"
        is_found_by_search(page, "#step-softmax")
        assert_at(page, 4)
        is_found_by_search(page, "#recap")
        assert_at(page, 8)


@pytest.mark.parametrize("media", ["screen", "print"])
def test_without_javascript_and_in_print_all_steps_stand_in_order(open_page, media):
    with open_page(TOUR, live=False, java_script_enabled=media == "print") as page:
        if media == "print":
            page.wait_for_selector(".tour-controls")
        page.emulate_media(media=media)
        tops = [page.locator(f"#{step}").bounding_box() for step in STEPS]
        assert all(a["y"] + a["height"] <= b["y"] + 1 for a, b in pairwise(tops))
        for name in [*STEPS, *REST]:
            expect(page.locator(f"#{name} h2").first).to_be_visible()
        for figure in ("why", "scores", "softmax", "heads", "mask", "patterns"):
            expect(page.locator(f"#tour-{figure} .fallback table")).to_be_visible()
        for control in (".tour-controls", ".tour-pager"):
            assert not page.locator(control).is_visible()


def test_each_step_is_legible_as_a_whole(open_page):
    with open_page(TOUR) as page:
        for i, step in enumerate(STEPS):
            choose(page, i + 1)
            assert shown(page) == [step]
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                settle(page)
                faults = page.locator(f"#{step}").evaluate(ILLEGIBLE)
                assert not faults["overlapping"], width
                assert faults["sideways"] <= 0, width
