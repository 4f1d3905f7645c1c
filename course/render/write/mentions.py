"""List, on the pages of the source, the lessons that name or use each function."""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from posixpath import dirname, relpath
from typing import NamedTuple

_SLOT = re.compile(r'<div class="mentions" data-name="([\w.]+)">\s*</div>')
_LINK = re.compile(r'<a\b[^>]*?href="[^"]*sources/\w+\.html#([\w.]+)"[^>]*>')
_PYTHON = re.compile(r'<pre\s+class="sourceCode python[^"]*">(.*?)</pre>', re.S)
_SECTION = re.compile(r'<section id="([^"]+)"[^>]*>\s*<h2[^>]*>(.*?)</h2>', re.S)
_TITLE = re.compile(r'<h1 class="title[^"]*">(.*?)</h1>', re.S)
_TAG = re.compile(r"<[^>]+>")
_DEFINED = re.compile(r"^(?:def|class) (\w+)", re.M)
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\w)")


class Mention(NamedTuple):
    page: str
    anchor: str
    text: str


def with_mentions(html: Mapping[str, str]) -> dict[str, str]:
    """Return the pages of the source with their mentions; ``html`` maps each page's address.

    A lesson is linked once for each name: at the section that names it in the text, or else at
    the first code that uses it.
    """
    with_slots = {page: text for page, text in html.items() if _SLOT.search(text)}
    names = {name for text in with_slots.values() for name in _SLOT.findall(text)}
    mentions: dict[str, list[Mention]] = {}
    for page, text in html.items() if names else ():
        if page.startswith("modules/"):
            for name, mention in _mentions(page, text, names):
                mentions.setdefault(name, []).append(mention)
    return {
        page: _SLOT.sub(lambda slot, at=page: _line(at, mentions.get(slot[1], [])), text)
        for page, text in with_slots.items()
    }


def _mentions(page: str, text: str, names: set[str]) -> Iterator[tuple[str, Mention]]:
    title = _plain(_TITLE.search(text)) or page
    sections = [(match.start(), match[1], _plain(match, 2)) for match in _SECTION.finditer(text)]
    first: dict[str, int] = {}
    for link in _LINK.finditer(text):
        first.setdefault(link[1].partition(".")[0], link.start())
    codes = [(unescape(_TAG.sub("", block[1])), block.start()) for block in _PYTHON.finditer(text)]
    own = {name for code, _ in codes for name in _DEFINED.findall(code)}  # as in an exercise
    for code, start in codes:
        for name in (names - own) & set(_WORD.findall(code)):
            first.setdefault(name, start)
    for name in names & first.keys():
        _, anchor, heading = next(
            (section for section in reversed(sections) if section[0] < first[name]), (0, "", "")
        )
        yield name, Mention(page, anchor, f"{title}: {heading}" if heading else title)


def _line(here: str, mentions: list[Mention]) -> str:
    if not mentions:
        return ""
    links = (
        f'<a href="{relpath(page, dirname(here))}{anchor and f"#{anchor}"}">{text}</a>'
        for page, anchor, text in mentions
    )
    return f'<p class="mentions">In the lessons: {" · ".join(links)}</p>'


def _plain(match: re.Match[str] | None, group: int = 1) -> str:
    text = re.sub(r"<annotation.*?</annotation>", "", match[group] if match else "", flags=re.S)
    return " ".join(_TAG.sub("", text).split())
