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


HIS, HER, ON = (
    "The good old man went home to his", "The little girl went home to her", "The prince put on his"
)  # fmt: skip


@cache
def cut():
    parts = {"head": (2, 3), "unit": (1, 488), "watched": " mother"}
    return payload("The good old man went home to his mother", [HIS, HER, ON], **parts)["cut"]


def told(kind, text=HIS, off=False, learned=None):
    code = """(() => {
      const seen = m.cutOf(x, x.text, {isOff: x.off});
      return m.summarizeCut({...x, seen, isOff: x.off, lesson: x.learned, note: ""});
    })()"""
    given = {"cut": cut(), "kind": kind, "text": text, "off": off, "learned": learned}
    return JS.run(code, given)


def test_a_cut_out_shows_what_came_with_the_page_and_asks_the_model_for_the_rest():
    code = "[x.text, 'Hm'].map((text) => m.cutOf(x, text, {isOff: x.off}))"
    on, missing = JS.run(code, {"cut": cut(), "text": ON, "off": False})
    off, _ = JS.run(code, {"cut": cut(), "text": ON, "off": True})
    assert (on["tokens"], missing) == ([*cut()["texts"][2]["tokens"]], None)
    assert on["guesses"] == cut()["texts"][2]["guesses"]
    assert off["guesses"] == cut()["texts"][2]["silent"]
    assert on["guesses"][0]["text"] == " head"


def test_a_cut_out_says_where_its_head_looks_and_what_is_guessed_without_it():
    assert in_order(told("head"), "4", "3", "his", "to", "72 %", HIS, "home", "15 %", "house")
    silent = told("head", off=True)
    assert in_order(silent, "off", "father", "7.2 %", "3.5 %", "home", "4.4 %", "15 %", "house")
    assert "looks" not in silent
    assert "mother" not in silent, "it isn't among the five, and nothing is learned here"
    first = {"text": " mother", "share": 0.01, "before": 0.3}
    cut()["texts"][0]["silent"].append(first)
    try:
        assert "mother 1.0 %, before 30 %" in told("head", off=True).replace("\u202f", " ")
    finally:
        cut()["texts"][0]["silent"].remove(first)


def test_a_cut_out_says_what_a_unit_answers_and_what_is_learned():
    assert in_order(told("unit", HER), "489", "2", "her", "1.08")
    assert in_order(told("step"), "nothing", HIS, "home", "mother", "2.0 %")
    assert in_order(told("step", learned={"losses": [4, 3, 2]}), "2", "mother")


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
