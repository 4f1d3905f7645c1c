"""The explorer in a browser: it draws what the model computes, and its controls do what they say.

tests/widgets has its numbers, and tests/lessons what its page says was found.
"""

import math
import re
from functools import cache
from urllib.parse import quote

import pytest
import torch
from playwright.sync_api import expect

from course.payloads import findings
from course.payloads.explorer import MODELS
from models import weights
from tests.conftest import ROOT
from tests.site.geometry import assert_legible
from tests.site.gestures import go_to, set_as_reader
from tests.site.settling import drawn
from tests.site.shades import SHADE_STEP, SHADES
from tests.widgets.states_explorer import FREE, OPEN, STATES
from tests.widgets.truth_explorer import ids_of

PAGE = "explorer.html"
FILE = f"models/{MODELS[0]['file']}"
OPENING = MODELS[0]["examples"][0][0]
BEGINNING = findings.BEGINNINGS[0]
SIZES = pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=str)
WORD = "#explorer .tokens button"
HEAD = "#explorer .tiles button"
ARC = "#explorer .arcs path"
PROBLEM = "#explorer .status.problem"
COPYIST, BEFORE, LAST = 14, 7, 15  # heads 4.3, 2.4 and 4.4
TOP = "e => e.getBoundingClientRect().top"


def press(page, name, exact=True):
    page.get_by_role("button", name=name, exact=exact).click()


def part(page, selector):
    return page.locator(f"#explorer {selector}")


def field(page):
    return part(page, "textarea")


def resize(page, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})


def switch_of(page, head):
    return page.get_by_label(f"Switch off head {head}")


def assert_shares(shown, wanted):
    """Shares as they are written, of which each may be off by its rounding."""
    for text, want in zip(shown, wanted, strict=True):
        digits = len(text.removesuffix("\u202f%").partition(".")[2])
        share = float(text.strip("<>+\u202f% ")) / 100
        slack = 0.005 if "+" in text else 0.001 if "<" in text else 0.51 * 10**-digits / 100
        assert share == pytest.approx(float(want), abs=slack + 1e-4)


@cache
def storyteller():
    return weights.load(ROOT / FILE).double()


@torch.no_grad()
def run_of(text, *off):
    """The storyteller in PyTorch, with these heads off, (layer, head) from 0."""
    return storyteller()(torch.tensor([ids_of(storyteller(), "storyteller", text)]), off=off)


@torch.no_grad()
def test_what_is_shown_of_a_typed_text_is_pytorchs(open_page):
    """Of another model, with a head off: every map in its place, and the guesses of each stage."""
    index, entry = next((i, one) for i, one in enumerate(MODELS) if one["name"] == "masked")
    model, text = weights.load(ROOT / "models" / entry["file"]).double(), "the dog [mask] tired"
    run = model(torch.tensor([ids_of(model, entry["kind"], text)]), off=((0, 1),))
    with open_page(OPEN) as page:
        page.get_by_text("Another model, examples").click()
        part(page, "select").first.select_option(index=index)
        field(page).fill(text)
        expect(page.locator(WORD)).to_have_count(4)
        page.locator(HEAD).nth(1).click()
        page.locator(WORD).nth(2).click()
        page.get_by_text("Layer by layer").click()
        page.get_by_label("Switch off").check()
        expect(part(page, ".tiles .off")).to_have_count(1)
        drawn(page)
        maps = [head for layer in run.weights for head in layer[0]]
        for shades, exact in zip(part(page, ".stages").evaluate(SHADES), maps, strict=True):
            seen = torch.tensor(shades, dtype=torch.double)
            torch.testing.assert_close(seen, exact, rtol=0, atol=0.51 * SHADE_STEP + 1e-4)
        for stage, rows in enumerate(run.residual):
            logits = model.norm(rows[0, 2]) @ model.embedding.T + model.unembedding_bias
            guesses = part(page, ".lens").nth(stage).locator(".guess span:last-child")
            assert_shares(guesses.all_inner_texts(), logits.softmax(-1).topk(3).values.tolist())


