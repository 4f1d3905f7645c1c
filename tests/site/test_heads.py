"""m06's three widgets: what the page shows is PyTorch's, by mouse, keyboard and touch."""

import pytest
import torch

from tests.numbers import number
from tests.site.conftest import THEMES
from tests.site.settling import assert_shows, settle
from tests.site.shades import SHADE_STEP, SHADES
from tests.widgets.truth_heads import grammar_model, layer_of, real, real_shapes

PAGE = "modules/m06_multi_head/lesson.html"
LAYER, TRACER, HEADS = "#layer-steps", "#reshape-tracer", "#head-maps"


def choose(page, widget, label, index):
    menu = page.locator(widget).get_by_role("combobox", name=label, exact=True)
    menu.select_option(index=index)
    settle(page)


def texts(page, widget, selector):
    settle(page)
    return page.locator(f"{widget} {selector}").all_inner_texts()


STAGES = """(root) => [...root.querySelectorAll(".matrices")].map((stage) =>
  [...stage.querySelectorAll("table")].map((table) =>
    [...table.querySelectorAll("tbody tr")].map((tr) =>
      [...tr.querySelectorAll("td")].map((td) => +td.textContent))))"""


def assert_traced(page, *state):
    settle(page)
    x, heads, merged = real(*state)
    shown = page.locator(TRACER).evaluate(STAGES)
    assert shown == [x.tolist(), heads[0].tolist(), merged.tolist()]
    row = torch.arange(3)[:, None]
    for stage, tensor in enumerate((x, heads, merged)):
        marked = page.locator(f"{TRACER} .stage").nth(stage).locator(".hidden-cell")
        assert marked.count() == (tensor // 8 != row).sum()


def test_the_layer_has_the_real_one_s_shapes_and_a_number_is_traced_through_all_stages(open_page):
    with open_page(PAGE) as page:
        choose(page, LAYER, "Heads", 1)
        wanted = [str(tuple(shape)) for shape in real_shapes(layer_of(2)).values()]
        assert texts(page, LAYER, ".shape") == wanted

        page.locator(TRACER).get_by_label("Split without transpose").check()
        choose(page, TRACER, "Heads", 1)
        assert_traced(page, 4, True, False)
        page.locator(TRACER).get_by_label("Merge without transpose").check()
        choose(page, TRACER, "Heads", 0)
        assert_traced(page, 2, True, True)
        split = page.locator(f"{TRACER} .stage").nth(1)
        split.locator("td").get_by_text("20", exact=True).click()
        page.keyboard.press("ArrowUp")
        assert texts(page, TRACER, "[aria-selected=true]") == ["16", "16", "16"]


# A sentence, the model's answer with all heads on, and the way to change them.
CASES = [
    ("the lions near the old window ▢ tame", "are", "both on"),
    ("the lion near the old windows ▢ tame", "is", "head 2 off"),
    ("the keys near the old cabinet ▢ red", "are", "one map for both"),
]


def test_two_heads_show_the_trained_model_s_maps(open_page):
    model = grammar_model("masked")
    with open_page(PAGE) as page:
        for sentence, (text, right, way) in enumerate(CASES):
            choose(page, HEADS, "Sentence", sentence)
            page.locator(HEADS).get_by_label(way).check()
            words = text.split()
            tokens = model.encode(["[mask]" if word == "▢" else word for word in words])
            want = model(tokens).weights[1][0].detach().double()
            if way == "head 2 off":
                want[1] = 0
            elif way == "one map for both":
                want = want.mean(0).expand_as(want)
            shown = texts(page, HEADS, ".heads .share")
            for weight, exact in zip(shown, want[:, 6].flatten().tolist(), strict=True):
                # Published with six decimals: a number on the very edge may round either way.
                edge = max(-2e-5, min(2e-5, number(weight) - exact))
                assert_shows(weight, exact + edge, text)
            shades = page.locator(HEADS).evaluate(SHADES)
            for drawn, weights in zip(shades, want, strict=True):
                assert (torch.tensor(drawn).double() - weights).abs().max() <= SHADE_STEP
            assert texts(page, HEADS, ".heads .token") == words * 2
            is_right = texts(page, HEADS, ".says .token")[0] == right
            assert ("✓" in texts(page, HEADS, ".says .asks")[0]) == is_right


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


def test_a_touch_on_a_map_chooses_a_word_and_maps_follow_the_theme(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        large = page.locator(f"{HEADS} .labelled-map .weight-map").nth(1)
        height = large.bounding_box()["height"]
        large.tap(position={"x": 40, "y": 7.5 * height / 8})
        assert texts(page, HEADS, ".heads .asks") == ["“tame” looks at"] * 2
        seen = set()
        for theme in [*THEMES, THEMES[0]]:
            page.emulate_media(color_scheme=theme)
            settle(page)
            drawn, wanted = page.locator(HEADS).evaluate(COLORS)
            assert drawn == pytest.approx(wanted, abs=2)
            seen.add(tuple(wanted))
        assert len(seen) == len(THEMES)
