"""The explorer in a browser: what it shows is PyTorch's, and what fails is told in words."""

import re
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
from tests.site.reading import SHADE_STEP, SHADES, drawn
from tests.site.test_story import answer
from tests.site.test_widgets import set_as_reader
from tests.widgets.states_explorer import STATES
from tests.widgets.test_explorer import asked, ids_of

PAGE = "explorer.html"
FILE = f"models/{MODELS[0]['file']}"
OPENING = MODELS[0]["examples"][0][0]
WORD = "#explorer .tokens button"
OPEN = "explorer.html?explorer.guide=6&explorer.head=4.3"  # a head is chosen, and all is open
TYPED = {
    "storyteller": "The duck said to the fox",
    "causal": "the cats near the wall",
    "masked": "the dog [mask] tired",
    "masked-standard": "the dog [mask] tired",
    "two-layers": "fox gap?fox",
    "one-layer": "fox gap?fox",
}
LOADED = re.compile(r"explorer/(worker|read|words)\.js|lib/transformer\.js|safetensors$")


def percent(text):
    """A share as it is written, and how far it may be off."""
    if text.startswith(("<", "99+")):
        return (0.0, 0.001) if text.startswith("<") else (1.0, 0.005)
    digits = len(text.removesuffix("\u202f%").partition(".")[2])
    return float(text.removesuffix("\u202f%")) / 100, 0.51 * 10**-digits / 100


def assert_shares(rows, wanted):
    shown = [percent(row.inner_text()) for row in rows.all()]
    assert len(shown) == len(wanted)
    for (share, slack), want in zip(shown, wanted, strict=True):
        assert share == pytest.approx(want, abs=slack + 1e-4)


WEIGHT = "#explorer .detail > details:last-child > summary"  # how a weight comes about
ACCOUNT = "#explorer .ending details:last-of-type > summary"


def settled(page, count):
    """The page shows a text of ``count`` tokens, and all numbers of the chosen head."""
    expect(page.locator(WORD)).to_have_count(count)
    expect(page.locator("#explorer .sums .step").first).to_be_visible()
    drawn(page)


@pytest.mark.parametrize("entry", MODELS, ids=lambda entry: entry["name"])
@torch.no_grad()
def test_what_is_shown_of_a_typed_text_is_pytorchs(open_page, entry):
    """Weights, guesses at every stage, loss; then with a head off."""
    model = weights.load(ROOT / "models" / entry["file"]).double()
    text = TYPED[entry["name"]]
    ids = ids_of(model, entry["kind"], text)
    with open_page(OPEN) as page:
        page.get_by_text("Another model, examples").click()
        page.locator("#explorer select").first.select_option(index=MODELS.index(entry))
        page.locator("#explorer textarea").fill(text)
        expect(page.locator(WORD)).to_have_count(len(ids))
        page.locator("#explorer .tiles button").nth(1).click()
        page.locator(WORD).nth(2).click()
        page.locator(WEIGHT).click()
        page.locator(ACCOUNT).click()
        page.get_by_text("Layer by layer").click()
        settled(page, len(ids))
        for off in ((), ((0, 1),)):
            if off:
                page.get_by_label("Switch off").check()
                expect(page.locator("#explorer .tiles .off")).to_have_count(1)
            drawn(page)
            run = model(torch.tensor([ids]), off=off)
            assert_maps(page, run)
            shares = run.logits[0, 2].softmax(-1).topk(5).values.tolist()
            assert_shares(page.locator("#explorer .bars .share"), shares)
            assert_lens(page, model, run)
        loss = page.locator("#explorer .came").last.locator("b").nth(-2).inner_text()
        assert float(loss) == pytest.approx(mean_loss(model, run, ids), abs=0.0051)


def assert_maps(page, run):
    shades = page.locator("#explorer .stages").evaluate(SHADES)
    maps = [head for layer in run.weights for head in layer[0]]
    for seen, exact in zip(shades, maps, strict=True):
        seen = torch.tensor(seen, dtype=torch.double)
        torch.testing.assert_close(seen, exact, rtol=0, atol=0.51 * SHADE_STEP + 1e-4)


def assert_lens(page, model, run):
    for stage, rows in enumerate(run.residual):
        logits = model.norm(rows[0, 2]) @ model.embedding.T + model.unembedding_bias
        guesses = page.locator("#explorer .lens").nth(stage).locator(".guess span:last-child")
        assert_shares(guesses, logits.softmax(-1).topk(3).values.tolist())


def mean_loss(model, run, ids):
    shift = int(model.config.is_causal)
    told = [i for i in range(len(ids) - shift) if model.config.vocabulary[ids[i]] != "[mask]"]
    chances = asked(model, run, ids, ((0, 1),)).log_softmax(-1)
    return -sum(chances[i, ids[i + shift]].item() for i in told) / len(told)


BOXES = """() => [".tokens", ".verdict", ".verdict input"]
  .map((name) => document.querySelector("#explorer " + name).getBoundingClientRect())
  .map(({top, bottom}) => [top, bottom])"""


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=str)
def test_a_head_is_switched_off_and_its_effect_seen_on_one_screen(open_page, size):
    """Before and after, as PyTorch has them; the live sentence tells them, too."""
    with open_page(OPEN, width=size[0]) as page:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        rows = page.locator("#explorer .verdict .share")
        expect(rows).to_have_text(["47 %", "?"])
        page.get_by_label("Switch off").check()
        expect(rows).to_have_text(["47 %", "4.4 %", "7.4 %"])
        expect(page.locator("#explorer .bars li").first).to_have_text(
            re.compile(r"^\s*b\s+7\.4\s%")
        )
        told = "With all heads on, dog had 47 %; now 4.4 %."
        expect(page.locator("#explorer .sentence")).to_contain_text(told)
        page.locator("#explorer .tokens").evaluate("(e) => e.scrollIntoView({block: 'center'})")
        boxes = page.evaluate(BOXES)
        assert all(0 <= top < bottom <= size[1] for top, bottom in boxes), boxes
        page.get_by_role("button", name="All heads on").click()
        expect(rows).to_have_text(["47 %", "?"])


def test_choosing_a_word_moves_no_word(open_page):
    lefts = "(all) => all.map((word) => word.getBoundingClientRect().left)"
    with open_page(PAGE) as page:
        words = page.locator(WORD)
        before = words.evaluate_all(lefts)
        words.nth(2).click()
        expect(words.nth(2)).to_have_attribute("aria-checked", "true")
        assert words.evaluate_all(lefts) == pytest.approx(before, abs=0.1)


def test_strips_are_drawn_where_they_are_asked_for(open_page):
    with open_page(OPEN) as page:
        page.get_by_text("Layer by layer").click()
        strips = page.locator("#explorer .stages number-strip")
        expect(strips).to_have_count(0)
        page.get_by_text("The numbers of the stream").click()
        expect(strips).to_have_count(9)


