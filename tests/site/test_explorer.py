"""The explorer in a browser: what it shows is PyTorch's, and what fails is told in words.

A page load takes longer than what is looked at in it, so a test opens the page once and tells one
story; ``go_to`` leads to another state in place.
"""

import re
from functools import cache
from urllib.parse import quote

import pytest
import torch
from playwright.sync_api import expect

from course.payloads import findings, tracing
from course.payloads.explorer import MODELS
from models import weights
from models.storyteller.tokens import Tokenizer
from tests.conftest import ROOT
from tests.site.geometry import assert_legible
from tests.site.gestures import answer, go_to, set_as_reader
from tests.site.settling import drawn
from tests.site.shades import SHADE_STEP, SHADES
from tests.widgets.states_explorer import FREE, OPEN, STATES, WEIGHT
from tests.widgets.truth_explorer import asked, ids_of

PAGE = "explorer.html"
FILE = f"models/{MODELS[0]['file']}"
OPENING = MODELS[0]["examples"][0][0]
SIZES = [(1280, 800), (390, 844)]
WORD = "#explorer .tokens button"
HEAD = "#explorer .tiles button"
ARC = "#explorer .arcs path"
GUIDE = "#explorer .guide [role=status]"
PROBLEM = "#explorer .status.problem"
ACCOUNT = "#explorer .ending details:last-of-type > summary"
SIXTEEN = "The arcs of all 16 heads"


def press(page, name, exact=True):
    page.get_by_role("button", name=name, exact=exact).click()


def part(page, selector):
    return page.locator(f"#explorer {selector}")


def field(page):
    return part(page, "textarea")


def resize(page, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})


def percent(text):
    """A share as it is written, and how far it may be off."""
    if text.startswith(("<", "99+")):
        return (0.0, 0.001) if text.startswith("<") else (1.0, 0.005)
    digits = len(text.removesuffix("\u202f%").partition(".")[2])
    return float(text.removesuffix("\u202f%")) / 100, 0.51 * 10**-digits / 100


def assert_shares(shown, wanted):
    for text, want in zip(shown, wanted, strict=True):
        share, slack = percent(text)
        assert share == pytest.approx(want, abs=slack + 1e-4)


# ---- Numbers -------------------------------------------------------------------------------------


@cache
def storyteller():
    return weights.load(ROOT / FILE).double()


@torch.no_grad()
def run_of(text, off=()):
    return storyteller()(torch.tensor([ids_of(storyteller(), "storyteller", text)]), off=off)


@torch.no_grad()
def test_what_is_shown_of_a_typed_text_is_pytorchs(open_page):
    """Weights, guesses at every stage and loss, with a head off.

    tests/widgets/test_explorer.py compares the readings of all models.
    """
    index, entry = next((i, one) for i, one in enumerate(MODELS) if one["name"] == "masked")
    model, text = weights.load(ROOT / "models" / entry["file"]).double(), "the dog [mask] tired"
    ids = ids_of(model, entry["kind"], text)
    with open_page(OPEN) as page:
        drawn(page)
        page.get_by_text("Another model, examples").click()
        part(page, "select").first.select_option(index=index)
        field(page).fill(text)
        expect(page.locator(WORD)).to_have_count(len(ids))
        page.locator(HEAD).nth(1).click()
        page.locator(WORD).nth(2).click()
        page.locator(WEIGHT).click()
        page.locator(ACCOUNT).click()
        page.get_by_text("Layer by layer").click()
        expect(part(page, ".sums .step").first).to_be_visible()
        page.get_by_label("Switch off").check()
        expect(part(page, ".tiles .off")).to_have_count(1)
        drawn(page)
        run = model(torch.tensor([ids]), off=((0, 1),))
        assert_maps(page, run)
        shares = run.logits[0, 2].softmax(-1).topk(5).values.tolist()
        assert_shares(part(page, ".bars .share").all_inner_texts(), shares)
        assert_lens(page, model, run)
        loss = part(page, ".came").last.locator("b").nth(-2).inner_text()
        assert float(loss) == pytest.approx(mean_loss(model, run, ids), abs=0.0051)


def assert_maps(page, run):
    shades = part(page, ".stages").evaluate(SHADES)
    maps = [head for layer in run.weights for head in layer[0]]
    for seen, exact in zip(shades, maps, strict=True):
        seen = torch.tensor(seen, dtype=torch.double)
        torch.testing.assert_close(seen, exact, rtol=0, atol=0.51 * SHADE_STEP + 1e-4)


def assert_lens(page, model, run):
    for stage, rows in enumerate(run.residual):
        logits = model.norm(rows[0, 2]) @ model.embedding.T + model.unembedding_bias
        guesses = part(page, ".lens").nth(stage).locator(".guess span:last-child")
        assert_shares(guesses.all_inner_texts(), logits.softmax(-1).topk(3).values.tolist())


def mean_loss(model, run, ids):
    shift = int(model.config.is_causal)
    told = [i for i in range(len(ids) - shift) if model.config.vocabulary[ids[i]] != "[mask]"]
    chances = asked(model, run, ids, ((0, 1),)).log_softmax(-1)
    return -sum(chances[i, ids[i + shift]].item() for i in told) / len(told)


def test_every_number_of_a_weight_can_be_followed(open_page):
    with open_page(OPEN) as page:
        page.locator(WEIGHT).click()
        part(page, ".sums summary").last.click()
        rows = part(page, "table.numbers").last.locator("tbody tr")
        expect(rows).to_have_count(32)
        texts = rows.locator("td:nth-of-type(3)").all_inner_texts()
        products = [float(text.replace("−", "-")) for text in texts]
        told = part(page, ".sums .line").first.inner_text()
        added_up = float(re.search(r"added up ([\d.]+)", told)[1])
        assert added_up == pytest.approx(sum(products), abs=0.1)
        three = float(re.search(r"three largest of the \d+ products make ([\d.]+)\.", told)[1])
        assert three == pytest.approx(sum(sorted(products)[-3:]), abs=0.01)
        expect(part(page, ".looks [aria-checked=true]")).to_contain_text("dog")
        part(page, ".looks button").nth(1).click()
        expect(page.locator(WEIGHT)).to_contain_text("came to give boy")

        page.get_by_text("Layer by layer").click()
        strips = part(page, ".stages number-strip")
        expect(strips, "strips are drawn only when asked for").to_have_count(0)
        page.get_by_text("The numbers of the stream").click()
        expect(strips).to_have_count(9)


