"""The ground floor's model, without a page: what is shown of a text, and of steps of learning."""

import re

import pytest

from course.payloads.ground_floor import payload
from tests.widgets.js import module

TEXT = "The good old man went home to his mother"
FLOOR = module("ground-floor.js")
WORDS = module("lib/ground-words.js")


@pytest.fixture(scope="module")
def start():
    return payload(TEXT)["start"]


def look(start, lesson=None, before=None, **state):
    state = {"token": None, "part": 0, "head": 0} | state
    extra = {"parts": FLOOR.call("partsOf", 4), "lesson": lesson, "before": before}
    return FLOOR.call("look", start, state, extra)


def test_parts_are_in_the_order_of_the_picture():
    parts = FLOOR.call("partsOf", 2)
    kinds = [(part["kind"], part.get("layer")) for part in parts]
    assert kinds == [
        ("tokens", None), ("vector", None), ("attention", 0), ("mlp", 0), ("attention", 1),
        ("mlp", 1), ("guess", None), ("loss", None), ("step", None),
    ]  # fmt: skip


def test_at_first_the_last_word_with_a_next_one_looks(start):
    assert look(start)["place"] == 7
    assert look(start)["facts"]["truth"]["text"] == " mother"
    assert look(start, token=30)["place"] == 8
    assert look(start, token=8)["facts"]["truth"] is None
    one = start | {"tokens": start["tokens"][:1], "losses": []}
    assert look(one)["place"] == 0
    assert look(one)["mean"] is None


def test_the_sentence_says_guesses_truth_and_learning(start):
    said = FLOOR.call("summarize", look(start, part=4))
    row = start["maps"][1][0][7]
    to = max(range(len(row)), key=row.__getitem__)
    looks = re.search(r"Head 1 looks most from his at (\S+), ([\d.]+)\s%\. ", said)
    assert looks[1] == start["tokens"][to].strip()
    assert float(looks[2]) == pytest.approx(100 * row[to], abs=0.5)
    assert said.replace(looks[0], "") == (
        "Attention of layer 2. After his, token 8 of 9, the first guesses are home 15\u202f%, "
        "house 13\u202f%, father 3.5\u202f%. "
        "The next token is mother, which it gave 2.0\u202f%: a loss of 3.91."
    )
    lesson = {"losses": [3.991, 2.583]}
    learned = look(start, lesson=lesson, before=start, token=8, part=12)
    said = FLOOR.call("summarize", learned)
    assert said.startswith("Step. After mother, token 9 of 9, ")
    assert said.endswith(
        " Nothing follows yet. It has learned 1 step: its mean loss on that text went from "
        "3.99 to 2.58."
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" home", "home"),
        ("ing", "ing"),
        (" ", "␣"),
        ("\n", "↵"),
        ("", "\ufffd"),
        (" <b>", "<b>"),
        ("\ueef0", "byte F0"),
        (" \ueee2\uee82", "bytes E2 82"),
        ("🐇", "🐇"),
    ],
)
def test_a_token_is_written_so_that_it_can_be_seen(text, shown):
    assert WORDS.call("shown", text) == shown


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (10, "10th"),
        (11, "11th"),
        (112, "112th"),
        (123, "123rd"),
    ],
)
def test_a_rank_is_an_ordinal(n, text):
    assert WORDS.call("ordinal", n) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.9961, "99+\u202f%"),
        (0.42, "42\u202f%"),
        (0.0996, "10\u202f%"),
        (0.02, "2.0\u202f%"),
        (1e-5, "< 0.1\u202f%"),
    ],
)
def test_a_share_is_never_0_or_all(share, text):
    assert WORDS.call("chance", share) == text
