"""The step slider, read back from the page, and what attention.py says of the same numbers."""

import torch

from attention import scaled_dot_product_attention
from tests.site.conftest import LESSON
from tests.site.reading import assert_shows, number, settle

WIDGET = "#step-slider"
TOKENS = ["The", "cat", "sat"]
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


def entered(page):
    """Q, K and V as float64 tensors, from the overview."""
    go_to(page, 0)
    texts = shown(page)
    return [
        torch.tensor([[number(t) for t in row] for row in texts[name]], dtype=torch.float64)
        for name in INPUTS
    ]


def expected(query, key, value, *, is_causal):
    scores = query @ key.T
    output, weights = scaled_dot_product_attention(query, key, value, is_causal=is_causal)
    scaled = scores / key.shape[-1] ** 0.5
    return dict(zip(COMPUTED, (scores, scaled, weights, output), strict=True))


def go_to(page, step):
    page.locator(f"{WIDGET} .step-ticks button").nth(step).click()
    settle(page)


def causal(page):
    return page.locator(f"{WIDGET} input[type=checkbox]")


def assert_numbers_are_attention_pys(page):
    """Every computed cell of every step, to the digits shown."""
    matrices = entered(page)
    want = expected(*matrices, is_causal=causal(page).is_checked())
    for step in range(5):
        go_to(page, step)
        for name, rows in shown(page).items():
            if name not in COMPUTED:
                continue
            for row, wanted in zip(rows, want[name].tolist(), strict=True):
                for text, exact in zip(row, wanted, strict=True):
                    assert_shows(text, exact, f"step {step}, {name}")


def text_of(page, selector):
    settle(page)
    return page.locator(f"{WIDGET} {selector}").inner_text()


def lesson(query):
    return f"{LESSON}?{query}"
