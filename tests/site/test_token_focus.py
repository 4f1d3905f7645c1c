"""Where words look: what the page shows is what the committed models give."""

from functools import cache

import pytest
import torch
from playwright.sync_api import expect

from models.grammar.examples import EXAMPLES, HERE
from models.weights import load
from tests.site.conftest import WIDTHS
from tests.site.geometry import assert_legible
from tests.site.reading import assert_shows, settle

LESSON = "modules/m02_query_key_value/lesson.html"
WIDGET = "#token-focus"


@cache
def maps(name, sentence):
    """(heads and, last, their mean; L, L), in float64 from the committed weights."""
    model = load(HERE / "weights" / f"{name}.safetensors").double()
    layers = model(model.encode(EXAMPLES[sentence][0].split())).weights
    heads = torch.cat(layers, dim=1)[0].detach()
    return torch.cat([heads, heads.mean(0, keepdim=True)])


def select(page, name):
    return page.locator(f"{WIDGET} form").filter(has_text=name).locator("select")


def focus(page):
    words = page.locator(f"{WIDGET} [role=radio]").all()
    return next(i for i, word in enumerate(words) if word.get_attribute("aria-checked") == "true")


def shares(page):
    settle(page)
    return page.locator(f"{WIDGET} .share").all_inner_texts()


def assert_right(page, sentence, head, *, causal=False):
    found, at = shares(page), focus(page)
    row = maps("causal" if causal else "masked", sentence)[head, at].tolist()
    assert len(found) == len(row)
    for to, (text, weight) in enumerate(zip(found, row, strict=True)):
        if causal and to > at:
            assert (text, weight) == ("hidden", 0)
        else:
            # The page has the weights in five decimals.
            assert_shows(text.split()[0].rstrip("%").strip(), 100 * weight, (sentence, at, to))


def test_every_sentence_and_head_by_select(open_page):
    with open_page(LESSON) as page:
        heads = select(page, "Head").locator("option").count()
        assert heads == len(maps("masked", 0))
        for sentence, (text, start, says) in enumerate(EXAMPLES):
            select(page, "Sentence").select_option(label=text)
            settle(page)
            assert focus(page) == start
            assert page.locator(f"{WIDGET} .says").inner_text() == says
            for head in (0, heads - 2, heads - 1):
                select(page, "Head").select_option(index=head)
                assert_right(page, sentence, head)


def test_words_by_click_and_by_arrow_keys(open_page):
    with open_page(LESSON) as page:
        head = int(select(page, "Head").evaluate("(s) => s.selectedIndex"))
        page.locator(f"{WIDGET} [role=radio]").nth(2).click()
        assert_right(page, 1, head)
        for key, at in [("ArrowDown", 3), ("ArrowUp", 2), ("Home", 0), ("ArrowUp", 0), ("End", 12)]:
            page.keyboard.press(key)
            settle(page)
            assert focus(page) == at
            assert page.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"
            assert_right(page, 1, head)
        assert page.locator(f"{WIDGET} [role=radio][tabindex='0']").count() == 1


def test_causal_shows_the_causal_model_and_hides_what_follows(open_page):
    with open_page(LESSON) as page:
        page.locator(f"{WIDGET} input[type=checkbox]").check()
        for head in (0, 5, 8):
            select(page, "Head").select_option(index=head)
            assert_right(page, 1, head, causal=True)
        assert shares(page).count("hidden") == 3


def test_who_switches_by_keyboard_can_switch_back(open_page):
    with open_page(LESSON) as page:
        causal = page.locator(f"{WIDGET} input[type=checkbox]")
        causal.focus()
        for is_on in (True, False):
            page.keyboard.press("Space")
            settle(page)
            expect(causal).to_be_checked(checked=is_on)
            expect(causal).to_be_focused()


def test_the_arrows_are_as_heavy_as_the_weights(open_page):
    with open_page(LESSON) as page:
        head = int(select(page, "Head").evaluate("(s) => s.selectedIndex"))
        settle(page)
        row = maps("masked", 1)[head, focus(page)]
        for line, weight in zip(page.locator(f"{WIDGET} line").all(), row.tolist(), strict=True):
            drawn = float(line.evaluate("(e) => parseFloat(getComputedStyle(e).strokeWidth)"))
            assert abs(drawn - (1 + 9 * weight)) < 0.05


def test_the_address_keeps_the_view_and_damage_falls_back(open_page):
    with open_page(f"{LESSON}?focus.sentence=3&focus.word=3.2&focus.head=1") as page:
        assert_right(page, 3, 1)
        assert focus(page) == 2
    with open_page(f"{LESSON}?focus.sentence=99&focus.word=1.99&focus.head=x") as page:
        assert focus(page) == EXAMPLES[1][1]


def test_the_sentence_for_screen_readers_follows(open_page):
    with open_page(LESSON) as page:
        settle(page)
        summary = page.locator(f"{WIDGET} .summary")
        assert summary.inner_text().startswith("it, word 10, looks most at: trophy, word 2, ")
        page.locator(f"{WIDGET} [role=radio]").nth(1).click()
        settle(page)
        assert summary.inner_text().startswith("trophy, word 2, looks most at: ")


@pytest.mark.parametrize("width", WIDTHS)
def test_legible(open_page, width):
    with open_page(LESSON, width=width) as page:
        for sentence in range(len(EXAMPLES)):
            select(page, "Sentence").select_option(index=sentence)
            page.locator(f"{WIDGET} input[type=checkbox]").set_checked(sentence % 2 == 1)
            settle(page)
            assert_legible(page, WIDGET)
