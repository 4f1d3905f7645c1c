"""The storyteller on the front page: fetched at the first touch, read, written on, and refused."""

import re
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect

from tests.site.reading import settle
from tests.widgets.test_story import TEXT

PAGE = "index.html"
pytestmark = pytest.mark.slow  # a page load each; the quick run holds the widget to the contract
ROOT = Path(__file__).parents[2]
FILE = "models/storyteller/weights/storyteller.safetensors"
OTHER = "models/grammar/weights/causal.safetensors"
SHOWN = ".story .text .tokens button"
WORD = f"{SHOWN}[aria-checked=true]"
STATE = "document.querySelector('.story').state"
LOADED = re.compile(r"storyteller|lib/reader\.js|lib/transformer\.js|lib/tokenizer\.js")


def text_of(page):
    return page.locator(".story textarea")


def shown(page):
    return "".join(page.locator(SHOWN).all_inner_texts()).replace("␣", "")


def read(text):
    return text.replace(" ", "").replace("\n", "¶")


def said(page):
    return page.locator(".story .sentence").text_content()


def press_write(page):
    page.locator(".story .write").click()


@contextmanager
def front(browser, served, query="", *, prepare=None, **context):
    """The page in a session of its own, in which files may be missing or wrong."""
    session = browser.new_context(viewport={"width": 1280, "height": 900}, **context)
    page = session.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    if prepare:
        prepare(page)
    page.goto(f"{served}{PAGE}?{query}")
    page.wait_for_selector(".story .sentence", state="attached")
    yield page
    session.close()
    assert not errors


# ---- The first touch -----------------------------------------------------------------------------


def test_nothing_of_the_model_is_fetched_before_the_first_touch(open_page):
    with open_page(PAGE, live=False) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.reload()
        page.wait_for_selector(".story .sentence", state="attached")
        page.wait_for_timeout(1000)
        assert [url for url in asked if "ask-storyteller" in url], "the page's own script"
        late = [url for url in asked if LOADED.search(url) and "ask-storyteller" not in url]
        assert not late
        page.locator(SHOWN).nth(2).click()
        with page.expect_response(lambda response: FILE in response.url):
            pass
        expect(page.locator(".story .status")).to_have_text("")
        assert sum(FILE in url for url in asked) == 1


def test_the_opening_works_by_mouse_touch_and_keyboard(open_page):
    with open_page(PAGE, width=390, has_touch=True, is_mobile=True) as page:
        assert shown(page) == read(TEXT)
        expect(page.locator(".story .ghost")).to_have_text("Rabbit")
        page.locator(SHOWN).nth(3).tap()
        expect(page.locator(WORD)).to_have_text("looked")
        expect(page.locator(".story .later").first).to_have_text("down")
        page.keyboard.press("ArrowRight")
        expect(page.locator(WORD)).to_have_text("down")
        page.keyboard.press("Home")
        expect(page.locator(WORD)).to_have_text("The")
        page.locator(".story .tiles button").nth(7).tap()
        assert said(page).startswith("Head 2.4 looks from The at: The 100")
        page.keyboard.press("ArrowDown")
        assert said(page).startswith("Head 3.4")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        assert said(page).startswith("Head 1.4"), "the first row's keys lead nowhere else"
        page.wait_for_url("**story.head=1.4*")