@torch.no_grad()
def push_of_the_copyist():
    """What head 4.3 adds to the guess's score, and by how much that multiplies its odds.

    The odds are against the (geometric) average of all tokens.
    """
    model = storyteller()
    found = tracing.trace(model, ids_of(model, "storyteller", OPENING))
    run, size = found["run"], found["size"]
    end = run.residual[-1][0, -1]
    out = model.layers[3].attention.out_proj.weight[:, 2 * size : 3 * size]
    adds = out @ found["mixed"][3][2][-1]
    scale = (end.var(correction=0) + model.norm.eps).sqrt()
    added = (model.embedding * model.norm.weight) @ (adds - adds.mean()) / scale
    logits = run.logits[0, -1]
    guess = logits.argmax()
    whole, without = (
        some.log_softmax(-1)[guess] - some.log_softmax(-1).mean()
        for some in (logits, logits - added)
    )
    return (added[guess] - added.mean()).item(), (whole - without).exp().item()


def test_pushes_are_told_when_asked_for_and_are_worth_what_the_page_says(open_page):
    with open_page(PAGE) as page:
        go_to(page, f"{FREE}&explorer.head=4.3&explorer.off=4.3")
        pushes, told = part(page, ".tiles .push"), part(page, ".itself")
        expect(part(page, ".verdict")).to_contain_text("without head 4.3")
        expect(pushes).to_have_count(0)
        expect(told).to_have_count(0)
        page.get_by_text("Push: what each head adds itself").click()
        expect(told).to_contain_text("dog: +3.4.")
        expect(told, "the last layer has no later ones").not_to_contain_text("later layers")
        expect(pushes, "the one that is off has none").to_have_count(15)
        folds = part(page, ".folds")
        expect(folds).to_contain_text("what it adds itself to the score of the guess dog")
        page.get_by_label("Switch off").uncheck()
        push, times = push_of_the_copyist()
        says = f"and so +{push:.2f}, the push of 4.3, by about {times:.0f}."
        expect(folds).to_contain_text(says)

        other = f"{FREE}&explorer.head=3.4&explorer.off=3.4&explorer.text={quote(findings.PETER)}"
        set_as_reader(page, other)
        for says in ("+0.3", "later layers", "the other way"):
            expect(told).to_contain_text(says)

        text = quote(MODELS[0]["examples"][5][0])
        go_to(page, f"{FREE}&explorer.head=4.3&explorer.text={text}")
        tops = part(page, ".tops")
        expect(tops).to_contain_text(re.compile(r"by itself:\s+cat\s+\+2\.7,\s+dog\s+\+2\.3"))
        page.locator(HEAD).first.click()
        expect(tops).to_contain_text("; that of the guess dog:")


def test_a_later_head_that_loses_its_aim_is_told(open_page):
    """As PyTorch has it: of all later heads the weight that falls most."""
    before, now = (
        torch.stack([layer[0, :, -1] for layer in run_of(OPENING, off).weights])[2:]
        for off in ((), ((1, 3),))
    )
    falls = before - now
    layer, number, to = (int(i) for i in torch.unravel_index(falls.argmax(), falls.shape))
    assert (layer, number, to) == (1, 2, 5)
    with open_page(f"{PAGE}?{FREE}&explorer.off=2.4&explorer.head=2.4") as page:
        told = part(page, ".itself").first
        expect(told).to_contain_text("Without it head 4.3 looks at dog with ")
        shown = re.findall(r"[\d.]+\u202f%", told.inner_text())
        assert_shares(shown, [rows[layer, number, to].item() for rows in (now, before)])


@torch.no_grad()
def test_the_head_that_an_own_text_needs_most_is_found(open_page):
    """As PyTorch has it: chosen, marked, and told with the share before and after."""
    text = "The little mouse ran to the red house. The big cat ran to the red"
    guess = run_of(text).logits[0, -1].argmax()
    pairs = [(layer, head) for layer in range(4) for head in range(4)]
    left = [run_of(text, (pair,)).logits[0, -1].softmax(-1)[guess].item() for pair in pairs]
    most = min(range(16), key=left.__getitem__)
    with open_page(f"{PAGE}?{FREE}") as page:
        seek = page.get_by_role("button", name="Find the head that this guess needs most")
        expect(seek, "the page's own text needs no search").to_have_count(0)
        field(page).fill(text)
        seek.click()
        told = part(page, ".own-card")
        expect(told).to_contain_text(f"It needs head {most // 4 + 1}.{most % 4 + 1} most.")
        assert_shares(told.locator(".share").all_inner_texts(), sorted(left)[:4])
        marked = part(page, ".tiles .needed")
        expect(marked).to_have_attribute("data-head", str(most))
        expect(marked).to_have_attribute("aria-checked", "true")
        expect(part(page, ".legend"), "the house is in pieces").to_contain_text("a word is cut")
        press(page, "Switch head 1.1 off")
        expect(part(page, ".reached")).to_contain_text("another word becomes the first")
        expect(told).to_contain_text(re.compile(r"head 1\.1\s+house falls from"))
        assert_shares(re.findall(r"to ([\d.]+\u202f%);", told.inner_text()), [min(left)])

        field(page).fill("The king had a golden ring. The queen wanted the golden")
        expect(told).to_contain_text("An unsure guess")
        seek.click()
        expect(told.locator(".round")).to_be_visible()
        measured = told.locator(".round .own .share").inner_text()
        shown = part(page, ".verdict .share").nth(1)
        expect(shown, "what was measured is filled in").to_have_text(measured)


