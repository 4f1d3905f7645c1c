"""The page's frame in a browser: theme, sidebar, contents, copy buttons."""

import pytest

from course.serve import start_server
from tests.engine.sites import Site

pytestmark = pytest.mark.site
LONG = "\n\nText.\n" * 40
LESSON = f"""---
title: Lesson
---
## First

```python
copied = "this"
{"wide = " + "1 + " * 60 + "1"}
```
{LONG}
## Second
{LONG}
## Third {{data-row="F1"}}

The end.
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    # Served from a subpath, like a project page of a host.
    root = tmp_path_factory.mktemp("frame")
    Site(root / "site", lesson=LESSON).render()
    (root / "served").mkdir()
    (root / "site/_site").rename(root / "served/course")
    server = start_server(root / "served", 0)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def open_page(browser, server):
    """Open the lesson; at the end fail on any error in a page that was opened."""
    failures, contexts = [], []

    def open_page(*, width=1280, scheme="light", **options):
        size = {"width": width, "height": 800}
        context = browser.new_context(viewport=size, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("response", lambda r: failures.append(r.url) if r.status >= 400 else None)
        page.goto(server.url + "course/lessons/lesson.html")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert failures == []


TOGGLE = ".quarto-color-scheme-toggle"


def theme(page):
    return page.evaluate("document.body.className")


def test_the_system_chooses_the_theme_first(open_page):
    assert theme(open_page(scheme="light")) == "quarto-light"
    page = open_page(scheme="dark")
    assert theme(page) == "quarto-dark"
    page.emulate_media(color_scheme="light")
    page.wait_for_function("() => document.body.className === 'quarto-light'")


@pytest.mark.parametrize("press", ["click", "Enter", "Space"])
def test_the_readers_choice_is_kept_under_quartos_key(open_page, press):
    page = open_page()
    page.click(TOGGLE) if press == "click" else page.press(TOGGLE, press)
    assert theme(page) == "quarto-dark"
    assert page.evaluate("localStorage['quarto-color-scheme']") == "alternate"
    assert page.get_attribute(TOGGLE, "aria-pressed") == "true"
    page.reload()
    assert theme(page) == "quarto-dark"
    page.click(TOGGLE)
    assert page.evaluate("localStorage['quarto-color-scheme']") == "default"


def test_the_theme_is_there_before_anything_is_painted(open_page):
    page = open_page()
    page.evaluate("localStorage['quarto-color-scheme'] = 'alternate'")
    # The frame's script is a module, so it runs after the parser has reached the text.
    page.add_init_script(
        "new MutationObserver(() => { if (document.querySelector('main') && !window.atFirst) "
        "window.atFirst = document.body.className; }).observe(document, "
        "{childList: true, subtree: true});"
    )
    page.reload()
    assert page.evaluate("window.atFirst") == "quarto-dark"


def test_on_a_phone_the_sidebar_opens_by_keyboard_and_closes_by_escape(open_page):
    page = open_page(width=390)
    sidebar, button = page.locator("#quarto-sidebar"), page.locator(".quarto-btn-toggle")
    assert not sidebar.is_visible()
    button.press("Enter")
    assert sidebar.is_visible()
    assert button.get_attribute("aria-expanded") == "true"
    sidebar.locator("a").first.focus()
    page.keyboard.press("Escape")
    assert not sidebar.is_visible()
    assert button.evaluate("button => button === document.activeElement")


def test_the_skip_link_comes_first_and_leads_to_the_text(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip-link"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "quarto-document-content"


def test_the_contents_follow_the_scroll(open_page):
    page = open_page()
    active = page.locator("#TOC a.active")
    assert active.all_inner_texts() == ["First"]
    page.evaluate("document.getElementById('second').scrollIntoView()")
    page.wait_for_function("() => document.querySelector('#TOC a.active').textContent === 'Second'")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for_function("() => document.querySelector('#TOC a.active').textContent === 'Third'")
    assert active.count() == 1


def test_each_heading_of_the_text_can_be_linked_to(open_page):
    links = open_page().locator("main section > :is(h2, h3) > a.anchorjs-link")
    assert [link.get_attribute("href") for link in links.all()] == ["#first", "#second", "#third"]


def test_code_is_copied(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.locator(".code-copy-button").first.click()
    page.wait_for_selector(".code-copy-button-checked")
    assert page.evaluate("navigator.clipboard.readText()").startswith('copied = "this"')


def test_what_scrolls_sideways_is_reached_by_keyboard(open_page):
    open_page(width=390).wait_for_selector("pre[tabindex='0']")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_frame_breaks_no_accessibility_rule(open_page, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(width=width, scheme=scheme)
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
