"""Find what a lesson lacks besides a page that renders, with the file and line to add it at.

Only `course check` asks for it, so that an unfinished lesson can be previewed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from course.check.badges import widgets
from course.check.terms import uses_before_marks
from course.exercises import learner
from course.problems import Problem
from course.render.read.glossary import read_glossary
from course.render.read.page_source import Cell, Page
from course.render.read.project import Project

LEAST_HINTS, LEAST_MISTAKES = 2, 3
MOST_LINES = 15  # of a shown cell
# The first lesson, "start", stands before the others: it has no exercises and no summary sheet.
FIRST = "start"
_GOAL = re.compile(r"\{\.goal #goal-([\w-]+)\}")
_LESSON = re.compile(rf"modules/(?:(m\d\d)_[a-z0-9_]+|{FIRST})/lesson\.qmd")


def lesson_mistakes(project: Project, pages: dict[str, Page]) -> Iterator[Problem]:
    """Name each thing that a lesson of ``pages`` lacks, with the line to add it at."""
    glossary = read_glossary(project.root)
    for page in pages.values():
        yield from uses_before_marks(page, glossary)
        if not page.source.startswith("modules/"):
            continue
        if not (match := _LESSON.fullmatch(page.source)):
            message = "a lesson's folder is named mNN_name, such as modules/m07_position/"
            yield Problem(page.source, None, message)
            continue
        module = match[1] or FIRST
        yield from _page_mistakes(project, page, module)
        yield from _list_mistakes(project, page, module)
        if module != FIRST:
            yield from _practice_mistakes(project, page, module)
        test = f"tests/lessons/test_{module}.py"
        if not (project.root / test).is_file():
            message = "is missing: compare what the page shows with numbers computed another way"
            yield Problem(test, None, message)


def _page_mistakes(project: Project, page: Page, module: str) -> Iterator[Problem]:
    for key, use in (("title", "the heading"), ("description", "what a search engine shows")):
        if key not in page.meta:
            yield Problem(page.source, 1, f"the front matter lacks {key}: {use}")
    if not any(line.path == "_diagram-lib.qmd" for line in page.lines):
        message = "after the front matter, add {{< include /_diagram-lib.qmd >}}: questions and "
        yield Problem(page.source, 1, f"{message}widgets run on it")
    cells = page.cells("python")
    for cell in cells:
        count = len(cell.source.strip().splitlines())
        if count > MOST_LINES and cell.options.get("echo", True):
            message = f"the cell has {count} lines, and a reader follows {MOST_LINES}: split it"
            yield Problem(cell.path, cell.line, message)
    yield from _missing_styles(project, page)
    yield from _widgets_without_a_fallback(page, cells)
    yield from _figures_without_numbers(page)
    yield from _goals_without_a_widget(project, page)


def _practice_mistakes(project: Project, page: Page, module: str) -> Iterator[Problem]:
    """The exercises and the summary sheet, which all lessons but the first have."""
    end = max((line.number for line in page.lines if line.path == page.source), default=1)
    if not any(f'show_exercises("{module}"' in cell.source for cell in page.cells("python")):
        message = f'no cell shows the exercises: add one with show_exercises("{module}")'
        yield Problem(page.source, end, f"{message}, as CONTRIBUTING.md has it")
    sheet = f"modules/{page.source.split('/')[1]}/_summary.qmd"
    if not any(line.path == sheet for line in page.lines):
        message = (
            "after the exercises, add {{< include _summary.qmd >}}, the lesson's summary sheet"
        )
        yield Problem(page.source, end, message)
    try:
        yield from _exercise_mistakes(project.root, module)
    except Problem as problem:  # a file that isn't Python
        yield problem


def _missing_styles(project: Project, page: Page) -> Iterator[Problem]:
    wanted = {"assets/signs.css": "the lessons' signs"}
    for cell in page.cells("ojs"):
        names = re.findall(r'from "/widgets/([\w-]+)\.js"', cell.source)
        wanted |= {f"widgets/{name}.css": "the widget's style" for name in names}
    for style, what in wanted.items():
        if (project.root / style).is_file() and style not in map(page.resolve, page.styles):
            yield Problem(page.source, 1, f"the front matter lacks {what}: css: {page.root}{style}")


def _widgets_without_a_fallback(page: Page, cells: Sequence[Cell]) -> Iterator[Problem]:
    fallbacks = [cell for cell in cells if "show_fallback(" in cell.source]
    for opened, closed in widgets(page.prose):
        lines = range(opened.line, closed.line)
        if not any(cell.path == opened.path and cell.line in lines for cell in fallbacks):
            message = "the widget shows nothing before it runs, on paper or in the notebook: call "
            yield Problem(
                opened.path, opened.line, f"{message}show_fallback in a Python cell in it"
            )


def _goals_without_a_widget(project: Project, page: Page) -> Iterator[Problem]:
    goals = [(line, name) for line in page.lines for name in _GOAL.findall(line.text)]
    texts = [file.read_text("utf-8") for file in project.root.glob("widgets/*.js") if goals]
    for line, name in goals:
        if not any(re.search(rf'[\s{{]"?{name}"?(: \(|,?$)', text, re.MULTILINE) for text in texts):
            message = f'no widget has the goal "{name}": add it to the challenges of its module, '
            remedy = "and a state that meets it to tests/widgets/states_*.py"
            yield Problem(line.path, line.number, message + remedy)


def _figures_without_numbers(page: Page) -> Iterator[Problem]:
    blocks = [block for block in page.blocks if isinstance(block, Cell) or block.source.strip()]
    for cell, after in zip_longest(blocks, blocks[1:]):
        is_figure = isinstance(cell, Cell) and "fig-alt" in cell.options
        has_numbers = isinstance(after, Cell) and "show_numbers()" in after.source
        if is_figure and not has_numbers and "# without numbers: " not in cell.source:
            message = "the figure's numbers are for those alone who see it: after it, add a cell "
            remedy = 'plots.show_numbers() with "#| echo: false", or to this one a line '
            yield Problem(cell.path, cell.line, f'{message}{remedy}"# without numbers: REASON"')


def _list_mistakes(project: Project, page: Page, module: str) -> Iterator[Problem]:
    """Sidebar, front page, its map's signs, README and the sheet of all summaries list lessons."""
    title, folder = str(page.title), page.source.split("/")[1]
    if not any(item.source == page.source for item in project.sidebar_pages):
        entry = f'- href: {page.source}\n              text: "{title}"'
        message = f"the sidebar lacks a lesson: add under a section's contents\n            {entry}"
        yield Problem("_quarto.yml", project.lines.get(("website", "sidebar", "contents")), message)
    link, number = f"]({page.source})", "" if module == FIRST else int(module[1:])
    minutes = f'[`{{python}} time["{folder}"]` minutes]{{.time}}'
    sign = f'.course-map a[href*="/{module}"]'
    own = f'body:has(#quarto-sidebar .active[href*="/{module}"])'
    lists = [  # file, its entry for the lesson, a mark of the line to add it at, the message
        ("index.qmd", link, ".course-map", "the map lacks a lesson: "
         f"N. [**{title}.**{link} What it is about, in a sentence. {minutes}"),
        ("assets/signs.css", sign, None, "lacks a lesson's sign: "
         f'add {sign}, {own} {{ --sign: url("…"); }}, a drawing of 24 by 24'),
        ("README.md", link, "## Lessons", "the table lacks a lesson: "
         f"| {number} | [{title}{link} | what the reader will be able to do |"),
    ]  # fmt: skip
    if module != FIRST:
        sheet = f"{{{{< include /modules/{folder}/_summary.qmd >}}}}"
        lists += [("summary.qmd", sheet, None, f"lacks a lesson's summary sheet: add {sheet}")]
    for file, entry, anchor, message in lists:
        lines = _lines(project.root / file)
        if not any(entry in line for line in lines):
            numbers = (n for n, line in enumerate(lines, 1) if anchor and anchor in line)
            yield Problem(file, next(numbers, len(lines) or None), message)
    for line_number, line in enumerate(_lines(project.root / "index.qmd"), 1):
        if f"**{title}.**" in line and ".to-come" in line:
            yield Problem(
                "index.qmd", line_number, f'"{title}" is there now: delete its line with [to come]'
            )


