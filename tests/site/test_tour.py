"""The tour's player: one step at a time, by every means; all of them where there is none."""

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.site.axe import axe_violations
from tests.site.conftest import TOUR
from tests.site.settling import settle

STEPS = [f"step-{name}" for name in
         ("why", "roles", "scores", "softmax", "heads", "mask", "code", "patterns")]  # fmt: skip

REST = ["exercises", "recap", "quarto-bibliography"]  # what follows the tour
PLAY, NEXT, LINKS = ".play", ".tour-pager .next", ".tour-strip li a"


SHOWN = "(ids) => ids.filter((id) => document.querySelector(`#${id} > h2`).checkVisibility())"


def shown(page):
    """The ids of the steps, and of what follows them, that a reader sees."""
    settle(page)
    return page.evaluate(SHOWN, [*STEPS, *REST])


def assert_at(page, step, why=""):
    assert shown(page) == [STEPS[step - 1], *(REST if step == 8 else [])], why
    # Quarto makes the address a whole one.
    current = page.locator(".tour-strip [aria-current=step]").evaluate("(link) => link.hash")
    assert current == f"#{STEPS[step - 1]}"
    assert page.locator(".tour-controls .count").inner_text() == f"Step {step} / 8"


def test_by_mouse(open_page):
    with open_page(TOUR) as page:
        assert_at(page, 1)
        for part in page.locator("main > section[hidden]").all():
            assert part.bounding_box()["height"] == 0, "no line of it is left"
        expect(page.get_by_label("Previous step")).to_be_disabled()
        for label, step in (("Next step", 2), ("Previous step", 1)):
            page.get_by_label(label).click()
            assert_at(page, step)
        for step in range(2, 9):
            page.locator(NEXT).click()
            assert_at(page, step)
            assert page.locator(".tour-strip").bounding_box()["y"] >= 0  # the reader is at its top
        expect(page.locator(NEXT)).to_have_count(0)
        expect(page.get_by_label("Next step")).to_be_disabled()
        page.locator(".tour-pager button").first.click()
        assert_at(page, 7)
        page.locator(LINKS).nth(2).click()
        assert_at(page, 3)
        assert not axe_violations(page, ".tour-pager")


def test_by_keyboard_and_keys_of_other_parts_of_the_page_stay_theirs(open_page):
    def choose(step):
        page.locator(LINKS).nth(step - 1).click()
        page.evaluate("document.activeElement.blur()")

    with open_page(TOUR) as page:
        for key, step in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2)):
            page.keyboard.press(key)
            assert_at(page, step)
        page.keyboard.press("Space")
        expect(page.locator(PLAY)).to_have_text("Pause")
        assert page.evaluate("scrollY") == 0
        page.locator(LINKS).nth(5).focus()
        page.keyboard.press("Enter")
        assert_at(page, 6)
        page.keyboard.press("ArrowRight")
        expect(page.locator(LINKS).nth(6), "the focus goes along").to_be_focused()

        choose(3)
        page.locator("#tour-scores .matrix td").nth(0).click()
        page.keyboard.press("ArrowRight")
        assert_at(page, 3, "to the next cell, not to the next step")
        choose(5)
        page.locator("#predict-mask input").first.focus()
        page.keyboard.press("ArrowRight")
        assert_at(page, 5, "to the next choice")
        choose(5)
        page.keyboard.press("Alt+ArrowRight")
        assert_at(page, 5, "to the browser's next page")
        choose(8)
        page.locator("#exercises h2").evaluate("(e) => e.scrollIntoView()")
        page.keyboard.press("ArrowLeft")
        assert_at(page, 8, "below the tour")


def test_it_plays_to_the_end_and_stops_and_leaves_the_history_as_it_was(open_page):
    with open_page(TOUR, live=False, fresh=True) as page:
        page.clock.install()
        page.reload()
        page.wait_for_selector(".tour-controls")
        entries = page.evaluate("history.length")
        play, count = page.locator(PLAY), page.locator(".count")
        play.click()
        for step in range(2, 9):
            page.clock.run_for(8000)
            expect(count).to_have_text(f"Step {step} / 8")
        expect(play).to_have_text("Play")
        page.clock.run_for(30_000)
        expect(count).to_have_text("Step 8 / 8")
        assert page.evaluate("history.length") == entries
        page.keyboard.press("ArrowLeft")  # by the reader: Back undoes it
        page.clock.run_for(1000)
        assert page.evaluate("history.length") == entries + 1
        page.keyboard.press("ArrowRight")
        play.click()
        expect(count, "from the start again").to_have_text("Step 1 / 8")


def test_any_touch_stops_it(open_page):
    with open_page(TOUR) as page:
        play = page.locator(PLAY)
        for stops in [
            lambda: page.locator("#step-why p").first.click(),
            lambda: page.mouse.wheel(0, 1),
            lambda: page.keyboard.press("ArrowDown"),
            play.click,
        ]:
            play.click()
            expect(play).to_have_text("Pause")
            stops()
            expect(play).to_have_text("Play")


SWIPE = """([start, across, selector]) => {
  const target = document.querySelector(selector);
  const finger = (x) => new Touch({identifier: 1, target, clientX: x, clientY: 400});
  const send = (type, now, list) => target.dispatchEvent(new TouchEvent(type,
    {bubbles: true, touches: list, changedTouches: [now]}));
  const [from, to] = [finger(start), finger(start + across)];
  send("touchstart", from, [from]);
  send("touchend", to, []);
}"""
SWIPES = {  # from where how far, on what: the step it leads to; tests/widgets says how far is far
    "on": (200, -120, "#step-why p", 2), "on again": (200, -120, "#step-roles p", 3),
    "back": (200, 120, "#step-scores p", 2),
    "the browser's own, from an edge": (5, 120, "#step-roles p", 2),
    "and from the other": (385, -120, "#step-roles p", 2),
    "code that scrolls": (200, -120, "#step-roles pre", 2),
    "below the tour": (200, -120, "#exercises h2", 2),
}  # fmt: skip


def test_by_swipe_and_by_tap(open_page):
    with open_page(TOUR, width=390, has_touch=True, is_mobile=True) as page:
        for name, (start, across, selector, step) in SWIPES.items():
            page.evaluate(SWIPE, [start, across, selector])
            assert_at(page, step, name)
        page.locator(LINKS).nth(3).tap()
        assert_at(page, 4)


def test_links_all_steps_and_a_browser_s_search_lead_to_what_they_name(open_page):
    with open_page(f"{TOUR}#tour-mask") as page:
        assert_at(page, 6)
        for link, step, heading in (("Many heads", 5, "step-heads"), ("Exercises", 8, "exercises")):
            page.locator("#TOC a", has_text=link).click()
            assert_at(page, step)
            expect(page.locator(f"#{heading} > h2")).to_be_in_viewport()
        every = page.get_by_label("All steps at once")
        every.check()
        page.keyboard.press("ArrowLeft")
        assert shown(page) == [*STEPS, *REST]
        every.uncheck()
        assert_at(page, 8)
        for found, step in (("#step-softmax", 4), ("#recap", 8)):
            page.locator(LINKS).first.click()
            assert page.locator(found).get_attribute("hidden") == "until-found"
            page.locator(found).evaluate("(e) => e.dispatchEvent(new Event('beforematch'))")
            assert_at(page, step)


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
        for control in (".tour-controls", ".tour-pager"):
            assert not page.locator(control).is_visible()
