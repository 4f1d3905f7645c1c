"""widgets/hidden-word.js: whom the pronoun finds, against the model written out by hand."""

import pytest

from course.payloads.token_focus import hiding
from tests.lessons.page_text import in_order, share
from tests.widgets.js import module
from tests.widgets.truth_token_focus import found_with_hidden, maps, subsets

JS = module("hidden-word.js")
WORDS = {"trophy": 1, "suitcase": 7, "it": 9}


@pytest.mark.parametrize(("last", "index"), [("big", 1), ("small", 2)])
def test_every_way_to_hide_the_last_word(last, index):
    looks = maps("masked", index)[3, list(WORDS.values()), 12].tolist()
    code = "((model) => ({...model, says: m.sentence(model)}))(m.withHidden(x[0], x[1]))"
    for unseen in subsets([*WORDS.values()]):
        hidden = [at in unseen for at in WORDS.values()]
        state = {"last": last} | dict(zip(WORDS, hidden, strict=True))
        got = JS.run(code, [hiding(), state])
        found = found_with_hidden(last, unseen)[[*WORDS.values()]].tolist()
        assert [row["word"] for row in got["words"]] == [*WORDS]
        assert [row["isHidden"] for row in got["words"]] == hidden
        assert [row["found"] for row in got["words"]] == pytest.approx(found, abs=6e-6)
        shown = [0 if is_hidden else look for look, is_hidden in zip(looks, hidden, strict=True)]
        assert [row["looks"] for row in got["words"]] == pytest.approx(shown, abs=6e-6)
        assert got["finds"] == max(zip(found, WORDS, strict=True))[1]
        assert in_order(got["says"], *map(share, found), got["finds"])
