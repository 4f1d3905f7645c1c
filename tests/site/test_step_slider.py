"""The step slider of m03: its numbers, its controls, its look in every state."""

import json
import random

import pytest
import torch

from tests.site.conftest import ALL_LIVE, LESSON, WIDTHS
from tests.site.geometry import assert_legible
from tests.site.reading import moving, number, settle
from tests.site.steps import (
    INPUTS,
    WIDGET,
    assert_numbers_are_attention_pys,
    causal,
    entered,
    expected,
    go_to,
    lesson,
    shown,
    text_of,
)


def row_of(page, matrix, row):
    return page.locator(f"{WIDGET} .shown table.{matrix} tbody tr").nth(row)


def field(page, matrix, row, col):
    return row_of(page, matrix, row).locator("input").nth(col)


def cell(page, matrix, row, col):
    return row_of(page, matrix, row).locator("td").nth(col)


def arithmetic(page):
    return text_of(page, ".arithmetic")


# ---- Its numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
def test_default_numbers(open_page, is_causal):
    with open_page(LESSON) as page:
        causal(page).set_checked(is_causal)
        assert_numbers_are_attention_pys(page)


def test_numbers_after_typed_edits(open_page):
    edits = {("query", 2, 0): "-3.25", ("key", 1, 1): "9.99", ("value", 0, 1): "0,5"}
    with open_page(LESSON) as page:
        for (matrix, row, col), text in edits.items():
            field(page, matrix, row, col).fill(text)
        page.keyboard.press("Tab")
        assert entered(page)[0][2, 0] == -3.25
        assert entered(page)[2][0, 1] == 0.5
        assert_numbers_are_attention_pys(page)
        # In step 1 K stands on its side: an edit there reaches the right number.
        go_to(page, 1)
        field(page, "turned", 0, 2).fill("-7")
        assert entered(page)[1][2, 0] == -7
        assert_numbers_are_attention_pys(page)


def test_random_numbers(open_page):
    with open_page(LESSON) as page:
        before = entered(page)
        for is_causal in (False, True):
            causal(page).set_checked(is_causal)
            page.get_by_role("button", name="New numbers").click()
            assert_numbers_are_attention_pys(page)
        assert not torch.equal(before[0], entered(page)[0])
        page.get_by_role("button", name="Reset").click()
        assert torch.equal(before[0], entered(page)[0])


def test_the_largest_numbers_fit_and_stay_right(open_page):
    big = ";".join(["9.99,-9.99"] * 3)
    with open_page(
        lesson(f"steps.query={big}&steps.key={big}&steps.value={big}"), width=320
    ) as page:
        assert_numbers_are_attention_pys(page)
        for step in range(5):
            go_to(page, step)
            assert_legible(page, WIDGET)


def test_the_model_equals_attention_py_to_the_last_digits(open_page):
    """Many random matrices at once, unrounded, through the module that the widget draws from."""
    draw = random.Random(0)
    cases = [
        {n: [[draw.uniform(-9, 9) for _ in range(2)] for _ in range(3)] for n in INPUTS}
        for _ in range(100)
    ]
    script = """async ([url, cases]) => {
      const {attentionSteps} = await import(url);
      return cases.map((c) => [false, true].map((causal) => attentionSteps(c, {causal})));
    }"""
    with open_page(LESSON) as page:
        url = page.evaluate("new URL('../../widgets/lib/attention.js', location).href")
        got = page.evaluate(script, [url, cases])
    for case, pair in zip(cases, got, strict=True):
        matrices = [torch.tensor(case[n], dtype=torch.float64) for n in INPUTS]
        for is_causal, model in zip((False, True), pair, strict=True):
            for name, want in expected(*matrices, is_causal=is_causal).items():
                have = torch.tensor(model[name], dtype=torch.float64)
                torch.testing.assert_close(have, want, rtol=1e-12, atol=1e-12)


# ---- Its controls ------------------------------------------------------------------------------


def test_a_click_shows_the_arithmetic_and_lights_what_it_read(open_page):
    with open_page(LESSON) as page:
        go_to(page, 1)
        cell(page, "scores", 2, 1).click()
        assert arithmetic(page) == "score(sat, cat) = 2.0 × 2.0 + 1.0 × 0.5 = 4.500"
        lit = page.locator(f"{WIDGET} .shown table .lit").evaluate_all(
            "(fields) => fields.map((e) => e.getAttribute('aria-label'))"
        )
        assert lit == ["Q, sat, q₁", "Q, sat, q₂", "K, k₁, cat", "K, k₂, cat"]
        assert page.locator(f"{WIDGET} .term.active").evaluate("(e) => e.dataset.step") == "1"


@pytest.mark.parametrize("step", range(1, 5))
def test_each_step_marks_its_term_and_its_result(open_page, step):
    with open_page(lesson(f"steps.step={step}")) as page:
        active = page.locator(f"{WIDGET} .term.active")
        assert active.evaluate_all("(all) => all.map((e) => e.dataset.step)") == [str(step)]
        assert page.locator(f"{WIDGET} .shown table [aria-selected=true]").count() == 1
        result = {1: "scores", 2: "scaled", 3: "weights", 4: "output"}[step]
        assert page.locator(f"{WIDGET} .shown table.{result} [aria-selected=true]").count() == 1


