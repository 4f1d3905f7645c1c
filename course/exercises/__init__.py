"""Exercises that check themselves: the learner's file is exercises/mNN.py."""

from .jupyter import exercise
from .page import show_exercises
from .task import Task

__all__ = ["Task", "exercise", "show_exercises"]
