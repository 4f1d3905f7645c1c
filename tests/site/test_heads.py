"""m06's three widgets: what the page shows is PyTorch's, by mouse, keyboard and touch."""

from itertools import product

import pytest
import torch

from tests.numbers import number
from tests.site.conftest import THEMES
from tests.site.settling import assert_shows, settle
from tests.site.shades import SHADE_STEP, SHADES
from tests.widgets.truth_heads import (
    grammar_model,
    layer_of,
    likeliest,
    real,
    real_shapes,
    shares_in,
)

PAGE = "modules/m06_multi_head/lesson.html"
LAYER, TRACER, HEADS = "#layer-steps", "#reshape-tracer", "#head-maps"


def menu(page, widget, label):
    return page.locator(widget).get_by_role("combobox", name=label, exact=True)


def choose(page, widget, label, index):
    menu(page, widget, label).select_option(index=index)
    settle(page)


def texts(page, widget, selector):
    return page.locator(f"{widget} {selector}").all_inner_texts()


def static_rows(page, widget):
    rows = page.locator(f"{widget} .fallback tbody tr").all()
    return [row.locator("td").all_text_contents() for row in rows]


# ---- A layer in six steps ------------------------------------------------------------------------


def test_the_layer_shows_the_shapes_of_the_real_one(open_page):
    with open_page(PAGE) as page:
        choose(page, LAYER, "Heads", 1)
        assert texts(page, LAYER, ".shape") == [
            str(tuple(s)) for s in real_shapes(layer_of(2)).values()
        ]
        assert texts(page, LAYER, ".heads .k") == ["K1", "K2"]
        page.locator(f"{LAYER} .step-ticks button").nth(2).click()
        settle(page)
        assert "64 = 2 × 32" in texts(page, LAYER, ".count")[0]
        assert texts(page, LAYER, ".stage.current .name") == ["2 Split"]
        real_ones = real_shapes(layer_of(4))
        wanted = [real_ones[name] for name in ("x", "Q split", "weights", "output")]
        assert [row[1] for row in static_rows(page, LAYER)] == [str(tuple(s)) for s in wanted]


# ---- Which number goes where ---------------------------------------------------------------------

STAGES = """(root) => [...root.querySelectorAll(".matrices")].map((stage) =>
  [...stage.querySelectorAll("table")].map((table) =>
    [...table.querySelectorAll("tbody tr")].map((tr) =>
      [...tr.querySelectorAll("td")].map((td) => +td.textContent))))"""


def cell(page, stage, text):
    return page.locator(f"{TRACER} .stage").nth(stage).locator("td").get_by_text(text, exact=True)


