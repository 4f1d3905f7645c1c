"""The widgets of m05: their controls, their address, their look in every state."""

import pytest
import torch

from tests.lessons.m05_numbers import CAUSAL, X
from tests.site.conftest import ALL_LIVE, THEMES, WIDTHS
from tests.site.geometry import assert_legible
from tests.site.masks import (
    BUILDER,
    EMPTY,
    LEAK,
    LESSON,
    STATES,
    TABLE,
    WAYS,
    WIDGETS,
    as_numbers,
    assert_builder_is_right,
    attend,
    cell,
    chosen_row,
    lesson,
    rule,
    shown_mask,
    slide,
)
from tests.site.reading import axe_violations, number, settle

# ---- Controls -----------------------------------------------------------------------------------


def test_a_click_paints_and_a_second_takes_it_back(open_page):
    with open_page(LESSON) as page:
        cell(page, 0, 3).click()
        assert shown_mask(page)[0, 3]
        assert "mask[[0], [3]] = True" in page.locator(f"{BUILDER} .made").inner_text()
        cell(page, 0, 3).click()
        assert torch.equal(shown_mask(page), CAUSAL)
        assert "True" not in page.locator(f"{BUILDER} .made").inner_text()


def test_the_mouse_paints_what_it_is_dragged_over(open_page):
    with open_page(LESSON) as page:
        cell(page, 0, 1).scroll_into_view_if_needed()
        boxes = [cell(page, 0, col).bounding_box() for col in range(1, 6)]
        page.mouse.move(boxes[0]["x"] + 15, boxes[0]["y"] + 15)
        page.mouse.down()
        page.mouse.move(boxes[-1]["x"] + 15, boxes[-1]["y"] + 15, steps=12)
        page.mouse.up()
        assert shown_mask(page)[0].all()
        assert torch.equal(shown_mask(page)[1:], CAUSAL[1:])
        page.mouse.move(boxes[0]["x"] + 15, boxes[0]["y"] + 90, steps=4)
        assert torch.equal(shown_mask(page)[1:], CAUSAL[1:]), "painting ends with the button"
        assert_builder_is_right(page)


def test_a_tap_paints_one_cell(open_page):
    with open_page(LESSON, width=390, has_touch=True, is_mobile=True) as page:
        cell(page, 1, 4).tap()
        cell(page, 5, 0).tap()
        want = CAUSAL.clone()
        want[1, 4], want[5, 0] = True, False
        assert torch.equal(shown_mask(page), want)
        page.locator(f"{TABLE} table.ways button").nth(5).tap()
        want[2, 5] = True
        assert torch.equal(shown_mask(page), want)


def test_all_by_keyboard(open_page):
    with open_page(LESSON) as page:
        rule(page, "causal").focus()
        page.keyboard.press("ArrowLeft")
        settle(page)
        assert shown_mask(page).all()
        for _ in range(1 + 6 + 1):  # the button, three sliders with their boxes, then the mask
            page.keyboard.press("Tab")
        for key in ["ArrowDown", "ArrowRight", "Space", "ArrowRight", "Enter"]:
            page.keyboard.press(key)
            settle(page)
        want = torch.ones(6, 6).bool()
        want[1, 1] = want[1, 2] = False
        assert torch.equal(shown_mask(page), want)
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid", "the focus is visible"
        page.keyboard.press("Tab")  # the weights: one stop, arrows choose
        for key in ["ArrowDown", "ArrowDown", "ArrowDown"]:
            page.keyboard.press(key)
            settle(page)
        assert chosen_row(page) == 3
        assert page.locator(f"{BUILDER} .says").inner_text().startswith("on may look at 6 of 6")
        page.locator(f"{TABLE} table.ways button").first.focus()
        page.keyboard.press("Space")
        settle(page)
        assert not shown_mask(page)[3, 0]
        assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "false"


