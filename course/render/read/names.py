"""List the public names of the course's modules, which lie in the project's root.

Standard library only: Quarto may run it with any Python.
"""

import ast
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(".course", "names.json")  # {"fused_attention": "attention", …}, for names.lua
MODULES = ("attention", "variants", "positions", "caching", "flex", "analysis", "interchange")


class Name(NamedTuple):
    name: str  # "KVCache", "KVCache.append"
    start: int  # its first line, comments and decorators above it included
    end: int
    about: str  # the first sentence of its docstring, as Markdown


def public_names(root: Path) -> dict[str, list[Name]]:
    """Return the public functions, classes and methods of each module, in the order of its file."""
    files = (root / f"{module}.py" for module in MODULES)
    return {
        file.stem: names_in(file.read_text(encoding="utf-8")) for file in files if file.is_file()
    }


@cache
def names_in(source: str) -> list[Name]:
    """Return the public names of one module; none if Python can't read it."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    return [name for name in definitions(tree, source.splitlines()) if is_public(name)]


def definitions(tree: ast.AST, lines: list[str], prefix: str = "") -> list[Name]:
    """Return all functions, classes and methods, private ones included."""
    names = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            start = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            while start > 1 and lines[start - 2].lstrip().startswith("#"):
                start -= 1
            about = first_sentence(ast.get_docstring(node))
            names.append(Name(prefix + node.name, start, node.end_lineno, about))
        if isinstance(node, ast.ClassDef):
            names += definitions(node, lines, f"{node.name}.")
    return names


def first_sentence(docstring: str | None) -> str:
    """Return the first sentence or line, without what stands two blanks after it."""
    lines = (docstring or "").partition("\n\n")[0].splitlines()
    ends = (i for i, line in enumerate(lines, 1) if line.rstrip().endswith((".", "!", "?", ":")))
    text = " ".join(lines[: next(ends, len(lines))])
    return text.replace("``", "`").partition("  ")[0].strip()


def is_public(name: Name) -> bool:
    return not any(part.startswith("_") for part in name.name.split("."))


def modules_by_name(root: Path) -> dict[str, str]:
    """Return the module of each public name; the first module counts if two share one."""
    modules: dict[str, str] = {}
    for module, names in public_names(root).items():
        for name in names:
            modules.setdefault(name.name, module)
    return modules


def write_names(root: Path) -> None:
    """Write the modules by name for the filter of both engines, if they have changed."""
    modules = {f"{module}.py": module for module in public_names(root)}
    text = json.dumps({**modules_by_name(root), **modules})
    file = root / FILE
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
