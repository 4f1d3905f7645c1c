"""A site on the web: its policy, its address on each page, the map for crawlers, page 404."""

import base64
import hashlib
import re
import xml.etree.ElementTree as ET

import pytest
from bs4 import BeautifulSoup

from course.serve import start_server
from tests.course.request import get
from tests.engine.sites import Site

ADDRESS = "https://example.org/some/course"
NOT_FOUND = """---
title: Nothing here
description: A page.
---
[The start](index.qmd), [here](#below).

## Below
"""
LESSON = """---
title: "One <& two"
description: 'In "short" <words>.'
---

```{ojs}
1 + 1
```
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("web") / "site", one=LESSON)
    site.write("404.qmd", NOT_FOUND)
    site.write("assets/vendor/ojs-runtime.js", "export const define = () => {}, load = define;")
    site.edit("_quarto.yml", "[index.qmd", "[404.qmd, index.qmd")
    site.edit("_quarto.yml", "  type: website", "  type: website\n  resources: [assets/]")
    site.edit("_quarto.yml", '"Small"', f'"Small"\n  image: style.css\n  site-url: {ADDRESS}')
    site.render()
    return site


def page(site, path):
    return BeautifulSoup(site.html(path), "html.parser")


def test_a_page_names_its_address_its_picture_and_what_it_is_about(site):
    head = page(site, "lessons/one.html").head
    assert head.select_one("link[rel=canonical]")["href"] == f"{ADDRESS}/lessons/one.html"
    properties = {meta["property"]: meta["content"] for meta in head.select("meta[property]")}
    assert properties == {
        "og:type": "website", "og:title": "One <& two", "og:site_name": "Small",
        "og:description": 'In "short" <words>.', "og:url": f"{ADDRESS}/lessons/one.html",
        "og:image": f"{ADDRESS}/style.css",
    }  # fmt: skip
    assert page(site, "index.html").select_one("link[rel=canonical]")["href"] == f"{ADDRESS}/"


def test_the_map_has_every_page_but_404(site):
    tree = ET.parse(site.root / "_site/sitemap.xml").getroot()
    addresses = [url.text for url in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert addresses == [f"{ADDRESS}/", f"{ADDRESS}/lessons/one.html"]


def test_page_404_works_at_any_address(site):
    html = page(site, "404.html")
    addresses = [tag.get("href", tag.get("src")) for tag in html.select("[href], [src]")]
    assert addresses
    for address in addresses:
        assert address.startswith(("/some/course/", "#")) or address == "", address
    assert not html.select("link[rel=canonical]")


@pytest.mark.parametrize("path", ["index.html", "lessons/one.html", "404.html"])
def test_the_policy_allows_just_the_scripts_of_the_page(site, path):
    html = page(site, path)
    policy = html.select_one("meta[http-equiv]")["content"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    inline = [
        s.string for s in html.select("script:not([src])") if s.get("type") in (None, "module")
    ]
    assert inline
    digests = (hashlib.sha256(code.encode()).digest() for code in inline)
    hashes = {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}
    assert set(rules["script-src"].split()) == {"'self'", *hashes}
    assert rules["default-src"] == "'self'"
    assert "http" not in policy.replace("http-equiv", "")
    assert not re.search(r"\son\w+=", str(html.body))


def test_hosts_are_told_their_headers(site):
    headers = (site.root / "_site/_headers").read_text(encoding="utf-8")
    assert "X-Content-Type-Options: nosniff" in headers
    assert (site.root / "_site/.nojekyll").exists()


def test_the_server_answers_with_page_404(site):
    server = start_server(site.root / "_site", 0)
    status, kind, body = get(server, "/no/such/page.html")
    server.shutdown()
    server.server_close()
    assert (status, kind) == (404, "text/html; charset=utf-8")
    assert "Nothing here" in body
    assert '<base href="/">' in body


def test_the_address_of_a_publisher_goes_before_and_without_any_none_is_named(site, monkeypatch):
    monkeypatch.setenv("COURSE_SITE_URL", "https://fork.example/")
    site.render()
    canonical = page(site, "index.html").select_one("link[rel=canonical]")
    assert canonical["href"] == "https://fork.example/"
    monkeypatch.undo()
    site.edit("_quarto.yml", f"site-url: {ADDRESS}", "page-navigation: true")
    site.edit("_quarto.yml", "  page-navigation: true\n  sidebar", "  sidebar")
    site.render()
    assert not (site.root / "_site/sitemap.xml").exists()
    assert not page(site, "index.html").select("link[rel=canonical], [property='og:url']")
    assert page(site, "404.html").select_one("main a")["href"] == "index.html"