def test_pushes_are_told_when_asked_for_and_multiply_the_odds(open_page):
    with open_page(f"{PAGE}?{FREE}&explorer.head=4.3") as page:
        folds = part(page, ".folds")
        expect(part(page, ".tiles .push")).to_have_count(0)
        page.get_by_text("Push: what each head adds itself").click()
        expect(folds).to_contain_text("the push of 4.3")
        push, times = re.search(r"\+([\d.]+), the push .* about (\d+)", folds.inner_text()).groups()
        assert int(times) == pytest.approx(math.exp(float(push)), rel=0.03)


@torch.no_grad()
def test_the_head_that_an_own_text_needs_most_is_found(open_page):
    """As PyTorch has it: chosen, marked, told, and ready to be switched off."""
    text = "The little mouse ran to the red house. The big cat ran to the red"
    guess = run_of(text).logits[0, -1].argmax()
    pairs = [(layer, head) for layer in range(4) for head in range(4)]
    left = [run_of(text, pair).logits[0, -1].softmax(-1)[guess].item() for pair in pairs]
    most = left.index(min(left))
    name = f"{most // 4 + 1}.{most % 4 + 1}"
    with open_page(f"{PAGE}?{FREE}&explorer.off=4.1&explorer.head=4.1") as page:
        seek = page.get_by_role("button", name="Find the head that this guess needs most")
        expect(seek, "the page's own text needs no search").to_have_count(0)
        expect(part(page, ".tiles .off")).to_have_count(1)
        field(page).fill(text)
        expect(part(page, ".tiles .off"), "a new text begins without a switch").to_have_count(0)
        seek.click()
        told = part(page, ".own-card")
        expect(told).to_contain_text(f"needs head {name}")
        assert_shares(told.locator(".share").all_inner_texts(), sorted(left)[:4])
        marked = part(page, ".tiles .needed[aria-checked=true]")
        expect(marked).to_have_attribute("data-head", str(most))
        press(page, f"Switch head {name} off")
        expect(part(page, ".reached"), "a goal of the page").to_have_count(1)


WIDTHS = "(arcs) => arcs.map((path) => parseFloat(getComputedStyle(path).strokeWidth))"


@torch.no_grad()
def test_as_many_arcs_are_drawn_as_there_are_weights_and_as_wide_and_are_saved(open_page):
    """Of all heads those of 8 % and more, of one head nearly all: from 1 px to 9."""
    rows = torch.cat([layer[0] for layer in run_of(OPENING).weights])
    own = rows[COPYIST, 9][rows[COPYIST, 9] >= 0.005]
    with open_page(f"{PAGE}?{FREE}") as page:
        arcs = page.locator(ARC)
        for at in (5, 9):
            page.locator(WORD).nth(at).hover()
            expect(arcs).to_have_count(int((rows[:, at] >= 0.08).sum()))
        page.locator(HEAD).nth(COPYIST).click()
        field(page).hover()
        expect(arcs).to_have_count(len(own))
        assert arcs.evaluate_all(WIDTHS) == pytest.approx((1 + 8 * own).tolist(), abs=0.01)
        part(page, "> .widget-save summary").click()
        for kind, holds in (("SVG", b">dog</text>"), ("PNG", b"\x89PNG")):
            with page.expect_download() as download:
                press(page, f"Sentence, {kind}")
            assert holds in download.value.path().read_bytes()


HAS_STOPPED = "() => new Promise((done, y = scrollY) => setTimeout(() => done(scrollY === y), 100))"