def test_nothing_of_a_model_is_fetched_before_the_first_touch(open_page):
    with open_page(PAGE, live=False) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.reload()
        page.wait_for_selector("#explorer .sentence", state="attached")
        page.wait_for_timeout(500)
        assert not [url for url in asked if LOADED.search(url)]
        with page.expect_response(lambda response: FILE in response.url):
            page.locator(WORD).nth(3).click()
        page.locator("#explorer .guide .skip").click()
        page.locator("#explorer .tiles button").first.click()
        page.locator(WEIGHT).click()
        expect(page.locator("#explorer .sums .step").first).to_be_visible()


def test_every_number_of_a_weight_can_be_followed(open_page):
    with open_page(OPEN) as page:
        page.locator(WEIGHT).click()
        page.locator("#explorer .sums summary").last.click()
        rows = page.locator("#explorer table.numbers").last.locator("tbody tr")
        expect(rows).to_have_count(32)
        products = [
            float(t.replace("−", "-")) for t in rows.locator("td:nth-of-type(3)").all_inner_texts()
        ]
        told = page.locator("#explorer .sums .line").first.inner_text()
        assert float(re.search(r"added up ([\d.]+)", told)[1]) == pytest.approx(
            sum(products), abs=0.1
        )
        three = float(re.search(r"three largest of the \d+ products make ([\d.]+)\.", told)[1])
        assert three == pytest.approx(sum(sorted(products)[-3:]), abs=0.01)
        expect(page.locator("#explorer .looks [aria-checked=true]")).to_contain_text("dog")
        page.locator("#explorer .looks button").nth(1).click()
        expect(page.locator(WEIGHT)).to_contain_text("came to give boy")


@pytest.mark.parametrize("kind", ["SVG", "PNG"])
def test_the_sentence_is_saved_as_a_picture(open_page, kind):
    with open_page(PAGE) as page:
        with page.expect_download() as download:
            page.locator("#explorer > .widget-save summary").click()
            page.get_by_role("button", name=f"Sentence, {kind}").click()
        data = download.value.path().read_bytes()
        assert download.value.suggested_filename == f"storyteller-all-heads.{kind.lower()}"
        assert data.startswith(b"<svg" if kind == "SVG" else b"\x89PNG")
        if kind == "SVG":
            assert b">dog</text>" in data


BYTES = {  # where a text is typed, and where its tokens are
    PAGE: ("#explorer textarea", WORD),
    "index.html": (".story textarea", ".story .tokens [role=radio]"),
    "modules/start/lesson.html": ("#ground-floor textarea", "#ground-floor .chips button"),
}


@pytest.mark.parametrize("path", BYTES)
def test_a_part_of_a_letter_is_written_as_its_byte(open_page, path):
    """Python's own bytes of the sign; the last token, with which it is whole, shows it."""
    field, tokens = BYTES[path]
    *parts, _ = "🐇".encode()
    with open_page(path) as page:
        page.locator(field).fill("a 🐇 ran")
        small = page.locator(f"{tokens} .byte")
        expect(small).to_have_text([f"byte {byte:02X}" for byte in parts])
        assert all("part of a character" in one.get_attribute("title") for one in small.all())
        assert page.locator(tokens).filter(has_text="🐇").count() == 1
        page.locator(tokens).filter(has_text="byte 9F").click()
        shown = page.locator(tokens.split()[0])
        expect(shown).to_contain_text("byte 9F")
        assert "\ufffd" not in shown.text_content()


def test_an_empty_text_is_told_and_markup_is_text(open_page):
    with open_page(PAGE) as page:
        page.locator("#explorer textarea").fill("")
        expect(page.locator("#explorer .status.problem")).to_contain_text("There is no text yet")
        expect(page.locator(WORD)).to_have_count(10)
        page.locator("#explorer textarea").fill("<b>A</b> &amp; ${x}")
        expect(page.locator(WORD).last).to_have_text("}")
        assert page.locator("#explorer .tokens :is(img, b)").count() == 0
        expect(page.locator("#explorer .status.problem")).to_have_count(0)


@pytest.mark.parametrize("text", ["the duck swam and " * 500, "<img src=x onerror=alert(1)> " * 60])
def test_of_a_long_text_the_oldest_words_go_without_an_error(open_page, text):
    ids = Tokenizer(weights.load(ROOT / FILE).config.vocabulary).encode(text.rstrip(" "))
    with open_page(PAGE) as page:
        page.locator("#explorer textarea").fill(text)
        says = f"The model reads 256 tokens at most: the oldest {len(ids) - 256} went."
        expect(page.locator("#explorer .legend")).to_contain_text(says, timeout=20_000)
        expect(page.locator(WORD)).to_have_count(256)
        expect(page.locator("#explorer .status.problem")).to_have_count(0)
        assert_legible(page, "#explorer")


