"""m06's layer in six steps: its shapes and counts, its controls, its look in every state."""

import re
from itertools import product

import pytest
import torch

from attention import KVCache, MultiHeadAttention
from tests.site.conftest import THEMES, WIDTHS
from tests.site.geometry import assert_legible
from tests.site.reading import axe_violations, settle

PAGE = "modules/m06_multi_head/lesson.html"
WIDGET = "#layer-steps"
HEADS, SHARING = [1, 2, 4, 8, 16], [0, 1, 2]
SHAPES = """(root) => Object.fromEntries([...root.querySelectorAll(".shape")].map(
  (e) => [e.dataset.of, e.textContent]))"""


def layer_of(heads, sharing):
    key_heads = [heads, max(1, heads // 2), 1][sharing]
    return MultiHeadAttention(64, heads, num_kv_heads=key_heads).eval()


def real_shapes(layer):
    """Every shape, taken from the tensors that a layer makes."""
    x = torch.randn(2, 10, 64)
    split = dict(zip("QKV", layer._project(x, None), strict=True))
    output, weights = layer(x, return_attention=True)
    sizes = [64, layer.kv_dim, layer.kv_dim]
    matrices = dict(zip("QKV", layer.qkv_proj.weight.split(sizes), strict=True))
    heads = weights @ split["V"].repeat_interleave(layer.num_heads // layer.num_kv_heads, 1)
    tensors = {"x": x, "weights": weights, "output": output, "W_O": layer.out_proj.weight.T}
    tensors |= {name: t.transpose(1, 2).flatten(2) for name, t in split.items()}
    tensors |= {f"{name} split": t for name, t in split.items()}
    tensors |= {f"W_{name}": t.T for name, t in matrices.items()}
    tensors["joined"] = heads.transpose(1, 2).flatten(2)
    return {name: str(tuple(t.shape)) for name, t in tensors.items()}


def address(step=0, heads=8, sharing=0):
    return f"{PAGE}?layer.step={step}&layer.heads={heads}&layer.sharing={sharing}"


def choose(page, label, index):
    page.locator(WIDGET).get_by_label(label, exact=True).select_option(index=index)
    settle(page)


def go_to(page, step):
    page.locator(f"{WIDGET} .step-ticks button").nth(step).click()
    settle(page)


def text(page, selector):
    return page.locator(f"{WIDGET} {selector}").inner_text()


def numbers(said):
    return [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", said)]


def test_every_shape_is_that_of_the_real_layer(open_page):
    with open_page(PAGE) as page:
        for (i, heads), sharing in product(enumerate(HEADS), SHARING):
            choose(page, "Heads", i)
            choose(page, "Keys and values", sharing)
            layer = layer_of(heads, sharing)
            assert page.locator(WIDGET).evaluate(SHAPES) == real_shapes(layer)
            cards = page.locator(f"{WIDGET} .heads li")
            assert cards.count() == heads
            group = heads // layer.num_kv_heads
            shared = page.locator(f"{WIDGET} .heads .k").all_text_contents()
            assert shared == [f"K{h // group}" for h in range(heads)]


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize("heads", [1, 8, 16])
def test_every_count_is_that_of_the_real_layer(open_page, heads, sharing):
    layer = layer_of(heads, sharing)
    project, output = (
        sum(p.numel() for p in part.parameters()) for part in (layer.qkv_proj, layer.out_proj)
    )
    cache = KVCache(1, layer.num_kv_heads, 1, layer.head_dim)
    with open_page(address(0, heads, sharing)) as page:
        assert numbers(text(page, ".count")) == [2, 10, 64, 2 * 10 * 64]
        go_to(page, 1)
        assert numbers(text(page, ".count"))[-1] == project
        go_to(page, 2)
        assert cache.keys.numel() + cache.values.numel() in numbers(text(page, ".count"))
        go_to(page, 3)
        weights = layer(torch.randn(2, 10, 64), return_attention=True)[1]
        assert numbers(text(page, ".count"))[-1] == weights.numel()
        go_to(page, 5)
        assert numbers(text(page, ".count")) == [output, project + output]


def test_the_code_shown_computes_the_layer(open_page):
    """The lines of steps 1 to 5, run one after another, give what the layer gives."""
    layer = layer_of(8, 0)
    x = torch.randn(2, 10, 64)
    with open_page(PAGE) as page:
        lines = []
        for step in range(6):
            go_to(page, step)
            lines.append(text(page, ".code"))
    assert lines[0] == f"x.shape == {tuple(x.shape)}"
    names = {"x": x, "W_QKV": layer.qkv_proj.weight.T, "b": layer.qkv_proj.bias}
    exec(lines[1], names)
    names["q"], names["k"], names["v"] = names["qkv"].chunk(3, dim=-1)
    for name in "qkv":
        exec(lines[2].replace("q", name), names)
    names["softmax"] = lambda scores: scores.softmax(-1)
    exec(lines[3].replace("√8", "8 ** 0.5"), names)
    exec(lines[4], names)
    names |= {"W_O": layer.out_proj.weight.T, "b": layer.out_proj.bias}
    exec(lines[5], names)
    torch.testing.assert_close(names["y"], layer(x))


def test_keyboard(open_page):
    with open_page(PAGE) as page:
        slider = page.locator(f"{WIDGET} input[type=range]")
        slider.focus()
        page.keyboard.press("ArrowRight")
        settle(page)
        assert slider.get_attribute("aria-valuetext") == "1 of 5: Project"
        assert text(page, ".stage.current .name") == "1 Project"
        page.keyboard.press("Tab")
        page.keyboard.press("Home")
        settle(page)
        assert page.locator(f"{WIDGET} .heads li").count() == 1
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
        settle(page)
        assert "GQA" in page.evaluate("document.activeElement.selectedOptions[0].text")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(outline) not in ("none", "")


def test_a_stage_is_chosen_by_mouse_and_by_touch(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        page.locator(f"{WIDGET} .stage").nth(3).tap()
        settle(page)
        assert page.locator(f"{WIDGET} .step-ticks .current").inner_text() == "Attend"
        page.locator(f"{WIDGET} .stage").nth(5).click()
        settle(page)
        assert text(page, ".stage.current .name") == "5 Output"


def test_the_address_keeps_a_view_and_back_goes_back(open_page):
    with open_page(PAGE) as page:
        go_to(page, 4)
        choose(page, "Heads", 1)
        page.wait_for_url("**layer.heads=2**")
        page.reload()
        page.wait_for_selector(f"{WIDGET} .widget-live")
        assert text(page, ".stage.current .name") == "4 Join"
        assert page.locator(f"{WIDGET} .heads li").count() == 2
        page.go_back()
        settle(page)
        assert page.locator(f"{WIDGET} .heads li").count() == 8


@pytest.mark.parametrize("damage", ["heads=3", "heads=1e9", "step=6", "step=x", "sharing=-1"])
def test_a_damaged_address_falls_back(open_page, damage):
    with open_page(f"{PAGE}?layer.{damage}") as page:
        assert page.locator(f"{WIDGET} .heads li").count() == 8
        assert text(page, ".stage.current .name") == "0 Input"


@pytest.mark.parametrize("width", WIDTHS)
def test_legible_in_every_state(open_page, width):
    with open_page(PAGE, width=width) as page:
        for (i, heads), sharing in product(enumerate(HEADS), SHARING):
            choose(page, "Heads", i)
            choose(page, "Keys and values", sharing)
            heights = set()
            for step in range(6) if heads in (1, 8, 16) else (2,):
                go_to(page, step)
                assert_legible(page, WIDGET)
                heights.add(round(page.locator(WIDGET).bounding_box()["height"]))
            assert max(heights) - min(heights) <= 25, "the diagram jumps from step to step"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("step", range(6))
def test_no_axe_violation_in_any_step(open_page, step, theme):
    with open_page(address(step, 16, 1), theme=theme) as page:
        assert not axe_violations(page, WIDGET)


def test_the_sentence_for_screen_readers_follows(open_page):
    with open_page(address(1, 4, 2)) as page:
        said = page.locator(f"{WIDGET} .summary").text_content()
        assert said.startswith("Step 1 of 5, Project.")
        assert said.endswith("Heads: 4 of size 16, 1 for keys and values.")


def test_the_static_form_stands_without_javascript(open_page):
    with open_page(PAGE, live=False, java_script_enabled=False) as page:
        rows = page.locator(f"{WIDGET} .static-form tbody tr").all_inner_texts()
    real = real_shapes(layer_of(8, 0))
    shown = dict(row.split("\t") for row in rows)
    assert list(shown.values()) == [real[n] for n in ("x", "Q split", "weights", "output")]
