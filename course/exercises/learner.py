"""Read the functions in the learner's file, and which are still "..."; never write it."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from pathlib import Path

from course.problems import Problem, unknown

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Function:
    """A function of the file. ``dots_line`` is the line of its "...", None once it is replaced."""

    name: str
    signature: str
    title: str
    text: str  # Markdown
    dots_line: int | None


def modules(root: Path = ROOT) -> list[str]:
    return sorted(path.stem for path in (root / "exercises").glob("*.py"))


def file_of(module: str, root: Path = ROOT) -> Path:
    if module not in modules(root):
        raise Problem("exercise", None, unknown("module", module, modules(root)))
    return root / "exercises" / f"{module}.py"


def display_path(path: Path) -> str:
    """Return the path for messages: relative to the project if possible."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


def read(path: Path) -> dict[str, Function]:
    """Return the functions by name. Raises: Problem, as ``parse``."""
    tree = parse(path)
    return {node.name: _function(node) for node in tree.body if isinstance(node, ast.FunctionDef)}


def parse(path: Path) -> ast.Module:
    """Parse a Python file. Raises: Problem with file, line and text for a syntax error."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise Problem(display_path(path), None, f"not UTF-8 text: {error.reason}") from None
    except SyntaxError as error:
        text = (error.text or "").rstrip()
        caret = " " * ((error.offset or 1) - 1) + "^"
        message = f"Python can't read this: {error.msg}\n    {text}\n    {caret}"
        raise Problem(display_path(path), error.lineno, message) from None
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL, or too deep nesting
        raise Problem(display_path(path), None, f"Python can't read this: {error}") from None


def _function(node: ast.FunctionDef) -> Function:
    title, _, text = inspect.cleandoc(ast.get_docstring(node) or "").partition("\n")
    signature = f"def {node.name}({ast.unparse(node.args)}):"
    title = title.rstrip(".") or node.name
    dots = (s.lineno for s in node.body if isinstance(s, ast.Expr) and _is_dots(s.value))
    return Function(node.name, signature, title, text.strip(), next(dots, None))


def _is_dots(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is ...
