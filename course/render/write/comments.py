"""Leave the comments of scripts and styles out of the site: readers load them with every page.

Line numbers stay the same, so that an error names the line of the source.
"""

import re
from pathlib import Path

from tree_sitter import Parser, Query, QueryCursor

from course.render.ojs.javascript import LANGUAGE

_COMMENTS = Query(LANGUAGE, "(comment) @comment")
_PRESERVED = re.compile(rb"licen[cs]e|copyright|^/\*!|^//[#@]", re.I)
# A string, or a comment that doesn't hold two words apart.
_STRING_OR_COMMENT = re.compile(
    rb"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?:(?<=[\s{};])|\A)/\*.*?\*/""", re.S
)


def without_comments(path: Path) -> bytes:
    """Return the content of a file; that of a script or style lacks its comments."""
    content = path.read_bytes()
    if path.suffix == ".js":
        return _script(content)
    return _style(content) if path.suffix == ".css" else content


def _script(content: bytes) -> bytes:
    root = Parser(LANGUAGE).parse(content).root_node
    if root.has_error:  # what isn't understood stays whole
        return content
    comments = QueryCursor(_COMMENTS).captures(root).get("comment", [])
    pieces, end = [], 0
    for comment in sorted(comments, key=lambda node: node.start_byte):
        pieces += [content[end : comment.start_byte], _substitute(comment.text)]
        end = comment.end_byte
    return b"".join([*pieces, content[end:]])


def _style(content: bytes) -> bytes:
    return _STRING_OR_COMMENT.sub(lambda match: match["string"] or _substitute(match[0]), content)


def _substitute(comment: bytes) -> bytes:
    """Return a comment's substitute: its newlines, or else a space."""
    return comment if _PRESERVED.search(comment) else b"\n" * comment.count(b"\n") or b" "