@torch.no_grad()
def test_as_many_arcs_are_drawn_as_there_are_weights(open_page):
    """Of all heads those of 8 % and more, of one head nearly all."""
    rows = torch.cat([layer[0] for layer in run_of(OPENING).weights])
    of_one = int((rows[14, 9] >= 0.005).sum())
    with open_page(f"{PAGE}?{FREE}") as page:
        arcs, legend = page.locator(ARC), part(page, ".legend")
        for at in (9, 5):
            page.locator(WORD).nth(at).hover()
            expect(arcs).to_have_count(int((rows[:, at] >= 0.08).sum()))
        page.locator(HEAD).nth(7).hover()
        expect(legend).to_contain_text("head 2.4, under the pointer")
        expect(legend.locator("span", has_text=SIXTEEN)).to_be_hidden()
        page.locator(HEAD).nth(14).hover()
        expect(arcs).to_have_count(of_one)
        field(page).hover()
        expect(legend.locator("span", has_text=SIXTEEN)).to_be_visible()
        page.locator(HEAD).nth(14).click()
        field(page).hover()
        expect(arcs).to_have_count(of_one)


# ---- The tour ------------------------------------------------------------------------------------

BEFORE_THE_PICTURE = """() =>
  [...document.querySelectorAll("#explorer :is(button, textarea, summary)")]
  .filter((e) => e.checkVisibility() && e.compareDocumentPosition(
    document.querySelector("#explorer .text")) & Node.DOCUMENT_POSITION_FOLLOWING).length"""
IS_CLEAR = """() => document.querySelector("#explorer .guide").getBoundingClientRect().top
  >= document.querySelector("#explorer .tokens").getBoundingClientRect().bottom - 1"""
SHADE = "e => +e.style.getPropertyValue('--weight')"
TOP = "e => e.getBoundingClientRect().top"
HAS_STOPPED = "() => new Promise((done, y = scrollY) => setTimeout(() => done(scrollY === y), 100))"
TRACK = "e => [e.offsetLeft, e.offsetWidth]"


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_tour_leads_in_five_presses_to_what_a_head_does(open_page, size):
    """One thing to do at a time; the card that says so stays in view."""

    def assert_in_view(target):
        for seen in (target, part(page, ".guide")):
            expect(seen).to_be_in_viewport(ratio=1)
        assert page.evaluate(IS_CLEAR), "the sentence covers the card"
        pushes = re.compile("push", re.I)
        expect(part(page, ".widget-stage")).not_to_contain_text(pushes)

    with open_page(PAGE, width=size[0]) as page:
        resize(page, size)
        told, legend = page.locator(GUIDE), part(page, ".legend")
        peeked, dog = part(page, ".peeked"), page.locator(WORD).nth(5)
        assert page.evaluate(BEFORE_THE_PICTURE) == 3, "controls before the picture"
        expect(part(page, ".tiles .try"), "the head of the arc").to_have_text("4.3")
        expect(legend).to_contain_text("4.3 looks most: head 3 of layer 4")
        expect(page.locator(ARC)).to_have_count(1)
        assert dog.evaluate(SHADE) > 0.5
        page.locator(WORD).nth(1).hover()
        expect(peeked).to_have_text("Where head 4.3 looks from boy.")
        assert dog.evaluate(SHADE) == 0, "a word that isn't looked at stays shaded"

        press(page, "Go on with this text")
        expect(told).to_contain_text("Press a word, best big, the last one")
        expect(part(page, ".tokens .try")).to_have_text("big")
        page.locator(WORD).nth(1).hover()
        expect(peeked).to_have_text(f"{SIXTEEN} from boy.")
        field(page).hover()
        expect(peeked).to_have_text("")
        assert dog.evaluate(SHADE) > 0.5

        page.locator(WORD).last.click()
        expect(told).to_contain_text("Try 4.3")
        expect(part(page, ".arcs.all .best")).not_to_have_count(0)
        expect(legend).to_contain_text("by layer")
        assert_in_view(part(page, ".tiles .try"))
        squares = part(page, ".tiles .square")
        page.wait_for_function(HAS_STOPPED)
        place = squares.nth(14).evaluate(TOP)
        squares.nth(14).click()
        switch = page.get_by_role("button", name="Switch head 4.3 off")
        expect(switch).to_be_visible()
        assert_in_view(switch)
        page.wait_for_function(HAS_STOPPED)
        now = squares.nth(14).evaluate(TOP)
        assert now == pytest.approx(place, abs=2), "the pressed head moves"
        page.locator(HEAD).nth(7).hover()
        expect(legend, "also after the page scrolled by itself").to_contain_text("head 2.4, under")
        expect(told).to_contain_text("from big at dog, 59")
        expect(told).to_contain_text("What will the model guess without it?")

        bars = part(page, ".row .bar")
        track = bars.first.evaluate(TRACK)
        switch.click()
        expect(told).to_be_focused()
        falls = "dog falls from 47 % to 4.4 %; first is now b, with 7.4 %"
        expect(told).to_contain_text(falls)
        expect(told).to_contain_text("what came after big last time, and copies")
        expect(told).to_contain_text("This is how you find out what a head does")
        expect(part(page, ".arcs.former path")).not_to_have_count(0)
        expect(bars).to_have_count(3)
        if size == SIZES[0]:  # on a phone there is no room for them before
            assert bars.first.evaluate(TRACK) == track, "the bars move"
        assert all(bar.bounding_box()["width"] > 100 for bar in bars.all())
        expect(squares.nth(14)).to_contain_text("off")
        tops = [squares.nth(i).evaluate(TOP) for i in (14, 15)]
        assert tops[0] == pytest.approx(tops[1]), "a head that is off is higher than its neighbour"

        press(page, "All heads on")
        expect(told).to_contain_text("All heads are on again: dog has 47 %.")
        page.locator(HEAD).nth(15).click()
        page.get_by_label("Switch off head 4.4").check()
        expect(told).to_contain_text("So this guess hardly needs it.")
        press(page, "Try head 4.3")
        expect(told).to_contain_text("Without head 4.3, dog falls")
        press(page, "All heads on")
        page.locator(HEAD).nth(7).click()
        page.get_by_label("Switch off head 2.4").check()
        expect(told).to_contain_text("Without head 2.4, dog falls")
        expect(page.get_by_role("button", name="Explore freely")).to_be_visible()
        press(page, "Find the head")
        expect(part(page, ".guide")).to_have_count(0)
        expect(page.get_by_role("button", name="Begin")).to_be_in_viewport()


