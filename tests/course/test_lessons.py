"""`course check` on lessons: a message with file, line and remedy for each missing part."""

import shutil

import pytest

from course.check.pages import read_site
from course.cli import main
from course.lessons import lesson_mistakes
from course.render.read.project import load_project
from tests.conftest import ROOT
from tests.engine.sites import Site, python

PAGE = "modules/m99_coins/lesson.qmd"
FILES = {
    "_quarto.yml": """project:
  type: website
  render: [index.qmd, "modules/**/lesson.qmd"]
website:
  sidebar:
    contents:
      - href: index.qmd
      - href: modules/m99_coins/lesson.qmd
format:
  html:
    css: style.css
bibliography: references.bib
""",
    "index.qmd": "---\ntitle: Home\n---\n::: {.course-map}\n"
    f"1. [**Coins.**]({PAGE}) Weigh.\n2. **Position.** [to come]{{.to-come}}\n:::\n",
    "README.md": f"# Course\n\n## Lessons\n\n| 99 | [Coins]({PAGE}) | weigh |\n",
    "assets/signs.css": '.course-map a[href*="/m99"] { --sign: url("coins.svg"); }\n',
    "_diagram-lib.qmd": "```{ojs}\n//| echo: false\nd3 = 1\n```\n",
    "widgets/coins.js": "export const draw = 1;\n",
    "widgets/coins.css": ".coins { color: red }\n",
    PAGE: "---\ntitle: Coins\ndescription: Weigh.\n"
    "css: [../../assets/signs.css, ../../widgets/coins.css]\n---\n"
    "{{< include /_diagram-lib.qmd >}}\n\n::: {.widget}\n"
    + python("show_fallback('Coins.', [], [])")
    + '```{ojs}\nimport {draw} from "/widgets/coins.js"\n```\n[constructed]{.source}\n:::\n\n'
    + python('show_exercises("m99")')
    + "\n{{< include _summary.qmd >}}\n\n"
    + python("plots.panels(1)", fig_alt="Coins")
    + "\n"
    + python("plots.show_numbers()"),
    "modules/m99_coins/_summary.qmd": "::: {.summary-sheet}\n**Coins**\n:::\n",
    "summary.qmd": "{{< include /modules/m99_coins/_summary.qmd >}}\n",
    "exercises/m99.py": 'def weigh(coins):\n    """Weigh."""\n    ...\n',
    "exercises/solutions/m99.py": "TASKS = [\n    Task(\n        weigh,\n        truth=other,\n"
    "        hints=[1, 2],\n        mistakes={1: 1, 2: 2, 3: 3},\n    ),\n]\n",
    "tests/lessons/test_m99.py": "",
}


@pytest.fixture
def whole(tmp_path):
    site = Site(tmp_path / "site")
    for path, text in FILES.items():
        site.write(path, text)
    site.write(
        "style.css", ".widget, .source, .course-map, .to-come, .summary-sheet { color: red }"
    )
    shutil.copytree(ROOT / "assets/vendor", site.root / "assets/vendor")
    return site


def complaints(site):
    project = load_project(site.root)
    pages, problems = read_site(project)
    return [str(problem) for problem in [*problems, *lesson_mistakes(project, pages)]]


def test_a_whole_lesson_lacks_nothing(whole):
    assert complaints(whole) == []


