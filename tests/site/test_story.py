"""The storyteller on the front page: fetched at the first touch, read, written on, and refused.

And what also holds on the other pages that read a text of the reader's with it.
"""

import re
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect

from models.storyteller.model import ADDRESS, FILE
from tests.conftest import ROOT
from tests.site.conftest import ALL_LIVE, START
from tests.site.gestures import answer
from tests.site.settling import settle
from tests.widgets.states_index import TEXT

PAGE, EXPLORER = "index.html", "explorer.html"
OTHER = "models/grammar/weights/causal.safetensors"
SHOWN = ".story .text .tokens button"
WORD = f"{SHOWN}[aria-checked=true]"
PROBLEM = ".story .status.problem"


def text_of(page):
    return page.locator(".story textarea")


def shown(page):
    return "".join(page.locator(SHOWN).all_inner_texts()).replace("␣", "")


def as_shown(text):
    return text.replace(" ", "").replace("\n", "¶")


def press_write(page):
    page.locator(".story .write").click()


def without(file):
    return lambda page: page.route(f"**/{file}", lambda route: route.abort())


def assert_button(page, name):
    expect(page.locator(".story .write")).to_have_text(name, timeout=20_000)


PAGES = {  # where a text is typed, where its tokens are, and what is wrong
    PAGE: (".story textarea", SHOWN, PROBLEM),
    EXPLORER: ("#explorer textarea", "#explorer .tokens button", "#explorer .problem"),
    START: ("#ground-floor textarea", "#ground-floor .chips button", "#ground-floor .note"),
}
on_each_page = pytest.mark.parametrize("path", PAGES)
CODE = r"((?<!ask-)storyteller|worker|reader|vocabulary|transformer|tokenizer)\.js$"


@on_each_page
def test_the_model_is_fetched_at_the_first_touch_and_reads_markup_as_text(open_page, path):
    """A part of a character is its byte, as Python has it; with the last token it is whole."""
    typed, tokens, _ = PAGES[path]
    late = re.compile(ADDRESS if path == START else f"{ADDRESS}|{CODE}")
    *parts, _ = "🐇".encode()
    with open_page(path, live=False) as page:
        urls = []
        page.on("request", lambda request: urls.append(request.url))
        page.reload()
        page.wait_for_function(ALL_LIVE)
        page.wait_for_timeout(1000)
        assert not [url for url in urls if late.search(url)]
        with page.expect_response(lambda response: ADDRESS in response.url):
            page.locator(typed).click()
        page.locator(typed).fill("a 🐇 <img src=x> & co")
        shown = [f"byte {byte:02X}" for byte in parts]
        expect(page.locator(f"{tokens} .byte")).to_have_text(shown)
        for sign in ("🐇", "<"):
            expect(page.locator(tokens).filter(has_text=sign)).to_have_count(1)
        expect(page.locator(f"{tokens} img")).to_have_count(0)


@on_each_page
def test_what_cannot_be_fetched_is_told_and_asked_for_again(visit, served, path):
    typed, tokens, problem = PAGES[path]
    with visit(served, fresh=True) as (page, _):
        without(ADDRESS)(page)
        page.goto(served + path)
        page.wait_for_function(ALL_LIVE)
        text, opening = page.locator(typed), page.locator(tokens).all_inner_texts()
        text.click()
        text.fill("A cat")
        expect(page.locator(problem)).to_contain_text("can't be fetched")
        assert page.locator(tokens).all_inner_texts() == opening
        page.unroute(f"**/{ADDRESS}")
        text.blur()
        text.click()
        if path != EXPLORER:  # there a touch is enough
            text.fill("A cat and")
        expect(page.locator(tokens).first).to_have_text("A")


ARCS = """() => [...document.querySelectorAll(".story .arcs path")].map((path) => {
  const end = path.getPointAtLength(path.getTotalLength());
  const matrix = path.getScreenCTM();
  return [end.x + matrix.e, end.y + matrix.f];
})"""


