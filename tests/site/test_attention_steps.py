"""The four steps of m03 in the browser: what is typed, chosen and dragged reaches every matrix."""

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.numbers import number
from tests.site.conftest import LESSON
from tests.site.gestures import drag
from tests.site.settling import assert_shows, settle

WIDGET = "#step-slider"
PLANES, TABLES, SCORES = range(3)
INPUTS = ["query", "key", "value"]
COMPUTED = ["scores", "scaled", "weights", "output"]

READ = """(root) => Object.fromEntries(
  [...root.querySelectorAll(".stage.shown table.matrix")].map((table) => {
  const rows = [...table.querySelectorAll("tbody tr")].map((tr) =>
    [...tr.querySelectorAll("td")].map((td) => td.querySelector("input")?.value ?? td.textContent));
  return [table.classList[1], rows];
}))"""


def shown(page):
    """{matrix name: rows of the texts in its cells} of what the current step shows."""
    settle(page)
    return page.locator(WIDGET).evaluate(READ)


def go_to(page, step):
    page.locator(f"{WIDGET} .step-ticks button").nth(step).click()
    settle(page)


def at(page, matrix, row, col):
    rows = page.locator(f"{WIDGET} .shown table.{matrix} tbody tr")
    return rows.nth(row).locator("td").nth(col)


def entered(page):
    """Q, K and V as float64 tensors, from the tables."""
    go_to(page, TABLES)
    texts = shown(page)
    return [
        torch.tensor([[number(t) for t in row] for row in texts[name]], dtype=torch.float64)
        for name in INPUTS
    ]


def assert_numbers_are_attention_pys(page):
    """Every computed cell of the tables, which are those of all steps."""
    query, key, value = entered(page)
    output, weights = scaled_dot_product_attention(query, key, value)
    scores = query @ key.T
    numbers = scores, scores / key.shape[-1] ** 0.5, weights, output
    for name, wanted in zip(COMPUTED, numbers, strict=True):
        for row, exacts in zip(shown(page)[name], wanted.tolist(), strict=True):
            for text, exact in zip(row, exacts, strict=True):
                assert_shows(text, exact, name)


PLACES = """(root) => {
  const at = (circle) => ["cx", "cy"].map((name) => +circle.getAttribute(name));
  const centres = [...root.querySelectorAll(".plane circle:not(.ring)")].map(at);
  const d = root.querySelector(".plane .output").getAttribute("d");
  return [...centres, /^M([\\d.-]+) ([\\d.-]+)m/.exec(d).slice(1).map(Number)]; }"""


def test_every_number_and_the_diamond_follow_what_is_typed(open_page):
    with open_page(LESSON) as page:
        before = entered(page)
        edits = {("query", 2, 0): "-3.25", ("key", 1, 1): "9.99", ("value", 0, 1): "0,5"}
        for cell, text in edits.items():
            at(page, *cell).locator("input").fill(text)
        go_to(page, SCORES)  # K stands on its side there
        at(page, "key", 0, 2).locator("input").fill("-7")
        query, key, value = entered(page)
        assert [query[2, 0], key[1, 1], value[0, 1], key[2, 0]] == [-3.25, 9.99, 0.5, -7]
        assert_numbers_are_attention_pys(page)
        page.locator(WIDGET).get_by_role("button", name="Reset").click()
        assert all(map(torch.equal, before, entered(page)))

        _, weights = scaled_dot_product_attention(*before)
        for word in (2, 0):
            go_to(page, TABLES)
            at(page, "output", word, 0).click()
            go_to(page, PLANES)
            *points, diamond = page.locator(WIDGET).evaluate(PLACES)
            mix = weights[word] @ torch.tensor(points, dtype=torch.float64)
            assert diamond == pytest.approx(mix.tolist(), abs=0.11)


LINE = "(e) => getComputedStyle(e).textDecorationLine"
VISIBILITY = "(e) => getComputedStyle(e).visibility"


