"""The ground floor's model, without a page: what is shown of a text, and of steps of learning."""

import pytest

from course.payloads.ground_floor import payload
from tests.lessons.page_text import in_order
from tests.widgets.js import module

TEXT = "The good old man went home to his mother"
FLOOR = module("ground-floor.js")
NUMBERS, WORDS = module("lib/numbers.js"), module("lib/token-text.js")


@pytest.fixture(scope="module")
def start():
    return payload(TEXT)["start"]


def look(start, lesson=None, before=None, **state):
    state = {"token": None, "part": 0, "head": 0} | state
    extra = {"parts": FLOOR.call("partsOf", 4), "lesson": lesson, "before": before}
    return FLOOR.call("look", start, state, extra)


def test_parts_are_in_the_order_of_the_picture():
    kinds = [(part["kind"], part.get("layer")) for part in FLOOR.call("partsOf", 2)]
    layers = [(kind, layer) for layer in range(2) for kind in ("attention", "mlp")]
    ends = [(kind, None) for kind in ("tokens", "vector", "guess", "loss", "step")]
    assert kinds == [*ends[:2], *layers, *ends[2:]]


def test_at_first_the_last_word_with_a_next_one_looks(start):
    assert look(start)["place"] == 7
    assert look(start)["facts"]["truth"]["text"] == " mother"
    assert look(start, token=30)["place"] == 8
    assert look(start, token=8)["facts"]["truth"] is None
    one = look(start | {"tokens": start["tokens"][:1], "losses": []})
    assert (one["place"], one["mean"]) == (0, None)


def test_the_sentence_says_guesses_truth_and_learning(start):
    row = start["maps"][1][0][7]
    to = max(range(len(row)), key=row.__getitem__)
    sentence = FLOOR.call("summarize", look(start, part=4))
    head = "2", "1", "his", start["tokens"][to].strip(), f"{100 * row[to]:.0f} %"
    assert in_order(sentence, *head, "his", "home", "house", "father", "mother", "2.0 %", "3.91")
    lesson = {"losses": [3.991, 2.583]}
    learned = look(start, lesson=lesson, before=start, token=8, part=12)
    assert in_order(FLOOR.call("summarize", learned), "9", "9", "1", "3.99", "2.58")


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
