"""What a site on the web needs besides its pages: its policy, its address, and files for hosts."""

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from urllib.parse import quote, urlsplit

from course.render.read.page_source import Page
from course.render.read.project import Project

NOT_FOUND = "404.html"
POLICY = "<!--policy-->"  # in the frame, until the page's own scripts are known
_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<code>.*?)</script>", re.S | re.I)
_RELATIVE = re.compile(r"""(\s(?:href|src)=")(?![a-z+]+:|[/#"])(?:\./)?""", re.I)
_DATA = re.compile(r'type="(?!module"|text/javascript")[^"]*"', re.I)
# What a cell publishes has Quarto's type, which isn't valid HTML; our runtime needs only a name.
PUBLISHED, VALID = 'type="ojs-define"', 'type="application/json" data-ojs-define'
# Cloudflare Pages and Netlify read this file; GitHub Pages doesn't. Pages are asked for again each
# time, so that none is older than the scripts that it loads.
_HEADERS = """\
/*
  X-Content-Type-Options: nosniff
  Referrer-Policy: strict-origin-when-cross-origin
  Permissions-Policy: camera=(), geolocation=(), microphone=()
  Cache-Control: public, max-age=0, must-revalidate
/assets/fonts/*
  Cache-Control: public, max-age=604800
/models/*
  Cache-Control: public, max-age=86400
"""


def for_the_web(project: Project, page: Page, html: str) -> str:
    """Add the policy, and make published data valid HTML.

    Page 404, which hosts show at any address, counts from the site's root.
    """
    if page.html == NOT_FOUND and project.site_url:
        root = urlsplit(project.site_url).path
        html = _RELATIVE.sub(lambda match: match[1] + root, html)
    html = html.replace(f"<script {PUBLISHED}>", f"<script {VALID}>")
    return html.replace(POLICY, _policy(html), 1)


def _policy(html: str) -> str:
    """Allow no other host, and inline scripts by their hashes; styles may stand in attributes."""
    codes = (
        script["code"] for script in _SCRIPT.finditer(html)
        if "src=" not in script["attributes"] and not _DATA.search(script["attributes"])
    )  # fmt: skip
    hashes = (base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes)
    scripts = " ".join(dict.fromkeys(["'self'", *(f"'sha256-{each}'" for each in hashes)]))
    return (
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'self\'; '
        f"script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "object-src 'none'; base-uri 'self'; form-action 'none'\">"
    )


def canonical(project: Project, page: Page) -> dict[str, str] | None:
    """Return the page's own address and its picture's, or None for a site without an address."""
    if not project.site_url or page.html == NOT_FOUND:
        return None
    image = project.get("website", "image")
    return {
        "url": project.site_url + address(page),
        "image": f"{project.site_url}{image}" if image else "",
    }


def address(page: Page) -> str:
    """Return the page's address below the site's, without "index.html"."""
    return quote(re.sub(r"(^|/)index\.html$", r"\1", page.html))


def write_web_files(project: Project, site: Path, pages: Iterable[Page]) -> None:
    (site / "_headers").write_text(_HEADERS, encoding="utf-8")
    (site / ".nojekyll").touch()
    if project.site_url:
        lines = [
            f"<url><loc>{escape(project.site_url + address(page))}</loc></url>"
            for page in pages if page.html != NOT_FOUND
        ]  # fmt: skip
        text = "\n".join([
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">', *lines, "</urlset>",
        ])  # fmt: skip
        (site / "sitemap.xml").write_text(text + "\n", encoding="utf-8")
