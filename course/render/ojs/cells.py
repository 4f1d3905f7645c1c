"""Compile an OJS cell to its statements: imports, definitions and expressions.

For the parser, ``viewof name`` becomes one identifier of the same length, ``viewof$name``.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from tree_sitter import Node

from course.problems import Problem

from .javascript import Location, Script, free_names, text

_PREFIX = re.compile(r"(?<![\w$.])(viewof|mutable)([ \t]+)(?=[^\W\d]|\$)")
_ACCEPTED = """
    identifier number string string_fragment escape_sequence true false null undefined comment
    template_string template_substitution regex regex_pattern regex_flags array object pair
    spread_element computed_property_name property_identifier shorthand_property_identifier
    call_expression arguments new_expression member_expression subscript_expression optional_chain
    unary_expression binary_expression ternary_expression parenthesized_expression
    arrow_function function_expression formal_parameters assignment_pattern rest_pattern
    array_pattern object_pattern pair_pattern object_assignment_pattern
    shorthand_property_identifier_pattern statement_block lexical_declaration variable_declarator
    return_statement if_statement else_clause expression_statement
    import_statement import_clause named_imports import_specifier
""".split()
_FORMS = {"statement_block": "block", "lexical_declaration": "const or let", "import": "import()"}
_REFUSAL = (
    "{} in a cell: the embedded engine takes `import {{a, b as c}} from`, `name = expression`, "
    "`viewof name = expression` and expressions; `--engine quarto` takes all of OJS"
)
# The names of the browser that cells may use, and can't define.
BROWSER_NAMES = """
    Array BigInt Boolean Date Error Infinity Intl JSON Map Math NaN Number Object Promise RegExp Set
    String Symbol URL URLSearchParams addEventListener clearTimeout console customElements document
    fetch getComputedStyle globalThis isFinite isNaN localStorage location matchMedia navigator
    parseFloat parseInt performance requestAnimationFrame setTimeout structuredClone window
""".split()


class QuartoOnly(Problem):
    """A form that Quarto supports and the embedded engine doesn't."""


@dataclass
class Statement:
    location: Location
    kind: str  # "import", "value", "view" or "expression"
    defines: dict[str, Location] = field(default_factory=dict)
    inputs: dict[str, Location] = field(default_factory=dict)
    function: str = ""  # JavaScript, from the inputs to the value
    # of an import:
    module: str = ""  # as written, and then the file
    module_location: Location | None = None
    exported: dict[str, str] = field(default_factory=dict)  # name on the page -> in the module


def compile_cell(source: str, path: str, line: int) -> list[Statement]:
    """Compile ``source``, which starts at ``line`` of the file. Raises: Problem."""
    cell = _Cell(source, path, line)
    return [cell.statement(node) for node in _children(cell.root)]


class _Cell(Script):
    def __init__(self, source: str, path: str, line: int) -> None:
        one_word = _PREFIX.sub(lambda match: match[1] + "$" * len(match[2]), source)
        super().__init__(one_word, path, line)
        self._source = source.encode()

    def statement(self, node: Node) -> Statement:
        if node.type == "import_statement":
            return self._import(node)
        if node.type != "expression_statement":
            self._refuse(node)
        location, kind, defines = self.location(node), "expression", {}
        value = _children(node)[0]
        target = value.child_by_field_name("left")
        if value.type == "assignment_expression" and target and target.type == "identifier":
            *prefix, name = self._words(target)
            if prefix == ["mutable"]:
                self._refuse(target, "mutable")
            kind = "view" if prefix else "value"
            defines = {name: location} | ({f"viewof {name}": location} if prefix else {})
            value = value.child_by_field_name("right") or value
        elif value.type == "object":  # a block, as a statement can't begin with an object
            self._refuse(value, "block")
        free = list(free_names(value))
        self._check(value, {node.start_byte for node in free if node.type == "identifier"})
        inputs: dict[str, Location] = {}
        for node in free:
            if (name := " ".join(self._words(node))) not in BROWSER_NAMES:
                inputs.setdefault(name, self.location(node))
        return Statement(location, kind, defines, inputs, self._function(value, free, inputs))

    def _import(self, node: Node) -> Statement:
        self._check(node, set())
        clause, source = _children(node)[0], _children(node)[-1]
        names = _children(clause)[:1]
        if [name.type for name in names] != ["named_imports"]:
            self._refuse(node, "import without {names}")
        statement = Statement(self.location(node), "import", module=text(source)[1:-1])
        statement.module_location = self.location(source)
        for specifier in _children(names[0]):
            exported, *alias = _children(specifier)
            local = text(alias[0] if alias else exported)
            statement.exported[local] = text(exported)
            statement.defines[local] = self.location(specifier)
        return statement

    def _check(self, node: Node, free: set[int]) -> None:
        """Refuse an unknown form, and ``viewof`` elsewhere than at a free name."""
        if node.type not in _ACCEPTED:
            self._refuse(node)
        prefix = self._words(node)[:-1] if node.type.endswith("identifier") else []
        if prefix == ["mutable"] or (prefix and node.start_byte not in free):
            self._refuse(node, f"{prefix[0]} at this place")
        for child in node.named_children:
            self._check(child, free)

    def _function(self, value: Node, free: list[Node], inputs: Iterable[str]) -> str:
        """Return a function of the inputs, in which ``viewof name`` is a parameter."""
        code, end = b"", value.start_byte
        for node in free:
            if len(words := self._words(node)) == 2:
                code += self._source[end : node.start_byte] + "$".join(words).encode()
                end = node.end_byte
        body = (code + self._source[end : value.end_byte]).decode()
        if "</script" in body.lower():
            message = r'"</script" would end the script of the page: write "<\/script"'
            raise self.location(value).problem(message)
        parameters = ", ".join(name.replace(" ", "$") for name in inputs)
        return f"function ({parameters}) {{return (\n{body}\n);}}"

    def _words(self, name: Node) -> list[str]:
        """Return ["viewof", "x"], ["mutable", "x"] or ["x"]."""
        return self._source[name.start_byte : name.end_byte].decode().split()

    def _refuse(self, node: Node, form: str = "") -> NoReturn:
        form = form or _FORMS.get(node.type) or node.type.replace("_", " ")
        path, line, column = self.location(node)
        raise QuartoOnly(path, line, _REFUSAL.format(form), column)


def _children(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]
