"""Every refusal, with file, line, word and the nearest valid one. Runs before either engine."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .ojs import OjsError, OjsPage
from .problems import Problem, Problems, unknown
from .project import Project
from .prose import Attributes, Found, ProseView, inline_expressions
from .source import Cell, Page, Prose, read_page
from .strict_yaml import mistakes

FRONT_MATTER = {
    "title": str, "subtitle": str, "description": str, "pagetitle": str,
    "jupyter": "python3", "toc": bool,
}  # fmt: skip
CELL_OPTIONS: dict[str, dict[str, Any]] = {
    "python": {
        "label": str, "echo": bool, "output": (bool, "asis"), "fig-cap": str, "fig-alt": str,
        "code-fold": (bool, "show"), "code-summary": str,
    },
    "ojs": {"echo": bool, "output": bool},
}  # fmt: skip
CALLOUTS = {f"callout-{kind}" for kind in ("note", "tip", "important", "warning", "caution")}
_ENGINE_CLASSES = CALLOUTS | {"unnumbered", "unlisted", "hidden"}
_ATTRIBUTE_KEYS = {
    "style", "id", "role", "lang", "title", "width", "height", "fig-alt", "collapse", "start",
}  # fmt: skip
CROSS_REFERENCE = re.compile(r"(fig|tbl|eq|sec)-")
_OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.I)


@dataclass(frozen=True)
class Known:
    """What every page of the site may refer to."""

    project: Project
    pages: dict[str, Page]
    classes: set[str]
    citations: set[str]
    anchors: dict[str, set[str]] = field(default_factory=dict)  # of each page


def check_site(project: Project) -> dict[str, Page]:
    """The pages, ready to render. Raises Problems with all that is wrong in any of them."""
    pages: dict[str, Page] = {}
    problems: list[Problem] = []
    for source in project.sources:
        pages[source], found = read_page(project.root, source)
        problems += found
    known = Known(project, pages, _known_classes(project), _citations(project))
    for source, page in pages.items():
        known.anchors[source] = _anchors(page)
    for page in pages.values():
        problems += check_page(page, known)
    if problems:
        # An include's mistake shows in every page that includes it: say it once.
        raise Problems({str(problem): problem for problem in problems}.values())
    return pages


def check_page(page: Page, known: Known) -> Iterator[Problem]:
    yield from mistakes(
        page.meta, FRONT_MATTER, page.meta_lines, page.source, kind="front-matter key"
    )
    for block in page.blocks:
        if isinstance(block, Cell):
            yield from _cell_mistakes(block)
    yield from _duplicates(page)
    for block in page.prose:
        view = ProseView(block)
        yield from _shortcodes(view)
        yield from _div_mistakes(view)
        for attributes, found in [*view.attributes(), *_opening_divs(view)]:
            yield from _attribute_mistakes(attributes, found, known)
        yield from _unresolved(view, page, known)
        yield from _broken_links(view, page, known)
    yield from ojs_mistakes(page, known.project.root)


def _cell_mistakes(cell: Cell) -> Iterator[Problem]:
    options = CELL_OPTIONS[cell.language]
    yield from mistakes(cell.options, options, cell.option_lines, cell.path, kind="cell option")
    label = cell.label
    if isinstance(label, str) and not re.fullmatch(r"[A-Za-z][\w-]*", label):
        message = f'the label "{label}" may hold letters, digits, "-" and "_" only'
        yield Problem(cell.path, cell.line_of("label"), message)


def _anchors(page: Page) -> set[str]:
    """All that "#" or "@" can point to on this page."""
    headings = {name for block in page.prose for name, _ in ProseView(block).headings()}
    return headings | {found.word for found in _explicit_labels(page)}


def _explicit_labels(page: Page) -> Iterator[Found]:
    for block in page.blocks:
        if isinstance(block, Cell):
            if block.label:
                yield Found(block.label, block.path, block.line_of("label"))
            continue
        view = ProseView(block)
        for attributes, found in [*view.attributes(), *_opening_divs(view)]:
            yield from (Found(name, *found[1:]) for name in attributes.ids)


def _opening_divs(view: ProseView) -> Iterator[tuple[Attributes, Found]]:
    return ((attributes, found) for attributes, found in view.divs() if attributes)


def _duplicates(page: Page) -> Iterator[Problem]:
    first: dict[str, Found] = {}
    for found in dict.fromkeys(_explicit_labels(page)):
        if found.word in first:
            before = first[found.word]
            message = f'duplicate label "{found.word}": also at {before.path}:{before.line}'
            yield Problem(found.path, found.line, message)
        first.setdefault(found.word, found)


def _shortcodes(view: ProseView) -> Iterator[Problem]:
    for word, path, line in view.shortcodes():
        if word == "include":
            yield Problem(path, line, "an include must stand alone on its line")
        else:
            yield Problem(path, line, unknown("shortcode", word, ["include"]))


def _div_mistakes(view: ProseView) -> Iterator[Problem]:
    opened: list[Found] = []
    for attributes, found in view.divs():
        if attributes:
            opened.append(found)
        elif opened:
            opened.pop()
        else:
            yield Problem(found.path, found.line, f'"{found.word}" closes no div')
    for found in opened:
        yield Problem(found.path, found.line, f'the div "{found.word}" is never closed')


def _attribute_mistakes(given: Attributes, found: Found, known: Known) -> Iterator[Problem]:
    valid = _ENGINE_CLASSES | known.classes
    for name in given.classes:
        if name not in valid:
            yield Problem(found.path, found.line, unknown("class", name, valid))
    for key in given.keys:
        if key not in _ATTRIBUTE_KEYS and not key.startswith(("data-", "aria-")):
            yield Problem(found.path, found.line, unknown("attribute", key, _ATTRIBUTE_KEYS))


def _unresolved(view: ProseView, page: Page, known: Known) -> Iterator[Problem]:
    labels = {name for name in known.anchors[page.source] if CROSS_REFERENCE.match(name)}
    for word, path, line in view.references():
        if CROSS_REFERENCE.match(word):
            if word not in labels:
                yield Problem(path, line, unknown("reference", f"@{word}", _at(labels)))
        elif word not in known.citations:
            yield Problem(path, line, unknown("bibliography key", f"@{word}", _at(known.citations)))


def _at(names: set[str]) -> list[str]:
    return [f"@{name}" for name in names]


def _broken_links(view: ProseView, page: Page, known: Known) -> Iterator[Problem]:
    root = known.project.root
    for found, is_image in view.links():
        target, _, anchor = found.word.partition("#")
        if _OUTSIDE.match(target):
            continue
        source = _resolve(root, page, target)
        if source is None or not (root / source).exists():
            kind = "image" if is_image else "link target"
            message = unknown(kind, target, _neighbours(known.project, page, is_image))
            yield Problem(found.path, found.line, message)
        elif anchor and source in known.anchors and anchor not in known.anchors[source]:
            message = unknown(f"place in {source}", f"#{anchor}", _hash(known.anchors[source]))
            yield Problem(found.path, found.line, message)


def _hash(names: set[str]) -> list[str]:
    return [f"#{name}" for name in names]


def linked_files(project: Project, page: Page) -> Iterator[str]:
    """What the page links to or shows that is not itself a page."""
    for block in page.prose:
        for found, _ in ProseView(block).links():
            target = found.word.partition("#")[0]
            source = None if _OUTSIDE.match(target) else _resolve(project.root, page, target)
            if source and source not in project.sources:
                yield source


def _resolve(root: Path, page: Page, target: str) -> str | None:
    """A link's file, from the root. In an include too it counts from the page."""
    if not target:
        return page.source
    base = root if target.startswith("/") else (root / page.source).parent
    full = (base / target.lstrip("/")).resolve()
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else None