WEIGHTS = (ROOT / FILE).read_bytes()
FAILURES = {
    "missing": (answer(status=404), "the site answers 404"),
    "cut": (answer(body=WEIGHTS[:500_000]), "is cut, or not a safetensors file"),
    "another model": (
        answer(body=(ROOT / "models" / MODELS[1]["file"]).read_bytes()), "holds another model",
    ),
    "no workers": (
        lambda page: page.add_init_script("delete globalThis.Worker"), "runs no workers",
    ),
    "no script": (
        lambda page: page.route("**/explorer/worker.js", lambda route: route.abort()),
        "its script is missing, or failed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_without_its_model_the_opening_stays_and_a_sentence_says_why(visit, served, name):
    prepare, says = FAILURES[name]
    with visit(served, fresh=True) as (page, _):
        prepare(page)
        page.goto(served + PAGE)
        page.locator("#explorer textarea").fill("A cat")
        expect(page.locator("#explorer .status.problem")).to_contain_text(says)
        expect(page.locator(WORD)).to_have_count(10)
        page.get_by_text("Another model, examples").click()
        page.get_by_role("button", name="Reset").click()
        expect(page.locator("#explorer .status.problem")).to_have_count(0)
        page.locator("#explorer .guide .skip").click()
        page.locator("#explorer .tiles button").first.click()
        page.locator(WEIGHT).click()
        expect(page.locator("#explorer .sums")).to_contain_text("could not be loaded")


def test_a_touch_asks_again_for_what_could_not_be_fetched(visit, served):
    with visit(served, fresh=True) as (page, _):
        page.context.route(f"**/{FILE}", lambda route: route.abort())
        page.goto(served + PAGE)
        page.locator("#explorer textarea").click()
        page.locator("#explorer textarea").fill("A cat")
        expect(page.locator("#explorer .status.problem")).to_contain_text("could not be loaded")
        page.context.unroute(f"**/{FILE}")
        page.locator(WORD).nth(2).click()
        expect(page.locator(WORD)).to_have_count(2)
        expect(page.locator("#explorer .status.problem")).to_have_count(0)


GUIDE = "#explorer .guide [role=status]"


def test_five_presses_from_a_text_to_what_a_head_does(open_page):
    """One thing to do at a time, at most three controls before the picture; then all is free."""
    with open_page(PAGE) as page:
        before = """() => [...document.querySelectorAll("#explorer :is(button, textarea, summary)")]
          .filter((e) => e.checkVisibility() && e.compareDocumentPosition(
            document.querySelector("#explorer .text")) & Node.DOCUMENT_POSITION_FOLLOWING).length"""
        assert page.evaluate(before) == 3
        expect(page.locator("#explorer .tiles")).to_have_count(0)
        expect(page.locator(GUIDE)).to_contain_text("A head is a small part of the model")
        expect(page.locator("#explorer .legend")).to_contain_text(
            "4.3 looks most: head 3 of layer 4"
        )
        arcs = page.locator("#explorer .arcs path")
        expect(arcs).to_have_count(1)
        page.get_by_role("button", name="Go on with this text").click()
        expect(page.locator(GUIDE)).to_contain_text("Press a word, best big, the last one")
        expect(page.locator("#explorer .tokens .try")).to_have_text("big")
        page.locator(WORD).last.click()
        expect(page.locator(GUIDE)).to_contain_text("Try 4.3")
        expect(page.locator("#explorer .arcs.all .best")).not_to_have_count(0)
        expect(page.locator("#explorer .legend")).to_contain_text("by layer")
        expect(page.locator("#explorer .tiles .try")).to_be_in_viewport(ratio=1)
        page.locator("#explorer .tiles button").nth(14).click()
        expect(page.locator("#explorer .guide")).to_be_in_viewport(ratio=1)
        track = "e => [e.offsetLeft, e.offsetWidth]"
        before = page.locator("#explorer .verdict .bar").first.evaluate(track)
        expect(page.locator(GUIDE)).to_contain_text("from big at dog, 59")
        expect(page.locator(GUIDE)).to_contain_text("Switch head 4.3 off")
        page.get_by_label("Switch off head 4.3").check()
        expect(page.locator(GUIDE)).to_contain_text(
            "dog falls from 47 % to 4.4 %; first is now b, which begins a word, with 7.4 %"
        )
        expect(page.locator(GUIDE)).to_contain_text("what came after big last time, and copies")
        assert page.locator("#explorer .verdict .bar").first.evaluate(track) == before
        expect(page.locator("#explorer .arcs.former path")).not_to_have_count(0)
        expect(page.get_by_role("button", name="Explore freely")).to_be_visible()
        page.get_by_role("button", name="Find the head", exact=True).click()
        expect(page.locator("#explorer .guide")).to_have_count(0)
        expect(page.get_by_role("button", name="Begin")).to_be_in_viewport()


def test_a_stuck_text_has_low_arcs_and_a_ground(open_page):
    with open_page(OPEN) as page:
        text = page.locator("#explorer .text")
        expect(text).not_to_have_attribute("data-stuck", "")
        page.evaluate("scrollTo(0, 700)")
        expect(text).to_have_attribute("data-stuck", "")
        box = page.locator("#explorer .arcs path").nth(0).bounding_box()
        assert box["y"] >= -1
        assert text.bounding_box()["y"] + text.bounding_box()["height"] < 130
        page.evaluate("scrollTo(0, 0)")
        expect(text).not_to_have_attribute("data-stuck", "")


def test_what_the_head_does_is_said_of_its_own_text_alone(open_page):
    with open_page("explorer.html?explorer.guide=5&explorer.off=4.3&explorer.head=4.3") as page:
        expect(page.locator(GUIDE)).to_contain_text("copies it")
        page.locator("#explorer textarea").fill("Tom had a black cat. One night the black")
        expect(page.locator(GUIDE)).to_contain_text("Without head 4.3, c")
        expect(page.locator(GUIDE)).not_to_contain_text("copies it")


@torch.no_grad()
def test_a_word_under_the_pointer_draws_the_arcs_of_all_heads(open_page):
    """As many as there are weights of 8 % and more; a head under the pointer draws its own."""
    model = weights.load(ROOT / FILE).double()
    run = model(torch.tensor([ids_of(model, "storyteller", OPENING)]))
    rows = torch.cat([layer[0] for layer in run.weights])
    with open_page("explorer.html?explorer.guide=6") as page:
        arcs = page.locator("#explorer .arcs path")
        for at in (9, 5):
            page.locator(WORD).nth(at).hover()
            expect(arcs).to_have_count(int((rows[:, at] >= 0.08).sum()))
        page.locator("#explorer .tiles button").nth(14).hover()
        expect(arcs).to_have_count(int((rows[14, 9] >= 0.005).sum()))
        page.locator("#explorer .tiles button").nth(14).click()
        page.locator("#explorer textarea").hover()
        expect(arcs).to_have_count(int((rows[14, 9] >= 0.005).sum()))


def test_guesses_are_appended_and_drawn(open_page):
    with open_page("explorer.html?explorer.guide=6") as page:
        page.locator("#explorer .bars button").first.click()
        expect(page.locator("#explorer textarea")).to_have_value(f"{OPENING} dog")
        expect(page.locator(WORD)).to_have_count(11)
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("#explorer .draw .note")).to_have_text(
            re.compile(r"Drawn: 0\.\d\d of 1")
        )
        expect(page.locator(WORD).nth(14)).to_be_attached(timeout=20_000)
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("button", name="Continue")).to_be_visible()
        page.wait_for_timeout(500)
        text = page.locator("#explorer textarea").input_value()
        page.wait_for_timeout(500)
        assert page.locator("#explorer textarea").input_value() == text


STAGE = "#explorer .pass .heading"


def test_the_play_goes_on_by_itself_and_stops_at_any_stage(open_page):
    with open_page(f"{OPEN}&explorer.stage=1") as page:
        expect(page.locator(STAGE)).to_have_text("1. Words")
        page.get_by_label("2×").check()
        page.get_by_role("button", name="Play").click()
        expect(page.locator(STAGE)).to_have_text("3. Queries, keys, values", timeout=20_000)
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Back").click()
        expect(page.locator(STAGE)).to_have_text("2. Vectors")
        page.wait_for_timeout(2500)
        expect(page.locator(STAGE)).to_have_text("2. Vectors")
        for number in range(3, 11):
            page.get_by_role("button", name="Next", exact=True).click()
            expect(page.locator(STAGE)).to_contain_text(f"{number}. ")
        expect(page.locator("#explorer .pass .line").first).to_contain_text("dog")
        page.wait_for_url("**explorer.stage=10*")


def test_without_motion_the_play_is_stills(open_page):
    with open_page(f"{OPEN}&explorer.stage=6", reduced_motion="reduce") as page:
        expect(page.locator(STAGE)).to_have_text("6. Weights")
        expect(page.get_by_role("button", name="Play")).to_have_count(0)
        expect(page.locator("#explorer .pass .foot .number").nth(5)).to_have_text(
            re.compile(r"59\s%")
        )


