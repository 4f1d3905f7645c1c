"""Send values from Python cells to OJS cells, and show a widget's fallback until it runs."""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from course.page.numbers import rounded

WIDEST = 40  # letters


def publish(**values: Any) -> None:
    """Define one OJS variable for each keyword, under both engines.

    Takes numbers, strings, bools, None, lists, dicts with string keys, and tensors and arrays
    (anything with ``tolist``). Does nothing in plain Jupyter, which has no OJS cells.

    Raises: ValueError for NaN or infinity, TypeError for anything else that JSON can't hold;
        both name the path inside the value, such as ``worked.query[2][0]``.
    """
    contents = [{"name": name, "value": plain(value, name)} for name, value in values.items()]
    if is_rendering():
        # Escape "<", so that no string can end the script element.
        text = json.dumps({"contents": contents}, ensure_ascii=False).replace("<", "\\u003c")
        show_markdown(f'```{{=html}}\n<script type="ojs-define">{text}</script>\n```\n')


def show_fallback(
    sentence: str, columns: Iterable[str], rows: Iterable[Iterable[Any]], computed: Any = ()
) -> None:
    """Show a widget's default state as a sentence and a small table.

    The widget replaces it once it runs; it stays in print, without JavaScript and in Jupyter.
    Floats are shown with two decimals.

    Its numbers are those of the widget: tests look for each in what was published and in the
    widget's model. ``computed`` declares others that the cell computes of what it published.
    """
    rows_shown = table([columns, *rows])
    if is_rendering():
        numbers = sorted({*_numbers(computed)})
        stated = f' data-computed="{json.dumps(numbers)}"' if numbers else ""
        show_markdown(f"::: {{.fallback{stated}}}\n{sentence}\n\n{rows_shown}\n:::\n")
    else:
        show_markdown(f"{sentence}\n\n{rows_shown}\n")


def show_table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Show a table that stays. Cells are Markdown; floats are shown with two decimals."""
    show_markdown(table([columns, *rows], by_content=True) + "\n")


def show_source(function: Any, *lines: str) -> None:
    """Show a function's source as code: the whole of it, or one line for each start in ``lines``.

    So a page always shows the module's present code.
    Raises: ValueError for a start that no line, or more than one, has.
    """
    source = textwrap.dedent(inspect.getsource(function))
    if lines:
        matches = [[line for line in source.splitlines() if line.lstrip().startswith(start)]
                 for start in lines]  # fmt: skip
        for start, of_start in zip(lines, matches, strict=True):
            if len(of_start) != 1:
                raise ValueError(
                    f"{len(of_start)} lines of {function.__name__} start with {start!r}"
                )
        source = "\n".join(line.strip() for (line,) in matches)
    show_markdown(f"```python\n{source.rstrip()}\n```\n")


def plain(value: Any, path: str) -> Any:
    """Convert ``value`` to JSON's types; errors name ``path`` in the published value."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{path} is {value}; publish takes finite numbers only")
        return value
    if isinstance(value, Mapping):
        return {_key(key, path): plain(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{path}[{i}]") for i, item in enumerate(value)]
    raise TypeError(f"{path} is a {type(value).__name__}, which publish can't send to the page")


def is_rendering() -> bool:
    """True if the cell runs for a page: Quarto and the embedded engine each set a variable."""
    return not os.environ.keys().isdisjoint({"QUARTO_EXECUTE_INFO", "COURSE_KERNEL"})


def show_markdown(text: str) -> None:
    from IPython.display import Markdown, display

    display(Markdown(text))


def table(rows: Iterable[Iterable[Any]], *, by_content: bool = False) -> str:
    """Write ``rows`` as Markdown, the first as header.

    ``by_content`` sizes the dashes, by which Pandoc divides the width of long lines.
    """
    cells = [[_cell(value) for value in row] for row in rows]
    columns = zip(*cells, strict=True)
    dashes = ["-" * (_share(column) if by_content else 3) for column in columns]
    if by_content and is_rendering():
        cells = [[_whole(cell) for cell in row] for row in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in [cells[0], dashes, *cells[1:]])


def _share(column: Iterable[str]) -> int:
    """Count the letters of a column's longest cell, and at least those of its longest word."""
    # Links without their addresses, code without its marks.
    texts = [re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", cell) for cell in column]
    word = max(len(word) for text in texts for word in (text.split() or [""]))
    return min(max(*map(len, texts), word + 3), WIDEST)


def _whole(cell: str) -> str:
    """Keep a number or a short word on one line: on a phone, words in tables may break anywhere."""
    is_short = re.fullmatch(r"[\w.,]{1,8}", cell)
    return f'[{cell}]{{style="white-space: nowrap"}}' if is_short else cell


def _numbers(value: Any) -> list[float]:
    """Return all numbers of nested lists and tensors, rounded; skip strings."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [number for item in value for number in _numbers(item)]
    return [rounded(value)] if isinstance(value, int | float) else []


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{path} has the key {key!r}; publish takes dicts with string keys only")
    return key


def _cell(value: Any) -> str:
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")
