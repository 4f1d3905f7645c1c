"""The widgets of m05 in the page: what is painted, that three show the same mask, and the hunt."""

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.lessons.m05_numbers import CAUSAL, HUNTED, W_K, W_Q, W_V, X, moves, opened
from tests.numbers import number
from tests.site.settling import assert_shows, settle

LESSON = "modules/m05_masks/lesson.html"
BUILDER, LEAK, EMPTY, TABLE = "#mask-builder", "#leak-test", "#empty-row", "#mask-conventions"
READ = """(table) => [...table.querySelectorAll("tbody tr")].map((tr) =>
  [...tr.querySelectorAll("td")].map((td) => td.textContent.trim()))"""
WAYS = """(table) => [...table.querySelectorAll("tbody")].map((way) => ({
  note: way.querySelector(".note").textContent,
  wrong: way.querySelector(".note").classList.contains("wrong"),
  cells: [...way.querySelectorAll("td")].map((td) => td.textContent.trim())}))"""


def cell(page, row, col, table="mask"):
    return page.locator(f"{BUILDER} table.{table} tbody tr").nth(row).locator("td").nth(col)


def shown_mask(page):
    settle(page)
    texts = page.locator(f"{BUILDER} table.mask").evaluate(READ)
    return torch.tensor([[text == "1" for text in row] for row in texts])


def attend(x, mask):
    return scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, mask)


def changed(*cells):
    mask = CAUSAL.clone()
    for row, col, is_on in cells:
        mask[row, col] = is_on
    return mask


def test_all_show_what_follows_from_the_painted_mask(open_page):
    with open_page(LESSON) as page:
        cell(page, 2, 4).click()
        page.locator(f"{BUILDER} .range", has_text="Window").locator("input[type=text]").fill("3")
        cell(page, 2, 0, "weights").click()
        mask = shown_mask(page)
        assert mask[2].tolist() == [True, True, True, False, True, False]
        output, weights = attend(X, mask)
        shown = page.locator(f"{BUILDER} table.weights").evaluate(READ)
        for texts, row in zip(shown, weights.tolist(), strict=True):
            for text, exact in zip(texts, row, strict=True):
                assert_shows(text, exact, "weights")
        sentence = page.locator(f"{BUILDER} .sentence").inner_text()
        pair = sentence.split("output is (")[1].rstrip(").").split(", ")
        for text, exact in zip(pair, output[2].tolist(), strict=True):
            assert_shows(text, exact, sentence)
        first = page.locator(f"{TABLE} table.ways").evaluate(WAYS)[0]["cells"]
        assert [text == "True" for text in first] == mask[2].tolist()
        page.locator(BUILDER).get_by_role("button", name="Reset").click()
        assert torch.equal(shown_mask(page), CAUSAL)


def shown_moves(page):
    settle(page)
    return page.locator(f"{LEAK} table.moves").evaluate(READ)


def test_the_hunt_shows_a_column_for_each_changed_word_and_ends_with_the_mask(open_page):
    """By mouse the first mask, by key the fourth."""
    with open_page(LESSON) as page:
        leak = page.locator(LEAK)
        moved = leak.locator("table.moves tbody tr")
        name = leak.locator(".says button")
        should, cell_open = HUNTED[0]
        far = moves(opened(should, cell_open)).tolist()
        assert name.is_disabled()
        assert {text for row in shown_moves(page) for text in row[:5]} == {"?"}
        leak.get_by_role("button", name="Change on").click()
        moved.nth(1).locator("td").nth(3).click()
        for texts, row in zip(shown_moves(page), far, strict=True):
            assert [text != "?" for text in texts] == [False] * 3 + [True, False, True]
            for col in (3, 5):
                assert_shows(texts[col], row[col], "moves")
        assert not leak.locator(".hidden-cell").count()
        name.click()
        assert shown_moves(page)[2][2] != "?"
        hatched = moved.evaluate_all("""(rows) => rows.map((tr) =>
          [...tr.querySelectorAll("td span")].map((cell) => cell.matches(".hidden-cell")))""")
        assert hatched == (~opened(should, cell_open)).tolist()
        assert leak.locator(".verdict.right").count() == 1
        moved.nth(0).locator("td").nth(5).click()
        assert leak.locator(".verdict.right").count() == 1, "what is found stays"

        leak.locator("input[type=radio]").first.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        assert {text for row in shown_moves(page) for text in row[:5]} == {"?"}, "a hunt of its own"
        leak.get_by_role("button", name="Change on").focus()
        page.keyboard.press("Enter")
        leak.locator("table.moves td[tabindex='0']").focus()
        for key in ["ArrowRight", "ArrowRight", "ArrowRight"]:
            page.keyboard.press(key)
        name.focus()
        page.keyboard.press("Enter")
        settle(page)
        assert leak.locator(".verdict.right").count() == 1
        assert page.locator("#goal-leak.met, #goal-leak-prefix.met").count() == 2


