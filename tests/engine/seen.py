"""Reduce a page of either engine to what a reader sees: text, structure, telling classes."""

from __future__ import annotations

import posixpath
import re

from bs4 import BeautifulSoup, Comment, NavigableString, Tag

# Wrappers, and what both engines add for scripts.
_DROPPED = (
    "script, style, button, .callout-icon-container, .callout-btn-toggle, .anchorjs-link, "
    "colgroup, .quarto-title-meta, .sourceCode a:empty, .screen-reader-only"
)
_ATTRIBUTES = {"href", "src", "alt", "title", "style", "lang", "start", "type", "colspan", "open"}
_MEANT = re.compile(
    r"callout-(note|tip|warning|caution|important)$|cell-output-std|quarto-xref$|known-class$|"
    r"third$|nobody$|own|panel|column|aside|smallcaps|underline|mark$|hidden$|lightbox|proof|"
    r"incremental|line-block|striped|python$|numberLines|code-with-filename|task-list|listing|"
    r"layout|appearance|no-icon|quarto-figure-left|nolang|csl-entry|collapse|show$|unresolved"
)
_IDENTITY = re.compile(r"(fig|tbl|eq|sec|own|a-|fn|ref-|lst|thm|tip|nte)")
_BLOCK = re.compile(r"h\d|p|ul|ol|li|dl|dt|dd|table|thead|tbody|tr|th|td|figure|figcaption|pre|"
                    r"blockquote|details|summary|section|hr|div")  # fmt: skip


def seen(html: str) -> list[str]:
    """Return the page's blocks in order, each as one line of reduced HTML."""
    page = BeautifulSoup(html, "html.parser")
    main = page.select_one("main#quarto-document-content")
    assert main is not None, "the page has no main"
    for extra in main.select(f"header#title-block-header, nav, {_DROPPED}"):
        extra.decompose()
    text = "".join(map(_reduced, main.children))
    for appendix in page.select("#quarto-appendix"):
        if not appendix.find_parent("main"):
            text += _reduced(appendix)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(rf" ?(</?(?:{_BLOCK.pattern})(?: [^<>]*)?>) ?", r"\1", text)
    return re.sub(r"(?<=>)(?=<(?:h\d|p|ul|ol|li|dl|table|tr|figure|pre|blockquote|details|div)\b)",
                  "\n", text).strip().split("\n")  # fmt: skip


def _reduced(node: object) -> str:
    if isinstance(node, Comment) or not isinstance(node, (Tag, NavigableString)):
        return ""
    if isinstance(node, NavigableString):
        return _escaped(str(node))
    if node.name == "math":
        return f"<math>{_escaped(_formula(node))}</math>"
    if node.name in ("pre", "code"):
        inside = _escaped(node.get_text().strip("\n")).replace("\n", "⏎").replace(" ", "␣")
        return _tag("code" if node.name == "code" else "pre", _attributes(node), inside)
    inside = "".join(map(_reduced, node.children))
    given = _attributes(node)
    only_image = node.name == "p" and node.find("img")
    if only_image and not node.get_text(strip=True):
        return inside
    if node.name == "figure" and not node.find("figcaption"):
        return inside
    if node.name in ("div", "span", "section", "main") and not given:
        return inside
    return _tag(node.name, given, inside)


def _tag(name: str, given: str, inside: str) -> str:
    return f"<{name}{given}>" + ("" if name in ("img", "br", "hr") else f"{inside}</{name}>")


def _formula(node: Tag) -> str:
    return re.sub(r"\s+", "", "".join(x for a in node.find_all("annotation") for x in a.strings)
                  or node.get_text())  # fmt: skip


def _attributes(node: Tag) -> str:
    parts = []
    classes = [one for one in node.get("class") or [] if _MEANT.match(one)]
    if node.name in ("pre", "code"):
        classes = [one for one in classes if one != "cell-code"]
    if classes:
        parts.append(" ." + ".".join(sorted(set(classes))))
    identity = str(node.get("id", ""))
    if node.name != "img" and _IDENTITY.match(identity) and "-caption" not in identity:
        parts.append(f" #{identity}")
    for key, value in sorted(node.attrs.items()):
        if key == "href" and not re.match(r"\w+:|#", str(value)):
            value = posixpath.normpath(posixpath.join("lessons", str(value)))
        if key == "alt" and (not value or value in _caption(node)):
            continue  # Quarto's images have their caption as text once
        if key == "title" and node.name == "div":
            continue  # Quarto leaves a callout's title there too
        if key in _ATTRIBUTES or (key.startswith("data-") and key in ("data-row", "data-key")):
            parts.append(f' {key}="{_escaped(str(value))}"')
    return "".join(parts)


def _caption(image: Tag) -> str:
    figure = image.find_parent("figure")
    caption = figure.find("figcaption") if figure else None
    return caption.get_text() if caption else ""


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
