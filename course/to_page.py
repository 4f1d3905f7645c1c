"""Send values from Python cells to OJS cells, and show a widget's form from before it runs."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any


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


def static_form(sentence: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Show a widget's default state as a sentence and a small table.

    It stands in the page until the widget takes its place, and stays in print, without
    JavaScript and in Jupyter. Floats are shown with two decimals.
    """
    columns = list(columns)
    lines = [columns, ["---"] * len(columns), *([_cell(x) for x in row] for row in rows)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    if is_rendering():
        show_markdown(f"::: {{.static-form}}\n{sentence}\n\n{table}\n:::\n")
    else:
        show_markdown(f"{sentence}\n\n{table}\n")


def plain(value: Any, path: str) -> Any:
    """Convert ``value`` to JSON's types; errors name ``path``, its place in the published value."""
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


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{path} has the key {key!r}; publish takes dicts with string keys only")
    return key


def _cell(value: Any) -> str:
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")
