"""Where words look: what the model says is what the committed weights give."""

import pytest
import torch

from course.payloads.token_focus import DID_FIT, EXAMPLES, FIT, HANDED, LENT, SWAPPED, payload
from tests.lessons.page_text import in_order, share
from tests.widgets.js import assert_near, module
from tests.widgets.truth_token_focus import TEXTS, maps, model_of

JS = module("token-focus.js")
ROUNDED = 6e-6  # the page has the weights in five decimals


@pytest.fixture(scope="module", autouse=True)
def published():
    JS.run("(globalThis.data = x, null)", payload(1, 0, range(len(EXAMPLES))))


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
    for field, of in (("handed", HANDED), ("lent", LENT)):
        changed = every_look(len(want), sentence=sentence, causal=causal, **{field: True})
        isnt_changed = causal or sentence not in of
        assert (changed == looks) == isnt_changed
        assert {look_["isChanged"] for head in changed for look_ in head} == {not isnt_changed}


def test_a_page_that_offers_no_change_shows_none():
    JS.run("(globalThis.plain = x, null)", payload(sentence=1, head=0))
    state = {"sentence": 1, "word": None, "head": 4, "causal": False, "handed": True}
    shown = JS.run("m.looks(plain, x)", state)
    assert shown == look(handed=False) | {"finds": "", "answer": None}


def test_a_page_s_picture_shows_the_sentences_it_is_given():
    for indices in (FIT, SWAPPED, DID_FIT):
        shown, every = payload(0, 4, indices), payload(0, 4, range(len(EXAMPLES)))
        assert [one["tokens"] for one in shown["sentences"]] == [TEXTS[i] for i in indices]
        for place, index in enumerate(indices):
            assert shown["sentences"][place] == every["sentences"][index]
            for name in ("masked", "causal"):
                maps_ = [one["models"][name]["weights"] for one in (shown, every)]
                assert torch.equal(maps_[0][place], maps_[1][index])
            change, same = shown["changes"][place], every["changes"][index]
            assert (change and change["label"]) == (same and same["label"])


def assert_answers(look_, run, at):
    """Of all words the most probable at ``at``, in the run of a whole model."""
    share_, index = run.logits[0, at].softmax(-1).max(-1)
    assert look_["answer"]["word"] == model_of("masked").config.vocabulary[index]
    assert look_["answer"]["share"] == pytest.approx(share_.item(), abs=ROUNDED)


@torch.no_grad()
@pytest.mark.parametrize("sentence", range(len(EXAMPLES)))
def test_what_the_model_answers_is_said_of_the_focus_alone(sentence):
    model, at = model_of("masked"), EXAMPLES[sentence][1]
    run = model(model.encode(TEXTS[sentence]))
    for head in range(7):  # the answer is the whole model's
        assert_answers(look(sentence=sentence, head=head), run, at)
    answer = look(sentence=sentence)["answer"]
    says = look("m.summarize(model)", sentence=sentence)
    assert in_order(says, "answers", answer["word"], share(answer["share"], 1))
    other = {"sentence": sentence, "token": at - 1}
    assert look(sentence=sentence, word=other)["answer"] is None
    assert look(sentence=sentence, causal=True)["answer"] is None


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


def found(words, row, at):
    return "itself" if row.argmax() == at else words[row.argmax()]


@pytest.mark.parametrize("sentence", range(len(EXAMPLES)))
def test_what_a_pronoun_finds_is_said_of_the_head_that_finds_it_alone(sentence):
    for name in ("masked", "causal"):
        weights, words = maps(name, sentence), TEXTS[sentence]
        for head, looks in enumerate(
            every_look(len(weights), sentence=sentence, causal=name == "causal")
        ):
            for at, look_ in enumerate(looks):
                is_found = (name, head, words[at]) == ("masked", 4, "it")  # layer 2, head 1
                finds = found(words, weights[head, at], at) if is_found else ""
                assert look_["finds"] == finds
    if "it" in TEXTS[sentence]:
        finds = look(sentence=sentence)["finds"]
        assert finds in TEXTS[sentence]
        assert f"The pronoun finds: {finds}." in look("m.summarize(model)", sentence=sentence)


@torch.no_grad()
@pytest.mark.parametrize("sentence", HANDED)
def test_the_last_word_hands_the_first_noun_the_value_of_the_other(sentence):
    """By a hook in the whole model, before layer 1 makes one vector of what its heads took in."""
    model, words, other = model_of("masked"), TEXTS[sentence], TEXTS[HANDED[sentence]]
    assert words[:-1] == other[:-1]
    attention = model.layers[0].attention
    weight = model(model.encode(words)).weights[0][0, 3, 1, -1]
    values = attention.qkv_proj(model.embedding[model.encode([words[-1], other[-1]])[0]])[:, -16:]

    def hand(module, inputs):
        taken = inputs[0].clone()
        taken[0, 1, -16:] += weight * (values[1] - values[0])
        return (taken,)

    hook = attention.out_proj.register_forward_pre_hook(hand)
    run = model(model.encode(words))
    want = torch.cat(run.weights, dim=1)[0]
    hook.remove()
    looks = every_look(len(want), sentence=sentence, causal=False, handed=True)
    assert_near(rows(looks), want, ROUNDED)
    assert in_order(looks[0][0]["says"], "1", "4", "trophy", other[-1], words[-1])
    assert looks[4][9]["finds"] == found(words, want[4, 9], 9)
    assert look(sentence=sentence)["finds"] != looks[4][9]["finds"], "as the change is ticked"
    assert_answers(looks[4][9], run, 9)


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
    run = model(model.encode(words))
    want = torch.cat(run.weights, dim=1)[0]
    hook.remove()
    looks = every_look(len(want), sentence=sentence, causal=False, lent=True)
    assert_near(rows(looks), want, ROUNDED)
    assert in_order(looks[0][0]["says"], "1", "4", "suitcase", "trophy")
    assert looks[4][9]["finds"] == found(words, want[4, 9], 9)
    assert_answers(looks[4][9], run, 9)
