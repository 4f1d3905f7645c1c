"""The widgets of m05 in the page: what is painted, that three show the same mask, and the hunt."""

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.lessons.m05_numbers import CAUSAL, HUNTED, W_K, W_Q, W_V, X, moves, opened
from tests.numbers import number
from tests.site.settling import assert_shows, settle

LESSON = "modules/m05_masks/lesson.html"
BUILDER, LEAK, EMPTY, TABLE = "#mask-builder", "#leak-test", "#empty-row", "#mask-conventions"
ROWS = "#translator-rows"
READ = """(table) => [...table.querySelectorAll("tbody tr")].map((tr) =>
  [...tr.querySelectorAll("td")].map((td) => td.textContent.trim()))"""
WAYS = """(table) => [...table.querySelectorAll("tbody")].map((way) => ({
  note: way.querySelector(".note").textContent,
  wrong: way.querySelector(".note").classList.contains("wrong"),
  cells: [...way.querySelectorAll("td")].map((td) => td.textContent.trim())}))"""


def cell(page, row, col, table="mask"):
    return page.locator(f"{BUILDER} table.{table} tbody tr").nth(row).locator("td").nth(col)


def convention(page, word):
    """The switch of a word in the table of conventions, whose row is that of the builder."""
    return page.locator(f"{TABLE} table.ways button").nth(word)


def assert_mask(page, *painted):
    """The mask is causal but for the cells (row, column, whether it is on)."""
    settle(page)
    want = CAUSAL.clone()
    for row, col, is_on in painted:
        want[row, col] = is_on
    texts = page.locator(f"{BUILDER} table.mask").evaluate(READ)
    assert [[text == "1" for text in row] for row in texts] == want.tolist()


def test_all_show_what_follows_from_the_painted_mask(open_page):
    with open_page(LESSON) as page:
        cell(page, 2, 4).click()
        page.locator(f"{BUILDER} .range", has_text="Window").locator("input[type=text]").fill("3")
        cell(page, 2, 0, "weights").click()
        mask = CAUSAL.triu(-2)
        mask[2, 4] = True
        _, weights = scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V, mask)
        settle(page)
        shown = page.locator(f"{BUILDER} table.weights td").all_inner_texts()
        sentence = page.locator(f"{BUILDER} .sentence").inner_text()
        shown += [word.split()[-1] for word in sentence.rstrip(".").split(": ")[1].split(", ")]
        exact = [*weights.flatten().tolist(), *weights[2][mask[2]].tolist()]
        for text, wanted in zip(shown, exact, strict=True):
            assert_shows(text, wanted, sentence)
        first = page.locator(f"{TABLE} table.ways").evaluate(WAYS)[0]["cells"]
        assert [text == "True" for text in first] == mask[2].tolist()
        page.locator(BUILDER).get_by_role("button", name="Reset").click()
        assert_mask(page)


def test_the_mouse_paints_what_it_is_dragged_over_and_keys_paint_cells(open_page):
    with open_page(LESSON) as page:
        cell(page, 0, 1).scroll_into_view_if_needed()
        boxes = [cell(page, 0, col).bounding_box() for col in range(1, 6)]
        page.mouse.move(boxes[0]["x"] + 15, boxes[0]["y"] + 15)
        page.mouse.down()
        page.mouse.move(boxes[-1]["x"] + 15, boxes[-1]["y"] + 15, steps=12)
        page.mouse.up()
        page.mouse.move(boxes[0]["x"] + 15, boxes[0]["y"] + 90, steps=4)
        row = [(0, col, True) for col in range(6)]
        assert_mask(page, *row)  # and painting ended with the button
        cell(page, 0, 3).click()
        assert_mask(page, *row, (0, 3, False))

        page.locator(BUILDER).get_by_role("button", name="Reset").click()
        cell(page, 0, 0).focus()
        for key in ["ArrowDown", "ArrowRight", "Space", "ArrowRight", "Enter"]:
            page.keyboard.press(key)
        assert_mask(page, (1, 1, False), (1, 2, True))
        stops = page.locator(f"{BUILDER} table.mask td[tabindex='0']")
        assert stops.count() == 1, "the matrix is one stop of Tab"
        convention(page, 0).focus()
        page.keyboard.press("Space")
        assert_mask(page, (1, 1, False), (1, 2, True), (2, 0, False))