@SIZES
def test_the_tour_leads_in_five_presses_to_what_a_head_does(open_page, size):
    """The card that says what to do stays in view, and the pressed head where it was."""
    with open_page(PAGE, width=size[0]) as page:
        resize(page, size)
        guide = part(page, ".guide")
        told, copyist = guide.locator("[role=status]"), page.locator(HEAD).nth(COPYIST)
        square = copyist.locator(".square")
        press(page, "Go on with this text")
        page.locator(WORD).last.click()
        expect(part(page, ".tiles .try")).to_have_attribute("data-head", str(COPYIST))
        expect(copyist).to_be_in_viewport(ratio=1)
        page.wait_for_function(HAS_STOPPED)
        place = square.evaluate(TOP)
        square.click()
        switch = page.get_by_role("button", name="Switch head 4.3 off")
        for seen in (copyist, switch, guide):
            expect(seen).to_be_in_viewport(ratio=1)
        page.wait_for_function(HAS_STOPPED)
        assert square.evaluate(TOP) == pytest.approx(place, abs=2)
        switch.click()
        expect(told).to_be_focused()
        expect(told).to_contain_text("falls")
        assert re.findall(r"[\d.]+\u202f%", told.inner_text())[:2] == ["47\u202f%", "4.4\u202f%"]
        press(page, "All heads on")
        page.locator(HEAD).nth(LAST).click()
        switch_of(page, "4.4").check()
        expect(told, "this guess hardly needs it").to_contain_text("hardly")
        press(page, "Try head 4.3")
        expect(told).to_contain_text("falls")
        press(page, "Find the head")
        expect(guide).to_have_count(0)
        expect(page.get_by_role("button", name="Begin")).to_be_in_viewport()


@SIZES
def test_a_head_is_switched_off_and_its_effect_seen_on_one_screen(open_page, size):
    with open_page(OPEN, width=size[0]) as page:
        resize(page, size)
        switch = switch_of(page, "4.3")
        switch.check()
        expect(part(page, ".verdict .share")).to_have_count(3)
        part(page, ".tokens").evaluate("(e) => e.scrollIntoView({block: 'center'})")
        for seen in (part(page, ".tokens"), part(page, ".verdict"), switch):
            expect(seen).to_be_in_viewport(ratio=1)


def test_all_parts_name_the_same_head_and_arrows_go_by_a_row_of_heads(open_page):
    with open_page(f"{PAGE}?{FREE}&explorer.head=3.4&explorer.stage=4") as page:
        press(page, "Arcs of all heads")
        for named in (".pass .told", ".outcome", ".switches"):
            expect(part(page, named)).to_contain_text("head 4.3")
        for width, key, head in ((1280, "Down", 15), (390, "Up", 9)):
            resize(page, (width, 900))
            page.locator(HEAD).nth(13).click()
            page.keyboard.press(f"Arrow{key}")
            expect(part(page, f".tiles [data-head='{head}']")).to_be_focused()


@pytest.mark.parametrize("text", ["the duck swam and " * 500, "<img src=x onerror=alert(1)> " * 60])
def test_any_text_is_read_and_of_a_long_one_the_oldest_words_go(open_page, text):
    gone = len(ids_of(storyteller(), "storyteller", text)) - 256
    with open_page(PAGE) as page:
        problem, words = page.locator(PROBLEM), page.locator(WORD)
        field(page).fill("")
        expect(problem).to_contain_text("no text")
        expect(words, "the last text that was read stays").to_have_count(10)
        field(page).fill(text)
        expect(part(page, ".legend")).to_contain_text(f"oldest {gone} went", timeout=20_000)
        expect(words).to_have_count(256)
        expect(problem).to_have_count(0)
        assert_legible(page, "#explorer")


def likeliest(text, count):
    """What PyTorch writes on, of tokens the likeliest each time."""
    for _ in range(count):
        guess = run_of(text).logits[0, -1].argmax()
        text += storyteller().config.vocabulary[guess]
    return text


