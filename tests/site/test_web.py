"""What a site needs on the web: a policy that holds, descriptions, page 404."""

import re

import pytest
from playwright.sync_api import expect

from tests.site.conftest import LESSON, PAGES

SCRIPT = """(code) => new Promise((told) => {
  addEventListener("securitypolicyviolation", ({violatedDirective}) => told(violatedDirective));
  const script = Object.assign(document.createElement("script"), {textContent: code});
  document.body.append(script);
  setTimeout(told, 1000, "nothing");
})"""
FETCH = """() => new Promise((told) => {
  addEventListener("securitypolicyviolation", ({violatedDirective}) => told(violatedDirective));
  fetch("http://localhost:9/").catch(() => {});
  setTimeout(told, 1000, "nothing");
})"""


def test_the_policy_refuses_foreign_scripts_and_hosts(visit, served, by_quarto):
    if by_quarto:
        pytest.skip("Quarto's frame has scripts of its own")
    with visit(served) as (page, _):
        page.goto(served + LESSON)
        assert page.evaluate(SCRIPT, "window.foreign = true").startswith("script-src")
        assert page.evaluate("window.foreign") is None
    with visit(served) as (page, _):
        page.goto(served + LESSON)
        assert page.evaluate(FETCH) == "connect-src"


def test_opened_from_a_file_a_page_keeps_its_style(browser, site, by_quarto):
    if by_quarto:
        pytest.skip("Quarto's own frame")
    page = browser.new_page()
    page.goto((site / LESSON).resolve().as_uri())
    style = "getComputedStyle(document.body).getPropertyValue('--color-page')"
    assert page.evaluate(style)
    assert (
        page.locator("#quarto-sidebar").evaluate("(e) => getComputedStyle(e).position") == "sticky"
    )
    page.close()


def test_each_page_says_what_it_is_about(site):
    said = {}
    for path in PAGES:
        html = (site / path.partition("?")[0]).read_text(encoding="utf-8")
        said[path] = re.search(r'<meta name="description" content="([^"]+)">', html)[1]
        assert len(said[path]) >= 30, path
    assert len(set(said.values())) == len(said)


def test_a_wrong_address_leads_to_a_page_that_leads_on(visit, served, by_quarto):
    if by_quarto:
        pytest.skip("Quarto's own page")
    with visit(served) as (page, _):
        answer = page.goto(f"{served}modules/none/lesson.html")
        assert answer.status == 404
        page.locator("main a", has_text="front page").click()
        expect(page.locator("h1")).to_have_text("Attention, number by number")
