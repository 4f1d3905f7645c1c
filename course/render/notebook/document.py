"""Write a page as one Markdown text for Pandoc, with marks for the notebook's code cells."""

from collections.abc import Iterator
from typing import Any

from course.render.read.markdown import Prose
from course.render.read.page_source import Cell, Page
from course.render.write.pandoc_input import code_block

_NEEDS = "It needs Python 3.11 or newer, and `pip install torch numpy matplotlib safetensors`."


def document(page: Page, outputs: list[list[dict[str, Any]]], site: str) -> str:
    """Return the text for a site at ``site``, with Markdown outputs and without OJS cells."""
    address = f"{site}{page.html}"
    parts = [f"# {page.title}", page.meta.get("description", "")]
    parts += [f"*[A page of the course]({address}) as a notebook. {_NEEDS}*", mark("setup")]
    position = 0
    for block in page.blocks:
        if isinstance(block, Prose):
            parts.append(block.source)
        elif block.language == "python":
            parts += _cell(block, position, outputs[position])
            position += 1
    return "\n\n".join(filter(None, parts)) + "\n"


def mark(text: str) -> str:
    return code_block(text, "{.notebook-mark}")


def _cell(cell: Cell, position: int, outputs: list[dict[str, Any]]) -> Iterator[str]:
    parts = [mark(f"cell {position}")]
    for number, output in enumerate(outputs):
        text = output.get("data", {}).get("text/markdown")
        if text and not text.startswith("::: {.screen-reader-only}"):  # plain Jupyter shows it all
            parts += [mark(f"output {position} {number}"), text, mark("end")]
    yield from [*parts, cell.options.get("fig-cap", "")]
