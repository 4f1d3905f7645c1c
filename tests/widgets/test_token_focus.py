"""Where words look: what the model says is what the committed weights give."""

from functools import cache

import pytest
import torch

from course.payloads.token_focus import CROSSED, EXAMPLES, FOLDER, LENT, payload
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
        found = look(
            sentence=sentence, word={"sentence": (sentence + 1) % len(EXAMPLES), "token": 0}
        )
        assert (found["from"], found["says"]) == (focus, says)


def test_what_a_sentence_says_is_of_its_focus():
    assert look(word={"sentence": 1, "token": 7})["says"] == ""


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


@pytest.mark.parametrize("asks", CROSSED)
def test_queries_of_one_sentence_meet_the_keys_of_the_other(asks):
    """Every head, written out in float64; where the sentences are one, the model's own maps."""
    answers = CROSSED[asks]
    assert EXAMPLES[asks][0].split()[:-1] == EXAMPLES[answers][0].split()[:-1]
    model = load(FOLDER / "weights" / "masked.safetensors").double()
    runs = {at: model(model.encode(EXAMPLES[at][0].split())) for at in (asks, answers)}
    for keys_of in (asks, answers):
        want = []
        for number, layer in enumerate(model.layers):
            made = [
                layer.attention.qkv_proj(runs[at].residual[number][0]) for at in (asks, keys_of)
            ]
            heads = layer.attention.num_heads
            q, k = (made[i].unflatten(-1, (3, heads, -1))[:, i] for i in (0, 1))
            scores = torch.einsum("qhd,khd->hqk", q, k) / q.shape[-1] ** 0.5
            want.append((scores + layer.relative(len(q))).softmax(-1).detach())
        want = torch.cat(want)
        if keys_of == asks:
            torch.testing.assert_close(want, maps("masked", asks)[:-1])
    for head in range(len(want)):
        for token in (0, 9, 12):
            word = {"sentence": asks, "token": token}
            found = look(sentence=asks, head=head, word=word, crossed=True)
            assert found["row"] == pytest.approx(want[head, token].tolist(), abs=6e-6)
    for end, of in ((asks, "queries"), (answers, "keys")):
        ending = EXAMPLES[end][0].split()[-1]
        assert f"{of} those of “… too {ending}”".replace("queries", "queries are") in found["says"]


@pytest.mark.parametrize("sentence", LENT)
def test_the_first_noun_asks_with_the_query_of_the_second(sentence):
    """Both layers, written out in float64, from the words' own vectors."""
    model, text = load(FOLDER / "weights" / "masked.safetensors").double(), EXAMPLES[sentence][0]
    ids = model.encode(text.split())[0]
    x, want = model.embedding[ids].detach(), []
    for number, layer in enumerate(model.layers):
        heads = layer.attention.num_heads
        q, k, v = layer.attention.qkv_proj(x).detach().unflatten(-1, (3, heads, -1)).unbind(1)
        if number == 0:
            q[1, 3] = q[text.split().index("trophy"), 3]
        scores = torch.einsum("qhd,khd->hqk", q, k) / q.shape[-1] ** 0.5
        want.append((scores + layer.relative(len(x))).softmax(-1).detach())
        x = x + layer.attention.out_proj(torch.einsum("hqk,khd->qhd", want[-1], v).flatten(-2))
    want = torch.cat(want)
    for head in range(len(want)):
        for token in (1, 9):
            word = {"sentence": sentence, "token": token}
            found = look(sentence=sentence, head=head, word=word, lent=True)
            assert found["row"] == pytest.approx(want[head, token].tolist(), abs=6e-6)
    assert found["says"] == "In layer 1, head 4, “suitcase” has the query of “trophy”."
    # Nothing else of layer 1 moves.
    same = (want[:4] - maps("masked", sentence)[:4]).abs().amax(-1) < 1e-9
    assert (~same).nonzero().tolist() == [[3, 1]]


def test_only_four_sentences_of_the_model_that_sees_all_are_changed():
    for sentence in range(len(EXAMPLES)):
        for causal in (False, True):
            for field, of in (("crossed", CROSSED), ("lent", LENT)):
                changed = look(sentence=sentence, causal=causal, **{field: True})
                assert changed["isChanged"] == (sentence in of and not causal)
                if not changed["isChanged"]:
                    assert changed == look(sentence=sentence, causal=causal)
