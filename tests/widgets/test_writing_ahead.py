"""m12's copier: its readings against a copier of our own over the storyteller's own text."""

import pytest

from tests.lessons.page_text import in_order
from tests.widgets.js import module
from tests.widgets.truth_writing_ahead import BEGINNINGS, read_ahead, written

JS = module("writing-ahead.js")
TEXTS = [
    {"name": name, "begun": written(name)[0], "pieces": written(name)[2]} for name in BEGINNINGS
]
DATA = {"texts": TEXTS, "most": 60, "guesses": 8, "start": 15}


@pytest.mark.parametrize("text", range(3), ids=BEGINNINGS)
def test_the_readings_are_the_copier_s(text):
    """By ids there, by names here: no two tokens of a text have one name."""
    _, ids, names = written(BEGINNINGS[text])
    assert len(set(zip(ids, names, strict=True))) == len(set(ids)) == len(set(names))
    for guesses in range(1, 9):
        readings = JS.call("readingsOf", TEXTS[text], guesses)
        got = [(len(one["guessed"]), one["kept"]) for one in readings]
        assert got == read_ahead(BEGINNINGS[text], guesses)


def model_at(text=0, guesses=4, done=15):
    return JS.call("writtenAhead", DATA, {"text": text, "guesses": guesses, "done": done})


@pytest.mark.parametrize("guesses", [1, 4, 8])
@pytest.mark.parametrize("done", [0, 15, 16, 40, 60])
def test_what_is_written_is_the_storyteller_s_text(guesses, done):
    """Kept guesses and own tokens side by side give the text, and the counters its length."""
    for text, of in enumerate(TEXTS):
        model = model_at(text, guesses, done)
        past = JS.call("readingsOf", of, guesses)[:done]
        pieces = [piece for one in past for piece in [*one["guessed"][: one["kept"]], one["own"]]]
        assert pieces == of["pieces"][of["begun"] :][: len(pieces)]
        assert model["written"] == len(pieces) == model["readings"] + model["kept"]
        assert model["length"] == of["begun"] + len(pieces)
        assert model["thrown"] == sum(
            made - kept for made, kept in read_ahead(BEGINNINGS[text], guesses)[:done]
        )
        assert model["isEnd"] == (len(pieces) == 60) == (model["next"] is None)


def test_a_guess_is_what_followed_the_same_two_tokens():
    assert JS.call("copiedFrom", list("abcab")) == 2
    assert JS.call("copiedFrom", list("abcabdab")) == 5, "the latest place"
    assert JS.call("copiedFrom", list("aaa")) == 2
    assert JS.call("copiedFrom", list("abba")) == JS.call("copiedFrom", ["a"]) == -1


def test_the_fewest_readings_need_the_longest_guess():
    fewest = [g for g in range(1, 9) if model_at(guesses=g, done=60)["isFewest"]]
    assert fewest == [8]


def test_it_opens_before_a_reading_that_keeps_some_and_strikes_others():
    model = model_at()
    assert 0 < model["next"]["kept"] < len(model["next"]["guessed"])
    for done, said in ((15, ["15", "15", "4"]), (16, ["16", "1", "4", "2", "16", "17", "7"])):
        assert in_order(JS.call("sentence", model_at(done=done)), *said)
    assert in_order(JS.call("sentence", model_at(done=60)), "42", "60")
