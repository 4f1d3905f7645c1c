"""Write what the search of the site knows: the names of all sections, and their texts.

`search/names.json` is small and comes first: pages, headings, glossary terms, functions.
`search/text.json` has the text of each section, in the same order.
`assets/frame/search.js` reads both.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course.render.read.glossary import read_glossary, slug
from course.render.read.names import public_names

FOLDER = "search"
# Elements without text, or with text that the page repeats elsewhere.
_SKIPPED = {"script", "style", "svg", "button", "template", "annotation", "nav", "select"}
_SKIPPED_CLASSES = {
    "fallback", "term-note", "mentions", "source-code", "source-names", "widget-live",
    "cell-output-stdout", "quarto-title-meta", "notebook-link", "source-links",
    "screen-reader-only",
}  # fmt: skip
_BLOCKS = set("p li td th div section pre figcaption summary dt dd tr".split())
_HEADINGS = {"h1", "h2", "h3", "dt"}

# The anchor, heading and text of a section, of a term of the glossary or of a function. The first
# of a page is the page itself, with the anchor "".
Part = tuple[str, str, str]


def parts_of(html: str) -> list[Part]:
    """Return all parts of a page."""
    from bs4 import BeautifulSoup

    sections: list[tuple[str, list[str], list[str]]] = [("", [], [])]
    _read(BeautifulSoup(html[html.find("<main") : html.find("</main>")], "html.parser"), sections)
    parts = (
        (anchor, *(" ".join("".join(t).split()) for t in texts)) for anchor, *texts in sections
    )
    return [part for part in parts if part[1]]


def _read(element: Any, parts: list[tuple[str, list[str], list[str]]]) -> None:
    """Add the texts in ``element`` to the last of ``parts``; each heading begins another."""
    for child in element.children:
        if child.name is None:
            parts[-1][2].append(child)
        elif child.name in _HEADINGS:
            title: list[tuple[str, list[str], list[str]]] = [("", [], [])]
            _read(child, title)
            parts.append((_anchor(child), title[0][2], []))
        elif not (child.name in _SKIPPED or _SKIPPED_CLASSES.intersection(child.get("class", ()))):
            if child.name == "a" and child.find_parent("dd"):
                continue  # from a term to its lesson
            space = " " * (child.name in _BLOCKS)
            parts[-1][2].append(space)
            _read(child, parts)
            parts[-1][2].append(space)


def _anchor(heading: Any) -> str:
    if heading.name == "h1":
        return ""
    element = heading.find(id=True) if heading.name == "dt" else heading.find_parent("section")
    return element.get("id", "") if element else ""


def write_search(root: Path, site: Path, pages: Mapping[str, list[Part]]) -> None:
    """Write the two files below ``site``; ``pages`` has the parts of each address."""
    names, texts = [], []
    public = (name for module in public_names(root).values() for name in module)
    sentences = {name.name: name.about.replace("`", "") for name in public}
    entries = read_glossary(root).entries.items()
    terms = {f"term-{slug(term)}": (term, entry) for term, entry in entries}
    for address, parts in pages.items():
        rows = []
        for anchor, title, text in parts:
            kind = _kind(address, anchor)
            about = sentences.get(anchor, text) if kind else ""
            name, entry = terms.get(anchor, (title, {}))  # the name without its symbol
            rows.append([anchor, name, kind, about, " ".join(entry.get("forms", []))])
            texts.append("" if kind else text)
        names.append([address, rows])
    folder = site / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in (("names", names), ("text", texts)):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


def _kind(address: str, anchor: str) -> str:
    """Return "term" or "function" for names that rank before all else, or ""."""
    if address == "glossary.html" and anchor.startswith("term-"):
        return "term"
    is_name = address.startswith("sources/") and anchor and "index" not in address
    return "function" if is_name and not anchor.startswith("part-") else ""