def test_a_finding_is_one_press_and_the_readers_text_comes_back(open_page):
    with open_page(PAGE) as page:
        page.locator("#explorer textarea").fill("The duck")
        expect(page.locator(WORD)).not_to_have_count(10)
        page.get_by_text("Ten findings").click()
        expect(page.locator("#explorer .gallery button")).to_have_count(10)
        page.get_by_role("button", name="Two heads for one name").click()
        found = page.locator("#explorer .finding")
        expect(found).to_contain_text("both look back at the T")
        expect(found).not_to_contain_text("Without")
        expect(page.locator("#explorer .arcs:not(.former) path").first).to_be_visible()
        page.get_by_label("Switch off head 1.1").check()
        expect(found).to_contain_text("Without head 1.1 W has 72 %, not 99 %")
        expect(found).not_to_contain_text("2.4 W")
        expect(found).not_to_contain_text("Without both")
        page.get_by_label("Switch off head 2.4").check()
        expect(found).to_contain_text("Without both W has 1.3 %")
        expect(found).not_to_contain_text("72 %")
        expect(page.locator("#explorer .verdict .share").nth(1)).to_have_text(re.compile(r"^1\.\d"))
        expect(page.locator("#explorer .arcs.several")).to_have_count(1)
        expect(page.locator("#explorer .legend")).to_contain_text("where they had looked: 1.1 2.4")
        page.get_by_role("button", name="Next finding").click()
        expect(found).to_contain_text("A cat for the dog.")
        page.get_by_role("button", name="Back to your text").first.click()
        expect(page.locator("#explorer textarea")).to_have_value("The duck")
        expect(page.locator("#explorer .finding")).to_have_count(0)


def test_each_finding_comes_into_view(open_page):
    with open_page(PAGE) as page:
        page.get_by_text("Ten findings").click()
        for number in range(10):
            button = page.locator("#explorer .gallery button").nth(number)
            button.scroll_into_view_if_needed()
            button.click()
            expect(page.locator("#explorer .finding")).to_be_in_viewport()
            expect(page.locator("#explorer .gallery [aria-pressed=true]")).to_have_count(1)


def test_a_word_that_comes_under_a_pointer_at_rest_draws_nothing(open_page):
    with open_page(PAGE) as page:
        page.get_by_text("Ten findings").click()
        page.get_by_role("button", name="One step back").click()
        expect(page.locator("#explorer .finding")).to_be_in_viewport()
        arcs = page.locator("#explorer .arcs")
        drawn = arcs.inner_html()
        word = page.locator(WORD).nth(2)
        word.dispatch_event(
            "pointerover", {"bubbles": True}
        )  # as a browser sends it after a scroll
        assert arcs.inner_html() == drawn
        box = word.bounding_box()
        page.mouse.move(box["x"] - 3, box["y"] - 3)
        word.hover()
        assert arcs.inner_html() != drawn


def test_enter_ends_a_text_and_with_shift_it_breaks_the_line(open_page):
    with open_page(PAGE) as page:
        text = page.locator("#explorer textarea")
        text.fill("The duck")
        text.press("Enter")
        expect(text).to_have_value("The duck")
        text.press("Shift+Enter")
        expect(text).to_have_value("The duck\n")


def test_another_text_keeps_no_draw_and_a_game_takes_no_switch_from_it(open_page):
    with open_page(PAGE) as page:
        drawn = page.locator("#explorer .draw")
        page.get_by_role("button", name="Continue").click()
        expect(drawn).to_have_count(1)
        page.get_by_role("button", name="Stop").click()
        page.locator("#explorer textarea").fill("The duck and the")
        expect(drawn).to_have_count(0)
        page.get_by_text("Find the head:").click()
        page.get_by_role("button", name="Begin").click()
        page.locator("#explorer .tiles button").first.click()
        expect(page.get_by_label("Switch off")).to_have_count(0)
        page.locator("#explorer textarea").fill("The duck")
        expect(page.get_by_label("Switch off")).to_have_count(1)


def test_the_game_has_three_rounds_and_a_result_to_copy(open_page):
    with open_page(PAGE, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.get_by_text("Find the head:").click()
        page.get_by_role("button", name="Begin").click()
        for answered, head in enumerate((15, 4, 14), start=1):
            answer = page.locator("#explorer .game .main")
            expect(answer).to_have_text("First press a head above")
            expect(page.get_by_label("Switch off")).to_have_count(0)
            expect(page.locator("#explorer .tiles .cell")).to_have_count(0)
            pushes = page.locator("#explorer .tiles .push").all_inner_texts()
            assert any(push.strip() for push in pushes) == (answered == 3)
            page.locator("#explorer .tiles button").nth(head).click()
            expect(answer).to_contain_text("My answer")
            answer.click()
            told = page.locator("#explorer .game [role=status]").first
            expect(told).to_contain_text(f"Round {answered}: ")
            expect(page.locator("#explorer .game .round .own")).to_have_count(1)
            if answered < 3:
                page.get_by_role("button", name=f"Round {answered + 1}").click()
        page.get_by_role("button", name="Copy the result").click()
        expect(page.locator("#explorer .game [role=status]").last).to_have_text("Copied.")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("Find the head: 🟩🟩⬛ 209 of 300\nhttp://")
        page.get_by_role("button", name="A text of my own").click()
        expect(page.locator("#explorer .game")).to_have_count(0)
        expect(page.locator("#explorer textarea")).to_be_focused()


BETWEEN = """() => {
  const [text, first, last, panel] = [".text", ".tiles button", "[data-head='15']", ".game"]
    .map((name) => document.querySelector("#explorer " + name).getBoundingClientRect());
  return text.bottom <= first.top && last.bottom <= panel.top;
}"""


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)], ids=str)
def test_a_rounds_question_heads_and_outcome_are_in_one_view(open_page, size):
    """And the game can be left: the switch is back."""
    with open_page(PAGE, width=size[0]) as page:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.get_by_text("Find the head:").click()
        page.get_by_role("button", name="Begin").click()
        panel, head = (
            page.locator("#explorer .game"),
            page.locator("#explorer .tiles button").nth(15),
        )
        expect(page.locator("#explorer .tokens button")).to_have_count(7)
        page.wait_for_function(BETWEEN)
        expect(panel).to_be_in_viewport(ratio=1)
        head.click()
        pressed = page.get_by_role("button", name="My answer: head 4.4")
        box = pressed.bounding_box()
        pressed.click()
        expect(panel).to_contain_text("100 of 100 points")
        expect(panel).to_be_in_viewport(ratio=1)
        now = panel.bounding_box()
        assert now["y"] < box["y"] < now["y"] + now["height"], "the outcome is where the press was"
        page.get_by_role("button", name="Round 2").click()
        expect(page.get_by_label("Switch off")).to_have_count(0)
        page.get_by_role("button", name="Stop the game").click()
        expect(panel).to_have_count(0)
        expect(page.get_by_label("Switch off")).to_have_count(1)


