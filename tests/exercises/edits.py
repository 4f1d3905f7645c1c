"""Answers written as edits of a worked solution: one line instead of a whole function."""

import inspect

import numpy as np
import pytest
import torch

from course.exercises.task import tasks_of


def cases(table):
    """Read a table of edits into parameters (task, answer).

    A line with a dot and no space names the task, as in ``m03.attention``; each line below is an
    answer to it, and a line that begins with spaces goes on with the one above:

        old -> new                 replace a part of the solution's source
        old -> new ;; old -> new   replace two parts
        return EXPRESSION          replace the whole body; the solution itself has its own name
    """
    answers, task = [], None
    for line in table.strip().replace("\n    ", " ").splitlines():
        if " " in line:
            answers.append(
                pytest.param(task, edited(task.solution, line), id=f"{task.name}: {line}")
            )
        else:
            module, name = line.split(".")
            task = tasks_of(module)[name]
    return answers


def edited(solution, edit):
    signature, body = inspect.getsource(solution).split("\n", 1)
    if " ->" not in edit:
        body = f"    {edit}\n"
    for change in edit.split(" ;; ") if " ->" in edit else ():
        old, new = f"{change} ".split(" -> ")
        assert old in body, f"{solution.__name__} has no {old!r}"
        body = body.replace(old, new.rstrip())
    # The function goes into a dictionary of its own: within it, its name still is the solution's.
    defs = {}
    exec(
        f"{signature}\n{body}", vars(inspect.getmodule(solution)) | {"np": np, "torch": torch}, defs
    )
    return defs[solution.__name__]
