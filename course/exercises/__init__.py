"""Check a learner's answers in exercises/mNN.py, and show the tasks on pages."""

from .jupyter import exercise
from .page import show_exercises
from .task import Task

__all__ = ["Task", "exercise", "show_exercises"]
