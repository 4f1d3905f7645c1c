"""The storyteller on the front page: fetched at the first touch, read, written on, and refused."""

import re
from contextlib import contextmanager
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect

from models.storyteller.model import ADDRESS, FILE
from tests.conftest import ROOT
from tests.site.gestures import answer
from tests.site.settling import settle
from tests.widgets.states_index import TEXT

PAGE = "index.html"
OTHER = "models/grammar/weights/causal.safetensors"
SHOWN = ".story .text .tokens button"
WORD = f"{SHOWN}[aria-checked=true]"
PROBLEM = ".story .status.problem"
LOADED = re.compile(r"storyteller|lib/transformer\.js|lib/tokenizer\.js")


def text_of(page):
    return page.locator(".story textarea")


def first_guess(page):
    return page.locator(".story .guesses .token").first


def shown(page):
    return "".join(page.locator(SHOWN).all_inner_texts()).replace("␣", "")


def as_shown(text):
    return text.replace(" ", "").replace("\n", "¶")


def sentence(page):
    return page.locator(".story .sentence").text_content()


def press_write(page):
    page.locator(".story .write").click()


def assert_button(page, name):
    expect(page.locator(".story .write")).to_have_text(name, timeout=20_000)


@contextmanager
def front(browser, served, prepare):
    """The page in a session of its own, in which files may be missing or wrong."""
    session = browser.new_context(viewport={"width": 1280, "height": 900})
    page = session.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    prepare(page)
    page.goto(served + PAGE)
    page.wait_for_selector(".story .sentence", state="attached")
    yield page
    session.close()
    assert not errors


# ---- The first touch -----------------------------------------------------------------------------


def test_nothing_of_the_model_is_fetched_before_the_first_touch(open_page):
    with open_page(PAGE, live=False) as page:
        urls = []
        page.on("request", lambda request: urls.append(request.url))
        page.reload()
        page.wait_for_selector(".story .sentence", state="attached")
        page.wait_for_timeout(1000)
        assert [url for url in urls if "ask-storyteller" in url], "the page's own script"
        late = [url for url in urls if LOADED.search(url) and "ask-storyteller" not in url]
        assert not late
        with page.expect_response(lambda response: ADDRESS in response.url):
            page.locator(SHOWN).nth(2).click()
        expect(page.locator(".story .status")).to_have_text("")
        assert sum(ADDRESS in url for url in urls) == 1


