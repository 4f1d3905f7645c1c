"""Show glossary.yml as a page: each term with its sentence, symbol and lesson."""

from __future__ import annotations

from pathlib import Path

from course.page.cell_output import show_markdown
from course.render.read.glossary import read_glossary, slug
from course.render.read.project import load_project

ROOT = Path(__file__).resolve().parents[2]


def show_glossary() -> None:
    # The sidebar's titles: a cell that read a lesson would run again after each edit of it.
    titles = {item.source: item.text for item in load_project(ROOT).sidebar_pages}
    entries = read_glossary(ROOT).entries
    parts: list[str] = []
    letters: list[str] = []
    for term in sorted(entries, key=str.lower):
        entry = entries[term]
        if term[0].upper() not in letters:
            letters.append(term[0].upper())
            parts.append(f"## {letters[-1]} {{#letter-{letters[-1].lower()}}}\n")
        symbol = f" {entry['symbol']}" if "symbol" in entry else ""
        lesson = entry.get("lesson", "")
        title = titles.get(lesson.partition("#")[0])
        more = f" [{title}]({lesson})" if title else ""
        parts.append(f"[{term}]{{#term-{slug(term)}}}{symbol}\n:   {entry['sentence']}{more}\n")
    jumps = " ".join(f"[{letter}](#letter-{letter.lower()})" for letter in letters)
    show_markdown(f"::: {{.letters}}\n{jumps}\n:::\n")
    show_markdown("::: {.glossary}\n" + "\n".join(parts) + "\n:::\n")
