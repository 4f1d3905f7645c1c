"""course.publish: the values that reach the page, and errors that name a value's path."""

import json
import re

import numpy as np
import pytest
import torch

from course import publish, show_fallback, show_source, show_table
from course.page.cell_output import plain


@pytest.fixture
def shown(monkeypatch):
    """Record the Markdown that calls display when a page is rendered."""
    texts = []
    monkeypatch.setenv("QUARTO_EXECUTE_INFO", "x")
    monkeypatch.setattr("course.page.cell_output.show_markdown", texts.append)
    return texts


def contents(text):
    script = re.search(r'<script type="ojs-define">(.*)</script>', text, re.DOTALL)[1]
    return {item["name"]: item["value"] for item in json.loads(script)["contents"]}


def test_values_arrive_as_they_are(shown):
    publish(
        a=1, b=[1.5, "x", None, True], c={"d": torch.eye(2), "e": np.arange(3)}, f=np.float32(2)
    )
    assert contents(shown[0]) == {
        "a": 1, "b": [1.5, "x", None, True], "c": {"d": [[1, 0], [0, 1]], "e": [0, 1, 2]}, "f": 2,
    }  # fmt: skip


def test_no_string_ends_the_script(shown):
    publish(text='</script><b>"quoted" & \u2028')
    assert shown[0].count("</script>") == 1
    assert contents(shown[0]) == {"text": '</script><b>"quoted" & \u2028'}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), "x is nan"),
        ([1, float("inf")], "x[1] is inf"),
        ({"rows": [[0.0], [float("-inf")]]}, "x.rows[1][0] is -inf"),
        (torch.tensor([0.0, torch.nan]), "x[1] is nan"),
        (np.array([[1.0, np.inf]]), "x[0][1] is inf"),
    ],
)
def test_nan_and_infinity_are_named_by_path(value, path):
    with pytest.raises(ValueError, match=re.escape(path)):
        publish(x=value)


@pytest.mark.parametrize(
    ("value", "message"),
    [({"a": {1, 2}}, "x.a is a set"), ({3: "a"}, "x has the key 3"), (object(), "x is a object")],
)
def test_what_json_cant_hold_is_named_by_path(value, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        publish(x=value)


def test_nothing_is_shown_in_plain_jupyter(monkeypatch, capsys):
    monkeypatch.delenv("QUARTO_EXECUTE_INFO", raising=False)
    monkeypatch.delenv("COURSE_KERNEL", raising=False)
    publish(a=1)
    assert capsys.readouterr().out == ""


def test_plain_leaves_bools_bools():
    assert plain([True, np.bool_(False), torch.tensor(True)], "x") == [True, False, True]


def test_a_table_keeps_markdown_in_its_cells(shown, monkeypatch):
    rows = [["[a](#b)", 0.126]]
    show_table(["a model", "right"], rows)
    _, dashes, row = shown[0].splitlines()
    assert row == '| [a](#b) | [0.13]{style="white-space: nowrap"} |'
    assert dashes == "| -------- | -------- |"
    monkeypatch.delenv("COURSE_KERNEL", raising=False)
    monkeypatch.delenv("QUARTO_EXECUTE_INFO", raising=False)
    show_table(["a model", "right"], rows)
    assert shown[1].splitlines() == ["| a model | right |", dashes, "| [a](#b) | 0.13 |"]


def test_fallback_is_a_table_of_two_decimals(shown):
    show_fallback("A row.", ["word", "share"], [["a|b", 0.126], ["c", 2]])
    table = "| word | share |\n| --- | --- |\n| a\\|b | 0.13 |\n| c | 2 |"
    assert shown == [f"::: {{.fallback}}\nA row.\n\n{table}\n:::\n"]


def test_a_fallback_states_what_it_computes(shown):
    rows = [["a", torch.tensor(0.1234567).double()], ["b", 3]]
    show_fallback("A row.", ["word", "share"], [["a", "12 %"]], computed=rows)
    assert shown[0].startswith('::: {.fallback data-computed="[0.123457, 3]"}\nA row.')


def source_lines(*lines):
    """Four lines, for the tests of show_source."""
    first = list(lines)
    if first:
        first = first[1:]
    return first


@pytest.mark.parametrize(
    ("starts", "shown"),
    [(("first = list", "return"), ["first = list(lines)", "return first"]), ((), None)],
    ids=["lines", "whole"],
)
def test_source_is_shown_as_it_stands(monkeypatch, starts, shown):
    texts = []
    monkeypatch.setattr("course.page.cell_output.show_markdown", texts.append)
    show_source(source_lines, *starts)
    lines = texts[0].strip().splitlines()
    assert (lines[0], lines[-1]) == ("```python", "```")
    if shown:
        assert lines[1:-1] == shown
    else:
        assert lines[1] == "def source_lines(*lines):"
        assert lines[-2] == "    return first"


@pytest.mark.parametrize("start", ["first =", "second ="], ids=["two lines", "none"])
def test_source_lines_that_are_not_there_once_are_refused(start):
    with pytest.raises(ValueError, match=f"lines of source_lines start with '{start}'"):
        show_source(source_lines, start)