def test_an_empty_row_says_so(open_page):
    with open_page(lesson(STATES["empty rows"])) as page:
        says = page.locator(f"{BUILDER} .says").inner_text()
        assert says == "on may look at nothing: all its weights are 0. Its output is (0.00, 0.00)."


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("", "No leak: every output before mat is the same to the last bit."),
        ("mask.causal=0", "Leak: The, cat, sat, on, my moved, and mat comes later."),
        ("mask.painted=0.5.1", "Leak: The moved, and mat comes later."),
        ("leak.word=0", "The is the first word: there is no past to leak into."),
        ("leak.change=0", "No output moved. Does anyone look at mat?"),
    ],
)
def test_the_verdict(open_page, state, says):
    with open_page(lesson(state)) as page:
        assert page.locator(f"{LEAK} .verdict").text_content() == says


# ---- Address -----------------------------------------------------------------------------------


def test_the_address_keeps_the_mask_and_back_goes_back(open_page):
    with open_page(LESSON) as page:
        cell(page, 0, 5).click()
        page.wait_for_url("**mask.painted=0.5.1**")
        slide(page, "Window", 3)
        page.wait_for_url("**mask.window=3**")
        mask, address = shown_mask(page), page.url
        page.goto(address)
        page.wait_for_function(ALL_LIVE)
        assert torch.equal(shown_mask(page), mask)
        page.go_back()
        page.wait_for_selector(f"{BUILDER} .widget-live")
        assert not torch.equal(shown_mask(page), mask)
        assert_builder_is_right(page)


@pytest.mark.parametrize(
    "damage",
    ["mask.window=0", "mask.window=x", "mask.prefix=6", "mask.padding=9", "mask.causal=2",
     "mask.painted=9.9.1", "mask.painted=1.1", "mask.painted=1.1.2_0.0.1", "mask.row=6",
     "leak.word=7", "leak.change=1e309", "empty.dtype=4", "empty.visible=-1"],
)  # fmt: skip
def test_a_damaged_address_falls_back(open_page, damage):
    with open_page(lesson(damage)) as page:
        assert torch.equal(shown_mask(page), CAUSAL)
        assert chosen_row(page) == 2
        assert_builder_is_right(page)
        assert (
            as_numbers(page.locator(f"{EMPTY} table.ways").evaluate(WAYS)[0]["cells"]) == [0.33] * 3
        )


# ---- Look --------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_legible_in_every_state(open_page, width):
    heights = []
    for state in STATES.values():
        with open_page(lesson(state), width=width) as page:
            settle(page)
            for widget in WIDGETS:
                assert_legible(page, widget)
            heights.append(page.locator(BUILDER).bounding_box()["height"])
    assert max(heights) - min(heights) <= 80, "the page below jumps from state to state"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("state", list(STATES))
def test_no_axe_violation_in_any_state(open_page, state, theme):
    with open_page(lesson(STATES[state]), theme=theme) as page:
        for widget in WIDGETS:
            assert not axe_violations(page, widget)


def test_the_static_forms_stand_without_javascript(open_page):
    with open_page(LESSON, live=False, java_script_enabled=False) as page:
        forms = [page.locator(f"{widget} .static-form tbody") for widget in WIDGETS]
        weights, moved, empty, conventions = (
            [text.split("\t") for text in form.locator("tr").all_inner_texts()] for form in forms
        )
    for texts, row in zip(weights, attend(X, CAUSAL)[1].tolist(), strict=True):
        assert [number(text) for text in texts[1:]] == [round(w, 2) for w in row]
    assert as_numbers(moved[0][1:6]) == [0] * 5
    assert [texts[1] for texts in empty] == ["0.33", "0.33", "NaN", "0.00", "0.00"]
    assert [texts[1] for texts in conventions] == ["True", "True", "0", "False"]


def test_the_static_forms_print(open_page):
    with open_page(LESSON) as page:
        forms = page.locator(".widget .static-form")
        assert not any(form.is_visible() for form in forms.all())
        page.emulate_media(media="print")
        assert all(form.is_visible() for form in forms.all())


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_moves_by_itself(open_page, motion):
    with open_page(LESSON, reduced_motion=motion) as page:
        for table in ("mask", "weights"):
            durations = cell(page, 0, 0, table).evaluate(
                "(e) => getComputedStyle(e).transitionDuration"
            )
            assert durations in ("0s", "")