ARCS = """() => [...document.querySelectorAll(".story .arcs path")].map((path) => {
  const end = path.getPointAtLength(path.getTotalLength());
  const matrix = path.getScreenCTM();
  return [end.x + matrix.e, end.y + matrix.f];
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_every_arc_ends_at_its_word(open_page, width):
    with open_page(PAGE, width=width) as page:
        for at in (15, 5):
            page.locator(SHOWN).nth(at).click()
            settle(page)
            ends = page.evaluate(ARCS)
            assert len(ends) == at + 1
            for (x, y), word in zip(ends[:-1], page.locator(SHOWN).all(), strict=False):
                box = word.bounding_box()
                assert abs(x - box["x"] - box["width"] / 2) < 1
                assert min(abs(y - box["y"]), abs(y - box["y"] - box["height"])) < 1
        page.set_viewport_size({"width": 600, "height": 900})
        settle(page)
        x, _ = page.evaluate(ARCS)[2]
        box = page.locator(SHOWN).nth(2).bounding_box()
        assert abs(x - box["x"] - box["width"] / 2) < 1, "the arcs stay where the words were"


# ---- Reading and writing -------------------------------------------------------------------------


def test_a_reader_types_and_the_model_reads(open_page):
    with open_page(PAGE) as page:
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


def test_a_head_switched_off_takes_its_guess_along(open_page):
    with open_page(PAGE) as page:
        first = page.locator(".story .guesses .token").first
        expect(first).to_have_text("Rabbit")
        page.get_by_label("Switch head 4.3 off").check()
        expect(first).to_have_text(",")
        expect(page.locator(".story .tiles .off")).to_have_text("4.3 off")
        assert "is switched off" in said(page)
        page.get_by_label("Switch head 4.3 off").uncheck()
        expect(first).to_have_text("Rabbit")


def test_temperature_sharpens_and_flattens_the_guesses(open_page):
    with open_page(PAGE) as page:
        share = page.locator(".story .guesses .share").first
        for heat, shows in (("0", "100\u202f%"), ("2", "16\u202f%"), ("0.8", "87\u202f%")):
            page.locator(".story input[type=text]").fill(heat)
            expect(share).to_have_text(shows)


SLOW = """() => {
  const now = globalThis.setTimeout;
  globalThis.setTimeout = (task, wait) => now(task, wait === 0 ? 450 : wait);
}"""


def test_back_leads_to_the_text_before_however_slow_the_model_writes(open_page):
    """The address follows a pause of 400 ms: here each token is one."""
    with open_page(PAGE, reduced_motion="reduce") as page:
        page.evaluate(SLOW)
        press_write(page)
        expect(page.locator(".story .write")).to_have_text("Stop")
        expect(text_of(page)).to_have_value(re.compile(rf"{TEXT}.+ \w+", re.DOTALL), timeout=20_000)
        press_write(page)
        page.wait_for_url("**story.text=*")
        page.wait_for_timeout(500)
        page.go_back()
        expect(text_of(page)).to_have_value(TEXT)


@pytest.mark.parametrize("by", ["button", "key"])
def test_it_goes_on_and_stops(open_page, by):
    with open_page(PAGE, reduced_motion="reduce") as page:
        page.locator(".story input[type=text]").fill("0")
        if by == "key":
            text_of(page).press("Enter")
        else:
            press_write(page)
        expect(page.locator(".story .write")).to_have_text("Continue", timeout=20_000)
        written = text_of(page).input_value()
        assert written.startswith(f"{TEXT} Rabbit")
        assert len(written) > len(TEXT) + 60
        assert shown(page) == read(written)
        page.wait_for_url("**story.text=*")
        page.go_back()
        expect(text_of(page)).to_have_value(TEXT)


def test_who_stops_it_or_types_is_heard(open_page):
    with open_page(PAGE) as page:
        press_write(page)
        expect(page.locator(".story .write")).to_have_text("Stop")
        assert said(page) == "The model is writing."
        expect(text_of(page)).not_to_have_value(TEXT)
        press_write(page)
        expect(page.locator(".story .write")).to_have_text("Continue")
        page.wait_for_timeout(300)
        held = text_of(page).input_value()
        page.wait_for_timeout(500)
        assert text_of(page).input_value() == held
        press_write(page)
        expect(text_of(page)).not_to_have_value(held)
        text_of(page).fill("The king")
        expect(page.locator(".story .write")).to_have_text("Continue")
        page.wait_for_timeout(500)
        assert text_of(page).input_value() == "The king"
        assert shown(page) == "Theking"
        press_write(page)
        expect(text_of(page)).not_to_have_value("The king")
        page.get_by_role("button", name="Reset").click()
        expect(page.locator(".story .write")).to_have_text("Continue")
        assert text_of(page).input_value() == TEXT


def test_a_guess_is_taken_where_the_chosen_word_stands(open_page):
    with open_page(PAGE) as page:
        page.locator(".story .guesses button").first.click()
        expect(text_of(page)).to_have_value(f"{TEXT} Rabbit")
        expect(page.locator(WORD)).to_have_text("Rabbit")
        page.locator(SHOWN).nth(3).click()
        guess = page.locator(".story .guesses .token").first.inner_text()
        page.locator(".story .guesses button").first.click()
        expect(text_of(page)).to_have_value(f"The moon looked {guess}")


# ---- Bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "There is no text yet"),
        ("  ", "There is no text yet"),
        ("word " * 10_000, "The model reads 256 tokens at once, and this text has 20001."),
        ("<img src=x onerror=alert(1)> " * 60, "The model reads 256 tokens at once"),
    ],
    ids=["empty", "blank", "50,000 characters", "much markup"],
)
def test_a_text_that_can_t_be_read_is_told_and_the_next_is_read(open_page, text, says):
    with open_page(PAGE) as page:
        text_of(page).fill(text)
        status = page.locator(".story .status.problem")
        expect(status).to_contain_text(says)
        expect(page.locator(".story .sentence")).to_contain_text(says)
        assert shown(page) == read(TEXT), "the picture of the text before stays"
        press_write(page)
        expect(page.locator(".story .write")).to_have_text("Continue")
        expect(status).to_contain_text(says)
        text_of(page).fill("A cat")
        expect(page.locator(WORD)).to_have_text("cat")
        expect(status).to_have_count(0)


def test_markup_is_text(open_page):
    with open_page(PAGE) as page:
        text = '<img src=x onerror="document.title=1"><b>A</b> &amp; ${x}'
        text_of(page).fill(text)
        expect(page.locator(WORD)).to_have_text("}")
        assert shown(page) == read(text)
        assert page.locator(".story .text :is(img, b)").count() == 0
        page.wait_for_url("**story.text=*")
        page.reload()
        expect(page.locator(WORD)).to_have_text("}")
        assert shown(page) == read(text)


def test_a_full_memory_ends_the_writing_in_words(open_page):
    with open_page(PAGE, reduced_motion="reduce") as page:
        text_of(page).fill("the " * 254)
        expect(page.locator(SHOWN)).to_have_count(255)
        press_write(page)
        expect(page.locator(".story .status")).to_contain_text("The model reads 256 tokens at once")
        expect(page.locator(".story .write")).to_have_text("Continue")


# ---- What fails ----------------------------------------------------------------------------------


def answer(**how):
    return lambda page: page.route(f"**/{FILE}", lambda route: route.fulfill(**how))


def in_worker(script):
    """The worker's script, after ``script``."""
    source = (ROOT / "widgets/lib/storyteller-worker.js").read_text("utf-8")
    changed = source.replace(
        "globalThis.onmessage = async", f"{script}\nglobalThis.onmessage = async"
    )
    return lambda page: page.route(
        "**/storyteller-worker.js",
        lambda route: route.fulfill(body=changed, content_type="text/javascript"),
    )


