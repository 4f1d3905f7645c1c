"""m06's three widgets: what the page shows is PyTorch's, by mouse, keyboard and touch."""

from itertools import product

import pytest
import torch

from models.transformer import Transformer
from models.weights import load
from tests.conftest import ROOT
from tests.numbers import number
from tests.site.conftest import THEMES
from tests.site.settling import assert_shows, settle
from tests.site.shades import SHADE_STEP, SHADES
from tests.widgets.truth_heads import layer_of, real, real_shapes

PAGE = "modules/m06_multi_head/lesson.html"
LAYER, TRACER, HEADS = "#layer-steps", "#reshape-tracer", "#head-maps"
TEXTS = [
    "the keys near the old cabinet are red",
    "the cat sat on the mat",
    "the dogs that liked the bird wait",
    "the trophy did not fit in the suitcase because it was too big",
]


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


@pytest.fixture(scope="module")
def maps():
    """(sentence, layer, untrained) -> the heads' maps and their mean, (heads + 1, L, L)."""
    trained = load(ROOT / "models/grammar/weights/causal.safetensors")
    torch.manual_seed(0)
    models = {False: trained, True: Transformer(trained.config).eval()}
    of_layers = {}
    for (i, text), (untrained, model) in product(enumerate(TEXTS), models.items()):
        with torch.no_grad():
            layers = model(model.encode(text.split())).weights
        for layer, weights in enumerate(layers):
            heads = weights[0].double()
            of_layers[i, layer, untrained] = torch.cat([heads, heads.mean(0, keepdim=True)])
    return of_layers


def assert_shows_about(text, exact):
    """Weights are published with six decimals: a number on the very edge may round either way."""
    assert_shows(text, exact + max(-2e-5, min(2e-5, number(text) - exact)), "a weight")


def assert_maps(page, want, *, head, row):
    for text, exact in zip(texts(page, HEADS, ".share"), want[head, row].tolist(), strict=True):
        assert_shows_about(text, exact)
    shades = page.locator(HEADS).evaluate(SHADES)
    for drawn, weights in zip(shades, [*want, want[head]], strict=True):
        assert (torch.tensor(drawn).double() - weights).abs().max() <= SHADE_STEP


def test_the_heads_are_the_trained_model_s(open_page, maps):
    with open_page(PAGE) as page:
        assert texts(page, HEADS, "[aria-pressed=true] b") == ["head 1"]
        head = 0
        for state in ((3, 1, True), (1, 0, False)):
            sentence, layer, untrained = state
            choose(page, HEADS, "Sentence", sentence)
            choose(page, HEADS, "Layer", layer)
            page.locator(HEADS).get_by_label("Before training").set_checked(untrained)
            want = maps[state]
            head = (head + 1) % len(want)
            page.locator(f"{HEADS} .maps button").nth(head).click()
            settle(page)
            tokens = TEXTS[sentence].split()
            row = min(5, len(tokens) - 1)
            assert_maps(page, want, head=head, row=row)
            assert texts(page, HEADS, ".token") == tokens
            assert texts(page, HEADS, ".asks") == [f"“{tokens[row]}” looks at"]
            chosen = menu(page, HEADS, "Word").evaluate("(e) => e.selectedIndex")
            assert chosen == row, "a shorter sentence has its last word chosen"
            assert texts(page, HEADS, ".heading .source") == ["random" if untrained else "trained"]
        want = maps[0, 1, False][:-1]
        rows = zip(static_rows(page, HEADS), want, strict=True)
        for (_, to_subject), weights in rows:
            assert_shows_about(to_subject, weights[5, 1].item())


# The pixel of the largest weight, and the colour that the theme has for it.
COLORS = """(root) => {
  const canvas = root.querySelector(".weight-map canvas");
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const alphas = data.filter((_, i) => i % 4 === 3);
  const at = 4 * alphas.indexOf(Math.max(...alphas));
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = "var(--color-weight)";
  const wanted = getComputedStyle(probe).color;
  probe.remove();
  return [[...data.slice(at, at + 3)], wanted.match(/\\d+/g).map(Number)];
}"""


def test_touch_and_the_theme(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        page.locator(f"{LAYER} .stage").nth(3).tap()
        settle(page)
        assert texts(page, LAYER, ".step-ticks .current") == ["Attend"]
        cell(page, 1, "4").tap()
        settle(page)
        assert "Q[0, 0, 4]" in texts(page, TRACER, ".arithmetic")[0]
        large = page.locator(f"{HEADS} .labelled-map .weight-map")
        height = large.bounding_box()["height"]
        for row in (2, 7):
            large.tap(position={"x": 40, "y": (row + 0.5) * height / 8})
            settle(page)
            assert texts(page, HEADS, ".asks") == [f"“{TEXTS[0].split()[row]}” looks at"]
        seen = set()
        for theme in [*THEMES, THEMES[0]]:
            page.emulate_media(color_scheme=theme)
            settle(page)
            drawn, wanted = page.locator(HEADS).evaluate(COLORS)
            assert drawn == pytest.approx(wanted, abs=2)  # it is kept times its opacity
            seen.add(tuple(wanted))
        assert len(seen) == len(THEMES)
