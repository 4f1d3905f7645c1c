"""The four steps of m03 in the browser: what is typed, chosen and tapped reaches every matrix."""

import torch

from attention import scaled_dot_product_attention
from tests.numbers import number
from tests.site.conftest import LESSON
from tests.site.gestures import drag
from tests.site.settling import assert_shows, settle

WIDGET = "#step-slider"
INPUTS = ["query", "key", "value"]
COMPUTED = ["scores", "scaled", "weights", "output"]

READ = """(root) => Object.fromEntries(
  [...root.querySelectorAll(".stage.shown table.matrix")].map((table) => {
  const rows = [...table.querySelectorAll("tbody tr")].map((tr) =>
    [...tr.querySelectorAll("td")].map((td) => td.querySelector("input")?.value ?? td.textContent));
  return [table.classList[1], rows];
}))"""
STATIC = """(form) => [...form.querySelectorAll("tbody tr")].map((tr) =>
  [...tr.querySelectorAll("td")].map((td) => td.textContent))"""


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
    """Q, K and V as float64 tensors, from the overview."""
    go_to(page, 0)
    texts = shown(page)
    return [
        torch.tensor([[number(t) for t in row] for row in texts[name]], dtype=torch.float64)
        for name in INPUTS
    ]


def assert_numbers_are_attention_pys(page):
    """Every computed cell of every step, to the digits shown."""
    query, key, value = entered(page)
    output, weights = scaled_dot_product_attention(query, key, value)
    scores = query @ key.T
    numbers = (scores, scores / key.shape[-1] ** 0.5, weights, output)
    want = dict(zip(COMPUTED, numbers, strict=True))
    for step in range(5):
        go_to(page, step)
        tables = shown(page)
        for name in tables.keys() & want.keys():
            for row, wanted in zip(tables[name], want[name].tolist(), strict=True):
                for text, exact in zip(row, wanted, strict=True):
                    assert_shows(text, exact, f"step {step}, {name}")


def test_every_number_follows_what_is_typed(open_page):
    with open_page(LESSON) as page:
        static = page.locator(f"{WIDGET} .fallback").evaluate(STATIC)
        go_to(page, 3)
        assert [row[1:4] for row in static] == shown(page)["weights"]

        before = entered(page)
        edits = {("query", 2, 0): "-3.25", ("key", 1, 1): "9.99", ("value", 0, 1): "0,5"}
        for cell, text in edits.items():
            at(page, *cell).locator("input").fill(text)
        page.keyboard.press("Tab")
        got = [entered(page)[i][row, col] for i, (_, row, col) in enumerate(edits)]
        assert got == [-3.25, 9.99, 0.5]
        # In step 1 K stands on its side: an edit there reaches the right number.
        go_to(page, 1)
        at(page, "key", 0, 2).locator("input").fill("-7")
        assert entered(page)[1][2, 0] == -7

        assert_numbers_are_attention_pys(page)
        assert not torch.equal(before[0], entered(page)[0])
        page.get_by_role("button", name="Reset").click()
        assert all(map(torch.equal, before, entered(page)))


def test_the_diamond_of_the_plane_is_the_output_of_the_word_chosen(open_page):
    where = """(root) => {
      const at = (circle) => ["cx", "cy"].map((name) => +circle.getAttribute(name));
      const centres = [...root.querySelectorAll(".plane circle:not(.ring)")].map(at);
      const d = root.querySelector(".plane .output").getAttribute("d");
      return [...centres, /^M([\\d.-]+) ([\\d.-]+)m/.exec(d).slice(1).map(Number)]; }"""
    with open_page(LESSON) as page:
        at(page, "query", 2, 0).locator("input").fill("2.5")
        at(page, "query", 2, 1).locator("input").fill("1")
        page.keyboard.press("Tab")
        settle(page)
        for word in (2, 0):
            at(page, "output", word, 0).click()
            settle(page)
            points = torch.tensor(page.locator(WIDGET).evaluate(where), dtype=torch.float64)
            query, key, value = entered(page)
            _, weights = scaled_dot_product_attention(query, key, value)
            torch.testing.assert_close(points[3], weights[word] @ points[:3], atol=0.11, rtol=0)
            name = page.locator(f"{WIDGET} .plane p").inner_text()
            assert name.endswith(["the", "river", "bank"][word])


def test_the_triangle_waits_for_the_guess_that_it_answers(open_page):
    with open_page(LESSON) as page:
        settle(page)
        triangle = page.locator(f"{WIDGET} .plane polygon")
        visible = "(e) => getComputedStyle(e).visibility"
        assert triangle.evaluate(visible) == "hidden"
        question = page.locator("#predict-reach")
        question.locator("input[type=radio]").nth(2).check()
        question.locator("button").first.click()
        settle(page)
        assert triangle.evaluate(visible) == "visible"


def test_the_lines_below_what_a_key_changes_wait_for_the_guess(open_page):
    with open_page(LESSON) as page:
        at(page, "key", 1, 0).locator("input").fill("1")
        page.keyboard.press("Tab")
        settle(page)
        marked = page.locator(f"{WIDGET} .shown .weights .moved")
        assert marked.count() == 9
        line = "(e) => getComputedStyle(e).textDecorationLine"
        assert marked.first.evaluate(line) == "none"
        question = page.locator("#predict-key")
        question.locator("input[type=radio]").nth(2).check()
        question.locator("button").first.click()
        settle(page)
        assert marked.first.evaluate(line) == "underline"


