"""Find headings, divs, links, references and attributes in Markdown, each with its line.

Code, formulas and comments are blanked first, so that nothing in them matches.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})\s*(.*)$")
# In one pass from left to right, as what opens first hides the marks of the others. As in Pandoc,
# none of these but a comment goes on after a blank line.
_SAME_PARAGRAPH = r"(?!\n[ \t]*\n)"
_HIDDEN = re.compile(
    rf"""(?P<comment><!--.*?-->)
    | (?<!`)(?P<ticks>`+)(?!`) (?:{_SAME_PARAGRAPH}.)+? (?<!`)(?P=ticks)(?!`)  # code
    | \$\$ (?:{_SAME_PARAGRAPH}.)+? \$\$
    | (?<![\\$])\$\{{(?P<expression>[^{{}}\n]*)\}}
    | (?<![\\$])\$(?![\s{{]) (?:{_SAME_PARAGRAPH}(?:\\.|[^$\\]))+? (?<!\s)\$(?!\d)  # a formula""",
    re.S | re.X,
)
_BLANKED = "\x01"  # stands for the last character of blanked code or math
_ATTRIBUTES = re.compile(rf"(?<=[\])>{_BLANKED}])[ \t]*\{{((?<![ \t]\{{)[^{{}}\n]*|#[^{{}}\n]*)\}}")
_IN_BRACES = re.compile(r"(?<!@)\{[^{}\n]*\}")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*(?:\{([^{}\n]*)\})?[ \t]*#*$", re.M)
_DIV = re.compile(r"^[ \t]*:{3,}[ \t]*(?:\{(.*)\}|([\w-]+))?[ \t]*:*[ \t]*$", re.M)
_LINK = re.compile(
    r"(!?)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?((?<=<)[^>\n]*|[^)\s<>]*)>?(?:\s+[\"'][^)]*)?\)"
)
_LINK_DEFINITION = re.compile(r"^()\[[^\]\n^]+\]:[ \t]+(\S+)", re.M)
_REFERENCE = re.compile(
    r"(?<![\w@\\./{=])(?<!^\()@\{?([A-Za-z0-9_](?:[\w:.#$%&+?<>~/-]*\w)?)", re.M
)
# Quarto's own pattern: it matches in fences, comments and longer ticks, too.
_INLINE = re.compile(r"(?<!`)`\{python\}[ \t]([^`\n]+)`")


class Line(NamedTuple):
    text: str
    path: str
    number: int


class Span(NamedTuple):
    """A piece of the source, with its location."""

    text: str
    path: str
    line: int


class Attributes(NamedTuple):
    """The inside of ``{#id .class key="value"}``."""

    ids: list[str]
    classes: list[str]
    keys: list[str]


def parse_attributes(text: str) -> Attributes:
    keys = re.findall(r"([\w:-]+)\s*=", re.sub(r'"[^"]*"', '""', text))
    bare = re.sub(r"""[\w:-]+=("[^"]*"|'[^']*'|\S*)""", " ", text)
    return Attributes(
        re.findall(r"#([^\s#.]+)", bare), re.findall(r"(?<!\S)\.([\w-]+)", bare), keys
    )


class Prose:
    """Markdown between two cells, with the fenced code that isn't a cell."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines

    @cached_property
    def source(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @cached_property
    def text(self) -> str:
        """The source with fenced code and comments blanked; offsets stay the same."""
        return self._blanked(match for match in self._hidden if match["comment"])

    @cached_property
    def prose(self) -> str:
        """The text with code, formulas and expressions blanked too."""
        return self._blanked(self._hidden)

    @cached_property
    def _unfenced(self) -> str:
        return "\n".join(_without_fences(self.lines))

    @cached_property
    def _hidden(self) -> list[re.Match[str]]:
        return list(_HIDDEN.finditer(self._unfenced))

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(line.text) + 1 for line in self.lines), initial=0))

    def _blanked(self, matches: Iterable[re.Match[str]]) -> str:
        pieces, end = [], 0
        for match in matches:
            blank = _spaces(match)[:-1] + _BLANKED
            pieces += [self._unfenced[end : match.start()], blank]
            end = match.end()
        return "".join([*pieces, self._unfenced[end:]])

    def expressions(self) -> Iterator[Span]:
        """Yield each ``${expression}``, which the page computes."""
        for match in self._hidden:
            if match["expression"] is not None:
                yield Span(match["expression"].strip(), *self.location(match.start()))

    def inline(self) -> list[Span]:
        """List the code of each `{python} expression`, which the kernel computes."""
        lines = (line for line in self.lines if "`{python}" in line.text)
        return [Span(m[1], *line[1:]) for line in lines for m in _INLINE.finditer(line.text)]

    def with_values(self, values: Iterator[str]) -> Prose:
        """Return the prose with each `{python} expression` replaced by the next of ``values``."""
        if not self.inline():
            return self
        texts = (_INLINE.sub(lambda _: next(values), line.text) for line in self.lines)
        return Prose([Line(text, *line[1:]) for text, line in zip(texts, self.lines, strict=True)])

    def location(self, offset: int) -> tuple[str, int]:
        line = self.lines[min(bisect_right(self._starts, offset), len(self.lines)) - 1]
        return line.path, line.number

    def each(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, int]]:
        """Yield each match in the prose, with its file and line."""
        for match in pattern.finditer(self.prose):
            yield (match, *self.location(match.start()))

    def references(self) -> Iterator[Span]:
        for match in _REFERENCE.finditer(_IN_BRACES.sub(_spaces, self.prose)):
            yield Span(match[1], *self.location(match.start()))

    def links(self) -> Iterator[tuple[Span, bool]]:
        """Yield the target of each link, and True for an image."""
        for pattern in (_LINK, _LINK_DEFINITION):
            for match, *location in self.each(pattern):
                yield Span(match[2], *location), bool(match[1])

    def divs(self) -> Iterator[tuple[Attributes | None, Span]]:
        """Yield each fence in turn, with its attributes, or None if it closes a div."""
        for match, *location in self.each(_DIV):
            text = match[1] if match[1] is not None else match[2] and f".{match[2]}"
            yield (parse_attributes(text) if text else None), Span(match[0].strip(), *location)

    def opening_divs(self) -> Iterator[tuple[Attributes, Span]]:
        return ((attributes, fence) for attributes, fence in self.divs() if attributes)

    def attributes(self) -> Iterator[tuple[Attributes, Span]]:
        """Yield the attributes of spans, links, images, code, formulas and headings."""
        for pattern, group in ((_ATTRIBUTES, 1), (_HEADING, 3)):
            for match, *location in self.each(pattern):
                if text := match[group]:
                    yield parse_attributes(text), Span(text, *location)

    def headings(self) -> Iterator[tuple[str, Span]]:
        """Yield the id of each heading: its own, or the id that Pandoc derives from its text."""
        for match in _HEADING.finditer(self.text):
            own = parse_attributes(match[3] or "").ids
            span = Span(match[2], *self.location(match.start()))
            yield (own[0] if own else automatic_id(match[2])), span


def automatic_id(heading: str) -> str:
    text = re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\{[^}]*\})?", r"\1", heading)
    text = re.sub(r"[^\w\s.-]", "", re.sub(r"[*`$]", "", text).lower())
    return re.sub(r"^[^a-z]+", "", re.sub(r"\s+", "-", text.strip())) or "section"


def fence_after(text: str, fence: str) -> str:
    """Return the fence that is open after this line, "" for none."""
    match = FENCE.match(text)
    if not match:
        return fence
    if not fence:
        return match[2]
    closes = match[2][0] == fence[0] and len(match[2]) >= len(fence) and not match[3]
    return "" if closes else fence


def _without_fences(lines: list[Line]) -> Iterator[str]:
    fence = ""
    for line in lines:
        before, fence = fence, fence_after(line.text, fence)
        is_code = before or (fence and FENCE.match(line.text))
        yield " " * len(line.text) if is_code else line.text


def _spaces(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])
