"""The ground floor in a browser: its model is fetched when asked for, reads, and learns."""

import re

import pytest
import torch
from playwright.sync_api import expect

from models.storyteller.model import ADDRESS, load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.site.conftest import START as PAGE
from tests.site.settling import assert_shows


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
        step, forget = (page.get_by_role("button", name=x) for x in ("Let it learn", "Forget"))
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
