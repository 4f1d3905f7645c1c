"""Evaluate the text's `{python} expression`s as Quarto does, and write their values as Markdown."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell

from course.problems import Problem
from course.render.read.markdown import Span

_MARKS = re.compile(r"[`*_{}\[\]()>#+-.!]")  # the characters that Quarto escapes; "+-." is a range


def values_of(client: NotebookClient, expressions: list[Span], limit: float) -> Iterator[str]:
    """Yield the values in the kernel's present state, after the cells above, as Quarto does.

    Raises: Problem at the expression that raises, hangs, or gives what can't stand in a sentence.
    """
    sources = {str(number): expression.text for number, expression in enumerate(expressions)}
    location = expressions[0].path, expressions[0].line
    try:
        message = client.kc.execute("", user_expressions=sources)
        reply = client.wait_for_reply(message, new_code_cell("\n".join(sources.values())))
    except CellTimeoutError:
        stopped = f"an expression from here on was stopped: it ran past its limit of {limit:g} s"
        raise Problem(*location, stopped) from None
    except DeadKernelError:
        raise Problem(*location, "an expression from here on ended its kernel") from None
    answers = reply["content"]["user_expressions"]
    for number, expression in enumerate(expressions):
        yield _markdown(expression, answers[str(number)])


def _markdown(expression: Span, answer: dict[str, Any]) -> str:
    if answer["status"] == "error":
        raise _problem(expression, f"raised {answer['ename']}: {answer['evalue']}")
    data = answer["data"]
    if other := sorted(data.keys() - {"text/plain", "text/markdown"}):
        raise _problem(expression, f"gave {other[0]}: a sentence takes text, numbers and Markdown")
    return (
        data["text/markdown"] if "text/markdown" in data else _plain(expression, data["text/plain"])
    )


def _plain(expression: Span, text: str) -> str:
    """Take the quotes off a string, as Quarto does; refuse what it would show as Python's code."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):  # np.float64(0.5), nan, tensor(0.5), <object …>
        value = None
    if type(value) in (int, float):
        return text
    if not isinstance(value, str):
        raise _problem(expression, f'gave {text}: format it, as in f"{{x:.1f}}"')
    if value != text[1:-1]:
        message = f"gave {text}, and Quarto would show its backslashes: give an object that has"
        raise _problem(expression, f"{message} _repr_markdown_, such as course.percent's, alone")
    if not value:
        raise _problem(expression, "gave an empty text, and Quarto would show the code")
    return _MARKS.sub(r"\\\g<0>", value)


def _problem(expression: Span, message: str) -> Problem:
    return Problem(expression.path, expression.line, f"`{{python}} {expression.text}` {message}")
