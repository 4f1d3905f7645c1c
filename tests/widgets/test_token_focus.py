"""Where words look: what the model says is what the committed weights give."""

import pytest
import torch

from course.payloads.token_focus import CROSSED, EXAMPLES, LENT, payload
from tests.lessons.page_text import in_order, share
from tests.widgets.js import assert_near, module
from tests.widgets.truth_token_focus import TEXTS, maps, model_of

JS = module("token-focus.js")
ROUNDED = 6e-6  # the page has the weights in five decimals


@pytest.fixture(scope="module", autouse=True)
def published():
    JS.run("(globalThis.data = x, null)", payload(sentence=1, head=0))


def look(then="model", **changes):
    state = {"sentence": 1, "word": None, "head": 4, "causal": False} | changes
    return JS.run(f"((model) => {then})(m.looks(data, x))", state)


def every_look(heads, **state):
    """[head][from] → what the model says, for each head, and last their mean."""
    every = """Array.from({length: x.heads}, (_, head) =>
      data.sentences[x.state.sentence].tokens.map((_, token) =>
        m.looks(data, {...x.state, head, word: {sentence: x.state.sentence, token}})))"""
    return JS.run(every, {"heads": heads, "state": state})


def rows(looks):
    return [[look["row"] for look in head] for head in looks]


@pytest.mark.parametrize("name", ["masked", "causal"])
@pytest.mark.parametrize("sentence", range(len(EXAMPLES)))
def test_every_word_in_every_head(sentence, name):
    causal, want = name == "causal", maps(name, sentence)
    looks = every_look(len(want), sentence=sentence, causal=causal)
    assert_near(rows(looks), want, ROUNDED)
    for at, look_ in [pair for head in looks for pair in enumerate(head)]:
        assert look_["from"] == at
        assert look_["hidden"] == [causal and to > at for to in range(len(look_["row"]))]
        assert not any(look_["row"][at + 1 :] if causal else [])
    beyond = every_look(len(want) + 1, sentence=sentence, causal=causal)
    assert beyond[-1] == looks[-1], "beyond the last head is the mean"
    for field, of in (("crossed", CROSSED), ("lent", LENT)):
        changed = every_look(len(want), sentence=sentence, causal=causal, **{field: True})
        isnt_changed = causal or sentence not in of
        assert (changed == looks) == isnt_changed
        assert {look_["isChanged"] for head in changed for look_ in head} == {not isnt_changed}


def test_a_sentence_starts_at_its_own_focus_of_which_it_says_something():
    for sentence, (_, focus, says) in enumerate(EXAMPLES):
        other = {"sentence": (sentence + 1) % len(EXAMPLES), "token": 0}
        model = look(sentence=sentence, word=other)
        assert (model["from"], model["says"]) == (focus, says)
        elsewhere = look(sentence=sentence, word={"sentence": sentence, "token": focus - 1})
        assert (elsewhere["from"], elsewhere["says"]) == (focus - 1, "")


def test_the_sentence_names_the_three_that_get_most():
    for name in ("masked", "causal"):
        state = {"causal": name == "causal", "head": 0, "word": {"sentence": 1, "token": 3}}
        row = maps(name, 1)[0, 3, : 4 if state["causal"] else None]
        most = [(TEXTS[1][to], str(to + 1), share(row[to]))
                for to in row.argsort(descending=True)[:3].tolist()]  # fmt: skip
        sentence = look("m.summarize(model)", **state)
        assert in_order(sentence, TEXTS[1][3], "4", *(part for one in most for part in one))


@torch.no_grad()
@pytest.mark.parametrize("asks", CROSSED)
def test_queries_of_one_sentence_meet_the_keys_of_the_other(asks):
    """Every head, written out in float64; where the sentences are one, the model's own maps."""
    answers, model = CROSSED[asks], model_of("masked")
    assert TEXTS[asks][:-1] == TEXTS[answers][:-1]
    runs = {at: model(model.encode(TEXTS[at])) for at in (asks, answers)}

    def meeting(keys_of):
        weights = []
        for number, layer in enumerate(model.layers):
            make, heads = layer.attention.qkv_proj, layer.attention.num_heads
            q, k = (
                make(runs[at].residual[number][0]).unflatten(-1, (3, heads, -1))[:, i]
                for i, at in enumerate((asks, keys_of))
            )
            scores = torch.einsum("qhd,khd->hqk", q, k) / q.shape[-1] ** 0.5
            weights.append((scores + layer.relative(len(q))).softmax(-1))
        return torch.cat(weights)

    torch.testing.assert_close(meeting(asks), maps("masked", asks)[:-1])
    want = meeting(answers)
    looks = every_look(len(want), sentence=asks, causal=False, crossed=True)
    assert_near(rows(looks), want, ROUNDED)
    assert in_order(looks[0][0]["says"], TEXTS[asks][-1], TEXTS[answers][-1])


@torch.no_grad()
@pytest.mark.parametrize("sentence", LENT)
def test_the_first_noun_asks_with_the_query_of_the_second(sentence):
    """By a hook in the whole model, in layer 1, head 4."""
    model, words = model_of("masked"), TEXTS[sentence]

    def lend(module, inputs, output):
        output = output.clone()
        queries = output.unflatten(-1, (3, 4, -1))[0, :, 0, 3]
        queries[1] = queries[words.index("trophy")]
        return output

    hook = model.layers[0].attention.qkv_proj.register_forward_hook(lend)
    want = torch.cat(model(model.encode(words)).weights, dim=1)[0]
    hook.remove()
    looks = every_look(len(want), sentence=sentence, causal=False, lent=True)
    assert_near(rows(looks), want, ROUNDED)
    assert in_order(looks[0][0]["says"], "1", "4", "suitcase", "trophy")
