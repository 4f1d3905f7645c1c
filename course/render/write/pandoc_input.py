"""Write a page as one Markdown text for Pandoc: its prose, and its cells in Quarto's divs."""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from course.render.read.markdown import Prose
from course.render.read.page_source import Cell, Page

_IMAGES = {"image/svg+xml": "svg", "image/png": "png"}  # preferred first
_SVG_SIZE = re.compile(r"<svg[^>]*?\swidth=\"([\d.]+)pt\" height=\"([\d.]+)pt\"")


def page_markdown(page: Page, outputs: list[list[dict]], ojs: Any) -> tuple[str, dict[str, str]]:
    """Return the Markdown, and the images by their addresses: SVG as text, PNG in base64.

    ``outputs`` has a list for each Python cell; ``ojs`` numbers the elements of OJS cells.
    """
    python_outputs = iter(enumerate(outputs, 1))
    figures: dict[str, str] = {}
    parts = []
    for block in page.blocks:
        if isinstance(block, Prose):
            parts.append(block.source)
        elif block.language == "ojs":
            parts.append(_ojs_cell(block, ojs))
        else:
            count, cell_outputs = next(python_outputs)
            parts.append(_python_cell(block, count, cell_outputs, page, figures))
    return "\n\n".join(parts) + "\n", figures


def _ojs_cell(cell: Cell, ojs: Any) -> str:
    echo, output = cell.options.get("echo", True), cell.options.get("output", True)
    hidden = "" if output else " .hidden"
    placeholders = ojs.add_cell(cell.source, path=cell.path, line=cell.line)
    targets = [
        div(f'#{placeholder.id} nodetype="{placeholder.nodetype}"') for placeholder in placeholders
    ]
    if len(targets) > 1:
        targets = [div("", target) for target in targets]
    outputs = [div(f".cell-output .cell-output-display{hidden}", target) for target in targets]
    code = [code_block(cell.source, "{.js .cell-code}")] if echo else []
    return div(f".cell{hidden}", *code, *outputs)


def _python_cell(
    cell: Cell, count: int, outputs: list[dict], page: Page, figures: dict[str, str]
) -> str:
    parts = list(_outputs(cell, count, outputs, page, figures))
    if not parts and not cell.options.get("echo", True):
        return ""  # as in Quarto, such a cell leaves no element on the page
    has_display = any(".cell-output-display" in part for part in parts)
    label = cell.label
    identity = (f"#cell-{label} " if has_display else f"#{label} ") if label else ""
    return div(f'{identity}.cell execution_count="{count}"', *_code(cell), *parts)


def _code(cell: Cell) -> Iterator[str]:
    if not cell.options.get("echo", True):
        return
    code = code_block(cell.source, "{.python .cell-code}")
    if "code-fold" not in cell.options:
        yield code
    else:
        summary = escape(cell.options.get("code-summary", "Code"))
        opening = f'<details class="code-fold">\n<summary>{summary}</summary>'
        yield f"{raw_html(opening)}\n\n{code}\n\n{raw_html('</details>')}"


def _outputs(
    cell: Cell, count: int, outputs: list[dict], page: Page, figures: dict[str, str]
) -> Iterator[str]:
    displays = [output for output in outputs if "data" in output]
    for position, output in enumerate(outputs, 1):
        if output["output_type"] == "stream":
            yield _stream(output)
        else:
            identity = _display_id(cell, displays, output)
            if mime := _mime_of_image(output):
                name = f"{cell.label or f'cell-{count + 1}'}-output-{position}.{_IMAGES[mime]}"
                address = f"{page.figures}/{name}"
                figures[address] = output["data"][mime]
                size = output.get("metadata", {}).get(mime) or _svg_size(output["data"][mime])
                image = _image(cell, address, size)
                yield div(f"{identity}.cell-output .cell-output-display", image)
            else:
                yield _display(output["data"], identity, count)


def _mime_of_image(output: dict) -> str | None:
    return next((mime for mime in _IMAGES if mime in output["data"]), None)


def _display_id(cell: Cell, displays: list[dict], output: dict) -> str:
    if not cell.label:
        return ""
    number = f"-{displays.index(output) + 1}" if len(displays) > 1 else ""
    return f"#{cell.label}{number} "


def _stream(output: dict) -> str:
    text = output["text"].rstrip("\n")
    return div(f".cell-output .cell-output-{output['name']}", code_block(text))


def _display(data: dict, identity: str, count: int) -> str:
    classes = ".cell-output .cell-output-display"
    if text := data.get("text/markdown"):
        return div(f'{identity}{classes} .cell-output-markdown execution_count="{count}"', text)
    text = code_block(data.get("text/plain", ""))
    return div(f'{identity}{classes} execution_count="{count}"', text)


def _image(cell: Cell, address: str, size: dict) -> str:
    caption = cell.options.get("fig-cap", "")
    alt = cell.options.get("fig-alt", "").replace('"', "&quot;")
    # A stated size keeps the layout still while a lazy figure loads.
    sizes = (f'{key}="{value}"' for key, value in size.items())
    attributes = " ".join([f'alt="{alt}"', 'loading="lazy"', *sizes])
    return f"![{caption}]({address}){{{attributes}}}"


def _svg_size(image: str) -> dict[str, int]:
    """Read the size that Matplotlib states, in CSS pixels; {} if it states none."""
    stated = _SVG_SIZE.search(image)
    if not stated:
        return {}
    width, height = (round(float(points) * 4 / 3) for points in stated.groups())
    return {"width": width, "height": height}


def div(attributes: str, *parts: str) -> str:
    return "\n\n".join([f":::: {{{attributes}}}", *filter(None, parts), "::::"])


def code_block(text: str, attributes: str = "") -> str:
    longest = max((len(ticks) for ticks in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence} {attributes}\n{text}\n{fence}"


def raw_html(text: str) -> str:
    return code_block(text, "{=html}")
