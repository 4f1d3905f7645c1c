"""The course: its site, its checks and what its lessons import."""

from .failing import fails
from .to_page import publish, static_form

__all__ = ["exercise", "fails", "publish", "show_exercises", "static_form"]


def __getattr__(name):
    # Only when asked for: the commands start on a Python that has no NumPy yet.
    if name in ("exercise", "show_exercises"):
        from . import exercises

        return getattr(exercises, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
