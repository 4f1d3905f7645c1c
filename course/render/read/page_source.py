"""Parse a .qmd file into front matter, prose and cells; every line keeps its file and number."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from course.problems import Problem, nearest

from .markdown import FENCE, Line, Prose, Span, fence_after
from .strict_yaml import Lines, read_yaml

SHORTCODE_LINE = re.compile(r"^\s*\{\{<\s*include\s+(\S+)\s*>\}\}\s*$")
CELL_LANGUAGES = {"python": "#|", "ojs": "//|"}


@dataclass(frozen=True)
class Cell:
    language: str
    options: dict[str, Any]
    option_lines: Lines
    source: str
    path: str
    line: int  # of the first source line

    @property
    def label(self) -> str | None:
        return self.options.get("label")

    def line_of(self, option: str) -> int:
        return self.option_lines.get((option,), self.line)


@dataclass
class Page:
    source: str  # posix path from the root
    meta: dict[str, Any]
    meta_lines: Lines
    blocks: list[Prose | Cell] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.source.removesuffix(".qmd")

    @property
    def html(self) -> str:
        return self.name + ".html"

    @property
    def root(self) -> str:
        """The path from this page to the site's root, for relative links: "../../" or ""."""
        return "../" * self.source.count("/")

    @property
    def figures(self) -> str:
        """Quarto's folder for figures, from the page: "lesson_files/figure-html"."""
        return f"{posixpath.basename(self.name)}_files/figure-html"

    @property
    def title(self) -> str:
        return self.meta.get("title", self.name)

    @property
    def styles(self) -> list[str]:
        """The page's own stylesheets, as written in its front matter."""
        named = self.meta.get("css", [])
        return [named] if isinstance(named, str) else named

    def resolve(self, target: str) -> str | None:
        """Return a link's file, from the root; a link in an include counts from the page too."""
        if not target:
            return self.source
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.source), target))
        return None if path.startswith("../") else path.lstrip("/")

    def cells(self, language: str) -> list[Cell]:
        return [b for b in self.blocks if isinstance(b, Cell) and b.language == language]

    @property
    def prose(self) -> list[Prose]:
        return [block for block in self.blocks if isinstance(block, Prose)]

    @property
    def runs(self) -> list[Cell | list[Span]]:
        """The kernel's runs in the page's order: a cell, or the expressions between cells."""
        python = (b for b in self.blocks if isinstance(b, Prose) or b.language == "python")
        runs = (block.inline() if isinstance(block, Prose) else block for block in python)
        return [run for run in runs if run]

    def with_values(self, values: list[str]) -> Page:
        """Return the page with each `{python} expression` replaced by its value, as Markdown."""
        rest = iter(values)
        return replace(
            self, blocks=[b.with_values(rest) if isinstance(b, Prose) else b for b in self.blocks]
        )


def read_page(root: Path, source: str) -> tuple[Page, list[Problem]]:
    """Read the page with its includes; return it and the mistakes in its structure."""
    problems: list[Problem] = []
    lines = _read_lines(root, source)
    body_start, meta, meta_lines = 0, {}, {}
    if lines and lines[0].text == "---":
        body_start, meta, meta_lines = _front_matter(lines, source, problems)
    page = Page(source, meta, meta_lines)
    page.lines = list(_expand(root, lines[body_start:], [source], problems))
    page.blocks = list(_blocks(page.lines, problems))
    return page, problems


def _read_lines(root: Path, source: str) -> list[Line]:
    try:
        text = (root / source).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(source, None, f"not UTF-8 text: {error.reason}") from None
    return [Line(text, source, n) for n, text in enumerate(text.splitlines(), 1)]


def _front_matter(
    lines: list[Line], source: str, problems: list[Problem]
) -> tuple[int, dict[str, Any], Lines]:
    end = next((i for i, line in enumerate(lines) if i and line.text in ("---", "...")), None)
    if end is None:
        problems.append(Problem(source, 1, 'the front matter has no closing "---"'))
        return len(lines), {}, {}
    try:
        meta, meta_lines = read_yaml("\n".join(x.text for x in lines[1:end]), source, 2)
    except Problem as problem:
        problems.append(problem)
        meta, meta_lines = {}, {}
    if not isinstance(meta or {}, dict):
        problems.append(Problem(source, 2, "bad YAML: the front matter must be a mapping"))
        meta = {}
    return end + 1, _typeset(meta or {}), meta_lines


