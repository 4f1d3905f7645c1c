"""Evaluate the text's `{python} expression`s as Quarto does, and write their values as Markdown."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell

from course.problems import Problem
from course.render.read.markdown import Found

_MARKS = re.compile(r"[`*_{}\[\]()>#+-.!]")  # those that Quarto escapes; "+-." is a range


def values_of(client: NotebookClient, asked: list[Found], limit: float) -> Iterator[str]:
    """Yield the values with the kernel's state of now: Quarto asks at the place in the page, too.

    Raises: Problem at the expression that raises, hangs, or gives what can't stand in a sentence.
    """
    sources = {str(number): found.word for number, found in enumerate(asked)}
    where = asked[0].path, asked[0].line
    try:
        message = client.kc.execute("", user_expressions=sources)
        reply = client.wait_for_reply(message, new_code_cell("\n".join(sources.values())))
    except CellTimeoutError:
        stopped = f"an expression from here on was stopped: it ran past its limit of {limit:g} s"
        raise Problem(*where, stopped) from None
    except DeadKernelError:
        raise Problem(*where, "an expression from here on ended its kernel") from None
    answers = reply["content"]["user_expressions"]
    for number, found in enumerate(asked):
        yield _markdown(found, answers[str(number)])


def _markdown(found: Found, answer: dict[str, Any]) -> str:
    if answer["status"] == "error":
        raise _problem(found, f"raised {answer['ename']}: {answer['evalue']}")
    data = answer["data"]
    if other := sorted(data.keys() - {"text/plain", "text/markdown"}):
        raise _problem(found, f"gave {other[0]}: a sentence takes text, numbers and Markdown")
    return data["text/markdown"] if "text/markdown" in data else _plain(found, data["text/plain"])


def _plain(found: Found, shown: str) -> str:
    """Take the quotes off a string, as Quarto does; refuse what it would show as Python's code."""
    try:
        value = ast.literal_eval(shown)
    except (ValueError, SyntaxError):  # np.float64(0.5), nan, tensor(0.5), <object …>
        value = None
    if type(value) in (int, float):
        return shown
    if not isinstance(value, str):
        raise _problem(found, f'gave {shown}: format it, as in f"{{x:.1f}}"')
    if value != shown[1:-1]:
        message = f"gave {shown}, and Quarto would show its backslashes: give an object that has"
        raise _problem(found, f"{message} _repr_markdown_, such as course.percent's, alone")
    if not value:
        raise _problem(found, "gave an empty text, and Quarto would show the code")
    return _MARKS.sub(r"\\\g<0>", value)


def _problem(found: Found, message: str) -> Problem:
    return Problem(found.path, found.line, f"`{{python}} {found.word}` {message}")