def test_a_round_tells_which_head_misled(open_page):
    """In the second the one that looks hardest, in the last the one with the largest push."""
    with open_page(PAGE) as page:
        page.get_by_text("Find the head:").click()
        told = page.locator("#explorer .game [role=status]").first
        for press, head in (("Begin", 15), ("Round 2", 13), ("Round 3", 14)):
            page.get_by_role("button", name=press).click()
            page.locator("#explorer .tiles button").nth(head).click()
            page.locator("#explorer .game .main").click()
            if head == 13:
                expect(told).to_contain_text(
                    "Head 4.2 looks hardest, with 86 % at one word; yet without it"
                )
                expect(told).not_to_contain_text("push")
        expect(told).to_contain_text(
            "The largest push is 4.3’s, +1.2; yet without it the guess has 90"
        )
        expect(told).to_contain_text("Most is taken by 1.1.")


def test_each_finding_shows_arcs_asks_for_the_switch_and_then_tells(open_page):
    with open_page(PAGE) as page:
        page.get_by_text("Ten findings").click()
        page.locator("#explorer .gallery button").first.click()
        found = page.locator("#explorer .finding")
        for number in range(10):
            title = page.locator("#explorer .gallery b").nth(number).inner_text()
            expect(found).to_contain_text(title.replace("\n", " "))
            expect(found).to_contain_text("What will become of the guess?")
            expect(page.locator("#explorer .arcs path").first).to_be_visible()
            page.get_by_label("Switch off").last.check()
            expect(found).not_to_contain_text("What will become")
            expect(page.locator("#explorer .arcs.former path").first).to_be_visible()
            following = found.locator(".following")
            expect(following).to_have_text("Next finding" if number < 9 else re.compile("All ten"))
            following.click()
        expect(page.get_by_role("button", name="Begin")).to_be_in_viewport()


def test_a_text_that_shows_little_says_so(open_page):
    with open_page(PAGE) as page:
        page.locator("#explorer textarea").fill("Alice met the Queen. Then Alice met the")
        expect(page.locator(GUIDE)).to_contain_text("the first guess has only 6.7")
        page.get_by_role("button", name="Take that text").click()
        expect(page.locator("#explorer textarea")).to_have_value(MODELS[0]["examples"][1][0])
        expect(page.locator(GUIDE)).to_contain_text("Press a word, best black")


@torch.no_grad()
def test_a_push_is_worth_what_the_page_says(open_page):
    """e to its power, in the odds against the (geometric) average of all tokens."""
    model = weights.load(ROOT / FILE).double()
    ids = ids_of(model, "storyteller", OPENING)
    found = tracing.trace(model, ids)
    run, size = found["run"], found["size"]
    end = run.residual[-1][0, -1]
    part = (
        model.layers[3].attention.out_proj.weight[:, 2 * size : 3 * size] @ found["mixed"][3][2][-1]
    )
    scale = (end.var(correction=0) + model.norm.eps).sqrt()
    added = (model.embedding * model.norm.weight) @ (part - part.mean()) / scale
    odds = lambda logits: logits.log_softmax(-1)[guess] - logits.log_softmax(-1).mean()  # noqa: E731
    guess = run.logits[0, -1].argmax()
    times = (odds(run.logits[0, -1]) - odds(run.logits[0, -1] - added)).exp().item()
    with open_page(OPEN) as page:
        page.get_by_text("Push: what each head adds itself").click()
        told = page.locator("#explorer .folds")
        expect(told).to_contain_text(
            f"and so +{added[guess] - added.mean():.2f}, the push of 4.3, by about {times:.0f}."
        )
        page.get_by_label("Switch off").check()
        expect(told).to_contain_text("what it adds itself to the score of the guess dog")


def test_a_head_under_the_pointer_is_named(open_page):
    with open_page("explorer.html?explorer.guide=6") as page:
        page.locator("#explorer .tiles button").nth(7).hover()
        expect(page.locator("#explorer .legend")).to_contain_text("head 2.4, under the pointer")
        expect(
            page.locator("#explorer .legend span", has_text="The arcs of all 16 heads")
        ).to_be_hidden()
        page.locator("#explorer textarea").hover()
        expect(
            page.locator("#explorer .legend span", has_text="The arcs of all 16 heads")
        ).to_be_visible()