def test_the_mouse_paints_what_it_is_dragged_over_and_keys_paint_cells(open_page):
    with open_page(LESSON) as page:
        cell(page, 0, 1).scroll_into_view_if_needed()
        boxes = [cell(page, 0, col).bounding_box() for col in range(1, 6)]
        page.mouse.move(boxes[0]["x"] + 15, boxes[0]["y"] + 15)
        page.mouse.down()
        page.mouse.move(boxes[-1]["x"] + 15, boxes[-1]["y"] + 15, steps=12)
        page.mouse.up()
        want = changed(*((0, col, True) for col in range(6)))
        assert torch.equal(shown_mask(page), want)
        page.mouse.move(boxes[0]["x"] + 15, boxes[0]["y"] + 90, steps=4)
        assert torch.equal(shown_mask(page), want), "painting ends with the button"
        cell(page, 0, 3).click()
        assert torch.equal(shown_mask(page)[0], torch.tensor([1, 1, 1, 0, 1, 1]).bool())

        page.locator(BUILDER).get_by_role("button", name="Reset").click()
        cell(page, 0, 0).focus()
        for key in ["ArrowDown", "ArrowRight", "Space", "ArrowRight", "Enter"]:
            page.keyboard.press(key)
        assert torch.equal(shown_mask(page), changed((1, 1, False), (1, 2, True)))
        stops = page.locator(f"{BUILDER} table.mask td[tabindex='0']")
        assert stops.count() == 1, "the matrix is one stop of Tab"
        page.locator(f"{TABLE} table.ways button").first.focus()
        page.keyboard.press("Space")
        assert not shown_mask(page)[2, 0]
        assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "false"


def test_a_tap_paints_one_cell(open_page):
    with open_page(LESSON, width=390, has_touch=True, is_mobile=True) as page:
        cell(page, 1, 4).tap()
        cell(page, 5, 0).tap()
        assert torch.equal(shown_mask(page), changed((1, 4, True), (5, 0, False)))
        page.locator(f"{TABLE} table.ways button").nth(5).tap()
        want = changed((1, 4, True), (5, 0, False), (2, 5, True))
        assert torch.equal(shown_mask(page), want)


THIRDS, NONE, NOT = [1 / 3] * 3, [0, 0, 0], [float("nan")] * 3
REFUSED = None
EMPTY_ROW = {
    "float32": [NOT, THIRDS, NONE, NONE],
    "float64": [NOT, THIRDS, NONE, NONE],
    "float16": [NOT, REFUSED, NONE, NONE],
    "bfloat16": [NOT, THIRDS, NONE, NONE],
}


def test_an_empty_row_four_ways(open_page):
    """E21: NaN; uniform, and refused in float16; ours 0."""
    with open_page(LESSON) as page:
        settle(page)
        opened = page.locator(f"{EMPTY} table.ways").evaluate(WAYS)
        assert opened[0]["wrong"], "it opens where the ways differ"
        for dtype, wants in EMPTY_ROW.items():
            for way, want in zip(ways(page, dtype, 0), wants, strict=True):
                assert way["wrong"] == (want != NONE)
                if want is REFUSED:
                    assert way["note"].startswith("RuntimeError")
                    assert way["cells"] == ["–"] * 3
                else:
                    assert [*map(number, way["cells"])] == pytest.approx(
                        want, abs=6e-3, nan_ok=True
                    )
                    assert way["note"].endswith("NaN" if want is NOT else "finite")
        for visible in (1, 2, 3):  # with something to see the ways agree
            want = [*torch.tensor([1.0, 2.0, 0.5])[:visible].softmax(-1).tolist(), 0, 0][:3]
            for way in ways(page, "bfloat16", visible):
                assert not way["wrong"]
                assert [*map(number, way["cells"])] == pytest.approx(want, abs=8e-3)


def ways(page, dtype, visible):
    page.locator(f"{EMPTY} select").select_option(label=dtype)
    page.locator(f"{EMPTY} input[type=text]").fill(str(3 - visible))
    settle(page)
    return page.locator(f"{EMPTY} table.ways").evaluate(WAYS)


def test_the_fallbacks_hold_the_same_numbers(read):
    weights, moved, empty, conventions = (
        [
            [cell.get_text().strip() for cell in row.select("td")]
            for row in read(LESSON).select(f"{widget} .fallback tbody tr")
        ]
        for widget in (BUILDER, LEAK, EMPTY, TABLE)
    )
    for texts, row in zip(weights, attend(X, CAUSAL)[1].tolist(), strict=True):
        assert [number(text) for text in texts[1:]] == [round(w, 2) for w in row]
    for texts, row in zip(moved, moves(opened(*HUNTED[0])).tolist(), strict=True):
        assert [number(text) for text in texts[1:]] == pytest.approx(row, abs=0.0051)
    assert [texts[1] for texts in empty] == ["NaN", "0.33", "0.00", "0.00"]
    assert [texts[1] for texts in conventions] == ["True", "True", "0", "False"]
