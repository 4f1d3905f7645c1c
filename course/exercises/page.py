"""Show tasks, hints and solutions as Markdown, on the page and in the notebook."""

from __future__ import annotations

from collections.abc import Collection

from course.page.cell_output import show_markdown
from course.problems import Problem

from . import learner
from .task import Task, tasks_of


def show_exercises(
    module: str, *, only: Collection[str] = (), without: Collection[str] = ()
) -> None:
    """Show each task of ``module`` with folded hints and solution, and the command to check it.

    ``only``: names of those to show, in a box, without the command; ``without``: of those not to.
    """
    path = learner.file_of(module)
    tasks = tasks_of(module)
    try:
        functions = learner.read(path)
    except Problem as problem:  # a learner's syntax error must not stop the render
        show_markdown(f"```text\n{problem}\n```")
        return
    parts = []
    if not only:
        parts.append(
            f"Complete what is missing in `{learner.display_path(path)}`, and check it with:"
        )
        parts.append(f"```bash\npython3 -m course exercise {module}\n```")
    names = [name for name in tasks if name in (only or tasks) and name not in without]
    parts += [_exercise(tasks[name], functions[name]) for name in names if name in functions]
    show_markdown("\n\n".join(parts))


def _exercise(task: Task, function: learner.Function) -> str:
    hints = [_folded(f"Hint {n}", hint) for n, hint in enumerate(task.hints, 1)]
    solution = f"```python\n{task.source}\n```\n\n{task.why}"
    return "\n\n".join([
        f'<div class="exercise" id="exercise-{task.name}">',
        f"### {function.title}",
        f"```python\n{function.signature}\n```",
        function.text,
        *hints,
        _folded("Solution", solution),
        "</div>",
    ])  # fmt: skip


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