def test_the_opening_works_by_touch_and_keyboard(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        assert shown(page) == as_shown(TEXT)
        expect(page.locator(".story .ghost")).to_have_text("Rabbit")
        page.locator(SHOWN).nth(3).tap()
        expect(page.locator(WORD)).to_have_text("looked")
        expect(page.locator(".story .later").first).to_have_text("down")
        for key, word in (("ArrowRight", "down"), ("Home", "The")):
            page.keyboard.press(key)
            expect(page.locator(WORD)).to_have_text(word)
        page.locator(".story .tiles button").nth(7).tap()
        assert sentence(page).startswith("Head 2.4 looks from The at: The 100")
        page.keyboard.press("ArrowDown")
        assert sentence(page).startswith("Head 3.4")
        for _ in range(3):
            page.keyboard.press("ArrowUp")
        assert sentence(page).startswith("Head 1.4"), "the first row's keys lead nowhere else"
        page.wait_for_url("**story.head=1.4*")


ARCS = """() => [...document.querySelectorAll(".story .arcs path")].map((path) => {
  const end = path.getPointAtLength(path.getTotalLength());
  const matrix = path.getScreenCTM();
  return [end.x + matrix.e, end.y + matrix.f];
})"""


def test_every_arc_ends_at_its_word(open_page):
    """Also after the window has changed, without any press."""
    with open_page(PAGE) as page:
        for at in (15, 5):
            page.locator(SHOWN).nth(at).click()
            for width in (1280, 390, 600):
                page.set_viewport_size({"width": width, "height": 900})
                settle(page)
                ends = page.evaluate(ARCS)
                assert len(ends) == at + 1
                for (x, y), word in zip(ends[:-1], page.locator(SHOWN).all(), strict=False):
                    box = word.bounding_box()
                    assert abs(x - box["x"] - box["width"] / 2) < 1, width
                    assert min(abs(y - box["y"]), abs(y - box["y"] - box["height"])) < 1, width


# ---- Reading and writing -------------------------------------------------------------------------


def test_a_reader_types_and_chooses_and_the_model_reads(open_page):
    with open_page(PAGE) as page:
        page.get_by_label("Switch head 4.3 off").check()
        expect(first_guess(page), "a head takes its guess along").to_have_text(",")
        expect(page.locator(".story .tiles .off")).to_have_text("4.3 off")
        assert "is switched off" in sentence(page)
        page.get_by_label("Switch head 4.3 off").uncheck()
        expect(first_guess(page)).to_have_text("Rabbit")

        share = page.locator(".story .guesses .share").first
        for heat, shows in (("0", "100\u202f%"), ("2", "16\u202f%"), ("0.8", "87\u202f%")):
            page.locator(".story input[type=text]").fill(heat)
            expect(share, f"at temperature {heat}").to_have_text(shows)

        page.locator(".story .guesses button").first.click()
        expect(text_of(page)).to_have_value(f"{TEXT} Rabbit")
        expect(page.locator(WORD)).to_have_text("Rabbit")
        page.locator(SHOWN).nth(3).click()
        guess = first_guess(page).inner_text()
        page.locator(".story .guesses button").first.click()
        expect(text_of(page), "where the chosen word stands").to_have_value(
            f"The moon looked {guess}"
        )

        text_of(page).fill("Doctor Dolittle and the duck looked for")
        text_of(page).press_sequentially(" Doctor")
        expect(page.locator(".story .sentence")).to_contain_text("from or at: D 60")
        page.locator(SHOWN).nth(4).click()
        expect(page.locator(WORD)).to_have_text("D")
        text_of(page).press("!")
        expect(page.locator(WORD)).to_have_text("!")
        # The address follows a pause in typing: an earlier pause may have left part of the text.
        page.wait_for_url(lambda url: "!" in unquote(url))
        page.reload()
        expect(page.locator(".story .sentence")).to_contain_text("from “!” at")
        page.go_back()
        expect(page.locator(".story .sentence")).not_to_contain_text("from “!” at")

        markup = '<img src=x onerror="document.title=1"><b>A</b> &amp; ${x}'
        text_of(page).fill(markup)
        page.wait_for_url(lambda url: "onerror" in unquote(url))
        for _ in range(2):
            expect(page.locator(WORD)).to_have_text("}")
            assert shown(page) == as_shown(markup), "markup is text, and from an address, too"
            assert page.locator(".story .text :is(img, b)").count() == 0
            page.reload()


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


def test_it_goes_on_to_the_end_of_a_sentence_or_of_its_memory(open_page):
    with open_page(PAGE, reduced_motion="reduce") as page:
        page.locator(".story input[type=text]").fill("0")
        text_of(page).press("Enter")
        assert_button(page, "Continue")
        written = text_of(page).input_value()
        assert written.startswith(f"{TEXT} Rabbit")
        assert len(written) > len(TEXT) + 60
        assert shown(page) == as_shown(written)
        page.wait_for_url("**story.text=*")
        page.go_back()
        expect(text_of(page)).to_have_value(TEXT)

        text_of(page).fill("the " * 254)
        expect(page.locator(SHOWN)).to_have_count(255)
        press_write(page)
        expect(page.locator(".story .status")).to_contain_text("The model reads 256 tokens at once")
        assert_button(page, "Continue")


def test_who_stops_it_or_types_is_heard(open_page):
    with open_page(PAGE) as page:
        press_write(page)
        assert_button(page, "Stop")
        assert sentence(page) == "The model is writing."
        expect(text_of(page)).not_to_have_value(TEXT)
        press_write(page)
        assert_button(page, "Continue")
        page.wait_for_timeout(300)
        text = text_of(page).input_value()
        page.wait_for_timeout(500)
        assert text_of(page).input_value() == text, "it goes on after Stop"
        press_write(page)
        expect(text_of(page)).not_to_have_value(text)
        text_of(page).fill("The king")
        assert_button(page, "Continue")
        page.wait_for_timeout(500)
        assert text_of(page).input_value() == "The king", "it goes on while a reader types"
        assert shown(page) == "Theking"
        press_write(page)
        expect(text_of(page)).not_to_have_value("The king")
        page.get_by_role("button", name="Reset").click()
        assert_button(page, "Continue")
        assert text_of(page).input_value() == TEXT


# ---- What fails ----------------------------------------------------------------------------------

UNREADABLE = {
    "": "There is no text yet",
    "  ": "There is no text yet",
    "word " * 10_000: "The model reads 256 tokens at once, and this text has 20001.",
    "<img src=x onerror=alert(1)> " * 60: "The model reads 256 tokens at once",
}


def test_a_text_that_can_t_be_read_is_told_and_the_next_is_read(open_page):
    with open_page(PAGE) as page:
        before = TEXT
        for (text, says), animal in zip(
            UNREADABLE.items(), "cat dog duck fox".split(), strict=True
        ):
            text_of(page).fill(text)
            status = page.locator(PROBLEM)
            expect(status).to_contain_text(says)
            expect(page.locator(".story .sentence")).to_contain_text(says)
            assert shown(page) == as_shown(before), "the picture of the text before stays"
            press_write(page)
            assert_button(page, "Continue")
            expect(status).to_contain_text(says)
            text_of(page).fill(before)
            expect(status, "what has been read needs no excuse").to_have_count(0)
            assert says not in sentence(page)
            text_of(page).fill(text)
            expect(status).to_contain_text(says)
            before = f"The {animal}"
            text_of(page).fill(before)
            expect(status).to_have_count(0)
            assert shown(page) == as_shown(before)


def with_little_memory(page):
    source = (ROOT / "widgets/lib/storyteller-worker.js").read_text("utf-8")
    script = """globalThis.Float64Array = class {
      constructor() { throw new RangeError("Array buffer allocation failed"); }
    };"""
    starts = "globalThis.onmessage = async"
    changed = source.replace(starts, f"{script}\n{starts}")
    page.route(
        "**/storyteller-worker.js",
        lambda route: route.fulfill(body=changed, content_type="text/javascript"),
    )


FAILURES = {
    "missing": (answer(status=404), "can't be fetched: the site answers 404"),
    "cut": (answer(body=FILE.read_bytes()[:500_000]), "is cut, or not a safetensors file"),
    "foreign": (answer(body=b"<!doctype html>" * 900), "is cut, or not a safetensors file"),
    "another model": (answer(body=(ROOT / OTHER).read_bytes()), "holds another model"),
    "no connection": (
        lambda page: page.route(f"**/{ADDRESS}", lambda route: route.abort()),
        "this page needs a connection to its site",
    ),
    "little memory": (with_little_memory, "this device has too little memory for it"),
    "no workers": (
        lambda page: page.add_init_script("delete globalThis.Worker"),
        "runs no workers",
    ),
    "no script": (
        lambda page: page.route("**/storyteller-worker.js", lambda route: route.abort()),
        "its script is missing, or failed",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_without_its_model_the_opening_stays_and_a_sentence_says_why(browser, served, name):
    prepare, says = FAILURES[name]
    with front(browser, served, prepare) as page:
        page.locator(SHOWN).nth(3).click()
        page.wait_for_timeout(300)
        expect(page.locator(WORD)).to_have_text("looked")
        expect(page.locator(".story .status"), "what works needs no excuse").to_have_text("")
        problem = page.locator(PROBLEM)
        press_write(page)
        expect(problem, "nothing can be written").to_contain_text(says)
        text_of(page).fill("A cat")
        expect(problem).to_contain_text("The model could not be loaded")
        expect(problem).to_contain_text(says)
        assert shown(page) == as_shown(TEXT)
        press_write(page)
        assert_button(page, "Continue")
        page.get_by_role("button", name="Reset").click()
        expect(problem).to_have_count(0)
        expect(first_guess(page)).to_have_text("Rabbit")
        if name == "missing":  # who changes the text asks again
            page.unroute(f"**/{ADDRESS}")
            text_of(page).fill("A cat and")
            expect(page.locator(WORD)).to_have_text("and")
            expect(problem).to_have_count(0)


def test_the_model_comes_in_a_worker_and_the_page_says_so_and_stays_in_place(browser, served):
    routes = []
    slow = lambda page: page.route(f"**/{ADDRESS}", lambda route: routes.append(route))  # noqa: E731
    with front(browser, served, slow) as page:
        page.evaluate("globalThis.Float64Array = undefined")  # which the model's code needs
        before = page.locator(".story .below").bounding_box()
        text_of(page).fill("The king was old")
        expect(page.locator(".story .status")).to_contain_text("Fetching the model")
        expect(page.get_by_role("progressbar", name="Fetched")).to_be_visible()
        assert page.locator(".story .below").bounding_box() == before
        text_of(page).press_sequentially(" and", delay=10)
        while not routes:
            page.wait_for_timeout(50)
        routes[0].continue_()
        expect(page.locator(WORD)).to_have_text("and")
        expect(page.locator(".story .status")).to_have_text("")
        assert len(page.workers) == 1


def test_in_forced_colours_weights_still_show(open_page):
    with open_page(PAGE, forced_colors="active") as page:
        stroke = "(path) => getComputedStyle(path).stroke"
        ink = page.evaluate("getComputedStyle(document.body).color")
        assert page.locator(".story .tiles path").first.evaluate(stroke) == ink
        assert page.locator(".story .arcs path").first.evaluate(stroke) == ink
        outline = "(word) => getComputedStyle(word).outlineStyle"
        assert page.locator(WORD).evaluate(outline) == "solid"
