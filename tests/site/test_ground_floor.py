"""The ground floor in a browser: its model is fetched when asked for, reads, and learns."""

import re

import pytest
import torch
import torch.nn.functional as F
from playwright.sync_api import expect

from models.storyteller.model import ADDRESS, load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.site.conftest import START as PAGE

TEXT = "The good old man went home to his mother"


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(load_storyteller().config.vocabulary)


def guessed(model, tokenizer, text, at):
    with torch.no_grad():
        return model(torch.tensor([tokenizer.encode(text)])).logits[0, at].softmax(0)


def learned(tokenizer, text, steps, rate=0.01):
    model = load_storyteller().double()
    tokens = torch.tensor([tokenizer.encode(text)])
    for _ in range(steps):
        loss = F.cross_entropy(model(tokens[:, :-1]).logits[0], tokens[0, 1:])
        slopes = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for parameter, slope in zip(model.parameters(), slopes, strict=True):
                parameter -= rate * slope
    return model


def bars(page):
    """The guesses as they are shown: {token: share}."""
    rows = page.locator("#ground-floor .bars li").all()
    texts = [row.locator(".token").inner_text() for row in rows]
    shares = [row.locator(".share").inner_text() for row in rows]
    return dict(zip(texts, shares, strict=True))


def assert_guesses(page, shares, tokenizer):
    shown = bars(page)
    assert len(shown) == 5
    for text, share in shown.items():
        want = max(shares[tokenizer.encode(written)[0]].item() for written in (f" {text}", text))
        digits = 1 if "." in share else 0
        shown = float(share.removesuffix("\u202f%"))
        assert shown == pytest.approx(100 * want, abs=0.51 * 10**-digits)


def test_nothing_is_fetched_before_it_is_asked_for_and_each_part_is_explained(open_page):
    urls = []
    with open_page(PAGE) as page:
        page.on("request", lambda request: urls.append(request.url))
        page.locator("#ground-floor .attention input").first.check()
        page.locator("#ground-floor .chips button").nth(2).click()
        panel, titles = page.locator("#ground-floor .panel"), []
        for part in page.locator("#ground-floor .stop").all():
            part.locator("label").click()
            titles.append(panel.locator(".title").inner_text())
            assert re.search(r"\d", panel.inner_text()), "it is explained without its numbers"
        assert titles[:3] == ["Tokens", "Vector", "Attention of layer 1"]
        assert titles[-3:] == ["Guess", "Loss", "Step"]
        assert len(titles) == 13
        page.wait_for_timeout(200)
        assert not urls
        with page.expect_response(f"**/{ADDRESS}"):
            page.locator("#ground-floor textarea").focus()


def test_any_text_is_read_and_learned_from(open_page, tokenizer):
    """A step is gradient descent, which shows in other texts, too, and is forgotten."""
    model = load_storyteller().double()
    with open_page(PAGE) as page:
        text, chips = (page.locator(f"#ground-floor {x}") for x in ("textarea", ".chips button"))
        before = bars(page)
        for _ in range(2):
            page.get_by_role("button", name="Let it learn one step").click()
        history = page.locator("#ground-floor .history")
        expect(history).to_have_text(re.compile(r"loss 3\.99 → 2\.58 → 1\.84"))
        assert_guesses(page, guessed(learned(tokenizer, TEXT, 2), tokenizer, TEXT, 7), tokenizer)
        mark = page.locator("#ground-floor .bars .truth .bar i")
        assert mark.get_attribute("style") == "left:2%"
        page.get_by_role("button", name="Forget").click()
        assert bars(page) == before

        page.get_by_role("button", name="Let it learn one step").click()
        other = "The little girl went home to her mother"
        text.fill(other)
        expect(chips.nth(2)).to_have_text("girl")
        assert_guesses(page, guessed(learned(tokenizer, TEXT, 1), tokenizer, other, -2), tokenizer)
        page.get_by_role("button", name="Forget").click()

        other = "The boy went to his mother and said"
        text.fill(other)
        expect(chips).to_have_count(len(tokenizer.encode(other)))
        assert_guesses(page, guessed(model, tokenizer, other, -2), tokenizer)
        chips.last.click()
        assert_guesses(page, guessed(model, tokenizer, other, -1), tokenizer)
        expect(page.locator("#ground-floor .came")).to_have_text("Nothing follows yet.")
        text.fill("<img src=x onerror=alert(1)> & co")
        expect(chips.first).to_have_text("<")
        expect(page.locator("#ground-floor .chips img")).to_have_count(0)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_the_explanation_of_a_pressed_part_is_seen_at_once(open_page, width, height):
    """Each part, and then a far one: both the part and all of its explanation are in the window."""
    with open_page(PAGE, width=width) as page:
        page.set_viewport_size({"width": width, "height": height})
        parts, panel = page.locator("#ground-floor .stop"), page.locator("#ground-floor .panel")
        for number in [*range(parts.count()), 3, 12, 2, 9, 0, 8]:
            part = parts.nth(number).locator("label")
            part.click()
            for seen in (part.bounding_box(), panel.bounding_box()):
                assert seen["y"] >= 0, number
                assert seen["y"] + seen["height"] <= height, number


def test_a_model_that_cannot_be_fetched_is_told(visit, served):
    with visit(served) as (page, _):
        page.route(f"**/{ADDRESS}", lambda route: route.abort())
        page.goto(served + PAGE)
        page.locator("#ground-floor textarea").fill("Hello")
        note = page.locator("#ground-floor .note")
        expect(note).to_contain_text("can't be fetched")
        page.unroute(f"**/{ADDRESS}")
        page.locator("#ground-floor textarea").fill("Hello there")
        page.locator("#ground-floor textarea").blur()
        page.locator("#ground-floor textarea").focus()
        expect(page.locator("#ground-floor .chips button").first).to_have_text("H")