STYLE = """(svg) => [...svg.querySelectorAll("path")].map((path) => {
  const {stroke, strokeLinecap, strokeWidth} = getComputedStyle(path);
  return [stroke, strokeLinecap, strokeWidth, 1 + 8 * path.style.getPropertyValue("--weight")];
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
        page.locator(drawing).first.scroll_into_view_if_needed()
        page.wait_for_function("(name) => document.querySelector(`${name} path`)", arg=drawing)
        found = page.locator(drawing).first.evaluate(STYLE)
        for stroke, cap, width, want in found:
            assert re.match(r'url\("#(arc|focus)-\w+"\)', stroke)
            assert cap == "round"
            assert float(width.removesuffix("px")) == pytest.approx(want, abs=0.01)
        ends = page.locator(drawing).first.evaluate(
            """(svg) => [".key", ".query"]
              .map((name) => getComputedStyle(svg.querySelector(name)).stopColor)"""
        )
        tokens = page.evaluate(
            """() => ["key", "query"].map((name) => {
              const probe = document.body.appendChild(document.createElement("i"));
              probe.style.color = `var(--color-${name})`;
              return getComputedStyle(probe).color;
            })"""
        )
        assert ends == tokens


def test_the_first_guess_in_the_sentence_can_be_pressed(open_page):
    with open_page(PAGE) as page:
        page.locator("#explorer .ghost").click()
        expect(page.locator("#explorer textarea")).to_have_value(f"{OPENING} dog")


BEGINNING = findings.BEGINNINGS[0]
LATE = STATES["explorer"]["goals"]["late"]
REFUSED = {  # states that look like the goal's, and don't meet it
    "a temperature": ("late", LATE + "&explorer.temperature=0.2"),
    "an example": ("one-head-off", "explorer.off=4.3"),
    "a finding": ("one-head-off", "explorer.off=1.1&explorer.text=" + quote(findings.FISHER)),
    "a beginning": ("one-head-off", "explorer.off=4.3&explorer.text=" + quote(BEGINNING)),
    "the letter before": (
        "copied",
        "explorer.model=two-layers&explorer.head=2.2&explorer.text=quick+frogog",
    ),
    "typing alone": ("copied", "explorer.model=two-layers&explorer.text=quick+frog,quick+frog"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_goal_is_met_by_no_other_means(open_page, name):
    goal, query = REFUSED[name]
    with open_page(PAGE) as page:
        set_as_reader(page, query)
        expect(page.locator("#explorer [aria-busy=true]")).to_have_count(0)
        drawn(page)
        assert "met" not in page.locator(f"#goal-{goal}").get_attribute("class").split()


def test_it_is_legible_on_a_wide_window(open_page):
    with open_page(PAGE, width=1920) as page:
        assert_legible(page, "#explorer")
        assert page.locator("#explorer").bounding_box()["width"] > 1400


# ---- One head, one number, one thing at a time ---------------------------------------------------


def test_all_at_once_names_one_head_everywhere(open_page):
    """Also while the play is open, which begins with the head that was chosen."""
    with open_page("explorer.html?explorer.guide=6&explorer.head=3.4&explorer.stage=4") as page:
        arcs = page.locator("#explorer .arcs")
        expect(page.locator("#explorer .pass .told")).to_contain_text("scores in head 3.4")
        page.get_by_role("button", name="All at once").click()
        expect(arcs).to_have_class(re.compile(r"\ball\b"))
        expect(page.locator("#explorer .legend")).to_contain_text("The arcs of all 16 heads")
        expect(page.locator("#explorer .pass .told")).to_contain_text("scores in head 4.3")
        expect(page.locator("#explorer .outcome")).to_contain_text("without head 4.3")
        expect(page.get_by_label("Switch off head 4.3")).to_have_count(1)
        page.get_by_text("Watch the model compute").click()
        page.get_by_text("Watch the model compute").click()
        expect(page.locator("#explorer .legend")).to_contain_text("The arcs of head 4.3:")


def test_a_finding_and_the_panel_say_the_same_numbers(open_page):
    """And the card has a mark, once its head has been off; its words are set off."""
    with open_page(PAGE) as page:
        page.get_by_text("Ten findings").click()
        page.locator("#explorer .gallery button").first.click()
        found = page.locator("#explorer .finding")
        for number in range(10):
            expect(page.locator("#explorer .gallery .done")).to_have_count(number)
            title = page.locator("#explorer .gallery b").nth(number).inner_text()
            expect(found).to_contain_text(title.replace("\n", " "))
            for box in page.get_by_label("Switch off").all():
                box.check()
            expect(found.locator(".piece").first).to_be_visible()
            expect(found).not_to_contain_text("[")
            now = page.locator("#explorer .verdict .share").nth(1)
            expect(now).not_to_have_text("?")
            assert now.inner_text() in found.inner_text()
            if number < 9:
                found.get_by_role("button", name="Next finding").click()


def test_pushes_wait_until_they_are_asked_for(open_page):
    """The tour tells none; the switch tells its head's, with what it leaves out."""
    with open_page(PAGE) as page:
        for press in (
            page.get_by_role("button", name="Go on with this text"),
            page.locator(WORD).last,
            page.locator("#explorer .tiles button").nth(14),
            page.get_by_label("Switch off head 4.3"),
        ):
            press.click()
            drawn(page)
            expect(page.locator("#explorer .widget-stage")).not_to_contain_text(
                re.compile("push", re.I)
            )
        expect(page.locator(GUIDE)).to_contain_text("This is how you know")
        page.get_by_role("button", name="Explore freely").click()
        told = page.locator("#explorer .itself")
        expect(told).to_contain_text(
            "The push of 4.3, what it adds itself to the score of dog: +3.4."
        )
        expect(told).to_contain_text("and what its layer’s MLP makes of it: that, only the switch")
        expect(told).not_to_contain_text("later layers")
        expect(page.locator("#explorer .tiles .push")).to_have_count(0)
        page.get_by_text("Push: what each head adds itself").click()
        expect(page.locator("#explorer .tiles .push")).to_have_count(15)
        set_as_reader(page, "explorer.guide=6&explorer.head=3.4&explorer.off=3.4&explorer.text="
                      + quote(findings.PETER))  # fmt: skip
        expect(told).to_contain_text("+0.3")
        expect(told).to_contain_text("its layer’s MLP and later layers make of it")
        expect(told).to_contain_text("here it counts more, and the other way")
        set_as_reader(page, "explorer.guide=6&explorer.model=one-layer&explorer.off=1.1")
        expect(told).to_contain_text("adds to other guesses: that, only the switch shows")


def test_a_heads_panel_tells_what_it_pushes_most(open_page):
    with open_page(f"{OPEN}&explorer.text={quote(MODELS[0]['examples'][5][0])}") as page:
        tops = page.locator("#explorer .tops")
        expect(tops).to_contain_text(re.compile(r"largest for\s+cat\s+\+2\.7,\s+dog\s+\+2\.3"))
        page.locator("#explorer .tiles button").first.click()
        expect(tops).to_contain_text("; for the guess dog it is")


@torch.no_grad()
def test_the_head_that_an_own_text_needs_most_is_found(open_page):
    """As PyTorch has it: chosen, marked, and told with the share before and after."""
    text = "The little mouse ran to the red house. The big cat ran to the red"
    model = weights.load(ROOT / FILE).double()
    ids = torch.tensor([ids_of(model, "storyteller", text)])
    whole = model(ids).logits[0, -1].softmax(-1)
    guess = whole.argmax()
    left = [model(ids, off=((layer, head),)).logits[0, -1].softmax(-1)[guess].item()
            for layer in range(4) for head in range(4)]  # fmt: skip
    most = min(range(16), key=left.__getitem__)
    with open_page("explorer.html?explorer.guide=6") as page:
        seek = page.get_by_role("button", name="Find the head that this guess needs most")
        expect(seek).to_have_count(0)
        page.locator("#explorer textarea").fill(text)
        seek.click()
        told = page.locator("#explorer .own-card")
        expect(told).to_contain_text(f"It needs head {most // 4 + 1}.{most % 4 + 1} most.")
        shares = [percent(row.inner_text()) for row in told.locator(".share").all()]
        for (share, slack), want in zip(shares, sorted(left), strict=False):
            assert share == pytest.approx(want, abs=slack + 1e-4)
        marked = page.locator("#explorer .tiles .needed")
        expect(marked).to_have_attribute("data-head", str(most))
        expect(marked).to_have_attribute("aria-checked", "true")
        page.get_by_role("button", name="Switch head 1.1 off").click()
        expect(page.locator("#explorer .reached")).to_contain_text("another word becomes the first")
        page.locator("#explorer textarea").fill("The duck and the")
        expect(seek).to_be_visible()


def test_in_the_tour_an_own_texts_head_is_found_too(open_page):
    with open_page(PAGE) as page:
        page.locator("#explorer textarea").fill("I have a dog. My dog is brown. My")
        expect(page.locator(WORD).last).to_have_text("y")
        page.locator(WORD).last.click()
        page.get_by_role("button", name="Find the head that this guess needs most").click()
        expect(page.locator(GUIDE)).to_contain_text("Switch head 4.3 off")


