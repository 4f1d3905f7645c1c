"""The numbers of m05's widgets: mask, weights, leaks, conventions, and the empty-row lab."""

import random

import pytest
import torch

from tests.lessons.m05_numbers import CAUSAL, W_K, W_Q, W_V, X
from tests.site.masks import (
    EMPTY,
    LEAK,
    LESSON,
    STATES,
    WAYS,
    as_numbers,
    assert_builder_is_right,
    attend,
    cell,
    lesson,
    rule,
    shown_mask,
    slide,
    words,
)
from tests.site.reading import settle

# ---- Numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_numbers_in_every_state(open_page, state):
    with open_page(lesson(state)) as page:
        assert_builder_is_right(page)


def test_numbers_after_input(open_page):
    with open_page(LESSON) as page:
        assert torch.equal(shown_mask(page), CAUSAL)
        for name, value in [("Window", 2), ("Prefix", 2), ("Padding", 3)]:
            slide(page, name, value)
            assert_builder_is_right(page)
        assert words(page) == ["The", "cat", "sat", "pad", "pad", "pad"]
        rule(page, "bidirectional").check()
        settle(page)
        assert_builder_is_right(page)
        page.get_by_role("button", name="Reset").click()
        settle(page)
        assert torch.equal(shown_mask(page), CAUSAL)


def test_random_masks(open_page):
    draw = random.Random(0)
    with open_page(LESSON) as page:
        for _ in range(4):
            rule(page, draw.choice(["bidirectional", "causal"])).check()
            slide(page, "Window", draw.randint(1, 6))
            slide(page, "Prefix", draw.randint(0, 5))
            slide(page, "Padding", draw.randint(0, 5))
            for _ in range(3):
                cell(page, draw.randrange(6), draw.randrange(6)).click()
            cell(page, draw.randrange(6), 0, "weights").click()
            page.locator(f"{LEAK} select").select_option(index=draw.randrange(6))
            page.locator(f"{LEAK} input[type=number]").fill(str(draw.randint(-20, 20) / 10))
            assert_builder_is_right(page)


def test_the_model_equals_attention_py_to_the_last_digits(open_page):
    """Random masks at once, unrounded, empty rows among them."""
    draw = torch.Generator().manual_seed(0)
    masks = torch.rand(60, 6, 6, generator=draw) < 0.4
    assert (~masks.any(-1)).any()
    script = """async ([url, x, projections, masks]) => {
      const {selfAttention} = await import(url);
      return masks.map((mask) => selfAttention(x, projections, {hidden: (i, j) => !mask[i][j]}));
    }"""
    projections = {"query": W_Q.tolist(), "key": W_K.tolist(), "value": W_V.tolist()}
    with open_page(LESSON) as page:
        url = page.evaluate("new URL('../../widgets/lib/attention.js', location).href")
        got = page.evaluate(script, [url, X.tolist(), projections, masks.tolist()])
    for mask, model in zip(masks, got, strict=True):
        for name, want in zip(("output", "weights"), attend(X, mask), strict=True):
            have = torch.tensor(model[name], dtype=torch.float64)
            torch.testing.assert_close(have, want, rtol=1e-12, atol=1e-12)


# ---- The empty-row lab --------------------------------------------------------------------------


def ways(page, dtype, visible):
    page.locator(f"{EMPTY} select").select_option(label=dtype)
    page.locator(f"{EMPTY} input[type=number]").fill(str(visible))
    settle(page)
    return page.locator(f"{EMPTY} table.ways").evaluate(WAYS)


UNMASKED = torch.tensor([1.0, 2.0, 0.5]).softmax(-1).tolist()
THIRDS, NONE, NOT = [1 / 3] * 3, [0, 0, 0], [float("nan")] * 3
EMPTY_ROW = {
    "float32": [THIRDS, THIRDS, NOT, NONE, NONE],
    "float64": [THIRDS, UNMASKED, NOT, NONE, NONE],
    "float16": [None, None, NOT, NONE, NONE],
    "bfloat16": [THIRDS, THIRDS, NOT, NONE, NONE],
}


@pytest.mark.parametrize("dtype", EMPTY_ROW)
def test_an_empty_row_five_ways(open_page, dtype):
    """E21: uniform, or the unmasked weights in float64; NaN; 0; refused in float16; ours 0."""
    with open_page(LESSON) as page:
        found = ways(page, dtype, 0)
        assert [way["name"] for way in found][3:] == ["PyTorch's fused call", "attention.py"]
        for way, want in zip(found, EMPTY_ROW[dtype], strict=True):
            assert way["wrong"] == (want != NONE)
            if want is None:
                assert way["note"].startswith("RuntimeError: value cannot be converted")
                assert way["cells"] == ["–"] * 3
            else:
                assert as_numbers(way["cells"]) == pytest.approx(want, abs=6e-3, nan_ok=True)
                assert way["note"].endswith("NaN" if want is NOT else "finite")


@pytest.mark.parametrize("visible", [1, 2, 3])
def test_with_something_to_see_the_ways_agree(open_page, visible):
    want = [*torch.tensor([1.0, 2.0, 0.5])[:visible].softmax(-1).tolist(), 0, 0][:3]
    with open_page(LESSON) as page:
        for dtype in EMPTY_ROW:
            for way in ways(page, dtype, visible):
                if dtype != "float16" or not way["wrong"]:
                    assert not way["wrong"]
                    assert as_numbers(way["cells"]) == pytest.approx(want, abs=8e-3)
