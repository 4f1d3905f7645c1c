"""The widgets of m05, read back from the page, and what attention.py says of the same mask."""

import torch

import attention
from attention import scaled_dot_product_attention
from tests.lessons.m05_numbers import W_K, W_Q, W_V, X
from tests.site.reading import assert_shows, number, settle

LESSON = "modules/m05_masks/lesson.html"
BUILDER, LEAK, EMPTY, TABLE = "#mask-builder", "#leak-test", "#empty-row", "#mask-conventions"
WIDGETS = [BUILDER, LEAK, EMPTY, TABLE]

STATES = {
    "causal": "",
    "everyone": "mask.causal=0",
    "all rules": "mask.window=2&mask.prefix=1&mask.padding=2&mask.row=5",
    "empty rows": "mask.painted=0.0.0_3.0.0_3.1.0_3.2.0_3.3.0&mask.row=3&leak.word=0",
    "leaking": "mask.painted=0.5.1_2.4.1&mask.row=0",
    "half": "empty.dtype=2&empty.visible=0",
    "double": "empty.dtype=1&empty.visible=1",
}

READ = """(table) => [...table.querySelectorAll("tbody tr")].map((tr) =>
  [...tr.querySelectorAll("td")].map((td) => td.textContent))"""
WAYS = """(table) => [...table.querySelectorAll("tbody")].map((way) => ({
  name: way.querySelector("b").textContent, note: way.querySelector(".note").textContent,
  wrong: way.querySelector(".note").classList.contains("wrong"),
  cells: [...way.querySelectorAll("td")].map((td) => td.textContent),
  on: [...way.querySelectorAll("td")].map((td) => td.classList.contains("on"))}))"""


def lesson(query):
    return f"{LESSON}?{query}"


def shown_mask(page):
    settle(page)
    texts = page.locator(f"{BUILDER} table.mask").evaluate(READ)
    return torch.tensor([[text == "1" for text in row] for row in texts])


def attend(x, mask):
    return scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, mask)


def run_code(page):
    """The mask that the code beside the grid makes, when it is run."""
    names = {"torch": torch, **{n: getattr(attention, n) for n in dir(attention)}}
    exec(page.locator(f"{BUILDER} .made").inner_text(), names)
    return names["mask"]


def assert_builder_is_right(page):
    """Mask = its own code's; weights, sentence and both other widgets follow from it."""
    mask = shown_mask(page)
    assert torch.equal(run_code(page), mask)
    output, weights = attend(X, mask)
    shown = page.locator(f"{BUILDER} table.weights").evaluate(READ)
    for texts, row in zip(shown, weights.tolist(), strict=True):
        for text, exact in zip(texts, row, strict=True):
            assert_shows(text, exact, "weights")
    sentence = page.locator(f"{BUILDER} .says").inner_text()
    row = chosen_row(page)
    assert sentence.startswith(words(page)[row])
    pair = sentence.split("output is (")[1].rstrip(").").split(", ")
    for text, exact in zip(pair, output[row].tolist(), strict=True):
        assert_shows(text, exact, sentence)
    assert_table_is_right(page, mask, row)
    assert_leak_is_right(page, mask)


def words(page):
    return page.locator(f"{BUILDER} table.mask tbody th").all_inner_texts()


def chosen_row(page):
    return int(page.locator(f"{TABLE} select").input_value())


def assert_table_is_right(page, mask, row):
    """Each convention, as it is written there, gives PyTorch this course's weights."""
    ways = page.locator(f"{TABLE} table.ways").evaluate(WAYS)
    assert all(way["on"] == mask[row].tolist() for way in ways)
    course, booleans, floats, inverted = (way["cells"] for way in ways)
    assert [text == "True" for text in course] == mask[row].tolist()
    if not mask[row].any():
        return
    q, k = (X @ W_Q)[None, row : row + 1], (X @ W_K)[None]
    value = torch.eye(6).double()[None]
    want = attend(X, mask)[1][row]
    for attn_mask in (
        torch.tensor([text == "True" for text in booleans]),
        torch.tensor([float(text.replace("−", "-")) for text in floats]).double(),
        ~torch.tensor([text == "True" for text in inverted]),  # as nn.MultiheadAttention reads it
    ):
        got = torch.nn.functional.scaled_dot_product_attention(q, k, value, attn_mask[None, None])
        torch.testing.assert_close(got[0, 0], want)


def assert_leak_is_right(page, mask):
    word = int(page.locator(f"{LEAK} select").input_value())
    change = float(page.locator(f"{LEAK} input[type=number]").input_value())
    changed = X.clone()
    changed[word] += change
    before, after = attend(X, mask)[0], attend(changed, mask)[0]
    texts = page.locator(f"{LEAK} .share").all_text_contents()
    for i, (text, far) in enumerate(zip(texts, (after - before).abs().amax(-1), strict=True)):
        still = torch.equal(before[i], after[i])
        assert (text == "0") == still, (i, text, far)
        if not text.startswith("<"):
            assert_shows(text, far.item(), "moved")
    leaks = [not torch.equal(before[i], after[i]) for i in range(word)]
    assert page.locator(f"{LEAK} .verdict").text_content().startswith("Leak:") == any(leaks)


def cell(page, row, col, table="mask"):
    return page.locator(f"{BUILDER} table.{table} tbody tr").nth(row).locator("td").nth(col)


def slide(page, name, value):
    box = page.locator(f"{BUILDER} form", has_text=name).locator("input[type=number]")
    box.fill(str(value))
    settle(page)


def as_numbers(texts):
    return [float("nan") if text == "NaN" else number(text) for text in texts]


def rule(page, name):
    return page.locator(f"{BUILDER} label", has_text=name).locator("input")
