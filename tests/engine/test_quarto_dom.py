"""Compare the engine's page of a fixture with the skeleton of Quarto's page of it.

``DIFFERENCES`` lists all differences with their reasons: applied in turn to Quarto's skeleton, they
must give the engine's, line by line.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.engine.sites import Site

QUARTO = Path(__file__).parent / "quarto"
CODE_OF_HIDDEN_OJS = (
    r"(?m)^( +)div\.code-copy-outer-scaffold\n\1  div#~\.cell-code\.hidden\.sourceCode\n"
    r"(?:\1    .*\n)+\1  button\.code-copy-button\n\1    i\.bi\n"
)
# (reason, Quarto's text, the engine's text)
DIFFERENCES = [
    ("no margin content, so no page-wide grid", r"\.page-columns\.page-full", "PAGE"),
    ("main keeps the class that its own grid uses", r"\.contentPAGE", ".content.page-columns"),
    ("no margin content, so no page-wide grid", r"PAGE", ""),
    (
        "breadcrumbs repeat the sidebar",
        r" +nav\.d-lg-block\.d-none\.quarto-page-breadcrumbs(.*\n){6}",
        "",
    ),
    ("code that no reader sees is not sent", CODE_OF_HIDDEN_OJS, ""),
    (
        "a caption's id says whose it is",
        r"figcaption#~(.*\"Figure)",
        r"figcaption#fig-curve-caption\1",
    ),
    (
        "a caption's id says whose it is",
        r"figcaption#~(.*\"Table)",
        r"figcaption#tbl-words-caption\1",
    ),
    ("rows are striped by CSS", r"tr\.(header|odd)", "tr"),
    (
        "a folded callout's header works by keyboard",
        r"collapsed\.d-flex \[data-bs-toggle=collapse\]",
        "collapsed.d-flex [data-bs-toggle=collapse role=button]",
    ),
    (
        "tabsets, margin columns and content by format are refused, not supported",
        r" +div\.tabset-margin-container\n(?s:.*?)\"Only in HTML\.\"\n",
        "",
    ),
    (
        "an expression in the text is refused",
        r" +p \"Inline: the step.*\n.*\n.*ojs-element.*\n",
        "",
    ),
    ("imports are not displayed, so there is no cell to hide", r" +div\.hidden\.ojs-auto.*\n", ""),
]
UNSUPPORTED = "::: {.panel-tabset}"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    root = tmp_path_factory.mktemp("quarto") / "fixture"
    shutil.copytree(QUARTO / "_fixture", root)
    site = Site.__new__(Site)
    site.root = root
    (root / "widgets").mkdir()
    site.write("requirements.txt", "")
    site.write("assets/vendor/observable.js", "export let d3, Plot, Inputs, md, html;")
    site.write("assets/vendor/ojs-runtime.js", "export const run = () => {};")
    site.edit("_quarto.yml", "search: true", "search: false")
    site.edit("_prelude.qmd", "md}", "md, html}")
    site.edit("modules/m01/lesson.qmd", "Inline: the step is ${step}.", "")
    lesson = root / "modules/m01/lesson.qmd"
    lesson.write_text(lesson.read_text(encoding="utf-8").split(UNSUPPORTED)[0], encoding="utf-8")
    site.render()
    return root / "_site/modules/m01/lesson.html"


def skeleton(page, *selectors):
    command = [sys.executable, str(QUARTO / "skeleton.py"), str(page), *selectors]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True,
                          env=os.environ | {"PYTHONUTF8": "1"})  # fmt: skip
    return done.stdout


def test_main_is_quartos_but_for_the_listed_differences(page):
    expected = (QUARTO / "skeleton-main.txt").read_text(encoding="utf-8")
    for reason, pattern, replacement in DIFFERENCES:
        expected, count = re.subn(pattern, replacement, expected)
        assert count, f"Quarto has no such thing any more: {reason}"
    assert skeleton(page, "main").splitlines() == expected.splitlines()


# The parts of Quarto's frame that styles, scripts and tests select.
FRAME = [
    "header#quarto-header.fixed-top",
    "header#quarto-header button.quarto-btn-toggle",
    "nav#quarto-sidebar.sidebar.docked .sidebar-title a[href='../../']",
    "nav#quarto-sidebar a.quarto-color-scheme-toggle.quarto-navigation-tool",
    "nav#quarto-sidebar li.sidebar-item a.sidebar-link[href='../../index.html'] span.menu-text",
    "li.sidebar-item-section ul.sidebar-section.depth1 a.sidebar-link.active",
    "div#quarto-margin-sidebar nav#TOC[role=doc-toc] h2#toc-title",
    "nav#TOC a#toc-sec-first.nav-link[href='#sec-first']",
    "nav#TOC ul ul a#toc-a-subsection.nav-link[href='#a-subsection']",
    "nav.page-navigation .nav-page-previous a.pagination-link[href='../../index.html'] "
    "span.nav-page-text",
    "nav.page-navigation .nav-page-next",
    "body.quarto-light",
]


@pytest.mark.parametrize("selector", FRAME)
def test_the_frame_has_quartos_handles(page, selector):
    assert BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").select(selector)


def test_the_title_names_page_and_site(page):
    assert "<title>A fixture lesson – Fixture</title>" in page.read_text(encoding="utf-8")