def test_the_tour_goes_on_with_a_text_of_the_readers(open_page):
    with open_page(f"{PAGE}?explorer.guide=5&explorer.off=4.3&explorer.head=4.3") as page:
        told = page.locator(GUIDE)
        expect(told).to_contain_text("copies it")
        field(page).fill("Tom had a black cat. One night the black")
        expect(told, "a new text begins without a switch").to_contain_text("All heads are on")
        page.get_by_label("Switch off head 4.3").check()
        expect(told).to_contain_text("Without head 4.3, c")
        expect(told, "that is said only of its own text").not_to_contain_text("copies it")

        go_to(page, "")
        field(page).fill("Alice met the Queen. Then Alice met the")
        expect(told).to_contain_text("the first guess has only 6.7")
        press(page, "Take that text")
        expect(field(page)).to_have_value(MODELS[0]["examples"][1][0])
        expect(told).to_contain_text("Press a word, best black")

        field(page).fill("I have a dog. My dog is brown. My")
        expect(page.locator(WORD).last).to_have_text("y")
        page.locator(WORD).last.click()
        press(page, "Find the head that this guess needs most")
        expect(page.get_by_role("button", name="Switch head 4.3 off")).to_be_focused()


# ---- Heads on and off ----------------------------------------------------------------------------

BOXES = """() => [".tokens", ".verdict", ".verdict input"]
  .map((name) => document.querySelector("#explorer " + name).getBoundingClientRect())
  .map(({top, bottom}) => [top, bottom])"""


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_head_is_switched_off_and_its_effect_seen_on_one_screen(open_page, size):
    """Before and after, as PyTorch has them; the live sentence tells them, too."""
    with open_page(OPEN, width=size[0]) as page:
        resize(page, size)
        rows = part(page, ".verdict .share")
        expect(rows).to_have_text(["47 %", "?"])
        page.get_by_label("Switch off").check()
        expect(rows).to_have_text(["47 %", "4.4 %", "7.4 %"])
        first = part(page, ".bars li").first
        expect(first).to_have_text(re.compile(r"^\s*b\s+7\.4\s%"))
        told = "With all heads on, dog had 47 %; now 4.4 %."
        expect(part(page, ".sentence")).to_contain_text(told)
        part(page, ".tokens").evaluate("(e) => e.scrollIntoView({block: 'center'})")
        boxes = page.evaluate(BOXES)
        assert all(0 <= top < bottom <= size[1] for top, bottom in boxes), boxes
        press(page, "All heads on")
        expect(rows).to_have_text(["47 %", "?"])


def test_all_at_once_names_one_head_everywhere(open_page):
    """Also while the play is open, which begins with the head that was chosen."""
    with open_page(f"{PAGE}?{FREE}&explorer.head=3.4&explorer.stage=4") as page:
        told, legend = part(page, ".pass .told"), part(page, ".legend")
        expect(told).to_contain_text("scores in head 3.4")
        press(page, "Arcs of all heads")
        expect(part(page, ".arcs")).to_have_class(re.compile(r"\ball\b"))
        expect(legend).to_contain_text(SIXTEEN)
        expect(told).to_contain_text("scores in head 4.3")
        expect(part(page, ".outcome")).to_contain_text("without head 4.3")
        expect(page.get_by_label("Switch off head 4.3")).to_have_count(1)
        page.get_by_text("Watch the model compute").click()
        page.get_by_text("Watch the model compute").click()
        expect(legend).to_contain_text("The arcs of head 4.3:")

        go_to(page, f"{FREE}&explorer.head=4.2")
        for width, key, head in ((1280, "Down", 15), (390, "Up", 9)):
            resize(page, (width, 900))
            page.locator(HEAD).nth(13).click()
            page.keyboard.press(f"Arrow{key}")
            chosen = part(page, f".tiles [data-head='{head}']")
            expect(chosen, "arrows go by a row").to_have_attribute("aria-checked", "true")
            expect(chosen).to_be_focused()

        page.get_by_text("Another model").click()
        press(page, "Reset")
        expect(part(page, ".guide"), "Reset goes to the top").to_be_in_viewport()


# ---- The text ------------------------------------------------------------------------------------

LEFTS = "(all) => all.map((word) => word.getBoundingClientRect().left)"
LOADED = re.compile(r"explorer/(worker|reader|vocabulary)\.js|lib/transformer\.js|safetensors$")


def test_the_first_touch_fetches_the_model_and_moves_no_word(open_page):
    with open_page(PAGE, live=False) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.reload()
        page.wait_for_selector("#explorer .sentence", state="attached")
        page.evaluate("document.fonts.ready.then(() => {})")
        page.wait_for_timeout(500)
        assert not [url for url in asked if LOADED.search(url)]
        words = page.locator(WORD)
        before = words.evaluate_all(LEFTS)
        with page.expect_response(lambda response: FILE in response.url):
            words.nth(3).click()
        expect(words.nth(3)).to_have_attribute("aria-checked", "true")
        assert words.evaluate_all(LEFTS) == pytest.approx(before, abs=0.1)
        part(page, ".guide .skip").click()
        page.locator(HEAD).first.click()
        page.locator(WEIGHT).click()
        expect(part(page, ".sums .step").first).to_be_visible()


