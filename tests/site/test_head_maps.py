"""m06's heads side by side: every number and every shade is PyTorch's, in every state."""

import math
from itertools import product

import pytest
import torch

from analysis import entropy
from models.transformer import Transformer
from models.weights import load
from tests.conftest import ROOT
from tests.site.conftest import THEMES, WIDTHS
from tests.site.geometry import assert_legible
from tests.site.reading import (
    SHADE_STEP,
    SHADES,
    assert_shows,
    axe_violations,
    number,
    settle,
)

PAGE = "modules/m06_multi_head/lesson.html"
WIDGET = "#head-maps"
TEXTS = [
    "the keys near the old cabinet are red",
    "the cat sat on the mat",
    "the trophy did not fit in the suitcase because it was too big",
    "the trophy did not fit in the suitcase because it was too small",
]


@pytest.fixture(scope="module")
def models():
    trained = load(ROOT / "models/grammar/weights/masked.safetensors")
    torch.manual_seed(0)
    return {False: trained, True: Transformer(trained.config).eval()}


@pytest.fixture(scope="module")
def maps(models):
    """(sentence, layer, untrained) -> the heads' maps and their mean, (heads + 1, L, L)."""
    found = {}
    for (i, text), untrained in product(enumerate(TEXTS), models):
        model = models[untrained]
        with torch.no_grad():
            layers = model(model.encode(text.split())).weights
        for layer, weights in enumerate(layers):
            heads = weights[0].double()
            found[i, layer, untrained] = torch.cat([heads, heads.mean(0, keepdim=True)])
    return found


def address(sentence=0, layer=1, head=0, row=0, untrained=False):
    chosen = {"sentence": sentence, "layer": layer, "head": head, "row": row}
    query = "&".join(f"heads.{name}={value}" for name, value in chosen.items())
    return f"{PAGE}?{query}&heads.untrained={untrained:d}"


def texts(page, selector):
    return page.locator(f"{WIDGET} {selector}").all_inner_texts()


def choose(page, label, index):
    page.locator(WIDGET).get_by_label(label, exact=True).select_option(index=index)
    settle(page)


def assert_shows_about(text, exact):
    """Weights are published with six decimals: a number on the very edge may round either way."""
    assert_shows(text, exact + max(-2e-5, min(2e-5, number(text) - exact)), "a weight")


def assert_all_is_pytorchs(page, want, *, head, row):
    assert [len(texts(page, f".maps {part}")) for part in ("b", ".weight-map")] == [len(want)] * 2
    spread, peak = entropy(want).mean(-1), want.amax(-1).mean(-1)
    for part, numbers in ((".entropy", spread), (".peak", peak)):
        for text, exact in zip(texts(page, f".maps {part}"), numbers.tolist(), strict=True):
            assert_shows_about(text, exact)
    for text, exact in zip(texts(page, ".share"), want[head, row].tolist(), strict=True):
        assert_shows_about(text, exact)
    shades = page.locator(WIDGET).evaluate(SHADES)
    for drawn, weights in zip(shades, [*want, want[head]], strict=True):
        difference = (torch.tensor(drawn).double() - weights).abs().max()
        assert difference <= SHADE_STEP
    assert f"at most {math.log(want.shape[-1]):.2f}" in texts(page, ".legend")[0]


@pytest.mark.parametrize("untrained", [False, True], ids=["trained", "random"])
@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("sentence", range(len(TEXTS)))
def test_every_number_and_shade(open_page, maps, sentence, layer, untrained):
    want = maps[sentence, layer, untrained]
    with open_page(address(sentence, layer, 0, 1, untrained)) as page:
        for head in range(len(want)):
            page.locator(f"{WIDGET} .maps button").nth(head).click()
            row = len(TEXTS[sentence].split()) - 1 - head
            choose(page, "Word", row)
            assert_all_is_pytorchs(page, want, head=head, row=row)
        assert texts(page, ".token") == TEXTS[sentence].split()
        assert texts(page, ".heading .source") == ["random" if untrained else "trained"]


def test_it_follows_its_controls(open_page, maps):
    with open_page(PAGE) as page:
        row = 6
        for sentence, layer in ((0, 1), (3, 1), (3, 0), (1, 0)):
            choose(page, "Sentence", sentence)
            choose(page, "Layer", layer)
            head = int(page.locator(f"{WIDGET} [aria-pressed=true] b").inner_text()[-1])
            last = len(TEXTS[sentence].split()) - 1
            want = maps[sentence, layer, False]
            assert_all_is_pytorchs(page, want, head=head, row=min(row, last))
        page.locator(WIDGET).get_by_label("Before training").check()
        settle(page)
        assert_all_is_pytorchs(page, maps[1, 0, True], head=head, row=last)
        assert texts(page, ".heading .source") == ["random"]


