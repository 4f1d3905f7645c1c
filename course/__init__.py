"""The course's commands, and the functions that its lessons import."""

from course.cell_output import publish, show_source, show_table, static_form
from course.expected_failure import fails

__all__ = [
    "exercise", "fails", "publish", "show_exercises", "show_source", "show_table", "static_form",
]  # fmt: skip


def __getattr__(name):
    # Imported late: the commands start on a Python without NumPy.
    if name in ("exercise", "show_exercises"):
        from . import exercises

        return getattr(exercises, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