def test_all_by_keyboard(open_page):
    with open_page(LESSON) as page:
        slider = page.locator(f"{WIDGET} input[type=range]")
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert shown(page).keys() == {"key", "query", "scores"}
        assert slider.get_attribute("aria-valuetext") == "1 of 4: QKᵀ"
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert causal(page).is_checked()
        for _ in range(2 + 6 + 6 + 1):  # two buttons, the numbers of Q and of K, then the scores
            page.keyboard.press("Tab")
        page.keyboard.press("ArrowUp")
        assert arithmetic(page).startswith("score(cat, cat) =")
        page.keyboard.press("ArrowRight")
        assert arithmetic(page).startswith("Hidden: cat may not look at sat")
        page.keyboard.press("Shift+Tab")
        before = number(page.evaluate("document.activeElement.value"))
        page.keyboard.press("ArrowUp")
        settle(page)
        assert number(page.evaluate("document.activeElement.value")) == pytest.approx(before + 0.1)


def test_the_focus_is_visible(open_page):
    with open_page(lesson("steps.step=3")) as page:
        cell(page, "weights", 2, 1).focus()
        page.keyboard.press("ArrowLeft")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid"


def test_touch(open_page):
    with open_page(lesson("steps.step=4"), width=390, has_touch=True, is_mobile=True) as page:
        cell(page, "output", 0, 0).tap()
        assert arithmetic(page).startswith("output(The), number 1 =")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("", "Type a number, such as 0.5."),
        ("abc", "One number a cell, such as 0.5 or -2."),
        ("[1.0, 2.0]", "One number a cell, such as 0.5 or -2."),
        ("<b>1</b>", "One number a cell, such as 0.5 or -2."),
        ("1e309", "Numbers from −9.99 to 9.99."),
        ("-10", "Numbers from −9.99 to 9.99."),
        ("NaN", "One number a cell, such as 0.5 or -2."),
    ],
)
def test_what_is_no_number_gets_a_hint_and_changes_nothing(open_page, typed, hint):
    with open_page(LESSON) as page:
        before = shown(page)
        entry = field(page, "query", 0, 0)
        entry.fill(typed)
        assert text_of(page, ".hint") == hint
        assert entry.get_attribute("aria-invalid") == "true"
        page.keyboard.press("Tab")
        assert text_of(page, ".hint") == ""
        assert shown(page) == before


@pytest.mark.parametrize(("typed", "kept"), [(" 1,5 ", 1.5), ("−2", -2), (".25", 0.25), ("1e0", 1)])
def test_numbers_in_other_clothes(open_page, typed, kept):
    with open_page(LESSON) as page:
        field(page, "value", 1, 1).fill(typed)
        page.keyboard.press("Tab")
        assert entered(page)[2][1, 1] == kept


# ---- Its address -------------------------------------------------------------------------------


def test_the_address_keeps_a_view_and_back_goes_back(open_page):
    with open_page(LESSON) as page:
        field(page, "query", 0, 0).fill("-1.5")
        page.wait_for_url("**steps.query=-1.5**")
        go_to(page, 3)
        causal(page).check()
        page.wait_for_url("**steps.step=3**")
        address = page.url
        view = shown(page)
        page.goto(address)
        page.wait_for_function(ALL_LIVE)
        assert shown(page) == view
        assert causal(page).is_checked()
        page.go_back()
        page.wait_for_selector(".widget-live")
        settle(page)
        assert page.locator(f"{WIDGET} .step-slider .current").inner_text() == "Overview"
        assert number(field(page, "query", 0, 0).input_value()) == -1.5


@pytest.mark.parametrize(
    "damage",
    ["steps.query=1,2;3", "steps.query=a,b;c,d;e,f", "steps.step=9", "steps.cell=4.weights.9.9",
     "steps.key=1e309,0;0,0;0,0", "steps.causal=maybe", "steps.value=,;,;,", "steps.step=%F0"],
)  # fmt: skip
def test_a_damaged_address_falls_back(open_page, damage):
    with open_page(LESSON) as page:
        default = shown(page)
    with open_page(lesson(damage)) as page:
        assert shown(page) == default


# ---- Its look ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_legible_in_every_step(open_page, width):
    with open_page(LESSON, width=width) as page:
        heights = set()
        for is_causal in (False, True):
            causal(page).set_checked(is_causal)
            for step in range(5):
                go_to(page, step)
                assert_legible(page, WIDGET)
                heights.add(round(page.locator(WIDGET).bounding_box()["height"]))
        assert max(heights) - min(heights) <= 60, "the page below jumps from step to step"


def test_the_static_form_stands_without_javascript(open_page):
    with open_page(LESSON, live=False, java_script_enabled=False) as page:
        rows = page.locator(f"{WIDGET} .static-form tbody tr").all_inner_texts()
    query, key, value = (torch.tensor(m).double() for m in DEFAULTS)
    want = expected(query, key, value, is_causal=False)
    for text, weights in zip(rows, want["weights"].tolist(), strict=True):
        assert [number(t) for t in text.split("\t")[1:4]] == [round(w, 2) for w in weights]


DEFAULTS = json.loads("[[[1,0.5],[0,2],[2,1]],[[0,1],[2,0.5],[0.5,1]],[[-1,1],[2,0.5],[0.5,1.5]]]")


def test_the_static_form_prints(open_page):
    with open_page(LESSON) as page:
        static = page.locator(f"{WIDGET} .static-form")
        assert not static.is_visible()
        page.emulate_media(media="print")
        assert static.is_visible()


def test_the_sentence_for_screen_readers_follows(open_page):
    with open_page(lesson("steps.step=3")) as page:
        assert "sat looks at: The 0.07, cat 0.80, sat 0.14." in text_of(page, ".summary")
        causal(page).check()
        cell(page, "weights", 0, 0).click()
        assert "The looks at: The 1.00, cat 0.00, sat 0.00." in text_of(page, ".summary")


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_nothing_moves_by_itself(open_page, motion):
    with open_page(LESSON, reduced_motion=motion) as page:
        assert not moving(page, WIDGET)