WEIGHTS = (ROOT / FILE).read_bytes()
NO_MEMORY = """globalThis.Float64Array = class {
  constructor() { throw new RangeError("Array buffer allocation failed"); }
};"""
FAILURES = {
    "missing": (answer(status=404), "can't be fetched: the site answers 404"),
    "cut": (answer(body=WEIGHTS[:500_000]), "is cut, or not a safetensors file"),
    "foreign": (answer(body=b"<!doctype html>" * 900), "is cut, or not a safetensors file"),
    "another model": (answer(body=(ROOT / OTHER).read_bytes()), "holds another model"),
    "no connection": (
        lambda page: page.route(f"**/{FILE}", lambda route: route.abort()),
        "this page needs a connection to its site",
    ),
    "little memory": (in_worker(NO_MEMORY), "this device has too little memory for it"),
    "no workers": (
        lambda page: page.add_init_script("delete globalThis.Worker"),
        "runs no workers",
    ),
    "no script": (
        lambda page: page.route("**/storyteller-worker.js", lambda route: route.abort()),
        "its script is missing, or failed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_without_its_model_the_opening_stays_and_a_sentence_says_why(browser, served, name):
    prepare, says = FAILURES[name]
    with front(browser, served, prepare=prepare) as page:
        page.locator(SHOWN).nth(3).click()
        page.wait_for_timeout(300)
        expect(page.locator(WORD)).to_have_text("looked")
        expect(page.locator(".story .status")).to_have_text(""), "what works needs no excuse"
        text_of(page).fill("A cat")
        problem = page.locator(".story .status.problem")
        expect(problem).to_contain_text("The model could not be loaded")
        expect(problem).to_contain_text(says)
        assert shown(page) == read(TEXT)
        press_write(page)
        expect(page.locator(".story .write")).to_have_text("Continue")
        page.get_by_role("button", name="Reset").click()
        expect(problem).to_have_count(0)
        expect(page.locator(".story .guesses .token").first).to_have_text("Rabbit")


def test_a_model_that_comes_late_is_read(browser, served):
    """The first answer fails; who changes the text asks again."""
    with front(browser, served, prepare=answer(status=503)) as page:
        text_of(page).fill("A cat")
        expect(page.locator(".story .status.problem")).to_contain_text("answers 503")
        page.unroute(f"**/{FILE}")
        text_of(page).fill("A cat and")
        expect(page.locator(WORD)).to_have_text("and")
        expect(page.locator(".story .status.problem")).to_have_count(0)


def test_it_needs_no_webassembly(browser, served):
    none = in_worker("delete globalThis.WebAssembly;")
    with front(browser, served, prepare=none) as page:
        page.evaluate("delete globalThis.WebAssembly")
        text_of(page).fill("A cat")
        expect(page.locator(WORD)).to_have_text("cat")


def test_while_the_model_comes_the_page_says_so_and_stays_in_place(browser, served):
    held = []
    slow = lambda page: page.route(f"**/{FILE}", lambda route: held.append(route))  # noqa: E731
    with front(browser, served, prepare=slow) as page:
        before = page.locator(".story .below").bounding_box()
        text_of(page).fill("The king was old")
        expect(page.locator(".story .status")).to_contain_text("Fetching the model")
        expect(page.get_by_role("progressbar", name="Fetched")).to_be_visible()
        assert page.locator(".story .below").bounding_box() == before
        text_of(page).press_sequentially(" and", delay=10)
        while not held:
            page.wait_for_timeout(50)
        held[0].continue_()
        expect(page.locator(WORD)).to_have_text("and")
        expect(page.locator(".story .status")).to_have_text("")


def test_loading_and_reading_are_work_of_a_worker(browser, served):
    """So typing stays responsive on a slow phone."""
    with front(browser, served) as page:
        page.evaluate("globalThis.Float64Array = undefined")  # which the model's code needs
        text_of(page).fill("Once upon a time")
        expect(page.locator(WORD)).to_have_text("time")
        assert len(page.workers) == 1


def test_in_forced_colours_weights_still_show(open_page):
    with open_page(PAGE, forced_colors="active") as page:
        stroke = "(path) => getComputedStyle(path).stroke"
        ink = page.evaluate("getComputedStyle(document.body).color")
        assert page.locator(".story .tiles path").first.evaluate(stroke) == ink
        assert page.locator(".story .arcs path").first.evaluate(stroke) == ink
        outline = "(word) => getComputedStyle(word).outlineStyle"
        assert page.locator(WORD).evaluate(outline) == "solid"