def test_a_text_can_be_begun_and_what_is_written_taken_back(open_page):
    begun = findings.BEGINNINGS[0]
    with open_page("explorer.html?explorer.guide=6") as page:
        field = page.locator("#explorer textarea")
        page.get_by_role("button", name=begun).click()
        expect(field).to_have_value(begun)
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("#explorer .beginnings")).to_contain_text(
            "drawn at random from the 5 likeliest"
        )
        expect(field).not_to_have_value(begun)
        page.get_by_role("button", name="Undo").click()
        expect(field).to_have_value(begun)
        expect(page.get_by_role("button", name="Continue")).to_be_visible()
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)


PLACES = """() => {
  const middle = (e) => e.getBoundingClientRect().left + e.getBoundingClientRect().width / 2;
  const [last, foot] = [[...document.querySelectorAll("#explorer .map .line.own .squares > *")],
    [...document.querySelectorAll("#explorer .map .foot .squares > *")]];
  return [last.map(middle), foot.map(middle), foot.map((e) => e.textContent)];
}"""


@pytest.mark.parametrize("width", [1280, 390])
@torch.no_grad()
def test_stages_mark_what_they_leave_out_and_name_columns_where_they_are(open_page, width):
    """Each share stands under its own column; a gap stands wherever tokens are left out."""
    model = weights.load(ROOT / FILE).double()
    ids = ids_of(model, "storyteller", findings.TIN)
    row = model(torch.tensor([ids])).weights[1][0, 3, -1]
    shown = sorted([*row[:-1].topk(11).indices.tolist(), len(ids) - 1])
    gaps = sum(i != before + 1 for before, i in zip([-1, *shown], shown, strict=False))
    query = f"explorer.html?explorer.guide=6&explorer.head=2.4&explorer.text={quote(findings.TIN)}"
    with open_page(f"{query}&explorer.stage=6", width=width) as page:
        expect(page.locator("#explorer .map .line.gap")).to_have_count(gaps)
        cells, foot, texts = page.evaluate(PLACES)
        assert foot == pytest.approx(cells, abs=0.6)
        shares = [percent(text) for text in texts if text != "…"]
        assert len(shares) == 12 == len(texts) - gaps
        for (share, slack), i in zip(shares, shown, strict=True):
            assert share == pytest.approx(row[i].item(), abs=slack + 1e-4)
        page.get_by_role("button", name="Back", exact=True).click()
        for _ in range(2):
            page.get_by_role("button", name="Back", exact=True).click()
        expect(page.locator("#explorer .pass .told")).to_contain_text("the layer before it")


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=str)
def test_the_tours_card_stays_in_view(open_page, size):
    """With the head to press, and then with the switch; nor does the sentence cover it."""
    card = "#explorer .guide"
    clear = """() => document.querySelector("#explorer .guide").getBoundingClientRect().top
      >= document.querySelector("#explorer .tokens").getBoundingClientRect().bottom - 1"""
    with open_page(PAGE, width=size[0]) as page:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.get_by_role("button", name="Go on with this text").click()
        page.locator(WORD).last.click()
        expect(page.locator("#explorer .tiles .try")).to_be_in_viewport(ratio=1)
        expect(page.locator(card)).to_be_in_viewport(ratio=1)
        assert page.evaluate(clear)
        page.locator("#explorer .tiles button").nth(14).click()
        expect(page.get_by_label("Switch off head 4.3")).to_be_in_viewport(ratio=1)
        expect(page.locator(card)).to_be_in_viewport(ratio=1)
        assert page.evaluate(clear)
        page.get_by_label("Switch off head 4.3").check()
        bars = page.locator("#explorer .row .bar")
        expect(bars).to_have_count(3)
        assert all(bar.bounding_box()["width"] > 100 for bar in bars.all())


def test_what_is_pointed_at_in_the_tour_is_what_is_told(open_page):
    """First the arcs of its head, then of all; and no word stays shaded that isn't looked at."""
    with open_page(PAGE) as page:
        legend, dog = page.locator("#explorer .peeked"), page.locator(WORD).nth(5)
        weight = "e => +e.style.getPropertyValue('--weight')"
        assert dog.evaluate(weight) > 0.5
        page.locator(WORD).nth(1).hover()
        expect(legend).to_have_text("Where head 4.3 looks from boy.")
        assert dog.evaluate(weight) == 0
        page.get_by_role("button", name="Go on with this text").click()
        expect(page.locator("#explorer .arcs path")).to_have_count(1)
        page.locator(WORD).nth(1).hover()
        expect(legend).to_have_text("The arcs of all 16 heads from boy.")
        page.locator("#explorer textarea").hover()
        expect(legend).to_have_text("")
        assert dog.evaluate(weight) > 0.5


def test_a_wrapped_text_has_no_empty_band_and_its_words_a_ground(open_page):
    band = """() => document.querySelector("#explorer .tokens").getBoundingClientRect().top
      - document.querySelector("#explorer .text").getBoundingClientRect().top"""
    with open_page("explorer.html?explorer.guide=6") as page:
        high = page.evaluate(band)
        page.locator("#explorer textarea").fill(findings.TURTLE)
        expect(page.locator("#explorer .text[data-wrapped]")).to_have_count(1)
        assert page.evaluate(band) < 70 < high
        grounds = page.locator(WORD).evaluate_all(
            "all => all.map((e) => getComputedStyle(e).backgroundColor)"
        )
        assert not [ground for ground in grounds if re.search(r"[,/] 0\)$", ground)], "see-through"


def test_layer_by_layer_closes_for_another_text(open_page):
    with open_page(OPEN) as page:
        lenses = page.locator("#explorer .lens")
        page.get_by_text("Ten findings").click()
        page.get_by_text("Find the head:").click()
        for act in (
            lambda: page.locator("#explorer textarea").fill("The duck"),
            lambda: page.get_by_role("button", name="One step back").click(),
            lambda: page.get_by_role("button", name="Begin", exact=True).click(),
        ):
            page.get_by_text("Layer by layer").click()
            expect(lenses).to_have_count(5)
            act()
            expect(lenses).to_have_count(0)


@pytest.mark.parametrize(("width", "key", "head"), [(1280, "Down", 15), (390, "Up", 9)])
def test_arrows_go_by_a_row_of_heads(open_page, width, key, head):
    """Two of a layer beside each other on a desk, four on a phone."""
    with open_page("explorer.html?explorer.guide=6&explorer.head=4.2", width=width) as page:
        page.locator("#explorer .tiles button").nth(13).focus()
        page.keyboard.press(f"Arrow{key}")
        chosen = page.locator(f"#explorer .tiles [data-head='{head}']")
        expect(chosen).to_have_attribute("aria-checked", "true")
        expect(chosen).to_be_focused()


