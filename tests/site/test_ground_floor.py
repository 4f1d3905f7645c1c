"""The ground floor in a browser: its model is fetched when asked for, reads, and learns."""

import re

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect

from models.storyteller.model import ADDRESS, load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.site.conftest import START as PAGE
from tests.site.settling import assert_shows

BEGINNING = "The good old man went home to"
TEXTS = f"{BEGINNING} his", "The little girl went home to her", "The prince put on his"
# What waits for a reader's guess is open, as after it.
OPEN = (
    """() => document.querySelectorAll(".after-prediction").forEach((e) => { e.inert = false; })"""
)
PRESS_BOTH = """() => ["floor-step", "ground-floor"]
  .forEach((name) => document.querySelector(`#${name} .learn`).click())"""


def part(page, selector):
    return page.locator(f"#ground-floor {selector}")


def assert_first_guess(page, text, at):
    """The first bar is PyTorch's; what the page has learned is forgotten."""
    model = load_storyteller().double()
    tokenizer = Tokenizer(model.config.vocabulary)
    with torch.no_grad():
        shares = model(torch.tensor([tokenizer.encode(text)])).logits[0, at].softmax(0)
    expect(part(page, ".bars .token").first).to_have_text(tokenizer.name(shares.argmax()).strip())
    share = part(page, ".bars .share").first.inner_text()
    assert_shows(share.removesuffix("\u202f%"), 100 * shares.max().item(), text)


def test_any_text_is_read_and_learned_from(open_page):
    """What is learned shows in other texts, too, and is forgotten.

    That a step is gradient descent is in tests/models/test_learning_js.py.
    """
    with open_page(PAGE) as page:
        text, chips, bars = (part(page, x) for x in ("textarea", ".chips button", ".bars"))
        step, forget = part(page, ".learn"), part(page, ".forget")
        before = bars.inner_text()
        step.click()
        step.click()
        expect(part(page, ".history")).to_contain_text("3.99 → 2.58 → 1.84")
        forget.click()
        assert bars.inner_text() == before

        step.click()
        other = "The little girl went home to her mother"
        text.fill(other)
        expect(chips.nth(2)).to_have_text("girl")
        learned = bars.inner_text()
        forget.click()
        assert bars.inner_text() != learned
        assert_first_guess(page, other, -2)
        chips.last.click()
        expect(part(page, ".came"), "nothing follows").to_have_text(re.compile("Nothing"))
        assert_first_guess(page, other, -1)
        text.fill("the old man " * 10)
        expect(part(page, ".note").first).to_contain_text("24 tokens")
        expect(chips).to_have_count(24)


def shares_after(text, off=(), steps=0):
    """The likeliest tokens and their shares in PyTorch, after steps on the page's sentence."""
    model = load_storyteller().double()
    tokenizer = Tokenizer(model.config.vocabulary)
    lesson = torch.tensor([tokenizer.encode("The good old man went home to his mother")])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(lesson[:, :-1]).logits[0], lesson[0, 1:]).backward()
        optimizer.step()
    with torch.no_grad():
        logits = model(torch.tensor([tokenizer.encode(text)]), off=off).logits[0, -1]
    return {tokenizer.name(i): share for i, share in enumerate(logits.softmax(-1).tolist())}


def assert_guesses(page, place, want):
    """The first five bars, and how much each of them has."""
    first = sorted(want, key=want.get, reverse=True)[:5]
    expect(page.locator(f"{place} .bars .token").nth(0)).to_have_text(first[0].strip())
    shown = page.locator(f"{place} .bars .token").all_inner_texts()[:5]
    assert shown == [name.strip() for name in first]
    for name, share in zip(first, page.locator(f"{place} .bars .share").all(), strict=False):
        assert_shows(share.inner_text().removesuffix("\u202f%"), 100 * want[name], name)


def test_a_head_is_switched_off_in_a_text_of_the_page_and_in_one_s_own(open_page):
    """The texts of the page need no model."""
    own, urls = "The wolf went home to his", []
    with open_page(PAGE) as page:
        page.evaluate(OPEN)
        page.on("request", lambda request: urls.append(request.url))
        box, text = (page.locator(f"#floor-head {x}") for x in ("input", "textarea"))
        box.check()
        assert_guesses(page, "#floor-head", shares_after(f"{BEGINNING} his", [(2, 3)]))
        page.locator("#floor-head .sentences button").nth(2).click()
        assert_guesses(page, "#floor-head", shares_after("The prince put on his", [(2, 3)]))
        assert not any(ADDRESS in url for url in urls)
        text.fill(own)
        assert_guesses(page, "#floor-head", shares_after(own, [(2, 3)]))
        box.uncheck()
        assert_guesses(page, "#floor-head", shares_after(own))
        page.locator("#floor-head").get_by_role("button", name="Reset").click()
        assert_guesses(page, "#floor-head", shares_after(f"{BEGINNING} his"))


def test_a_cut_out_learns_from_the_page_s_sentence_whichever_text_is_chosen(open_page):
    """Where the machine waits for the model as well, both are drawn once it is there."""
    with open_page(PAGE) as page:
        page.evaluate(OPEN)
        learn, texts = (page.locator(f"#floor-step {x}") for x in (".learn", ".sentences button"))
        texts.nth(2).click()
        page.evaluate(PRESS_BOTH)
        expect(page.locator("#ground-floor .history")).to_contain_text("3.99 → 2.58")
        learn.click()
        learn.click()
        expect(page.locator("#floor-step .history")).to_contain_text("2.58 → 1.84")
        want = {text: shares_after(text, steps=3) for text in TEXTS}
        assert_guesses(page, "#floor-step", want[TEXTS[2]])
        for button, shares in zip(texts.all(), want.values(), strict=True):
            [name, share] = button.locator(".says").inner_text().removesuffix("\u202f%").split()
            assert name == "mother"
            assert_shows(share, 100 * shares[" mother"], button.inner_text())
        page.locator("#floor-step .forget").click()
        assert_guesses(page, "#floor-step", shares_after(TEXTS[2]))


def test_a_unit_answers_to_each_token_of_one_s_own_text(open_page):
    """The same token gets another answer after another word."""
    with open_page(PAGE) as page:
        for text, is_loud in (("The dog saw its", True), ("The dog saw cats", False)):
            page.locator("#floor-unit textarea").fill(text)
            tokens = page.locator("#floor-unit .given li")
            expect(tokens).to_have_text([re.compile(word) for word in text_tokens(text)])
            answer = tokens.last.locator("small").inner_text().replace("−", "-")
            assert (float(answer) > 1) == is_loud


def text_tokens(text):
    tokenizer = Tokenizer(load_storyteller().config.vocabulary)
    return [tokenizer.name(i).strip() for i in tokenizer.encode(text)]


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_the_explanation_of_a_pressed_part_is_seen_at_once(open_page, width, height):
    """Each part, then a far one, and all of its explanation, which came with the page."""
    urls, titles = [], set()
    with open_page(PAGE, width=width) as page:
        page.set_viewport_size({"width": width, "height": height})
        page.on("request", lambda request: urls.append(request.url))
        parts, panel = part(page, ".stop label"), part(page, ".panel")
        for number in [*range(parts.count()), 3, 12, 0]:
            parts.nth(number).click()
            for seen in (parts.nth(number), panel):
                expect(seen, f"part {number}").to_be_in_viewport(ratio=1)
            titles.add(panel.locator(".title").inner_text())
        assert len(titles) == parts.count() == 13
        assert not any(ADDRESS in url for url in urls)