BYTES = {  # where a text is typed, and where its tokens are
    PAGE: ("#explorer textarea", WORD),
    "index.html": (".story textarea", ".story .tokens [role=radio]"),
    "modules/start/lesson.html": ("#ground-floor textarea", "#ground-floor .chips button"),
}


@pytest.mark.parametrize("path", BYTES)
def test_a_part_of_a_letter_is_written_as_its_byte(open_page, path):
    """Python's own bytes of the sign; the last token, with which it is whole, shows it."""
    typed, tokens = BYTES[path]
    *parts, _ = "🐇".encode()
    with open_page(path) as page:
        page.locator(typed).fill("a 🐇 ran")
        small = page.locator(f"{tokens} .byte")
        expect(small).to_have_text([f"byte {byte:02X}" for byte in parts])
        assert all("part of a character" in one.get_attribute("title") for one in small.all())
        assert page.locator(tokens).filter(has_text="🐇").count() == 1
        page.locator(tokens).filter(has_text="byte 9F").click()
        shown = page.locator(tokens.split()[0])
        expect(shown).to_contain_text("byte 9F")
        assert "\ufffd" not in shown.text_content()


BAND = """() => document.querySelector("#explorer .tokens").getBoundingClientRect().top
  - document.querySelector("#explorer .text").getBoundingClientRect().top"""
GROUNDS = "all => all.map((e) => getComputedStyle(e).backgroundColor)"


def test_any_text_is_read(open_page):
    with open_page(PAGE) as page:
        problem, words = page.locator(PROBLEM), page.locator(WORD)
        field(page).fill("")
        expect(problem).to_contain_text("There is no text yet")
        expect(words, "the last text that was read stays").to_have_count(10)
        field(page).fill("<b>A</b> &amp; ${x}")
        expect(words.last).to_have_text("}")
        assert part(page, ".tokens :is(img, b)").count() == 0, "markup is text"
        expect(problem).to_have_count(0)

        field(page).fill("The duck")
        field(page).press("Enter")
        expect(field(page), "Enter ends a text").to_have_value("The duck")
        field(page).press("Shift+Enter")
        expect(field(page), "with Shift it breaks the line").to_have_value("The duck\n")

        go_to(page, FREE)
        high = page.evaluate(BAND)
        field(page).fill(findings.TURTLE)
        expect(part(page, ".text[data-wrapped]")).to_have_count(1)
        assert page.evaluate(BAND) < 70 < high, "a wrapped text has an empty band"
        grounds = words.evaluate_all(GROUNDS)
        assert not [ground for ground in grounds if re.search(r"[,/] 0\)$", ground)], "see-through"


@pytest.mark.parametrize("text", ["the duck swam and " * 500, "<img src=x onerror=alert(1)> " * 60])
def test_of_a_long_text_the_oldest_words_go_without_an_error(open_page, text):
    ids = Tokenizer(storyteller().config.vocabulary).encode(text.rstrip(" "))
    with open_page(PAGE) as page:
        field(page).fill(text)
        says = f"The model reads 256 tokens at most: the oldest {len(ids) - 256} went."
        expect(part(page, ".legend")).to_contain_text(says, timeout=20_000)
        expect(page.locator(WORD)).to_have_count(256)
        expect(page.locator(PROBLEM)).to_have_count(0)
        assert_legible(page, "#explorer")


def test_guesses_are_appended_drawn_and_taken_back(open_page):
    begun = findings.BEGINNINGS[0]
    with open_page(PAGE) as page:
        text, stops = field(page), page.get_by_role("button", name="Stop")
        goes_on = page.get_by_role("button", name="Continue")
        part(page, ".ghost").click()
        expect(text, "the guess in the sentence is pressed").to_have_value(f"{OPENING} dog")
        go_to(page, FREE)
        part(page, ".bars button").first.click()
        expect(text).to_have_value(f"{OPENING} dog")
        expect(page.locator(WORD)).to_have_count(11)
        goes_on.click()
        draw = part(page, ".draw")
        expect(draw.locator(".note")).to_have_text(re.compile(r"Drawn: 0\.\d\d of 1"))
        expect(page.locator(WORD).nth(14)).to_be_attached(timeout=20_000)
        stops.click()
        expect(goes_on).to_be_visible()
        page.wait_for_timeout(500)
        held = text.input_value()
        page.wait_for_timeout(500)
        assert text.input_value() == held, "it goes on after Stop"

        text.fill("The duck and the")
        expect(draw, "another text keeps no draw").to_have_count(0)
        press(page, begun)
        expect(text).to_have_value(begun)
        goes_on.click()
        told = "drawn at random from the 5 likeliest"
        expect(part(page, ".beginnings")).to_contain_text(told)
        expect(text).not_to_have_value(begun)
        press(page, "Undo")
        expect(text).to_have_value(begun)
        expect(goes_on).to_be_visible()
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_the_sentence_is_saved_as_a_picture(open_page):
    with open_page(PAGE) as page:
        part(page, "> .widget-save summary").click()
        for kind, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
            with page.expect_download() as download:
                press(page, f"Sentence, {kind}")
            data = download.value.path().read_bytes()
            assert download.value.suggested_filename == f"storyteller-all-heads.{kind.lower()}"
            assert data.startswith(begins)
            assert kind == "PNG" or b">dog</text>" in data


