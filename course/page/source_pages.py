"""Show attention.py and the modules beside it as pages: sources/*.qmd call these functions.

Each public function, class and method has an anchor, and each line its number in the file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from course.page.cell_output import show_markdown
from course.render.read.names import Name, definitions, first_sentence, is_public, public_names

ROOT = Path(__file__).resolve().parents[2]
_SECTION = re.compile(r"# --- (.*?) -+$")


def show_module(module: str) -> None:
    """Show a module's public names, and then its code."""
    source = _read(module)
    names = [name for name in public_names(ROOT)[module] if "." not in name.name and name.about]
    listed = "\n".join(f"- [`{name.name}`](#{name.name}) – {name.about}" for name in names)
    show_markdown("\n\n".join([_div(".source-names", listed), *_code_of(source)]))


def show_modules() -> None:
    """List the modules, each with its public names."""
    parts = []
    for module, names in public_names(ROOT).items():
        links = (f"[`{n.name}`]({module}.html#{n.name})" for n in names if "." not in n.name)
        about = first_sentence(ast.get_docstring(ast.parse(_read(module))))
        parts += [f"## [`{module}.py`]({module}.qmd) {{#{module}}}", about, ", ".join(links)]
    show_markdown("\n\n".join(parts))


def _read(module: str) -> str:
    return (ROOT / f"{module}.py").read_text(encoding="utf-8")


def _code_of(source: str) -> Iterator[str]:
    """Yield a module's parts as Markdown: headings, and code between and below them."""
    lines = source.splitlines()
    names = definitions(ast.parse(source), lines)
    top = {name.start: name for name in names if "." not in name.name}
    level, number = "##", 1
    while number <= len(lines):
        line = lines[number - 1]
        if name := top.get(number):
            yield from _definition(lines, name, names, level)
            number = name.end + 1
        elif section := _SECTION.match(line):
            level = "###"
            anchor = re.sub(r"[^a-z0-9]+", "-", section[1].partition(":")[0].lower())
            yield f"## {section[1]} {{#part-{anchor}}}"
            number += 1
        elif line:
            end = number
            while end < len(lines) and end + 1 not in top and not _SECTION.match(lines[end]):
                end += 1
            yield _listing(lines, number, end, "#top" if number == 1 else "")
            number = end + 1
        else:
            number += 1


def _definition(lines: list[str], name: Name, names: Iterable[Name], level: str) -> Iterator[str]:
    if not is_public(name):
        yield _listing(lines, name.start, name.end, f"#{name.name}")
        return
    yield f"{level} `{name.name}` {{#{name.name}}}"
    yield _div(f'.mentions data-name="{name.name}"')
    methods = [method for method in names if method.name.startswith(f"{name.name}.")]
    if not methods:
        yield _listing(lines, name.start, name.end, ".whole")
        return
    starts = [name.start, *(method.start for method in methods)]
    ends = [*(method.start - 1 for method in methods), name.end]
    ids = ["", *(f"#{method.name}" for method in methods)]
    parts = map(_listing, [lines] * len(ids), starts, ends, ids)
    yield _div(".source-class", *parts)


def _listing(lines: list[str], start: int, end: int, attributes: str) -> str:
    """Show the lines ``start`` … ``end`` under their numbers, without empty ones at their end."""
    code = "\n".join(lines[start - 1 : end]).rstrip()
    fence = max(re.findall("`{3,}", code), default="``", key=len) + "`"
    return _div(
        f'.source-code {attributes} style="--line: {start - 1}"', f"{fence} python\n{code}\n{fence}"
    )


def _div(attributes: str, *parts: str) -> str:
    return "\n\n".join([f"::: {{{attributes}}}", *parts, ":::"])