def _exercise_mistakes(root: Path, module: str) -> Iterator[Problem]:
    starter, solutions = f"exercises/{module}.py", f"exercises/solutions/{module}.py"
    if not (root / starter).is_file():
        message = 'is missing: write a function for each task, with the task as docstring and "..."'
        yield Problem(starter, None, f"{message} as body; exercises/m03.py is the pattern")
    if not (root / solutions).is_file():
        message = "is missing: write a list TASKS; exercises/solutions/m03.py is the pattern"
        yield Problem(solutions, None, message)
        return
    tasks = _tasks(learner.parse(root / solutions))
    if not tasks:
        yield Problem(solutions, None, "has no list TASKS of Task(…)")
    for call in tasks:
        for line, message in _task_mistakes(call):
            yield Problem(solutions, line, f"the task {_name(call)} {message}")
    if (root / starter).is_file():
        functions, names = list(learner.read(root / starter)), list(map(_name, tasks))
        if functions != names:
            message = f"defines {', '.join(functions)}, and {solutions} has {', '.join(names)}"
            yield Problem(starter, 1, f"{message}: give both the same tasks in the same order")


def _tasks(tree: ast.Module) -> list[ast.Call]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TASKS":
            return [call for call in getattr(node.value, "elts", ()) if isinstance(call, ast.Call)]
    return []


def _name(call: ast.Call) -> str:
    return ast.unparse(call.args[0]) if call.args else "without a solution"


def _task_mistakes(call: ast.Call) -> Iterator[tuple[int, str]]:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    for key, least in (("hints", LEAST_HINTS), ("mistakes", LEAST_MISTAKES)):
        value = keywords.get(key)
        if isinstance(value, ast.List | ast.Tuple | ast.Dict | None):
            count = len(getattr(value, "elts", None) or getattr(value, "keys", None) or ())
            if count < least:
                line = getattr(value, "lineno", call.lineno)
                yield line, f"has {count} {key}: write at least {least}"
    if keywords.keys().isdisjoint({"truth", "judge"}):
        yield call.lineno, "needs truth, its solution computed another way, or judge(got, *inputs)"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
