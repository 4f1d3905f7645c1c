"""Search: terms in the right place, by keyboard, for screen readers, small and offline."""

import gzip
import json
import re

import pytest
from playwright.sync_api import expect

from course.render.read.glossary import read_glossary, slug
from tests.conftest import ROOT
from tests.site.axe import axe_violations
from tests.site.conftest import LESSON

FIRST = 100_000  # bytes before the first result
M = "modules/{}/lesson.html#{}".format
# What a reader may type, and the places that answer it.
PLACES = {
    "KVCache": "sources/attention.html#KVCache",
    "fused_attention": "sources/attention.html#fused_attention",
    "create_causal": "sources/attention.html#create_causal_mask",
    "rollout": "sources/analysis.html#rollout",
    "ALiBi": "sources/positions.html#alibi_bias",
    "load gpt2 weights": "sources/interchange.html#load_gpt2",
    "flex attention": "sources/flex.html#flex_attention",
    "latent attention": "sources/variants.html#LatentAttention",
    "sliding window mask": "sources/attention.html#create_window_mask",
    "leak": M("m05_masks", "sec-leak"),
    "row that sees nothing": M("m05_masks", "sec-empty"),
    "mask conventions pytorch": M("m05_masks", "translate-a-mask-into-pytorchs-three-conventions"),
    "two texts": M("m05_masks", "sec-cross"),
    "temperature": M("m02_query_key_value", "sec-limit"),
    "split into heads": M("m06_multi_head", "split-into-heads"),
    "translate french": "models.html#alignment",
    "storyteller": "models.html#storyteller",
    "grammar model": "models.html#grammar",
    "summary sheets": "summary.html",
    "embeding": "glossary.html#term-embedding",  # with a slip
}
HOME, FIELD = "index.html", ".search input"
SELECTED = ".search [aria-selected=true]"


@pytest.fixture(autouse=True)
def _ours(by_quarto):
    if by_quarto:
        pytest.skip("Quarto's own search")


@pytest.fixture(scope="module")
def index(browser, served):
    """``index(query)``: the addresses of the results, as the page's script ranks them."""
    page = browser.new_page()
    page.goto(served + HOME)
    page.evaluate("""async () => {
      const {documents, indexOf} = await import("/assets/frame/search-index.js");
      const read = async (name) => (await fetch(`/search/${name}.json`)).json();
      const [names, texts] = [await read("names"), await read("text")];
      const whole = documents(names).map((d, i) => ({...d, text: texts[i] || d.text}));
      globalThis.index = indexOf(whole);
    }""")
    yield lambda query, most=3: page.evaluate("(x) => index.find(...x)", [query, most])
    page.close()


@pytest.mark.parametrize("query", PLACES)
def test_a_question_finds_its_place_among_the_first_three(index, query):
    assert PLACES[query] in [one["address"] for one in index(query)]


def test_every_glossary_term_is_found_first(index):
    for term, entry in read_glossary(ROOT).entries.items():
        for word in (term, *entry.get("forms", [])):
            assert index(word)[0]["address"] == f"glossary.html#term-{slug(term)}", word


def test_every_place_is_there(site, index):
    names = json.loads((site / "search/names.json").read_text(encoding="utf-8"))
    for address, rows in names:
        html = (site / address).read_text(encoding="utf-8")
        ids = set(re.findall(r'\sid="([^"]+)"', html))
        assert {anchor for anchor, *_ in rows} - ids <= {""}, address


def test_it_loads_on_first_use_and_stays_small(open_page, site):
    urls = []
    with open_page(HOME) as page:
        page.on("request", lambda request: urls.append(request.url))
        page.keyboard.press("/")
        page.keyboard.type("mask")
        page.wait_for_selector(SELECTED)
        base = page.url.partition("index.html")[0]
    files = [site / url.removeprefix(base) for url in urls if not url.endswith("text.json")]
    names = {file.name for file in files}
    assert {"search.js", "search-index.js", "minisearch.js", "names.json"} <= names
    size = sum(len(gzip.compress(file.read_bytes())) for file in files)
    assert size <= FIRST / 2, size  # the course is to double


def test_by_keyboard_to_the_second_place_and_back(open_page):
    with open_page(HOME) as page:
        page.locator("main a").first.focus()
        page.keyboard.press("/")
        page.keyboard.type("leak")
        first = page.locator(SELECTED)
        expect(first).to_contain_text("Does it leak?")
        expect(page.locator(f"{SELECTED} mark").first).to_have_text(re.compile("leak", re.I))
        page.keyboard.press("ArrowDown")
        second = page.locator(FIELD).get_attribute("aria-activedescendant")
        assert second == page.locator(SELECTED).get_attribute("id") == "search-result-1"
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        last = page.locator(".search a").count() - 1
        expect(page.locator(SELECTED)).to_have_attribute("id", f"search-result-{last}")
        page.keyboard.press("Escape")
        expect(page.locator(".search")).to_be_hidden()
        expect(page.locator("main a").first).to_be_focused()
        page.keyboard.press("/")
        page.keyboard.type("leak")
        expect(page.locator(SELECTED)).to_contain_text("Does it leak?")
        page.keyboard.press("Enter")
        page.wait_for_url("**/m05_masks/lesson.html#sec-leak")
        expect(page.locator("#sec-leak")).to_be_in_viewport()


def test_a_slash_typed_into_a_field_is_a_slash(open_page):
    with open_page(LESSON) as page:
        field = page.locator("main input[type=text], main input[type=number]").first
        field.focus()
        page.keyboard.press("/")
        assert page.locator(".search").count() == 0


@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (1280, "dark")])
def test_open_it_is_clean_for_a_screen_reader(open_page, width, theme):
    with open_page(HOME, width=width, theme=theme) as page:
        page.locator(".search-open:visible").click()
        page.keyboard.type("softmax")
        page.wait_for_selector(SELECTED)
        expect(page.locator(".search [role=status]")).to_contain_text("found")
        assert axe_violations(page, ".search") == []
        box = page.locator(".search").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        page.fill(FIELD, "qqqqq")
        expect(page.locator(".search [role=status]")).to_contain_text("Nothing found")


def test_without_its_files_it_says_so(visit, served):
    with visit(served) as (page, _):
        page.route("**/search/*.json", lambda route: route.abort())
        page.goto(served + HOME)
        page.locator(".search-open:visible").click()
        expect(page.locator(".search [role=status]")).to_contain_text("could not be loaded")
