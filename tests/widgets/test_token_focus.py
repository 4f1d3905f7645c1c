"""Where words look: what the model says is what the committed weights give."""

from functools import cache

import pytest
import torch

from course.payloads.token_focus import EXAMPLES, FOLDER, payload
from models.weights import load
from tests.widgets.js import module

JS = module("token-focus.js")
NAMES = ("masked", "causal")
DATA = payload(sentence=1, head=0)


@cache
def maps(name, sentence):
    """(heads and, last, their mean; L, L), in float64 from the committed weights."""
    model = load(FOLDER / "weights" / f"{name}.safetensors").double()
    layers = model(model.encode(EXAMPLES[sentence][0].split())).weights
    heads = torch.cat(layers, dim=1)[0].detach()
    return torch.cat([heads, heads.mean(0, keepdim=True)])


def every_look(sentence, causal):
    """[head][from] → what the model says, for each head, and last their mean."""
    body = """Array.from({length: x.heads}, (_, head) => x.data.sentences[x.sentence].tokens.map(
      (_, token) => m.looks(x.data, {sentence: x.sentence, word: {sentence: x.sentence, token},
        head, causal: x.causal})))"""
    heads = len(maps(NAMES[causal], sentence))
    given = {"data": DATA, "sentence": sentence, "causal": causal, "heads": heads}
    return JS.run(body, given)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sentence", range(len(EXAMPLES)))
def test_every_word_in_every_head(sentence, causal):
    want = maps(NAMES[causal], sentence)
    for found, rows in zip(every_look(sentence, causal), want, strict=True):
        for at, (look, row) in enumerate(zip(found, rows, strict=True)):
            # The page has the weights in five decimals.
            assert look["row"] == pytest.approx(row.tolist(), abs=6e-6)
            assert look["from"] == at
            assert look["hidden"] == [causal and to > at for to in range(len(row))]
            assert not any(w for w, hides in zip(look["row"], look["hidden"], strict=True) if hides)


def look(**changes):
    state = {"sentence": 1, "word": None, "head": 4, "causal": False} | changes
    return JS.call("looks", DATA, state)


def test_a_sentence_starts_at_its_own_focus():
    for sentence, (_, focus, says) in enumerate(EXAMPLES):
        found = look(sentence=sentence, word={"sentence": (sentence + 1) % 5, "token": 0})
        assert (found["from"], found["says"]) == (focus, says)


def test_beyond_the_last_head_is_the_mean():
    assert look(head=8) == look(head=6)
    assert look(head=8)["row"] == pytest.approx(maps("masked", 1)[-1, 9].tolist(), abs=6e-6)


def test_the_sentence_names_the_three_that_get_most():
    said = JS.call("summarize", look())
    assert said.startswith("it, word 10, looks most at: trophy, word 2, 100\u202f%; ")
    for causal in (False, True):
        found = look(causal=causal, head=0, word={"sentence": 1, "token": 3})
        order = maps(NAMES[causal], 1)[0, 3, : 4 if causal else None].argsort(descending=True)[:3]
        places = [int(part.split("word ")[1].split(",")[0]) for part in
                  JS.call("summarize", found).split(": ")[1].split("; ")]  # fmt: skip
        assert places == [to + 1 for to in order.tolist()]
