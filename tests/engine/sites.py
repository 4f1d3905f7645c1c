"""Write small sites to a temporary folder, to break and to render in this process."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from course.check.pages import check_site
from course.problems import Problem, Problems
from course.render.read.project import load_project
from course.render.site import render_site

ROOT = Path(__file__).parents[2]

CONFIG = """\
project:
  type: website
  output-dir: _site
  execute-dir: project
  render: [index.qmd, "lessons/*.qmd"]
website:
  title: "Small"
  page-navigation: true
  sidebar:
    contents:
      - href: index.qmd
format:
  html:
    toc: true
    html-math-method: mathml
    css: style.css
bibliography: references.bib
"""
STYLE = """\
/* .no-longer { } */
.known-class, .source, .widget, .box, .answer { color: red }
@media print { div.other-class > p, .third:hover { top: 0 } }
"""
BIBLIOGRAPHY = (
    "@book{knuth1984,\n  title = {The TeXbook},\n  author = {Knuth, D.}, year = 1984\n}\n"
)


class Site:
    def __init__(self, root: Path, **pages: str) -> None:
        """Keyword arguments are lessons: ``first="text"`` is lessons/first.qmd."""
        self.root = root
        self.write("_quarto.yml", CONFIG)
        self.write("style.css", STYLE)
        self.write("references.bib", BIBLIOGRAPHY)
        self.write("requirements.txt", "numpy==1\n")
        self.write("index.qmd", "---\ntitle: Home\n---\nHello.\n")
        for name, text in pages.items():
            self.write(f"lessons/{name}.qmd", text)

    def write(self, path: str, text: str) -> None:
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")

    def extend(self) -> None:
        """Add the course's extension, with the filters that its _quarto.yml lists."""
        shutil.copytree(ROOT / "_extensions", self.root / "_extensions")
        filters = load_project(ROOT).filters
        lines = "".join(f"  - {{at: post-quarto, path: {name}}}\n" for name in filters)
        config = (self.root / "_quarto.yml").read_text(encoding="utf-8")
        self.write("_quarto.yml", f"{config}filters:\n{lines}")

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text
        self.write(path, text.replace(old, new))

    def touch(self, path: str) -> None:
        later = (self.root / path).stat().st_mtime - 1000
        os.utime(self.root / path, (later, later))

    def check(self) -> list[str]:
        """Return the messages of all mistakes."""
        try:
            check_site(load_project(self.root))
        except (Problem, Problems) as problem:
            return str(problem).splitlines()
        return []

    def render(self, cell_timeout: float = 60) -> dict[str, str]:
        """Render; returns the work done for each page: {"index.qmd": "cached", …}."""
        return render_site(self.root, cell_timeout=cell_timeout, say=lambda _: None)

    def executed(self) -> set[str]:
        """Render; returns the lessons whose cells ran."""
        return {source for source, state in self.render().items() if state == "executed"}

    def html(self, path: str) -> str:
        return (self.root / "_site" / path).read_text(encoding="utf-8")

    def snapshot(self) -> dict[str, bytes]:
        site = self.root / "_site"
        files = sorted(path for path in site.rglob("*") if path.is_file())
        return {path.relative_to(site).as_posix(): path.read_bytes() for path in files}


def python(source: str, **options: str) -> str:
    """Write a Python cell; an option ``code_fold`` becomes ``code-fold``."""
    lines = [f"#| {name.replace('_', '-')}: {value}" for name, value in options.items()]
    return "\n".join(["```{python}", *lines, source, "```", ""])
