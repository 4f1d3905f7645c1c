"""What a site needs on the web: a policy that holds, descriptions, page 404."""

import gzip
import re

import pytest
from playwright.sync_api import expect

from tests.site.conftest import ALL_LIVE, LESSON, PAGES

# Bytes as a host sends them: all that the page asks for by itself, gzip -6 but for the fonts.
BUDGETS = {"playground.html": 130_000, "explorer.html": 150_000}
SCRIPT = """(code) => new Promise((done) => {
  addEventListener("securitypolicyviolation", ({violatedDirective}) => done(violatedDirective));
  const script = Object.assign(document.createElement("script"), {textContent: code});
  document.body.append(script);
  setTimeout(done, 1000, "nothing");
})"""
FETCH = """() => new Promise((done) => {
  addEventListener("securitypolicyviolation", ({violatedDirective}) => done(violatedDirective));
  fetch("http://localhost:9/").catch(() => {});
  setTimeout(done, 1000, "nothing");
})"""


def test_the_policy_refuses_foreign_scripts_and_hosts(visit, served, by_quarto):
    if by_quarto:
        pytest.skip("Quarto's frame has scripts of its own")
    with visit(served) as (page, _):
        page.goto(served + LESSON)
        assert page.evaluate(SCRIPT, "window.foreign = true").startswith("script-src")
        assert page.evaluate("window.foreign") is None
        page.reload()
        assert page.evaluate(FETCH) == "connect-src"


def test_each_page_says_what_it_is_about(site):
    about = {}
    for path in PAGES:
        html = (site / path.partition("?")[0]).read_text(encoding="utf-8")
        about[path] = re.search(r'<meta name="description" content="([^"]+)">', html)[1]
        assert len(about[path]) >= 30, path
    assert len(set(about.values())) == len(about)


def test_a_wrong_address_leads_to_a_page_that_leads_on(visit, served, by_quarto):
    if by_quarto:
        pytest.skip("Quarto's own page")
    with visit(served) as (page, _):
        answer = page.goto(f"{served}modules/none/lesson.html")
        assert answer.status == 404
        page.locator("main a", has_text="front page").click()
        expect(page.locator("h1")).to_have_text("Attention, number by number")


@pytest.mark.parametrize("path", BUDGETS)
def test_a_page_asks_for_no_more_than_its_budget(visit, served, site, by_quarto, path):
    if by_quarto:
        pytest.skip("Quarto's own scripts and styles")
    answers = []
    with visit(served, fresh=True) as (page, _):
        page.on("response", lambda response: answers.append(response.url))
        page.goto(served + path)
        page.wait_for_function(ALL_LIVE)
        page.wait_for_load_state("networkidle")
    urls = [url for url in dict.fromkeys(answers) if url.startswith(served)]
    files = [site / url.removeprefix(served) for url in urls]
    assert {".html", ".css", ".js", ".woff2"} <= {file.suffix for file in files}
    sizes = {file: _as_sent(file) for file in files}
    assert sum(sizes.values()) <= BUDGETS[path], sizes


def _as_sent(file):
    content = file.read_bytes()
    return len(content if file.suffix == ".woff2" else gzip.compress(content, 6))
