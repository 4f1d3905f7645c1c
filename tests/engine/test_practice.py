"""Incomplete predictions and bug hunts: the message and place of each mistake."""

import pytest

from tests.engine.sites import python

HEAD = "---\ntitle: A lesson\n---\n"
ANSWER = "::: {.answer}\n## Answer\n1. No.\n2. Yes.\n:::\n"
PREDICTION = f'::: {{.prediction #p data-right="2"}}\nWhich?\n\n1. a\n2. b\n\n{ANSWER}:::\n'
CHECK = python("with fails():\n    assert False")
HUNT = (
    PREDICTION.replace(".prediction", ".bug-hunt")
    .replace("Which?", f"Wrong:\n\n{CHECK}\nWhich?")
    .replace("2. Yes.", f"2. Yes.\n\n{python('repaired = 1')}")
)


@pytest.fixture
def lesson(site):
    site.edit("style.css", ".known-class,", ".prediction, .bug-hunt, .known-class,")
    return lambda text: site.write("lessons/a.qmd", HEAD + text) or site.check()


@pytest.mark.parametrize("text", [PREDICTION, HUNT, PREDICTION.replace("1. a", "1. a\n   1. b")])
def test_what_is_whole_passes(lesson, text):
    assert lesson(text) == []


MISTAKES = {
    "no name": (PREDICTION.replace(" #p", ""), "prediction needs a name"),
    "no right choice": (PREDICTION.replace(' data-right="2"', ""), "needs the number of the right"),
    "right is none": (PREDICTION.replace('right="2"', 'right="3"'), "is none of them"),
    "one choice": (PREDICTION.replace("2. b\n", ""), "needs one numbered list"),
    "two lists": (
        PREDICTION.replace("Which?", "1. x\n2. y\n\nWhich?"),
        "needs one numbered list",
    ),
    "no answer": (PREDICTION.replace(ANSWER, ""), "needs one folded answer"),
    "answer not folded": (PREDICTION.replace(".answer", ".known-class"), "needs one folded answer"),
    "a reason too few": (PREDICTION.replace("2. Yes.\n", ""), "has 2 choices and 1 reasons"),
    "no failing check": (HUNT.replace("fails()", "open('x')"), "bug hunt shows no failing check"),
    "no repair": (HUNT.replace(python("repaired = 1"), ""), "bug hunt shows no repair"),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_what_is_missing_is_named(lesson, text, message):
    lines = lesson(f"Hello.\n\n{text}")
    assert any(line.startswith("lessons/a.qmd:6: the ") and message in line for line in lines)


def test_after_one_question_the_next_is_read_afresh(lesson):
    broken = PREDICTION.replace("#p", "#q").replace("2. Yes.\n", "")
    [line] = lesson(PREDICTION + "\n" + broken)
    assert "1 reasons" in line
