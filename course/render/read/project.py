"""Read _quarto.yml strictly: a key that the engine doesn't support is an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from course.problems import Problem, Problems, unknown

from .strict_yaml import Lines, mistakes, read_yaml

_CONTENTS: list[Any] = []
_CONTENTS.append({"href": str, "text": str, "section": str, "contents": _CONTENTS})

POST_RENDER = "course/render/quarto/post_render.py"  # run by Quarto only

# `object` accepts any value: only Quarto reads it.
SCHEMA: dict[str, Any] = {
    "project": {
        "type": "website",
        "output-dir": "_site",
        "execute-dir": "project",
        "pre-render": "course/quarto_setup.py",  # run by Quarto only
        "render": [str],
        "resources": [str],
        "post-render": POST_RENDER,
    },
    "website": {
        "title": str,
        "description": str,
        "favicon": str,
        "site-url": str,
        "image": str,
        "open-graph": True,
        "twitter-card": True,
        "page-navigation": bool,
        "sidebar": {"style": "docked", "search": bool, "contents": _CONTENTS},
    },
    "format": {
        "html": {
            "theme": object,
            "respect-user-color-scheme": True,
            "css": (str, [str]),
            "toc": bool,
            "toc-depth": int,
            "html-math-method": "mathml",
            "tbl-colwidths": True,
            "code-copy": True,
            "fig-format": "svg",
        }
    },
    "filters": [{"path": str, "at": "post-quarto"}],
    "bibliography": (str, [str]),
}


@dataclass(frozen=True)
class NavItem:
    """A line of the sidebar: a page, or a section of them, which has no ``source``."""

    text: str
    source: str | None = None
    children: tuple[NavItem, ...] = ()

    def walk(self) -> Iterator[NavItem]:
        """Yield the item, and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Project:
    root: Path
    config: dict[str, Any]
    lines: Lines
    text: str

    def get(self, *key_path: str, default: Any = None) -> Any:
        value: Any = self.config
        for key in key_path:
            if not isinstance(value, dict) or key not in value:
                return default
            value = value[key]
        return value

    def listed(self, *key_path: str) -> list[str]:
        value = self.get(*key_path, default=[])
        return [value] if isinstance(value, str) else value

    @cached_property
    def sources(self) -> list[str]:
        """The pages as posix paths from the root, in the order of `project: render:`."""
        paths: dict[str, None] = {}
        for pattern in self.listed("project", "render"):
            paths |= dict.fromkeys(
                path.relative_to(self.root).as_posix()
                for path in sorted(self.root.glob(pattern))
                if path.is_file()  # a folder may be called x.qmd
            )
        return list(paths)

    @cached_property
    def sidebar(self) -> tuple[NavItem, ...]:
        return _nav_items(self.get("website", "sidebar", "contents", default=[]))

    @cached_property
    def sidebar_pages(self) -> list[NavItem]:
        """The pages of the sidebar in their order, without the sections."""
        return [item for entry in self.sidebar for item in entry.walk() if item.source]

    @property
    def site_url(self) -> str:
        """The site's address on the web, with "/" at its end; "" if it has none.

        COURSE_SITE_URL, which publishing sets, goes before `website: site-url:`.
        """
        url = os.environ.get("COURSE_SITE_URL") or self.get("website", "site-url", default="")
        return url and url.rstrip("/") + "/"

    @cached_property
    def filters(self) -> list[str]:
        return [entry["path"] for entry in self.get("filters", default=[])]

    def matching(self, pattern: str) -> Iterator[Path]:
        """Find what a pattern of _quarto.yml names; it may begin with / for the root."""
        return self.root.glob(pattern.strip("/"))


def load_project(root: Path) -> Project:
    path = root / "_quarto.yml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Problem("_quarto.yml", None, f"there is none in {root}") from None
    config, lines = read_yaml(text, "_quarto.yml")
    problems = mistakes(config, SCHEMA, lines, "_quarto.yml", kind="_quarto.yml key")
    if problems:
        raise Problems(problems)
    project = Project(root, config, lines, text)
    if problems := [*_missing_files(project), *_missing_pages(project)]:
        raise Problems(problems)
    return project


def _nav_items(contents: list[dict[str, Any]]) -> tuple[NavItem, ...]:
    return tuple(
        NavItem(
            entry.get("section") or entry.get("text", ""),
            entry.get("href"),
            _nav_items(entry.get("contents", [])),
        )
        for entry in contents
    )


def _missing_files(project: Project) -> list[Problem]:
    keys = [
        ("format", "html", "css"), ("bibliography",), ("project", "resources"),
        ("project", "post-render"), ("website", "favicon"), ("website", "image"),
        ("project", "pre-render"),
    ]  # fmt: skip
    named = [(key, name) for key in keys for name in project.listed(*key)]
    named += [(("filters",), name) for name in project.filters]
    return [
        Problem("_quarto.yml", _line_of(project, key, name), f'there is no file "{name}"')
        for key, name in named
        if not any(project.matching(name))
    ]


def _line_of(project: Project, key: tuple[str, ...], name: str) -> int | None:
    """Return the line of ``name`` in the list under ``key``, or of ``key`` itself."""
    for number, text in enumerate(project.text.splitlines(), 1):
        if number > project.lines[key] and name in text:
            return number
    return project.lines[key]


def _missing_pages(project: Project) -> list[Problem]:
    if not project.sources:
        line = project.lines.get(("project", "render")) or project.lines.get(("project",))
        return [Problem("_quarto.yml", line, '"project.render" must list the pages; it finds none')]
    contents = project.get("website", "sidebar", "contents", default=[])
    pages = _sidebar_pages(contents, ("website", "sidebar", "contents"))
    return [
        Problem("_quarto.yml", project.lines[key], unknown("page", name, project.sources))
        for name, key in pages
        if name not in project.sources
    ]


def _sidebar_pages(contents: list[dict[str, Any]], key: tuple) -> Iterator[tuple[str, tuple]]:
    """Yield each page with the key of its entry in ``Project.lines``."""
    for index, entry in enumerate(contents):
        if "section" not in entry:
            yield entry.get("href", ""), (*key, index)
        yield from _sidebar_pages(entry.get("contents", []), (*key, index, "contents"))
