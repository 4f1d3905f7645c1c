"""Leave comments and indentation of scripts and styles out of the site: all readers load them.

Line numbers stay the same, so that an error names the line of the source.
"""

import re
from itertools import chain
from pathlib import Path

from tree_sitter import Parser, Query, QueryCursor

from course.render.ojs.javascript import LANGUAGE

_PARTS = Query(LANGUAGE, "(comment) @comment (string_fragment) @text")
_INDENT = re.compile(rb"(?<=\n)[ \t]+")
_PRESERVED = re.compile(rb"licen[cs]e|copyright|^/\*!|^//[#@]", re.I)
# A string, or a comment that doesn't hold two words apart.
_STRING_OR_COMMENT = re.compile(
    rb"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?:(?<=[\s{};])|\A)/\*.*?\*/""", re.S
)


def strip_source(path: Path) -> bytes:
    """Return the content of a file; a script lacks comments and indentation, a style comments."""
    content = path.read_bytes()
    if path.suffix == ".js":
        return _script(content)
    return _style(content) if path.suffix == ".css" else content


def _script(content: bytes) -> bytes:
    root = Parser(LANGUAGE).parse(content).root_node
    if root.has_error:  # what isn't understood stays whole
        return content
    parts = QueryCursor(_PARTS).captures(root)
    comments = {node.start_byte for node in parts.get("comment", [])}
    pieces, end = [], 0
    for node in sorted(chain(*parts.values()), key=lambda node: node.start_byte):
        code = _INDENT.sub(b"", content[end : node.start_byte]).rstrip(b" \t")
        pieces += [code, _substitute(node.text) if node.start_byte in comments else node.text]
        end = node.end_byte
    return b"".join([*pieces, _INDENT.sub(b"", content[end:])])


def _style(content: bytes) -> bytes:
    return _STRING_OR_COMMENT.sub(lambda match: match["string"] or _substitute(match[0]), content)


def _substitute(comment: bytes) -> bytes:
    """Return a comment's substitute: its newlines, or else a space."""
    if _PRESERVED.search(comment):
        return comment
    return b"" if comment.startswith(b"//") else b"\n" * comment.count(b"\n") or b" "
