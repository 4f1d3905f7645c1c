"""The `publish` command: render the site for its address on the web, and say how it gets there."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from course.problems import Problem

_REMOTE = re.compile(
    r"(?:git@|ssh://git@|https://)(?:[^@/]*@)?([\w.-]+)[:/]([\w.-]+)/([\w.-]+?)(?:\.git)?/?"
)
_HOSTS = {"github.com": "github.io", "gitlab.com": "gitlab.io"}
_STEPS = """
_site/ is ready for {url}

GitHub Pages, for your own copy on GitHub:
  1. In the copy's Settings, Pages, choose "GitHub Actions" as the source.
  2. Push to main, or start the workflow "publish" by hand: it renders and publishes.

Any other host of static files (Cloudflare Pages, Netlify, GitLab Pages, a folder of a server):
  upload what is in _site/. It needs no server program. _headers has the headers for hosts that
  read it; 404.html is the page for addresses that lead nowhere.

To publish elsewhere: python3 -m course publish --url https://example.org/attention/
"""


def publish(root: Path, url: str | None, cell_timeout: float) -> int:
    """Render for ``url``, or for the address that Pages would give this repository's origin."""
    from course.render.site import render_site

    url = url or address_of(_origin(root))
    if not url or not re.fullmatch(r"https?://[^\s/]+(/\S*)?", url):
        message = "name the address that the site will have: --url https://example.org/attention/"
        raise Problem("publish", None, f'"{url}" is no address; {message}' if url else message)
    os.environ["COURSE_SITE_URL"] = url
    render_site(root, cell_timeout=cell_timeout)
    print(_STEPS.format(url=url.rstrip("/") + "/"))
    return 0


def address_of(remote: str) -> str | None:
    """Return the address of a repository's pages at GitHub or GitLab; None for other hosts."""
    match = _REMOTE.fullmatch(remote.strip())
    if not match or match[1] not in _HOSTS:
        return None
    owner, name = match[2].lower(), match[3]
    host = f"{owner}.{_HOSTS[match[1]]}"
    return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"


def _origin(root: Path) -> str:
    try:
        command = ["git", "remote", "get-url", "origin"]
        return subprocess.run(command, cwd=root, capture_output=True, text=True).stdout
    except FileNotFoundError:
        return ""
