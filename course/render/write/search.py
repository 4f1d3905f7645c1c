"""Write what the search of the site knows: the names of all sections, and their texts.

`search/names.json` is small and comes first: pages, headings, glossary terms, functions.
`search/text.json` has the text of each section, in the same order. `frame/search.js` reads them.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from course.render.read.glossary import read_glossary, slug

FOLDER = "search"
# Nothing of these is read: no text, or text that stands elsewhere on the page.
_SKIPPED_TAGS = {"script", "style", "svg", "button", "template", "annotation", "nav", "select"}
_SKIPPED_CLASSES = {
    "static-form", "term-note", "mentions", "source-code", "source-names", "widget-live",
    "cell-output-stdout", "quarto-title-meta", "anchorjs-link", "notebook-link", "source-links",
    "screen-reader-only",
}  # fmt: skip
_VOID = {"br", "hr", "img", "input", "link", "meta", "wbr", "source", "col"}
_BLOCKS = {
    "p",
    "li",
    "td",
    "th",
    "div",
    "section",
    "pre",
    "figcaption",
    "summary",
    "dt",
    "dd",
    "tr",
}
_HEADINGS = {"h1", "h2", "h3"}


# The anchor, heading and text of a section, of a term of the glossary or of a function. The first
# of a page is the page itself, with the anchor "".
Part = tuple[str, str, str]


@dataclass
class _Open:
    anchor: str
    title: str = ""
    text: list[str] = field(default_factory=list)


def parts_of(html: str) -> list[Part]:
    """Return all parts of a page."""
    reader = _Reader()
    start, end = html.find("<main"), html.find("</main>")
    reader.feed(html[start : end if end > 0 else None])
    found = []
    for part in reader.parts:
        title, text = (" ".join("".join(words).split()) for words in (part.title, part.text))
        if title:
            found.append((part.anchor, title, text))
    return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts = [_Open("")]
        self._open: list[str] = []  # tags below <main>
        self._skipping = 0  # how many tags were open where skipping began; 0 for none
        self._heading = ""
        self._anchor = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        self._open.append(tag)
        if self._skipping:
            return
        given = dict(attributes)
        classes = set((given.get("class") or "").split())
        leads_on = tag == "a" and "dd" in self._open  # from a term to its lesson
        if leads_on or tag in _SKIPPED_TAGS or classes & _SKIPPED_CLASSES:
            self._skipping = len(self._open)
        elif tag == "section":
            self._anchor = given.get("id") or ""
        elif tag in _HEADINGS:
            self._heading = tag
            if tag != "h1":
                self.parts.append(_Open(self._anchor))
        elif tag == "dt":
            self.parts.append(_Open(""))
            self._heading = "dt"
        elif self._heading == "dt" and given.get("id"):
            self.parts[-1].anchor = given["id"] or ""
        elif tag in _BLOCKS:
            self.parts[-1].text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._open:
            return
        while self._open.pop() != tag:
            pass
        if self._skipping > len(self._open):
            self._skipping = 0
        if tag == self._heading:
            self._heading = ""
        if tag in _BLOCKS and not self._skipping:
            self.parts[-1].text.append(" ")

    def handle_data(self, data: str) -> None:
        if self._skipping:
            return
        if self._heading:
            self.parts[-1].title += data
        else:
            self.parts[-1].text.append(data)


def write_search(root: Path, site: Path, pages: Mapping[str, list[Part]]) -> None:
    """Write the two files below ``site``; ``pages`` has the parts of each address."""
    names, texts = [], []
    sentences = dict(_sentences(root))
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
    """Return "term" or "function" for what is found before all else, or ""."""
    if address == "glossary.html" and anchor.startswith("term-"):
        return "term"
    is_name = address.startswith("sources/") and anchor and "index" not in address
    return "function" if is_name and not anchor.startswith("part-") else ""


def _sentences(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the first line of each public function's docstring, by its name."""
    for path in sorted(root.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                lines = (ast.get_docstring(node) or "").splitlines()
                yield node.name, lines[0].replace("``", "") if lines else ""