def assert_traced(page, *state):
    settle(page)
    x, heads, merged = real(*state)
    shown = page.locator(TRACER).evaluate(STAGES)
    assert shown == [x.tolist(), heads[0].tolist(), merged.tolist()]
    row = torch.arange(3)[:, None]
    for stage, tensor in enumerate((x, heads, merged)):
        marked = page.locator(f"{TRACER} .stage").nth(stage).locator(".hidden-cell")
        assert marked.count() == (tensor // 8 != row).sum()


def test_the_tracer_follows_its_controls_and_a_number_through_all_stages(open_page):
    with open_page(PAGE) as page:
        page.locator(TRACER).get_by_label("Split without transpose").check()
        choose(page, TRACER, "Heads", 1)
        assert_traced(page, 4, True, False)
        page.locator(TRACER).get_by_label("Merge without transpose").check()
        choose(page, TRACER, "Heads", 0)
        assert_traced(page, 2, True, True)
        cell(page, 1, "20").click()
        page.keyboard.press("ArrowUp")
        settle(page)
        assert texts(page, TRACER, "[aria-selected=true]") == ["16", "16", "16"]
        assert texts(page, TRACER, ".arithmetic")[0].startswith("view(1, 2, 3, 4) only counts")
        assert "16 of 24 numbers" in texts(page, TRACER, ".verdict.wrong")[0]
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        x, heads, _ = real(2, False, False)
        for i, row in enumerate(static_rows(page, TRACER)):
            parts = [x[0, i], heads[0, 0, i], heads[0, 1, i]]
            assert row[1:] == [" ".join(map(str, part.tolist())) for part in parts]


# ---- Heads side by side --------------------------------------------------------------------------

SENTENCES = [
    ("the lions near the old window ▢ tame", "are"),
    ("the lion near the old windows ▢ tame", "is"),
    ("the keys near the old cabinet ▢ red", "are"),
]
WAYS = ("both on", "head 1 off", "head 2 off", "one map for both")


def assert_shows_about(text, exact):
    """Weights are published with six decimals: a number on the very edge may round either way."""
    assert_shows(text, exact + max(-2e-5, min(2e-5, number(text) - exact)), "a weight")


def maps_of(model, text):
    tokens = model.encode(["[mask]" if word == "▢" else word for word in text.split()])
    with torch.no_grad():
        return model(tokens).weights[1][0].double()


def test_two_heads_and_what_the_model_says(open_page):
    model = grammar_model("masked")
    with open_page(PAGE) as page:
        for (text, right), (i, way) in product(SENTENCES, enumerate(WAYS)):
            words = text.split()
            menu(page, HEADS, "Sentence").select_option(label=text)
            page.locator(HEADS).get_by_label(way).check()
            settle(page)
            key = ("on", "off-1", "off-2", "mean")[i]
            shares = shares_in(model, words, words.index("▢"), key)
            said = texts(page, HEADS, ".says .token")
            assert said[0] == likeliest(shares)
            verdict = texts(page, HEADS, ".says .asks")[0]
            assert ("✓" in verdict) == (said[0] == right)
            want = maps_of(model, text)
            if key == "mean":
                want = want.mean(0).expand_as(want)
            elif key != "on":
                want[i - 1] = 0
            shown = texts(page, HEADS, ".heads .share")
            for weight, exact in zip(shown, want[:, 6].flatten().tolist(), strict=True):
                assert_shows_about(weight, exact)
            shades = page.locator(HEADS).evaluate(SHADES)
            for drawn, weights in zip(shades, want, strict=True):
                assert (torch.tensor(drawn).double() - weights).abs().max() <= SHADE_STEP
            assert texts(page, HEADS, ".heads .token") == words * 2
        page.locator(HEADS).get_by_role("button", name="Reset").click()
        settle(page)
        assert page.locator(HEADS).get_by_label("both on").is_checked()
        first, gap = SENTENCES[0][0].split(), 6
        for (_, word, _), key in zip(
            static_rows(page, HEADS), ("on", "off-1", "off-2", "mean"), strict=True
        ):
            assert word == likeliest(shares_in(model, first, gap, key))


# The pixel of a weight of nearly 1, the gap's for lions in head 2, and the theme's colour for a 1.
COLORS = """(root) => {
  const canvas = root.querySelectorAll(".weight-map canvas")[1];
  const {data} = canvas.getContext("2d").getImageData(1, 6, 1, 1);
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = "var(--color-weight)";
  const wanted = getComputedStyle(probe).color;
  probe.remove();
  return [[...data.slice(0, 3)], wanted.match(/\\d+/g).map(Number)];
}"""


def test_touch_and_the_theme(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        page.locator(f"{LAYER} .stage").nth(3).tap()
        settle(page)
        assert texts(page, LAYER, ".step-ticks .current") == ["Attend"]
        cell(page, 1, "4").tap()
        settle(page)
        assert "Q[0, 0, 4]" in texts(page, TRACER, ".arithmetic")[0]
        large = page.locator(f"{HEADS} .labelled-map .weight-map").nth(1)
        height = large.bounding_box()["height"]
        for row in (2, 7):
            large.tap(position={"x": 40, "y": (row + 0.5) * height / 8})
            settle(page)
            word = SENTENCES[0][0].split()[row]
            assert texts(page, HEADS, ".heads .asks") == [f"“{word}” looks at"] * 2
        seen = set()
        for theme in [*THEMES, THEMES[0]]:
            page.emulate_media(color_scheme=theme)
            settle(page)
            drawn, wanted = page.locator(HEADS).evaluate(COLORS)
            assert drawn == pytest.approx(wanted, abs=2)
            seen.add(tuple(wanted))
        assert len(seen) == len(THEMES)
