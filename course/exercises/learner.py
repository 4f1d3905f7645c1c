"""Read the learner's file, and never write it: its functions, and which of them are begun."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from pathlib import Path

from course.problems import Problem, unknown

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Written:
    """A function of the file. ``waiting`` is the line of its "...", None once that is replaced."""

    name: str
    signature: str
    title: str
    text: str  # Markdown
    waiting: int | None


def modules(root: Path = ROOT) -> list[str]:
    return sorted(path.stem for path in (root / "exercises").glob("*.py"))


def file_of(module: str, root: Path = ROOT) -> Path:
    if module not in modules(root):
        raise Problem("exercise", None, unknown("module", module, modules(root)))
    return root / "exercises" / f"{module}.py"


def shown(path: Path) -> str:
    """Return the path as messages show it."""
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


def read(path: Path) -> dict[str, Written]:
    """Return the functions by name. Raises: Problem, as ``parse``."""
    tree = parse(path)
    return {node.name: _written(node) for node in tree.body if isinstance(node, ast.FunctionDef)}


def parse(path: Path) -> ast.Module:
    """Parse a Python file. Raises: Problem with file, line and text for a syntax error."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise Problem(shown(path), None, f"not UTF-8 text: {error.reason}") from None
    except SyntaxError as error:
        text = (error.text or "").rstrip()
        caret = " " * ((error.offset or 1) - 1) + "^"
        message = f"Python can't read this: {error.msg}\n    {text}\n    {caret}"
        raise Problem(shown(path), error.lineno, message) from None
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL, or too deep nesting
        raise Problem(shown(path), None, f"Python can't read this: {error}") from None


def _written(node: ast.FunctionDef) -> Written:
    title, _, text = inspect.cleandoc(ast.get_docstring(node) or "").partition("\n")
    signature = f"def {node.name}({ast.unparse(node.args)}):"
    title = title.rstrip(".") or node.name
    waiting = (s.lineno for s in node.body if isinstance(s, ast.Expr) and _is_dots(s.value))
    return Written(node.name, signature, title, text.strip(), next(waiting, None))


def _is_dots(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is ...