def _neighbours(project: Project, page: Page, is_image: bool) -> list[str]:
    """Files that a mistaken link may have meant, as they would be written on this page."""
    images = {".png", ".svg", ".jpg", ".jpeg", ".webp", ".gif"}
    here = (project.root / page.source).parent
    files = [path for path in here.rglob("*") if path.is_file()]
    beside = [path.relative_to(here).as_posix() for path in files]
    if is_image:
        return [name for name in beside if Path(name).suffix in images]
    pages = [os.path.relpath(project.root / name, here).replace(os.sep, "/") for name in project.sources]
    return [*beside, *pages]


def _known_classes(project: Project) -> set[str]:
    """A class that the stylesheet speaks of is one that a page may use."""
    css = "".join(_read(project, name) for name in project.listed("format", "html", "css"))
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    selectors = " ".join(re.findall(r"([^{}]*)\{", css))
    return set(re.findall(r"\.([A-Za-z_][\w-]*)", selectors))


def _citations(project: Project) -> set[str]:
    bibliography = "".join(_read(project, name) for name in project.listed("bibliography"))
    return set(re.findall(r"^[ \t]*@\w+\s*\{\s*([^\s,]+)\s*,", bibliography, re.M))


def _read(project: Project, name: str) -> str:
    return (project.root / name).read_text(encoding="utf-8")


def ojs_mistakes(page: Page, root: Path) -> Iterator[Problem]:
    """Syntax errors, imports of nothing, and names that nothing defines."""
    ojs = OjsPage(root=root, published=published_names(page))
    for block in page.blocks:
        try:
            if isinstance(block, Prose):
                for found in inline_expressions(block):
                    ojs.add_inline(found.expression, path=found.path, line=found.line)
            elif block.language == "ojs":
                ojs.add_cell(block.source, path=block.path, line=block.line)
        except OjsError as error:
            yield Problem(error.path, error.line, error.message)


def published_names(page: Page) -> set[str]:
    """The names in ``publish(name=…)``, which OJS cells may use."""
    names: set[str] = set()
    for cell in page.cells("python"):
        try:
            tree = ast.parse(cell.source)
        except SyntaxError:
            continue  # the kernel says it better, and may accept it (``%matplotlib``)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            function = call.func
            called = getattr(function, "id", None) or getattr(function, "attr", None)
            if called == "publish":
                names |= {keyword.arg for keyword in call.keywords if keyword.arg}
    return names