def test_a_tap_paints_one_cell(open_page):
    with open_page(LESSON, width=390, has_touch=True, is_mobile=True) as page:
        cell(page, 1, 4).tap()
        convention(page, 5).tap()
        assert_mask(page, (1, 4, True), (2, 5, True))


def shown_moves(page):
    settle(page)
    return page.locator(f"{LEAK} table.moves").evaluate(READ)


def test_the_hunt_shows_a_column_for_each_changed_word_and_ends_with_the_mask(open_page):
    """By mouse the first mask, by key the fourth."""
    with open_page(LESSON) as page:
        leak = page.locator(LEAK)
        moved, found = leak.locator("table.moves tbody tr"), leak.locator(".verdict.right")
        name, change = leak.locator(".says button"), leak.get_by_role("button", name="Change on")
        mask = opened(*HUNTED[0])
        assert name.is_disabled()
        change.click()
        for texts, row in zip(shown_moves(page), moves(mask).tolist(), strict=True):
            assert [text != "?" for text in texts] == [False, True, False, True, False, False]
            for col in (1, 3):
                assert_shows(texts[col], row[col], "moves")
        moved.nth(1).locator("td").nth(3).click()
        name.click()
        settle(page)
        hatched = moved.evaluate_all("""(rows) => rows.map((tr) =>
          [...tr.querySelectorAll("td span")].map((cell) => cell.matches(".hidden-cell")))""")
        assert hatched == (~mask).tolist()
        moved.nth(0).locator("td").nth(5).click()
        assert found.count() == 1, "what is found stays"

        leak.locator("input[type=radio]").first.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        columns = [0, *range(2, 6)]
        texts = {row[col] for row in shown_moves(page) for col in columns}
        assert texts == {"?"}, "a hunt of its own"
        change.press("Enter")
        leak.locator("table.moves td[tabindex='0']").focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        name.press("Enter")
        settle(page)
        assert found.count() == 1


def test_a_row_of_the_translator_is_pressed_and_the_query_keeps_its_row_without_slow(open_page):
    with open_page(LESSON) as page:
        rows = page.locator(f"{ROWS} .widget-live")
        says, lit = rows.locator(".sentence"), rows.locator("tbody tr:has(.lit) th")

        def shown():
            settle(page)
            return lit.inner_text(), says.inner_text()

        word, sentence = shown()
        assert word == "lents"
        assert "“chats” looks at “slow”" in sentence
        rows.get_by_label("without slow").check()
        word, sentence = shown()
        assert word == "ne"
        assert "“chats” looks at “don't”" in sentence
        rows.locator("tbody tr").nth(5).locator("td").nth(7).click()
        page.keyboard.press("ArrowDown")
        word, sentence = shown()
        assert word == "fers"
        assert "“ces” looks at “horseshoes”" in sentence
        rows.get_by_role("button", name="Reset").click()
        assert shown()[0] == "lents"


THIRDS, NONE, NOT, REFUSED = [1 / 3] * 3, [0, 0, 0], [float("nan")] * 3, None
SOFTMAX = torch.tensor([1.0, 2.0, 0.5]).softmax(-1).tolist()


EMPTY_ROW = {  # kind of number, and how many words are seen: what each way gives
    ("float32", 0): [NOT, THIRDS, NONE, NONE],
    ("float64", 0): [NOT, THIRDS, NONE, NONE],
    ("float16", 0): [NOT, REFUSED, NONE, NONE],
    ("bfloat16", 0): [NOT, THIRDS, NONE, NONE],
    ("bfloat16", 3): [SOFTMAX] * 4,
}


def test_an_empty_row_is_nan_or_uniform_or_refused_and_ours_is_0(open_page):
    with open_page(LESSON) as page:
        for (dtype, visible), wants in EMPTY_ROW.items():
            page.locator(f"{EMPTY} select").select_option(label=dtype)
            page.locator(f"{EMPTY} input[type=text]").fill(str(3 - visible))
            settle(page)
            ways = page.locator(f"{EMPTY} table.ways").evaluate(WAYS)
            for way, want in zip(ways, wants, strict=True):
                assert way["wrong"] == (not visible and want != NONE)
                if want is REFUSED:
                    assert way["note"].startswith("RuntimeError")
                else:
                    cells = [*map(number, way["cells"])]
                    assert cells == pytest.approx(want, abs=6e-3, nan_ok=True)