FORGOTTEN = {
    ("_quarto.yml", f"      - href: {PAGE}\n", ""): "_quarto.yml:6: the sidebar lacks a lesson",
    ("index.qmd", f"[**Coins.**]({PAGE})", "**Coins.**"): "index.qmd:4: the map lacks a lesson",
    ("index.qmd", "**Position.**", "**Coins.**"): 'index.qmd:6: "Coins" is there now: delete',
    ("assets/signs.css", "/m99", "/m98"): "assets/signs.css:1: lacks a lesson's sign: add "
    '.course-map a[href*="/m99"], body:has(#quarto-sidebar .active[href*="/m99"]) { --sign: ',
    (PAGE, "../../assets/signs.css, ", ""): f"{PAGE}:1: the front matter lacks the lessons' signs: "
    "css: ../../assets/signs.css",
    ("README.md", PAGE, "x"): "README.md:3: the table lacks a lesson: | 99 | [Coins](modules/m99_",
    (PAGE, "description: Weigh.\n", ""): f"{PAGE}:1: the front matter lacks description",
    (PAGE, ", ../../widgets/coins.css", ""): f"{PAGE}:1: the front matter lacks the widget's "
    "style: css: ../../widgets/coins.css",
    (PAGE, "{{< include /_diagram-lib.qmd >}}", ""): f"{PAGE}:1: after the front matter, add",
    (PAGE, "show_fallback(", "other("): f"{PAGE}:8: the widget shows nothing before it runs",
    (PAGE, "{{< include _summary.qmd >}}", ""): f"{PAGE}:31: after the exercises, add",
    ("summary.qmd", "m99", "m98"): "summary.qmd:1: lacks a lesson's summary sheet: add {{< include "
    "/modules/m99_coins/_summary.qmd >}}",
    (PAGE, 'show_exercises("m99")', "1"): f'{PAGE}:31: no cell shows the exercises: add one with '
    'show_exercises("m99")',
    (PAGE, 'show_exercises("m99")', 'show_exercises("m99")\n' + "1\n" * 15):
        f"{PAGE}:19: the cell has 16 lines",
    (PAGE, "plots.show_numbers()", "1"): f"{PAGE}:26: the figure's numbers are for those alone who "
    "see it: after it, add a cell plots.show_numbers()",
    (PAGE, "```\n\n```{python}\nplots.show", "```\n\nIt falls.\n\n```{python}\nplots.show"):
        f"{PAGE}:26: the figure's numbers are",
    (PAGE, "[constructed]", "[Tip it.]{.goal #goal-tip} [constructed]"):
        f'{PAGE}:15: no widget has the goal "tip": add it to the challenges of its module, and a '
        "state that meets it to tests/widgets/states_*.py",
    ("exercises/m99.py", "weigh", "weight"): "exercises/m99.py:1: defines weight, and ",
    ("exercises/solutions/m99.py", "TASKS", "TASK"):
        "exercises/solutions/m99.py: has no list TASKS",
    ("exercises/solutions/m99.py", "[1, 2]", "[1]"):
        "exercises/solutions/m99.py:5: the task weigh has 1 hints: write at least 2",
    ("exercises/solutions/m99.py", ", 3: 3", ""):
        "exercises/solutions/m99.py:6: the task weigh has 2 mistakes: write at least 3",
    ("exercises/solutions/m99.py", "        hints=[1, 2],\n", ""):
        "exercises/solutions/m99.py:2: the task weigh has 0 hints",
    ("exercises/solutions/m99.py", "truth=", "other="):
        "exercises/solutions/m99.py:2: the task weigh needs truth",
    ("exercises/solutions/m99.py", "[1, 2]", "[1, 2"): "can't read this",
}  # fmt: skip


@pytest.mark.parametrize("slip", FORGOTTEN, ids=lambda slip: f"{slip[0]} {slip[1][:20]}")
def test_each_thing_forgotten_is_named(whole, slip):
    whole.edit(*slip)
    [message] = [line for line in complaints(whole) if FORGOTTEN[slip] in line]
    assert FORGOTTEN[slip] in message


def test_a_figure_without_numbers_gives_its_reason(whole):
    whole.edit(PAGE, "plots.panels(1)", "# without numbers: a drawing\nplots.panels(1)")
    whole.edit(PAGE, "plots.show_numbers()", "1")
    assert complaints(whole) == []


OWN = ("exercises/m99.py", "exercises/solutions/m99.py", "tests/lessons/test_m99.py")


@pytest.mark.parametrize("path", OWN)
def test_a_missing_file_is_named(whole, path):
    (whole.root / path).unlink()
    [message] = complaints(whole)
    assert message.startswith(f"{path}: is missing: ")


def test_contributing_names_the_files_of_a_new_lesson():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = text.split("## A lesson\n")[1].split("Rules of a page")[0]
    lists = {slip[0] for slip in FORGOTTEN if slip[0] != PAGE}
    files = {PAGE, PAGE.replace("lesson.qmd", "_summary.qmd"), *OWN, *lists}
    for name in files:
        assert f"`{name.replace('m99_coins', 'mNN_name').replace('m99', 'mNN')}`" in recipe
    assert len(files) == 10
    assert "ten files" in recipe


def test_a_lesson_of_another_name_is_told_how_to_be_named(whole):
    whole.write("modules/coins/lesson.qmd", "---\ntitle: X\n---\n")
    assert complaints(whole) == [
        "modules/coins/lesson.qmd: a lesson's folder is named mNN_name, "
        "such as modules/m07_position/"
    ]


def test_the_course_itself_is_whole(capsys):
    assert main(["check"], ROOT) == 0, capsys.readouterr().err