def test_every_arc_ends_at_its_word_and_shows_in_forced_colours(open_page):
    """Also after the window has changed, without any press."""
    with open_page(PAGE, forced_colors="active") as page:
        stroke = "(path) => getComputedStyle(path).stroke"
        ink = page.evaluate("getComputedStyle(document.body).color")
        for drawing in (".tiles", ".arcs"):
            assert page.locator(f".story {drawing} path").first.evaluate(stroke) == ink
        outline = "(word) => getComputedStyle(word).outlineStyle"
        assert page.locator(WORD).evaluate(outline) == "solid"
        page.locator(SHOWN).nth(15).click()
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            settle(page)
            *ends, _ = page.evaluate(ARCS)
            assert len(ends) == 15
            for (x, y), word in zip(ends, page.locator(SHOWN).all(), strict=False):
                box = word.bounding_box()
                assert abs(x - box["x"] - box["width"] / 2) < 1, width
                assert min(abs(y - box["y"]), abs(y - box["y"] - box["height"])) < 1, width


def test_words_heads_temperature_and_guesses_do_what_they_say(open_page):
    with open_page(PAGE) as page:
        guess, share = (
            page.locator(f".story .guesses .{name}").first for name in ("token", "share")
        )
        switch = page.get_by_label("Switch head 4.3 off")
        switch.check()
        expect(guess, "a head takes its guess along").to_have_text(",")
        switch.uncheck()
        expect(guess).to_have_text("Rabbit")
        for heat, shows in (("0", "100\u202f%"), ("2", "16\u202f%"), ("0.8", "87\u202f%")):
            page.locator(".story input[type=text]").fill(heat)
            expect(share, f"at temperature {heat}").to_have_text(shows)
        guess.click()
        expect(text_of(page)).to_have_value(f"{TEXT} Rabbit")

        page.locator(SHOWN).nth(3).click()
        for key, word in (("ArrowRight", "down"), ("Home", "The")):
            page.keyboard.press(key)
            expect(page.locator(WORD)).to_have_text(word)
        page.locator(".story .tiles button").nth(7).click()
        for key, head in (("ArrowDown", "3.4"), ("ArrowUp", "2.4"), ("ArrowUp", "1.4")):
            page.keyboard.press(key)
            looks = page.locator(".story .sentence")
            expect(looks, "by a row").to_contain_text(f"Head {head} looks from The")
        page.locator(SHOWN).nth(3).click()
        cut = f"The moon looked {guess.inner_text()}"
        guess.click()
        expect(text_of(page), "where the chosen word stands").to_have_value(cut)


def test_what_is_typed_is_read_at_once_and_kept_in_the_address(open_page):
    with open_page(PAGE) as page:
        text_of(page).fill("word " * 10_000)
        expect(page.locator(PROBLEM)).to_contain_text("and this text has 20001")
        assert shown(page) == as_shown(TEXT), "the picture of the text before stays"
        text_of(page).fill("Doctor Dolittle and the duck looked for")
        expect(page.locator(PROBLEM)).to_have_count(0)
        page.locator(SHOWN).nth(4).click()
        text_of(page).press_sequentially(" Doctor!")
        expect(page.locator(WORD), "who types looks from the end").to_have_text("!")
        # The address follows a pause in typing: an earlier pause may have left part of the text.
        page.wait_for_url(lambda url: "!" in unquote(url))
        page.reload()
        expect(page.locator(".story .sentence")).to_contain_text("from “!” at")


SLOW = """() => {
  const now = globalThis.setTimeout;
  globalThis.setTimeout = (task, wait) => now(task, wait === 0 ? 450 : wait);
}"""


def test_back_leads_to_the_text_before_however_slow_the_model_writes(open_page):
    """The address follows a pause of 400 ms: here each token is one."""
    with open_page(PAGE, reduced_motion="reduce") as page:
        page.evaluate(SLOW)
        press_write(page)
        assert_button(page, "Stop")
        expect(text_of(page)).to_have_value(re.compile(rf"{TEXT}.+ \w+", re.DOTALL), timeout=20_000)
        press_write(page)
        page.wait_for_url("**story.text=*")
        page.wait_for_timeout(500)
        page.go_back()
        expect(text_of(page)).to_have_value(TEXT)