def test_what_answers_a_question_waits_for_the_guess(open_page):
    """The triangle of the plane, and the lines below the numbers that a key has changed."""
    with open_page(LESSON) as page:
        go_to(page, TABLES)
        at(page, "key", 1, 0).locator("input").fill("1")
        page.keyboard.press("Tab")
        settle(page)
        triangle = page.locator(f"{WIDGET} .plane polygon")
        moved = page.locator(f"{WIDGET} .shown .weights .moved")
        assert moved.count() == 9
        for question, part, style, before, after in (
            ("reach", triangle, VISIBILITY, "hidden", "visible"),
            ("key", moved.first, LINE, "none", "underline"),
        ):
            assert part.evaluate(style) == before
            page.locator(f"#predict-{question} input[type=radio]").nth(2).check()
            page.locator(f"#predict-{question} button").first.click()
            settle(page)
            assert part.evaluate(style) == after


def asked(page, row=2):
    """The query of a word, of *bank* unless told, as its fields have it."""
    go_to(page, TABLES)
    query = [number(text) for text in shown(page)["query"][row]]
    go_to(page, PLANES)
    return query


def test_the_arrow_is_dragged_tapped_moved_by_keys_and_doubled(open_page):
    with open_page(LESSON, has_touch=True) as page:
        pad = page.locator(f"{WIDGET} .pad")
        drag(page, f"{WIDGET} .pad", (0.54, 0.33), (0.8, 0.9))
        across, up = asked(page)
        assert across > 3
        assert up < -1
        assert_numbers_are_attention_pys(page)
        go_to(page, PLANES)
        box = pad.locator("svg").bounding_box()
        pad.locator("svg").tap(position={"x": box["width"] * 0.8, "y": box["height"] * 0.3})
        assert min(asked(page)) > 1
        page.locator(WIDGET).get_by_role("button", name="Reset").click()
        page.mouse.move(20, 20)
        pad.focus()
        for key in ["ArrowRight"] * 12 + ["Shift+ArrowDown"]:
            page.keyboard.press(key)
        assert asked(page) == [1.5, 1]
        assert page.locator("#goal-equal.met").count() == 1
        assert page.locator(f"{WIDGET} .tie").count() == 1
        assert page.locator(f"{WIDGET} .arrow .at").inner_text() == "(1.5, 1.0)"
        double = page.get_by_role("button", name="Double the query")
        for wanted in ([3, 2], [6, 4]):
            double.click()
            assert asked(page) == wanted
        double.click()
        assert asked(page) == [6, 4], "(12, 8) is out of the range"
        assert page.locator(f"{WIDGET} .hint").inner_text()
        assert page.locator(f"{WIDGET} .tie").count() == 1
        go_to(page, TABLES)
        at(page, "weights", 0, 1).click()
        go_to(page, PLANES)
        pad.press("ArrowUp")
        settle(page)
        assert page.locator(f"{WIDGET} .tie").count() == 0
        assert asked(page) == [6, 4]
        assert asked(page, row=0) == [1.5, -0.9], "the arrow is that of the word chosen"


def test_a_tapped_cell_lights_what_its_arithmetic_read(open_page):
    with open_page(LESSON, has_touch=True) as page:
        at(page, "asked", 0, 1).tap()
        settle(page)
        arithmetic = page.locator(f"{WIDGET} .arithmetic")
        assert arithmetic.inner_text().startswith("score(bank, river) =")
        go_to(page, SCORES)
        at(page, "scores", 2, 1).tap()
        settle(page)
        arithmetic = page.locator(f"{WIDGET} .arithmetic")
        assert arithmetic.inner_text().startswith("score(bank, river) =")
        labels = "(fields) => fields.map((e) => e.getAttribute('aria-label'))"
        lit = page.locator(f"{WIDGET} .shown .lit").evaluate_all(labels)
        assert lit == ["Q, bank, q₁", "Q, bank, q₂", "K, k₁, river", "K, k₂, river"]
        page.keyboard.press("ArrowUp")
        settle(page)
        assert arithmetic.inner_text().startswith("score(river, river) =")