def test_it_opens_on_the_head_that_finds_the_subject(open_page, maps):
    with open_page(PAGE) as page:
        pressed = page.locator(f"{WIDGET} [aria-pressed=true] b").inner_text()
        assert pressed == f"head {int(maps[0, 1, False][:-1, 6, 1].argmax())}"
        assert texts(page, ".asks") == ["“are” looks at"]


def test_keyboard_keeps_its_place(open_page):
    """Each choice draws anew; the control in use must stay the same, with its focus."""
    with open_page(PAGE) as page:
        for label, key in (("Sentence", "ArrowDown"), ("Word", "ArrowUp"), ("Layer", "ArrowUp")):
            control = page.locator(WIDGET).get_by_label(label, exact=True)
            control.focus()
            before = control.input_value()
            page.keyboard.press(key)
            settle(page)
            assert control.input_value() != before
            assert control.evaluate("(e) => e === document.activeElement")
        button = page.locator(f"{WIDGET} .maps button").nth(3)
        button.focus()
        page.keyboard.press("Enter")
        settle(page)
        assert button.get_attribute("aria-pressed") == "true"
        assert texts(page, ".title") == ["Layer 0, head 3"]
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


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


def test_the_maps_take_the_colour_of_the_theme_and_follow_it(open_page):
    with open_page(address(0)) as page:
        seen = set()
        for theme in [*THEMES, THEMES[0]]:
            page.emulate_media(color_scheme=theme)
            settle(page)
            drawn, wanted = page.locator(WIDGET).evaluate(COLORS)
            assert drawn == pytest.approx(wanted, abs=2)  # it is kept times its opacity
            seen.add(tuple(wanted))
        assert len(seen) == len(THEMES)


def test_a_row_is_chosen_on_the_map_by_touch(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        large = page.locator(f"{WIDGET} .labelled-map .weight-map")
        box = large.bounding_box()
        for row, word in enumerate(TEXTS[0].split()):
            large.tap(position={"x": 40, "y": (row + 0.5) * box["height"] / 8})
            settle(page)
            assert texts(page, ".asks") == [f"“{word}” looks at"]
            assert page.locator(WIDGET).get_by_label("Word").input_value() == str(row)


def test_the_address_keeps_a_view(open_page):
    with open_page(PAGE) as page:
        choose(page, "Sentence", 1)
        page.locator(f"{WIDGET} .maps button").nth(2).click()
        page.wait_for_url("**heads.head=2**")
        page.reload()
        page.wait_for_selector(f"{WIDGET} .widget-live")
        assert texts(page, ".title") == ["Layer 1, mean"]
        assert texts(page, ".token") == TEXTS[1].split()


@pytest.mark.parametrize("damage", ["sentence=9", "layer=2", "head=x", "row=-1", "untrained=yes"])
def test_a_damaged_address_falls_back(open_page, damage):
    with open_page(PAGE) as page:
        default = page.locator(f"{WIDGET} .summary").text_content()
    with open_page(f"{PAGE}?heads.{damage}") as page:
        assert page.locator(f"{WIDGET} .summary").text_content() == default


@pytest.mark.parametrize("width", WIDTHS)
def test_legible_in_every_state(open_page, width):
    with open_page(PAGE, width=width) as page:
        for sentence, layer, untrained in product(range(len(TEXTS)), (0, 1), (False, True)):
            choose(page, "Sentence", sentence)
            choose(page, "Layer", layer)
            page.locator(WIDGET).get_by_label("Before training").set_checked(untrained)
            settle(page)
            for head in (0, -1) if layer else (2,):
                page.locator(f"{WIDGET} .maps button").nth(head).click()
                settle(page)
                assert_legible(page, WIDGET)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("untrained", [False, True], ids=["trained", "random"])
def test_no_axe_violation(open_page, untrained, theme):
    with open_page(address(2, untrained=untrained), theme=theme) as page:
        assert not axe_violations(page, WIDGET)


def test_the_sentence_for_screen_readers_follows(open_page, maps):
    with open_page(address(1, 1, 2, 2)) as page:
        said = page.locator(f"{WIDGET} .summary").text_content()
        assert said.startswith("Layer 1, mean, trained weights: sat looks at the ")
        share = maps[1, 1, False][2, 2, 1]
        assert abs(int(said.split("cat ")[1].split("\u202f")[0]) - 100 * share) <= 0.51


def test_the_static_form_stands_without_javascript(open_page, maps):
    with open_page(PAGE, live=False, java_script_enabled=False) as page:
        rows = page.locator(f"{WIDGET} .static-form tbody tr").all_inner_texts()
    want = maps[0, 1, False][:-1]
    for row, spread, peak in zip(rows, entropy(want).mean(-1), want.amax(-1).mean(-1), strict=True):
        _, shown_spread, shown_peak = row.split("\t")
        assert_shows_about(shown_spread, float(spread))
        assert_shows_about(shown_peak, float(peak))