def test_the_drawing_fits_a_wide_window_and_a_stuck_text_is_low(open_page):
    with open_page(OPEN, width=1920) as page:
        assert_legible(page, "#explorer")
        assert page.locator("#explorer").bounding_box()["width"] > 1400
        resize(page, (1280, 900))
        text = part(page, ".text")
        expect(text).not_to_have_attribute("data-stuck", "")
        page.evaluate("scrollTo(0, 700)")
        expect(text).to_have_attribute("data-stuck", "")
        assert page.locator(ARC).nth(0).bounding_box()["y"] >= -1
        box = text.bounding_box()
        assert box["y"] + box["height"] < 130, "it covers too much"
        page.evaluate("scrollTo(0, 0)")
        expect(text).not_to_have_attribute("data-stuck", "")


STYLE = """(svg) => [...svg.querySelectorAll("path")].map((path) => {
  const {stroke, strokeLinecap, strokeWidth} = getComputedStyle(path);
  return [stroke, strokeLinecap, strokeWidth, 1 + 8 * path.style.getPropertyValue("--weight")];
})"""
ENDS = """(svg) => [".key", ".query"]
  .map((name) => getComputedStyle(svg.querySelector(name)).stopColor)"""
TOKENS = """() => ["key", "query"].map((name) => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(--color-${name})`;
  return getComputedStyle(probe).color;
})"""


@pytest.mark.parametrize(
    ("path", "drawing"),
    [
        (PAGE, "#explorer .arcs"), ("index.html", ".story .arcs"),
        ("modules/m02_query_key_value/lesson.html", ".token-focus .arrows svg"),
    ],
)  # fmt: skip
def test_arcs_look_the_same_everywhere(open_page, path, drawing):
    """From the key's colour to the query's, with round ends, 1 px and 8 for the whole weight."""
    with open_page(path) as page:
        svg = page.locator(drawing).first
        svg.scroll_into_view_if_needed()
        page.wait_for_function("(name) => document.querySelector(`${name} path`)", arg=drawing)
        for stroke, cap, width, want in svg.evaluate(STYLE):
            assert re.match(r'url\("#(arc|focus)-[\w-]+"\)', stroke)
            assert cap == "round"
            assert float(width.removesuffix("px")) == pytest.approx(want, abs=0.01)
        assert svg.evaluate(ENDS) == page.evaluate(TOKENS)


# ---- What fails ----------------------------------------------------------------------------------