def test_enter_goes_on_to_the_end_of_a_sentence(open_page):
    with open_page(PAGE, reduced_motion="reduce") as page:
        text_of(page).press("Shift+Enter")
        expect(text_of(page), "which only breaks the line").to_have_value(f"{TEXT}\n")
        page.locator(".story input[type=text]").fill("0")
        text_of(page).fill(TEXT)
        text_of(page).press("Enter")
        assert_button(page, "Continue")
        written = text_of(page).input_value()
        assert written.startswith(f"{TEXT} Rabbit")
        assert len(written) > len(TEXT) + 60
        assert written[-1] in ".!?\"'"
        assert shown(page) == as_shown(written)


def test_who_stops_it_or_types_is_heard(open_page):
    with open_page(PAGE) as page:
        stops = {
            "Stop": lambda: press_write(page),
            "typing": lambda: text_of(page).fill("The king"),
            "Reset": lambda: page.get_by_role("button", name="Reset").click(),
        }
        for name, stop in stops.items():
            before = text_of(page).input_value()
            press_write(page)
            expect(text_of(page)).not_to_have_value(before)
            stop()
            assert_button(page, "Continue")
            page.wait_for_timeout(300)
            held = text_of(page).input_value()
            page.wait_for_timeout(500)
            assert text_of(page).input_value() == held, f"it goes on after {name}"
        assert held == TEXT


def with_little_memory(page):
    script = "globalThis.Float64Array = class { constructor() { throw new RangeError(); } };"
    body = script + (ROOT / "widgets/lib/storyteller-worker.js").read_text("utf-8")
    answered = {"body": body, "content_type": "text/javascript"}
    page.route("**/storyteller-worker.js", lambda route: route.fulfill(**answered))


FAILURES = {
    "missing": (answer(status=404), "the site answers 404"),
    "cut": (answer(body=FILE.read_bytes()[:500_000]), "is cut"),
    "another model": (answer(body=(ROOT / OTHER).read_bytes()), "another model"),
    "little memory": (with_little_memory, "too little memory"),
    "no workers": (lambda page: page.add_init_script("delete globalThis.Worker"), "no workers"),
    "no script": (without("storyteller-worker.js"), "its script is missing"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_without_its_model_the_opening_stays_and_a_sentence_says_why(visit, served, name):
    prepare, says = FAILURES[name]
    with visit(served, fresh=True) as (page, _):
        prepare(page)
        page.goto(served + PAGE)
        problem = page.locator(PROBLEM)
        page.locator(SHOWN).nth(3).click()
        page.wait_for_timeout(300)
        expect(page.locator(WORD)).to_have_text("looked")
        expect(problem, "what works needs no excuse").to_have_count(0)
        press_write(page)
        expect(problem, "nothing can be written").to_contain_text(says)
        assert_button(page, "Continue")
        text_of(page).fill("A cat")
        expect(problem).to_contain_text(says)
        assert shown(page) == as_shown(TEXT)
        page.get_by_role("button", name="Reset").click()
        expect(problem).to_have_count(0)


def test_the_model_comes_in_a_worker_and_the_page_says_so_and_stays_in_place(visit, served):
    routes = []
    with visit(served, fresh=True) as (page, _):
        page.route(f"**/{ADDRESS}", lambda route: routes.append(route))
        page.goto(served + PAGE)
        page.wait_for_selector(".story .sentence", state="attached")
        page.evaluate("globalThis.Float64Array = undefined")  # which the model's code needs
        before = page.locator(".story .below").bounding_box()
        text_of(page).fill("The king was old")
        expect(page.get_by_role("progressbar", name="Fetched")).to_be_visible()
        assert page.locator(".story .below").bounding_box() == before
        text_of(page).press_sequentially(" and", delay=10)
        while not routes:
            page.wait_for_timeout(50)
        routes[0].continue_()
        expect(page.locator(WORD)).to_have_text("and")
        expect(page.locator(".story .status")).to_have_text("")
