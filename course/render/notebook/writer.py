"""Write a lesson's notebook: cut Pandoc's Markdown of the page into cells, at its marks.

Pandoc converts the whole page at once, so that numbers and references are the page's.
"""

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course.problems import Problem
from course.render.read.page_source import Page
from course.render.read.project import Project
from course.render.write.pandoc import to_notebook_markdown

from .archive import archive_name, needs
from .document import document
from .link import site_address

_MARK = re.compile(r"^``` notebook-mark\n(.*)\n```$", re.M)

Outputs = list[list[dict[str, Any]]]


def notebook_of(project: Project, page: Page, outputs: Outputs, reads: list[str]) -> str:
    """Return the notebook as JSON.

    ``outputs`` has the page's list for each Python cell; ``reads`` names the files it read.
    Raises: Problem if the notebook would hold a path of this machine.
    """
    site = site_address(project)
    text = to_notebook_markdown(project, page, document(page, outputs, site), site=site)
    writer = _Writer(project.root, page, outputs, _setup(page, needs(project.root, reads), site))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": list(writer.cells(text)),
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    json_text = json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
    if str(project.root) in json_text:
        message = f"its text or its outputs hold a path of this machine, {project.root}"
        raise Problem(page.source, None, message)
    return json_text


def _setup(page: Page, needed: list[str], site: str) -> str:
    from jinja2 import StrictUndefined, Template

    names = ", ".join(json.dumps(name) for name in needed)
    lines = textwrap.wrap(names, 95, break_long_words=False, break_on_hyphens=False)
    listed = "[\n    " + "\n    ".join(lines) + "\n]" if len(lines) > 1 else f"[{names}]"
    template = Path(__file__).with_name("setup.py.j2").read_text(encoding="utf-8")
    setup = Template(template, undefined=StrictUndefined)
    return setup.render(address=site, needs=listed, archive=archive_name(page))


class _Writer:
    def __init__(self, root: Path, page: Page, outputs: Outputs, setup: str) -> None:
        self.root, self.page, self.outputs, self.setup = root, page, outputs, setup
        self.python = page.cells("python")
        self.converted: dict[tuple[int, int], str] = {}  # outputs in Markdown, converted by Pandoc
        self.ids = iter(f"text-{number}" for number in range(1, 10_000))

    def cells(self, text: str) -> Iterator[dict[str, Any]]:
        for kind, content in list(self._parts(text)):  # a list, because outputs follow their cell
            if kind == "text":
                identity = next(self.ids)
                yield {"cell_type": "markdown", "id": identity, "metadata": {}, "source": content}
            elif kind == "setup":
                yield _code_cell("setup", 1, self.setup, [], {"source": True})
            else:
                position, *folded = content.split()
                yield self._python_cell(int(position), folded=bool(folded))

    def _parts(self, text: str) -> Iterator[tuple[str, str]]:
        _, *rest = _MARK.split(text)  # the text before the first mark is empty
        output = None
        for mark, piece in zip(rest[::2], rest[1::2], strict=True):
            kind, _, content = mark.partition(" ")
            if kind in ("setup", "cell"):
                yield kind, content
            elif kind in ("output", "end"):
                output = tuple(map(int, content.split())) if content else None
            if output:
                self.converted[output] = (
                    f"{self.converted.get(output, '')}\n\n{piece.strip()}".strip()
                )
            elif piece.strip():
                yield "text", piece.strip()

    def _python_cell(self, position: int, *, folded: bool) -> dict[str, Any]:
        cell, number = self.python[position], position + 2  # the first is the setup
        options, outputs = cell.options, []
        for index, output in enumerate(self.outputs[position]):
            markdown = self.converted.get((position, index))
            outputs += _output(output, number, markdown, options.get("fig-alt"))
        hidden = {
            "source": folded or not options.get("echo", True) or "code-fold" in options,
            "outputs": bool(outputs) and folded,
        }
        name = f"{cell.label or 'cell'}-{number}"
        return _code_cell(name, number, cell.source, outputs, hidden)


def _code_cell(
    name: str, number: int, source: str, outputs: list, hidden: dict[str, bool]
) -> dict[str, Any]:
    about = {f"{part}_hidden": True for part, is_hidden in hidden.items() if is_hidden}
    return {
        "cell_type": "code", "execution_count": number, "id": name[:64],
        "metadata": {"jupyter": about} if about else {}, "outputs": outputs, "source": source,
    }  # fmt: skip


def _output(
    output: dict[str, Any], number: int, markdown: str | None, alt: str | None
) -> Iterator[dict[str, Any]]:
    if output["output_type"] == "stream":
        yield output
        return
    data, metadata = dict(output["data"]), dict(output["metadata"])
    if "text/markdown" in data:
        if not markdown:
            return  # values for OJS cells have no text
        data["text/markdown"] = markdown
    if "image/png" in data:  # Jupyter shows no SVG before a notebook is trusted
        data.pop("image/svg+xml", None)
        metadata.pop("image/svg+xml", None)
        if alt:
            metadata["image/png"] = {**metadata.get("image/png", {}), "alt": alt}
    changed = {**output, "data": data, "metadata": metadata}
    if output["output_type"] == "execute_result":
        changed["execution_count"] = number
    yield changed
