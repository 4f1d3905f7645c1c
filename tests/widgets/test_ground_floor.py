"""The ground floor's model, without a page: what is shown of a text, and of steps of learning."""

from functools import cache
from statistics import fmean

import pytest

from course.payloads.ground_floor import payload
from tests.lessons.page_text import in_order
from tests.widgets.js import module

JS, NUMBERS, WORDS = map(module, ("ground-floor.js", "lib/numbers.js", "lib/token-text.js"))


@cache
def start():
    return payload("The good old man went home to his mother")["start"]


def look(token=None, part=0, lesson=None):
    code = """(({start, lesson, ...state}) => {
      const model = m.look(start, {...state, head: 0}, {parts: m.partsOf(4), lesson});
      return {...model, says: m.summarize(model)};
    })(x)"""
    return JS.run(code, {"start": start(), "lesson": lesson, "token": token, "part": part})


def test_at_first_the_last_word_with_a_next_one_looks():
    opening, end = look(), look(token=30)
    assert (opening["place"], opening["facts"]["truth"]["text"]) == (7, " mother")
    assert (end["place"], end["facts"]["truth"]) == (8, None)
    assert opening["mean"] == pytest.approx(fmean(start()["losses"]))


def test_the_sentence_says_guesses_truth_and_learning():
    row = start()["maps"][1][0][7]
    to = row.index(max(row))
    head = "2", "1", "his", start()["tokens"][to].strip(), f"{100 * row[to]:.0f} %"
    guesses = "home", "house", "father", "mother", "2.0 %", "3.91"
    assert in_order(look(part=4)["says"], *head, "his", *guesses)
    learned = look(token=8, part=12, lesson={"losses": [3.991, 2.583]})
    assert in_order(learned["says"], "9", "9", "1", "3.99", "2.58")


def test_a_token_is_written_so_that_it_can_be_seen():
    shown = {
        " home": "home", "ing": "ing", " ": "␣", "\n": "↵", "": "\ufffd", " <b>": "<b>",
        "\ueef0": "byte F0", " \ueee2\uee82": "bytes E2 82", "🐇": "🐇",
    }  # fmt: skip
    assert WORDS.run("x.map(m.tokenText)", [*shown]) == [*shown.values()]


def test_ranks_are_ordinals_and_a_share_is_never_0_or_all():
    ranks = NUMBERS.run("[1, 2, 3, 10, 11, 112, 123].map(m.ordinal)")
    assert ranks == "1st 2nd 3rd 10th 11th 112th 123rd".split()
    shares = NUMBERS.run("[0.9961, 0.42, 0.0996, 0.02, 1e-5].map(m.chance)")
    assert shares == [f"{x}\u202f%" for x in ("99+", "42", "10", "2.0", "< 0.1")]