def test_guesses_are_appended_drawn_and_taken_back(open_page):
    with open_page(PAGE) as page:
        text, words = field(page), page.locator(WORD)
        write = part(page, "button.write")
        part(page, ".ghost").click()
        expect(text, "the guess in the sentence is pressed").to_have_value(f"{OPENING} dog")
        go_to(page, FREE)
        part(page, ".bars button").first.click()
        expect(text).to_have_value(f"{OPENING} dog")
        write.click()
        expect(words.nth(14)).to_be_attached(timeout=20_000)
        write.click()
        expect(write).to_have_text("Continue")
        page.wait_for_timeout(500)
        held = text.input_value()
        page.wait_for_timeout(500)
        assert text.input_value() == held, "it goes on after Stop"

        text.fill("The duck and the")
        press(page, BEGINNING)
        write.click()
        expect(text).not_to_have_value(BEGINNING)
        press(page, "Undo")
        expect(text).to_have_value(BEGINNING)
        expect(write, "whose button has gone").to_be_focused()

        set_as_reader(page, f"{FREE}&explorer.topk=1")
        write.click()
        expect(text, "with top-k 1").to_have_value(re.compile(re.escape(likeliest(OPENING, 5))))
        write.click()


QUICK = """() => { // a stage takes a fourth of its time
  const usual = globalThis.setTimeout;
  globalThis.setTimeout = (task, wait) => usual(task, wait > 1000 ? wait / 4 : wait);
}"""


def test_the_play_goes_on_by_itself_and_stops_at_any_stage(open_page):
    with open_page(f"{OPEN}&explorer.stage=1") as page:
        stage = part(page, ".pass .heading")
        page.get_by_label("2×").check()
        page.evaluate(QUICK)
        press(page, "Play")
        expect(stage).to_contain_text("3. ", timeout=20_000)
        press(page, "Pause")
        held = stage.inner_text()
        page.wait_for_timeout(2000)
        expect(stage, "it goes on after Pause").to_have_text(held)
        go_to(page, f"{FREE}&explorer.head=4.3&explorer.stage=9")
        for name, number in (("Back", 8), ("Next", 9), ("Next", 10)):
            press(page, name)
            expect(stage).to_contain_text(f"{number}. ")
        expect(part(page, ".pass .line").first).to_contain_text("dog")


def test_ten_findings_follow_each_other(open_page):
    """Each asks for the switch, and then tells what the panel tells."""
    with open_page(PAGE) as page:
        page.get_by_text("Ten findings").click()
        cards, found = part(page, ".gallery button"), part(page, ".finding")
        following, place = found.locator(".following"), None
        cards.first.click()
        for number in range(10):
            title = cards.nth(number).locator("b").inner_text()
            expect(found).to_contain_text(title.replace("\n", " "))
            expect(part(page, ".gallery .done")).to_have_count(number)
            if place is not None:
                now = following.evaluate(TOP)
                assert now == pytest.approx(place, abs=3), "Next moves from under the pointer"
            if (switch := found.locator(".main")).count():
                switch.click()
            else:
                for box in page.get_by_label("Switch off").all():
                    box.check()
            expect(part(page, ".arcs.former path").first).to_be_visible()
            now = part(page, ".verdict .share").nth(1)
            expect(now).not_to_have_text("?")
            expect(found).to_contain_text(now.inner_text())
            place = following.evaluate(TOP)
            following.click()
        expect(page.get_by_role("button", name="Begin"), "the game").to_be_in_viewport()


def test_a_finding_of_two_heads_one_of_another_head_and_back_to_the_readers_text(open_page):
    """Each names no other head than the panel."""
    with open_page(PAGE) as page:
        field(page).fill("The duck")
        expect(page.locator(WORD)).not_to_have_count(10)
        page.get_by_text("Ten findings").click()
        press(page, "Two heads for one name", exact=False)
        found = part(page, ".finding")
        for head, share in (("1.1", "72\u202f%"), ("2.4", "1.3\u202f%")):
            expect(found).not_to_contain_text(share)
            switch_of(page, head).check()
            expect(found).to_contain_text(share)
        expect(found, "that was one head").not_to_contain_text("72\u202f%")
        part(page, ".gallery button").first.click()
        page.locator(HEAD).nth(BEFORE).click()
        expect(found).to_contain_text("about head 4.3; you are looking at head 2.4")
        expect(switch_of(page, "2.4")).to_have_count(1)
        press(page, "Back to head 4.3")
        press(page, "Next finding")
        expect(found, "one that hasn't been tried").to_contain_text("A cat for the dog.")
        page.get_by_role("button", name="Back to your text").first.click()
        expect(field(page)).to_have_value("The duck")
        expect(found).to_have_count(0)


