"""Find headings, divs, links, references and attributes in Markdown, each with its line.

Code, formulas and comments are blanked first, so that nothing in them is found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from .source import FENCE, Prose, fence_after

_COMMENT = re.compile(r"<!--.*?-->", re.S)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
_DISPLAY_MATH = re.compile(r"\$\$.+?\$\$", re.S)
_EXPRESSION = re.compile(r"(?<![\\$])\$\{([^{}\n]*)\}")
_INLINE_MATH = re.compile(r"(?<![\\$])\$(?![\s{])(?:\\.|[^$\\])+?(?<!\s)\$(?!\d)", re.S)
_BLANKED = "\x01"  # stands for the last character of blanked code or math
_ATTRIBUTES = re.compile(rf"(?<=[\])>{_BLANKED}])[ \t]*\{{((?<![ \t]\{{)[^{{}}\n]*|#[^{{}}\n]*)\}}")
_IN_BRACES = re.compile(r"(?<!@)\{[^{}\n]*\}")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*(?:\{([^{}\n]*)\})?[ \t]*#*$", re.M)
_DIV = re.compile(r"^[ \t]*:{3,}[ \t]*(?:\{(.*)\}|([\w-]+))?[ \t]*:*[ \t]*$", re.M)
_NUMBERED = re.compile(r"^(\d+)[.)][ \t]", re.M)
_CAPTION = re.compile(r"^[ \t>]*:[ \t].*?\{(#[^{}\n]*)\}[ \t]*$", re.M)
_LINK = re.compile(
    r"(!?)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?((?<=<)[^>\n]*|[^)\s<>]*)>?(?:\s+[\"'][^)]*)?\)"
)
_LINK_DEFINITION = re.compile(r"^()\[[^\]\n^]+\]:[ \t]+(\S+)", re.M)
_REFERENCE = re.compile(
    r"(?<![\w@\\./{=])(?<!^\()@\{?([A-Za-z0-9_](?:[\w:.#$%&+?<>~/-]*\w)?)", re.M
)
BADGE = re.compile(r"\[([^\[\]\n]*)\]\{\.source\}")
_SHORTCODE = re.compile(r"\{\{<\s*(/?[\w-]*)[^\n]*?>\}\}")


class Found(NamedTuple):
    word: str
    path: str
    line: int


class Expression(NamedTuple):
    expression: str
    path: str
    line: int
    start: int
    end: int


class Attributes(NamedTuple):
    """The inside of ``{#id .class key="value"}``."""

    ids: list[str]
    classes: list[str]
    keys: list[str]


def plain_text(block: Prose) -> str:
    return "\n".join(line.text for line in block.lines)


def parse_attributes(text: str) -> Attributes:
    keys = re.findall(r"([\w:-]+)\s*=", re.sub(r'"[^"]*"', '""', text))
    bare = re.sub(r"""[\w:-]+=("[^"]*"|'[^']*'|\S*)""", " ", text)
    return Attributes(
        re.findall(r"#([^\s#.]+)", bare), re.findall(r"(?<!\S)\.([\w-]+)", bare), keys
    )


def inline_expressions(block: Prose) -> Iterator[Expression]:
    view = ProseView(block)
    masked = _blank(_DISPLAY_MATH, _blank(_CODE, view.text))
    for match in _EXPRESSION.finditer(_blank(_INLINE_MATH, masked)):
        path, line = view.place(match.start())
        yield Expression(match[1].strip(), path, line, *match.span())


class ProseView:
    """A block's text with everything but prose blanked, and the file and line of each offset."""

    def __init__(self, block: Prose) -> None:
        self.lines = block.lines
        self.starts = list(accumulate((len(line.text) + 1 for line in block.lines), initial=0))
        self.text = _blank(_COMMENT, "\n".join(_without_fences(block)))
        self.prose = self.text
        for pattern in (_CODE, _DISPLAY_MATH, _EXPRESSION, _INLINE_MATH):
            self.prose = _blank(pattern, self.prose)

    def place(self, offset: int) -> tuple[str, int]:
        line = self.lines[min(bisect_right(self.starts, offset), len(self.lines)) - 1]
        return line.path, line.number

    def _each(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, int]]:
        for match in pattern.finditer(self.prose):
            yield (match, *self.place(match.start()))

    def shortcodes(self) -> Iterator[Found]:
        for match, *place in self._each(_SHORTCODE):
            yield Found(match[1], *place)

    def badges(self) -> Iterator[Found]:
        """Yield the word of each badge, such as ``[trained]{.source}``."""
        for match, *place in self._each(BADGE):
            yield Found(match[1], *place)

    def references(self) -> Iterator[Found]:
        for match in _REFERENCE.finditer(_blank(_IN_BRACES, self.prose)):
            yield Found(match[1], *self.place(match.start()))

    def links(self) -> Iterator[tuple[Found, bool]]:
        """Yield the target of each link, and True for an image."""
        for pattern in (_LINK, _LINK_DEFINITION):
            for match, *place in self._each(pattern):
                yield Found(match[2], *place), bool(match[1])
        for match, *place in self._each(re.compile(r"\[!\[[^\]]*\]\(([^)\s]*)[^)]*\)")):
            yield Found(match[1], *place), True

    def outline(self) -> Iterator[tuple[Attributes | str | None, Found]]:
        """Yield the fences of ``divs`` and the numbers of top-level lists, in the page's order."""
        numbers = ((match[1], Found(match[0], *place)) for match, *place in self._each(_NUMBERED))
        order = {line[1:]: index for index, line in enumerate(self.lines)}
        return iter(sorted([*self.divs(), *numbers], key=lambda one: order[one[1][1:]]))

    def divs(self) -> Iterator[tuple[Attributes | None, Found]]:
        """Yield each fence in turn, with None in place of attributes for a closing fence."""
        for match, *place in self._each(_DIV):
            inside = match[1] if match[1] is not None else match[2] and f".{match[2]}"
            yield (parse_attributes(inside) if inside else None), Found(match[0].strip(), *place)

    def opening_divs(self) -> Iterator[tuple[Attributes, Found]]:
        return ((attributes, found) for attributes, found in self.divs() if attributes)

    def attributes(self) -> Iterator[tuple[Attributes, Found]]:
        """Yield the attributes of spans, links, images, code, formulas, captions and headings."""
        for pattern in (_ATTRIBUTES, _CAPTION, _HEADING):
            for match, *place in self._each(pattern):
                if inside := match[match.lastindex or 0] if pattern is not _HEADING else match[3]:
                    yield parse_attributes(inside), Found(inside, *place)

    def headings(self) -> Iterator[tuple[str, Found]]:
        """Yield the id of each heading: its own, or the id that Pandoc derives from its text."""
        for match in _HEADING.finditer(_blank(_COMMENT, self.text)):
            own = parse_attributes(match[3] or "").ids
            found = Found(match[2], *self.place(match.start()))
            yield (own[0] if own else automatic_id(match[2])), found


def automatic_id(heading: str) -> str:
    text = re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\{[^}]*\})?", r"\1", heading)
    text = re.sub(r"[^\w\s.-]", "", re.sub(r"[*`$]", "", text).lower())
    return re.sub(r"^[^a-z]+", "", re.sub(r"\s+", "-", text.strip())) or "section"


def _without_fences(block: Prose) -> Iterator[str]:
    fence = ""
    for line in block.lines:
        before, fence = fence, fence_after(line.text, fence)
        inside = before or (fence and FENCE.match(line.text))
        yield " " * len(line.text) if inside else line.text


def _blank(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0][:-1]) + _BLANKED, text)