def test_in_the_tour_all_heads_can_be_on_again(open_page):
    with open_page("explorer.html?explorer.guide=5&explorer.off=4.3&explorer.head=4.3") as page:
        expect(page.locator(GUIDE)).to_contain_text("Without head 4.3")
        page.get_by_role("button", name="All heads on").click()
        expect(page.locator(GUIDE)).to_contain_text("All heads are on again: dog has 47 %.")
        page.locator("#explorer .tiles button").nth(7).click()
        page.get_by_label("Switch off head 2.4").check()
        expect(page.locator(GUIDE)).to_contain_text("Without head 2.4, dog falls")


def test_the_head_that_is_pressed_in_the_tour_stays_in_place(open_page):
    """Room is kept for the comparison, and a head that is off is no higher than its neighbour."""
    with open_page(PAGE) as page:
        page.get_by_role("button", name="Go on with this text").click()
        page.locator(WORD).last.click()
        expect(page.locator("#explorer .tiles .try")).to_be_in_viewport(ratio=1)
        top = "e => e.getBoundingClientRect().top + scrollY"
        squares = page.locator("#explorer .tiles .square")
        before = squares.nth(14).evaluate(top)
        squares.nth(14).click()
        expect(page.get_by_label("Switch off head 4.3")).to_be_visible()
        assert squares.nth(14).evaluate(top) == pytest.approx(before, abs=2)
        page.get_by_label("Switch off head 4.3").check()
        expect(squares.nth(14)).to_contain_text("off")
        assert squares.nth(14).evaluate(top) == pytest.approx(squares.nth(15).evaluate(top))


def test_next_finding_stays_under_the_pointer(open_page):
    top = "e => e.getBoundingClientRect().top"
    with open_page(PAGE) as page:
        page.get_by_text("Ten findings").click()
        page.locator("#explorer .gallery button").first.click()
        following = page.locator("#explorer .finding .following")
        place = following.evaluate(top)
        for number in range(1, 6):
            following.click()
            title = page.locator("#explorer .gallery b").nth(number).inner_text()
            expect(page.locator("#explorer .finding")).to_contain_text(title.replace("\n", " "))
            assert following.evaluate(top) == pytest.approx(place, abs=3)


def test_a_finding_names_no_other_head_than_the_panel(open_page):
    """And the next one is one that hasn't been tried."""
    with open_page(PAGE) as page:
        page.get_by_text("Ten findings").click()
        page.get_by_role("button", name="A name carried far").click()
        found = page.locator("#explorer .finding")
        page.get_by_label("Switch off head 4.3").check()
        expect(found).to_contain_text("Without it T falls")
        page.locator("#explorer .gallery button").first.click()
        expect(found).to_contain_text("A copyist.")
        page.locator("#explorer .tiles button").nth(7).click()
        expect(found).to_contain_text("This is about head 4.3; you are looking at head 2.4.")
        expect(page.get_by_label("Switch off")).to_have_count(1)
        expect(page.get_by_label("Switch off head 2.4")).to_have_count(1)
        page.get_by_role("button", name="Back to head 4.3").click()
        expect(page.get_by_label("Switch off head 4.3")).to_have_count(1)
        expect(found).to_contain_text("What will become of the guess?")
        page.get_by_role("button", name="Next finding").click()
        expect(found).to_contain_text("One step back.")


def test_a_head_under_the_pointer_draws_its_arcs_in_the_tour_and_the_game(open_page):
    """The first one, too, after the page has scrolled by itself."""
    with open_page(PAGE) as page:
        page.get_by_role("button", name="Go on with this text").click()
        page.locator(WORD).last.click()
        legend = page.locator("#explorer .legend")
        page.locator("#explorer .tiles button").nth(7).hover()
        expect(legend).to_contain_text("head 2.4, under the pointer")
        page.get_by_role("button", name="Skip the tour").click()
        page.get_by_text("Find the head:").click()
        page.get_by_role("button", name="Begin").click()
        expect(page.locator(WORD)).to_have_count(7)
        page.locator("#explorer .tiles button").nth(2).hover()
        expect(legend).to_contain_text("head 1.3, under the pointer")


@torch.no_grad()
def test_a_later_head_that_loses_its_aim_is_told(open_page):
    """As PyTorch has it: of all later heads the weight that falls most."""
    model = weights.load(ROOT / FILE).double()
    ids = torch.tensor([ids_of(model, "storyteller", OPENING)])
    rows = [
        torch.stack([layer[0, :, -1] for layer in model(ids, off=off).weights])[2:]
        for off in ((), ((1, 3),))
    ]
    falls = rows[0] - rows[1]
    layer, number, to = (int(i) for i in torch.unravel_index(falls.argmax(), falls.shape))
    assert (layer, number, to) == (1, 2, 5)
    with open_page("explorer.html?explorer.guide=6&explorer.off=2.4&explorer.head=2.4") as page:
        told = page.locator("#explorer .itself").first
        expect(told).to_contain_text("Without it head 4.3 gives dog ")
        now, before = re.findall(r"[\d.]+\u202f%", told.inner_text())
        for share, want in ((now, rows[1]), (before, rows[0])):
            value, slack = percent(share)
            assert value == pytest.approx(want[layer, number, to].item(), abs=slack + 1e-4)


def test_reset_goes_to_the_top(open_page):
    with open_page("explorer.html?explorer.guide=6&explorer.head=2.4") as page:
        page.get_by_text("Another model").click()
        page.get_by_role("button", name="Reset").click()
        expect(page.locator("#explorer .guide")).to_be_in_viewport()


def test_an_unsure_guess_is_called_one_and_a_measured_loss_is_filled_in(open_page):
    with open_page("explorer.html?explorer.guide=6") as page:
        page.locator("#explorer textarea").fill(
            "The king had a golden ring. The queen wanted the golden"
        )
        expect(page.locator("#explorer .own-card")).to_contain_text("An unsure guess")
        page.get_by_role("button", name="Find the head that this guess needs most").click()
        expect(page.locator("#explorer .own-card .round")).to_be_visible()
        found = page.locator("#explorer .own-card .round .own .share").inner_text()
        expect(page.locator("#explorer .verdict .share").nth(1)).to_have_text(found)


def test_a_push_below_zero_is_drawn_to_the_left(open_page):
    ends = (
        "all => all.map((e) => [e.getBoundingClientRect().left, e.getBoundingClientRect().right])"
    )
    with open_page(f"{OPEN}&explorer.stage=9") as page:
        lower = page.locator("#explorer .pass .lowers span")
        expect(lower.first).to_be_attached()
        right = [end for _, end in lower.evaluate_all(ends)]
        left = [
            start
            for start, _ in page.locator("#explorer .pass .bar:not(.lowers) span").evaluate_all(
                ends
            )
        ]
        assert right == pytest.approx([left[0]] * len(right), abs=1)
        assert left == pytest.approx([left[0]] * len(left), abs=1)