@SIZES
def test_the_game_has_three_rounds_each_in_one_view_and_a_result_to_copy(open_page, size):
    """The first is won, and the head that misleads in the others is taken."""
    with open_page(PAGE, permissions=["clipboard-read", "clipboard-write"]) as page:
        resize(page, size)
        page.get_by_text("Find the head:").click()
        panel, switch = part(page, ".game"), page.get_by_label("Switch off")
        reply, told = panel.locator(".main"), panel.locator("[role=status]")
        misled = {1: ["100 of 100"], 2: ["4.2", "86", "2.1"], 3: ["4.3", "+1.2", "90", "1.1"]}
        press(page, "Begin")
        page.locator(HEAD).nth(LAST).click()
        field(page).fill("The duck")
        expect(switch, "the game takes no switch from another text").to_have_count(1)
        press(page, "Stop the game")
        expect(panel).to_have_count(0)
        for number, head in ((1, LAST), (2, 13), (3, COPYIST)):
            press(page, "Begin" if number == 1 else f"Round {number}")
            expect(reply, "a head comes first").to_have_attribute("aria-disabled", "true")
            for hidden in (switch, part(page, ".tiles .cell")):
                expect(hidden, "that would give it away").to_have_count(0)
            pushes = part(page, ".tiles .push").all_inner_texts()
            assert any(push.strip() for push in pushes) == (number == 3), "pushes in round 3 alone"
            for seen in (page.locator(HEAD).first, page.locator(HEAD).nth(LAST), panel):
                expect(seen).to_be_in_viewport(ratio=1)
            page.locator(HEAD).nth(head).click()
            box = reply.bounding_box()
            reply.click()
            expect(told.first).to_contain_text(f"Round {number}: ")
            assert all(text in told.first.inner_text() for text in misled[number])
            expect(panel).to_be_in_viewport(ratio=1)
            now = panel.bounding_box()
            assert now["y"] < box["y"] < now["y"] + now["height"], "the outcome is at the press"
        press(page, "Copy the result")
        expect(told.last).to_have_text("Copied.")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert re.match(r"Find the head: 🟩⬛⬛ 1\d\d of 300\nhttp://", copied)
        press(page, "A text of my own")
        expect(field(page)).to_be_focused()


LATE = STATES["explorer"]["goals"]["late"]
COPIED = "explorer.model=two-layers&explorer.text=quick+frog"
REFUSED = {  # states that look like the goal's, and don't meet it
    "a temperature": ("late", LATE + "&explorer.temperature=0.2"),
    "an example": ("one-head-off", "explorer.off=4.3"),
    "a finding": ("one-head-off", "explorer.off=1.1&explorer.text=" + quote(findings.FISHER)),
    "a beginning": ("one-head-off", "explorer.off=4.3&explorer.text=" + quote(BEGINNING)),
    "the letter before": ("copied", f"{COPIED}og&explorer.head=2.2"),
    "typing alone": ("copied", f"{COPIED},quick+frog"),
}  # fmt: skip


def test_a_goal_is_met_by_no_other_means(open_page):
    with open_page(PAGE) as page:
        for name, (goal, query) in REFUSED.items():
            set_as_reader(page, query)
            expect(part(page, "[aria-busy=true]")).to_have_count(0)
            drawn(page)
            assert "met" not in page.locator(f"#goal-{goal}").get_attribute("class").split(), name
