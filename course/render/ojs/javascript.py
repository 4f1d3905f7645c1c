"""Parse JavaScript with tree-sitter: locate mistakes, and find the free names.

The parser knows only the grammar; a browser refuses some of what passes here: ``(a, a) => 1``.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import tree_sitter_javascript
from tree_sitter import Language, LogType, Node, Parser, Query, QueryCursor

from course.problems import Problem

LANGUAGE = Language(tree_sitter_javascript.language())
# The parser takes these too: JSX, and a comma with nothing before it.
NOT_JAVASCRIPT = """[(jsx_element) (jsx_self_closing_element) (html_comment)] @refused
    (object ["{" ","] . "," @refused) (arguments ["(" ","] . "," @refused)"""
_REFUSED = Query(LANGUAGE, NOT_JAVASCRIPT)
_NAMED_PART = {
    "variable_declarator": "name", "pair_pattern": "value",
    "assignment_pattern": "left", "object_assignment_pattern": "left",
}  # fmt: skip


class Location(NamedTuple):
    path: str
    line: int
    column: int

    def problem(self, message: str) -> Problem:
        return Problem(self.path, self.line, message, self.column)


class Script:
    """A parsed text, which starts at ``line`` of the file ``path``.

    Raises: Problem for a syntax error, or for what the query ``refused`` captures.
    """

    def __init__(self, source: str, path: str, line: int = 1, *, refused: Query = _REFUSED) -> None:
        self._path, self._line, self._bytes = path, line, source.encode()
        self.root = Parser(LANGUAGE).parse(self._bytes).root_node
        if self.root.has_error:
            raise self._syntax_error()
        for node in QueryCursor(refused).captures(self.root).get("refused", ()):
            raise self.location(node).problem(f'unexpected "{text(node).split()[0]}"')

    def location(self, at: Node | int) -> Location:
        """Return the location of a node or a byte."""
        before = self._bytes[: at if isinstance(at, int) else at.start_byte]
        column = len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        return Location(self._path, self._line + before.count(b"\n"), column)

    def matches(self, query: Query) -> list[dict[str, list[Node]]]:
        """Return what ``query`` captures, from the statements at the top level only."""
        cursor = QueryCursor(query)
        cursor.set_max_start_depth(1)
        return [captures for _, captures in cursor.matches(self.root)]

    def _syntax_error(self) -> Problem:
        """Point to the first token that no rule takes.

        Only the parser's log tells it: the tree shows how the parser went on from there.
        """
        log: list[str] = []
        parser = Parser(LANGUAGE)
        parser.logger = lambda kind, message: kind == LogType.PARSE and log.append(message)
        parser.parse(self._bytes)
        steps = "\n".join(log).partition("\nresume")[0]
        row, column = re.findall(r"^process.* row:(\d+), col:(\d+)", steps, re.M)[-1]
        lines = self._bytes.split(b"\n")
        end = sum(len(line) + 1 for line in lines[: int(row)]) + int(column)
        token = re.compile(rb"\s*(\w+|[^\s\w])").match(self._bytes, end)
        *_, last, _ = ["", *re.findall(r"^lexed_lookahead sym:(\w+|.)", steps, re.M)]
        if token is None or last == "string_fragment":  # that ends with its line
            return self.location(end).problem("unexpected end: something is open or incomplete")
        word = token[1].decode(errors="replace")
        return self.location(token.start(1)).problem(f'unexpected "{word}"')


def text(node: Node | None) -> str:
    return node.text.decode() if node and node.text else ""


def free_names(node: Node, bound: frozenset[str] = frozenset()) -> Iterator[Node]:
    """Yield each identifier in ``node`` that refers to a name from outside of it."""
    bound = bound.union(_declared(node))
    if node.type in ("identifier", "shorthand_property_identifier") and text(node) not in bound:
        yield node
    for child in node.named_children:
        yield from free_names(child, bound)


def _declared(scope: Node) -> Iterator[str]:
    """Yield the names that a function or a block declares for what stands in it."""
    if scope.type in ("arrow_function", "function_expression"):
        for field in ("name", "parameter", "parameters"):
            yield from bound_names(scope.child_by_field_name(field))
    elif scope.type == "statement_block":
        for child in scope.named_children:
            yield from bound_names(child if child.type == "lexical_declaration" else None)


def bound_names(pattern: Node | None) -> Iterator[str]:
    """Yield the names in a pattern, without its keys and default values."""
    if pattern and pattern.type in ("identifier", "shorthand_property_identifier_pattern"):
        yield text(pattern)
    elif pattern:
        field = _NAMED_PART.get(pattern.type)
        parts = [pattern.child_by_field_name(field)] if field else pattern.named_children
        for part in parts:
            yield from bound_names(part)