def test_a_chosen_cell_lights_what_its_arithmetic_read(open_page):
    with open_page(LESSON, has_touch=True) as page:
        go_to(page, 1)
        at(page, "scores", 2, 1).tap()
        settle(page)
        arithmetic = page.locator(f"{WIDGET} .arithmetic")
        assert arithmetic.inner_text() == "score(bank, river) = 1.0 × 0.0 + 2.0 × 2.0 = 4.000"
        labels = "(fields) => fields.map((e) => e.getAttribute('aria-label'))"
        lit = page.locator(f"{WIDGET} .shown .lit").evaluate_all(labels)
        assert lit == ["Q, bank, q₁", "Q, bank, q₂", "K, k₁, river", "K, k₂, river"]
        page.keyboard.press("ArrowUp")
        settle(page)
        assert arithmetic.inner_text().startswith("score(river, river) =")
        for step, result in enumerate(COMPUTED, start=1):
            go_to(page, step)
            assert page.locator(f"{WIDGET} .term.active").count() == 1
            chosen = page.locator(f"{WIDGET} .shown [aria-selected=true]")
            tables = "(all) => all.map((e) => e.closest('table').classList[1])"
            assert chosen.evaluate_all(tables) == [result]


def asked(page):
    """The query of *bank* as its fields have it."""
    go_to(page, 0)
    return [number(text) for text in shown(page)["query"][2]]


def test_the_arrow_is_dragged_by_mouse_and_keys_and_doubled(open_page):
    with open_page(LESSON) as page:
        pad = page.locator(f"{WIDGET} .pad")
        drag(page, f"{WIDGET} .pad", (0.57, 0.33), (0.8, 0.9))
        query = asked(page)
        assert query[0] > 3
        assert query[1] < -1
        assert_numbers_are_attention_pys(page)
        page.get_by_role("button", name="Reset").click()
        page.mouse.move(20, 20)
        assert asked(page) == [1, 2]
        pad.focus()
        for key in ["ArrowRight"] * 5 + ["Shift+ArrowDown"] * 2:
            page.keyboard.press(key)
        assert asked(page) == [1.5, 1]
        assert pad.get_attribute("aria-valuetext") == "grammar 1.5, meaning 1.0"
        assert "Reached" in page.locator(f"{WIDGET} .says").inner_text()
        assert page.locator("#goal-equal.met").count() == 1
        double = page.get_by_role("button", name="Double the query")
        for wanted in ([3, 2], [6, 4]):
            double.click()
            assert asked(page) == wanted
        assert page.locator("#goal-equal-doubled.met").count() == 1
        ratios = [number(b) for b in page.locator(f"{WIDGET} .ratios b").all_inner_texts()]
        weights = torch.tensor([2, 8, 8], dtype=torch.float64).div(2**0.5)  # (6, 4): 6 − 2, 8, 8
        assert ratios[0] == 1
        assert_shows(f"{ratios[1]}", torch.exp(weights[1] - weights[0] * 2).item(), "river : the")
        double.click()  # (12, 8) is out of the range
        assert asked(page) == [6, 4]
        assert page.locator(f"{WIDGET} .hint").inner_text()


def test_a_finger_drags_the_tip_and_taps_a_query_elsewhere(open_page):
    with open_page(LESSON, width=390, has_touch=True, is_mobile=True) as page:
        svg = page.locator(f"{WIDGET} .pad svg")
        box = svg.bounding_box()
        svg.tap(position={"x": box["width"] * 0.8, "y": box["height"] * 0.3})
        first = asked(page)
        assert first[0] > 3
        assert first[1] > 1
        svg.evaluate("(e) => e.scrollIntoView({block: 'center', behavior: 'instant'})")
        scrolled = page.evaluate("scrollY")
        tip = page.locator(f"{WIDGET} .pad .handle").bounding_box()
        x, y = tip["x"] + tip["width"] / 2, tip["y"] + tip["height"] / 2
        touch = page.context.new_cdp_session(page)
        ways = [("Start", 0, 0), *(("Move", -20 * i, 25 * i) for i in range(1, 5))]
        for kind, across, down in ways:
            points = [{"x": x + across, "y": y + down}]
            touch.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        second = asked(page)
        assert second[0] < first[0] - 2
        assert second[1] < first[1] - 2
        assert page.evaluate("scrollY") == scrolled, "the page scrolls under the arrow"


def test_the_arrow_is_that_of_the_word_chosen(open_page):
    with open_page(LESSON) as page:
        at(page, "weights", 0, 1).click()
        page.locator(f"{WIDGET} .pad").press("ArrowUp")
        settle(page)
        assert shown(page)["query"] == [["1.0", "0.6"], ["1.0", "1.0"], ["1.0", "2.0"]]
        assert page.locator(f"{WIDGET} .arrow p").first.inner_text().find("query of the") > 0