def _typeset(meta: dict[str, Any]) -> dict[str, Any]:
    """Turn straight apostrophes into typographic ones, as Pandoc does in the text."""
    return {key: v.replace("'", "’") if isinstance(v, str) else v for key, v in meta.items()}


def _expand(
    root: Path, lines: list[Line], open_files: list[str], problems: list[Problem]
) -> Iterator[Line]:
    for line in lines:
        match = SHORTCODE_LINE.match(line.text)  # in code too, as in Quarto
        if match is None:
            yield line
            continue
        target = _include_target(root, line.path, match[1])
        if not target or not (root / target).is_file():
            choices = [path.relative_to(root).as_posix() for path in root.glob("_*.qmd")]
            hint = nearest(match[1].lstrip("/"), choices)
            problems.append(Problem(*line[1:], f'there is no file "{match[1]}" to include{hint}'))
        elif target in open_files:
            chain = " → ".join([*open_files, target])
            problems.append(Problem(*line[1:], f"the include goes round in a circle: {chain}"))
        else:
            included = _read_lines(root, target)
            yield from _expand(root, included, [*open_files, target], problems)


def _include_target(root: Path, including: str, name: str) -> str | None:
    """Return the included file: by Quarto's rule "/x" counts from the root, "x" from the file."""
    base = root if name.startswith("/") else (root / including).parent
    full = (base / name.lstrip("/")).resolve()
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else None


def _blocks(lines: list[Line], problems: list[Problem]) -> Iterator[Prose | Cell]:
    prose: list[Line] = []
    position = 0
    while position < len(lines):
        start = position
        end = _end_of_fence(lines, start)
        position = end + 1
        if end == len(lines):
            message = f'the code that begins with "{lines[start].text.strip()}" is never closed'
            problems.append(Problem(*lines[start][1:], message))
        language = _cell_language(lines[start], problems) if end > start else None
        if language is None:
            prose += lines[start : end + 1]
            continue
        if prose:
            yield Prose(prose)
            prose = []
        yield _cell(language, lines[start], lines[start + 1 : end], problems)
    if prose:
        yield Prose(prose)


def _end_of_fence(lines: list[Line], start: int) -> int:
    """Return the last line of the fenced block that begins at ``start``; ``start`` for none."""
    fence = fence_after(lines[start].text, "")
    if not fence:
        return start
    for position in range(start + 1, len(lines)):
        if not fence_after(lines[position].text, fence):
            return position
    return len(lines)


def _cell_language(opening: Line, problems: list[Problem]) -> str | None:
    match = FENCE.match(opening.text)
    if not match or not match[3].startswith("{") or match[3].startswith(("{.", "{#", "{=")):
        return None
    info = match[3].strip("{} ")
    if match[3].startswith("{{"):
        message = f"cells that are shown and not run aren't supported: write ```{info}"
    elif info in CELL_LANGUAGES and not match[1]:
        return info
    elif info in CELL_LANGUAGES:
        message = "a cell must start in the line's first column"
    else:
        message = f'unknown cell language "{info}"{nearest(info, CELL_LANGUAGES)}'
    problems.append(Problem(*opening[1:], message))
    return None


def _cell(language: str, opening: Line, body: list[Line], problems: list[Problem]) -> Cell:
    mark = CELL_LANGUAGES[language]
    count = next((i for i, line in enumerate(body) if not line.text.startswith(mark)), len(body))
    first = body[0].number if body else opening.number + 1
    yaml_text = "\n".join(line.text.removeprefix(mark) for line in body[:count])
    options: Any = {}
    option_lines: Lines = {}
    try:
        options, option_lines = read_yaml(yaml_text, opening.path, first)
        if not isinstance(options or {}, dict):
            raise Problem(opening.path, first, f'bad cell options: write "{mark} name: value"')
    except Problem as problem:
        problems.append(problem)
        options = {}
    source = "\n".join(line.text for line in body[count:])
    return Cell(language, options or {}, option_lines, source, opening.path, first + count)