OTHER_MODEL = (ROOT / "models" / MODELS[1]["file"]).read_bytes()
# tests/site/test_story.py has the failures that the same script tells there.
FAILURES = {
    "missing": (answer(status=404), "the site answers 404"),
    "another model": (answer(body=OTHER_MODEL), "holds another model"),
    "no script": (
        lambda page: page.route("**/explorer/worker.js", lambda route: route.abort()),
        "its script is missing, or failed",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_without_its_model_the_opening_stays_and_a_sentence_says_why(visit, served, name):
    prepare, says = FAILURES[name]
    with visit(served, fresh=True) as (page, _):
        prepare(page)
        page.goto(served + PAGE)
        field(page).fill("A cat")
        expect(page.locator(PROBLEM)).to_contain_text(says)
        expect(page.locator(WORD)).to_have_count(10)
        page.get_by_text("Another model, examples").click()
        press(page, "Reset")
        expect(page.locator(PROBLEM)).to_have_count(0)
        part(page, ".guide .skip").click()
        page.locator(HEAD).first.click()
        page.locator(WEIGHT).click()
        expect(part(page, ".sums")).to_contain_text("could not be loaded")


def test_a_touch_asks_again_for_what_could_not_be_fetched(visit, served):
    with visit(served, fresh=True) as (page, _):
        page.context.route(f"**/{FILE}", lambda route: route.abort())
        page.goto(served + PAGE)
        field(page).click()
        field(page).fill("A cat")
        expect(page.locator(PROBLEM)).to_contain_text("could not be loaded")
        page.context.unroute(f"**/{FILE}")
        page.locator(WORD).nth(2).click()
        expect(page.locator(WORD)).to_have_count(2)
        expect(page.locator(PROBLEM)).to_have_count(0)


# ---- The play ------------------------------------------------------------------------------------

STAGE = "#explorer .pass .heading"
ENDS_OF = "all => all.map((e) => e.getBoundingClientRect()).map(({left, right}) => [left, right])"


QUICK = """() => { // a stage takes a fourth of its time
  const usual = globalThis.setTimeout;
  globalThis.setTimeout = (task, wait) => usual(task, wait > 1000 ? wait / 4 : wait);
}"""


def test_the_play_goes_on_by_itself_and_stops_at_any_stage(open_page):
    with open_page(f"{OPEN}&explorer.stage=1") as page:
        stage = page.locator(STAGE)
        expect(stage).to_have_text("1. Words")
        page.get_by_label("2×").check()
        page.evaluate(QUICK)
        press(page, "Play")
        expect(stage).to_have_text("3. Queries, keys, values", timeout=20_000)
        press(page, "Pause")
        held = stage.inner_text()
        page.wait_for_timeout(2000)
        expect(stage, "it goes on after Pause").to_have_text(held)
        go_to(page, f"{FREE}&explorer.head=4.3&explorer.stage=3")
        press(page, "Back")
        expect(stage).to_have_text("2. Vectors")
        for number in range(3, 11):
            press(page, "Next")
            expect(stage).to_contain_text(f"{number}. ")
        expect(part(page, ".pass .line").first).to_contain_text("dog")
        page.wait_for_url("**explorer.stage=10*")

        press(page, "Back")
        lower, upper = (
            part(page, f".pass {bar} span").evaluate_all(ENDS_OF)
            for bar in (".lowers", ".bar:not(.lowers)")
        )
        zero = upper[0][0]
        assert lower
        for end in [right for _, right in lower] + [left for left, _ in upper]:
            assert end == pytest.approx(zero, abs=1), "a push below zero is drawn to the left"

        page.emulate_media(reduced_motion="reduce")
        go_to(page, f"{FREE}&explorer.head=4.3&explorer.stage=6")
        expect(stage).to_have_text("6. Weights")
        plays = page.get_by_role("button", name="Play")
        expect(plays, "without motion it is stills").to_have_count(0)
        weight = part(page, ".pass .foot .number").nth(5)
        expect(weight).to_have_text(re.compile(r"59\s%"))


PLACES = """() => {
  const middle = (e) => e.getBoundingClientRect().left + e.getBoundingClientRect().width / 2;
  const [last, foot] = [[...document.querySelectorAll("#explorer .map .line.own .squares > *")],
    [...document.querySelectorAll("#explorer .map .foot .squares > *")]];
  return [last.map(middle), foot.map(middle), foot.map((e) => e.textContent)];
}"""


def test_stages_mark_what_they_leave_out_and_name_columns_where_they_are(open_page):
    """Each share stands under its own column; a gap stands wherever tokens are left out."""
    row = run_of(findings.TIN).weights[1][0, 3, -1]
    shown = sorted([*row[:-1].topk(11).indices.tolist(), len(row) - 1])
    gaps = sum(i != before + 1 for before, i in zip([-1, *shown], shown, strict=False))
    query = f"{FREE}&explorer.head=2.4&explorer.text={quote(findings.TIN)}&explorer.stage=6"
    with open_page(f"{PAGE}?{query}") as page:
        for size in SIZES:
            resize(page, size)
            drawn(page)
            expect(part(page, ".map .line.gap")).to_have_count(gaps)
            cells, foot, texts = page.evaluate(PLACES)
            assert foot == pytest.approx(cells, abs=0.6), size
            shares = [text for text in texts if text != "…"]
            assert len(shares) == 12 == len(texts) - gaps
            assert_shares(shares, row[shown].tolist())
        for _ in range(3):
            press(page, "Back")
        expect(part(page, ".pass .told")).to_contain_text("the layer before it")


# ---- Findings ------------------------------------------------------------------------------------


def test_ten_findings_follow_each_other(open_page):
    """Each shows arcs, asks for the switch, and then tells what the panel tells."""
    with open_page(PAGE) as page:
        page.get_by_text("Ten findings").click()
        cards = part(page, ".gallery button")
        expect(cards).to_have_count(10)
        found = part(page, ".finding")
        following, place = found.locator(".following"), None
        cards.first.click()
        for number in range(10):
            title = cards.nth(number).locator("b").inner_text()
            expect(found).to_contain_text(title.replace("\n", " "))
            expect(found).to_contain_text(re.compile("What will become|Switch one of them off"))
            if place is not None:
                now = following.evaluate(TOP)
                assert now == pytest.approx(place, abs=3), "Next moves from under the pointer"
            expect(page.locator(ARC).first).to_be_visible()
            expect(part(page, ".gallery .done")).to_have_count(number)
            if (switch := found.locator(".main")).count():
                switch.click()
                expect(switch).to_contain_text(re.compile(r"Switch head \d\.\d on"))
            for box in page.get_by_label("Switch off").all():
                box.check()
            expect(found).not_to_contain_text(re.compile("What will become|Switch one of"))
            expect(part(page, ".arcs.former path").first).to_be_visible()
            expect(found.locator(".piece").first).to_be_visible()
            expect(found).not_to_contain_text("[")
            now = part(page, ".verdict .share").nth(1)
            expect(now).not_to_have_text("?")
            assert now.inner_text() in found.inner_text(), title
            last = "All ten tried: now find the head"
            expect(following).to_have_text("Next finding" if number < 9 else last)
            place = following.evaluate(TOP)
            following.click()
        expect(page.get_by_role("button", name="Begin")).to_be_in_viewport()

        for card in cards.all():
            card.scroll_into_view_if_needed()
            card.click()
            expect(found, "a finding comes into view").to_be_in_viewport()
            expect(part(page, ".gallery [aria-pressed=true]")).to_have_count(1)


def test_a_finding_of_two_heads_and_back_to_the_readers_text(open_page):
    with open_page(PAGE) as page:
        field(page).fill("The duck")
        expect(page.locator(WORD)).not_to_have_count(10)
        page.get_by_text("Ten findings").click()
        press(page, "Two heads for one name", exact=False)
        found = part(page, ".finding")
        expect(found).to_contain_text("both look back at the T")
        expect(found).not_to_contain_text("Without")
        expect(part(page, ".arcs:not(.former) path").first).to_be_visible()
        page.get_by_label("Switch off head 1.1").check()
        expect(found).to_contain_text("Without head 1.1 W has 72 %, not 99 %")
        expect(found).not_to_contain_text("2.4 W")
        expect(found).not_to_contain_text("Without both")
        page.get_by_label("Switch off head 2.4").check()
        expect(found).to_contain_text("Without both W has 1.3 %")
        expect(found).not_to_contain_text("72 %")
        expect(part(page, ".verdict .share").nth(1)).to_have_text(re.compile(r"^1\.\d"))
        expect(part(page, ".arcs.several")).to_have_count(1)
        legend = part(page, ".legend")
        expect(legend).to_contain_text("where they had looked: 1.1 2.4")
        press(page, "Next finding")
        expect(found).to_contain_text("A copyist.")
        page.get_by_role("button", name="Back to your text").first.click()
        expect(field(page)).to_have_value("The duck")
        expect(found).to_have_count(0)


def test_a_finding_names_no_other_head_than_the_panel(open_page):
    """And the next one is one that hasn't been tried."""
    with open_page(PAGE) as page:
        page.get_by_text("Ten findings").click()
        press(page, "A name carried far", exact=False)
        found = part(page, ".finding")
        page.get_by_label("Switch off head 4.3").check()
        expect(found).to_contain_text("Without it T falls")
        part(page, ".gallery button").first.click()
        expect(found).to_contain_text("A copyist.")
        page.locator(HEAD).nth(7).click()
        expect(found).to_contain_text("This is about head 4.3; you are looking at head 2.4.")
        expect(page.get_by_label("Switch off")).to_have_count(1)
        expect(page.get_by_label("Switch off head 2.4")).to_have_count(1)
        press(page, "Back to head 4.3")
        expect(page.get_by_label("Switch off head 4.3")).to_have_count(1)
        expect(found).to_contain_text("What will become of the guess without the head?")
        press(page, "Next finding")
        expect(found).to_contain_text("A cat for the dog.")

        expect(found).to_be_in_viewport()
        arcs, word = part(page, ".arcs"), page.locator(WORD).nth(2)
        before = arcs.inner_html()
        word.dispatch_event("pointerover", {"bubbles": True})  # as browsers do after a scroll
        assert arcs.inner_html() == before, "a word that came under a pointer at rest draws"
        box = word.bounding_box()
        page.mouse.move(box["x"] - 3, box["y"] - 3)
        word.hover()
        assert arcs.inner_html() != before

        page.get_by_text("Find the head:").click()
        lenses = part(page, ".lens")
        for act in (
            lambda: field(page).fill("The duck"),
            lambda: press(page, "One step back", exact=False),
            lambda: press(page, "Begin"),
        ):
            page.get_by_text("Layer by layer").click()
            expect(lenses).to_have_count(5)
            act()
            expect(lenses, "Layer by layer closes for another text").to_have_count(0)


# ---- The game ------------------------------------------------------------------------------------

BETWEEN = """() => {
  const [text, first, last, panel] = [".text", ".tiles button", "[data-head='15']", ".game"]
    .map((name) => document.querySelector("#explorer " + name).getBoundingClientRect());
  return text.bottom <= first.top && last.bottom <= panel.top;
}"""


def test_the_game_has_three_rounds_and_a_result_to_copy(open_page):
    with open_page(PAGE, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.get_by_text("Find the head:").click()
        reply, told = (part(page, f".game {x}") for x in (".main", "[role=status]"))
        press(page, "Begin")
        for number, head in enumerate((15, 4, 14), start=1):
            expect(reply).to_have_text("First press a head above")
            expect(page.get_by_label("Switch off")).to_have_count(0)
            expect(part(page, ".tiles .cell")).to_have_count(0)
            pushes = part(page, ".tiles .push").all_inner_texts()
            assert any(push.strip() for push in pushes) == (number == 3), "pushes in round 3 alone"
            page.locator(HEAD).nth(head).click()
            expect(reply).to_contain_text("My answer")
            reply.click()
            expect(told.first).to_contain_text(f"Round {number}: ")
            expect(part(page, ".game .round .own")).to_have_count(1)
            if number < 3:
                press(page, f"Round {number + 1}")
        press(page, "Copy the result")
        expect(told.last).to_have_text("Copied.")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("Find the head: 🟩🟩⬛ 209 of 300\nhttp://")
        press(page, "A text of my own")
        expect(part(page, ".game")).to_have_count(0)
        expect(field(page)).to_be_focused()

        for name, head in (("Begin", 15), ("Round 2", 13), ("Round 3", 14)):
            press(page, name)
            page.locator(HEAD).nth(head).click()
            reply.click()
            if name == "Round 2":
                hardest = "Head 4.2 looks hardest, with 86 % at one word; yet without it"
                expect(told.first).to_contain_text(hardest)
                expect(told.first).not_to_contain_text("push")
                page.get_by_text("Why head 2.1?").click()
                expect(part(page, ".game details")).to_contain_text("What it finds is read by MLPs")
                press(page, "Show head 2.1")
                expect(page.locator(HEAD).nth(4)).to_have_attribute("aria-checked", "true")
        largest = "The largest push is 4.3’s, +1.2; yet without it the guess has 90"
        expect(told.first).to_contain_text(largest)
        expect(told.first).to_contain_text("Most is taken by 1.1.")


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_rounds_question_heads_and_outcome_are_in_one_view(open_page, size):
    """And the game can be left: the switch is back."""
    with open_page(PAGE, width=size[0]) as page:
        resize(page, size)
        page.get_by_text("Find the head:").click()
        press(page, "Begin")
        panel, switch = part(page, ".game"), page.get_by_label("Switch off")
        expect(page.locator(WORD)).to_have_count(7)
        page.wait_for_function(BETWEEN)
        expect(panel).to_be_in_viewport(ratio=1)
        page.locator(HEAD).nth(2).hover()
        legend = part(page, ".legend")
        expect(legend).to_contain_text("head 1.3, under the pointer")
        page.locator(HEAD).nth(15).click()
        pressed = page.get_by_role("button", name="My answer: head 4.4")
        box = pressed.bounding_box()
        pressed.click()
        expect(panel).to_contain_text("100 of 100 points")
        expect(panel).to_be_in_viewport(ratio=1)
        now = panel.bounding_box()
        assert now["y"] < box["y"] < now["y"] + now["height"], "the outcome is where the press was"
        press(page, "Round 2")
        expect(switch).to_have_count(0)
        field(page).fill("The duck")
        expect(switch, "the game takes no switch from another text").to_have_count(1)
        press(page, "Stop the game")
        expect(panel).to_have_count(0)
        expect(switch).to_have_count(1)


# ---- Goals ---------------------------------------------------------------------------------------

LATE = STATES["explorer"]["goals"]["late"]
COPIED = "explorer.model=two-layers&explorer.text=quick+frog"
REFUSED = {  # states that look like the goal's, and don't meet it
    "a temperature": ("late", LATE + "&explorer.temperature=0.2"),
    "an example": ("one-head-off", "explorer.off=4.3"),
    "a finding": ("one-head-off", "explorer.off=1.1&explorer.text=" + quote(findings.FISHER)),
    "a beginning": (
        "one-head-off", "explorer.off=4.3&explorer.text=" + quote(findings.BEGINNINGS[0]),
    ),
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
