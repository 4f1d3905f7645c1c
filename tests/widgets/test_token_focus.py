"""Where words look in m02 and in pronoun.qmd: what the committed weights give, and changes."""

from itertools import pairwise, product

import pytest
import torch

from course.payloads.token_focus import (
    EXAMPLES,
    FOLDED,
    HANDED,
    LENT,
    PARTS,
    TAKEN,
    WITH_MARKER,
    hiding,
    payload,
)
from tests.lessons.page_text import in_order, share
from tests.widgets.js import assert_near, module
from tests.widgets.truth_token_focus import (
    TEXTS,
    maps,
    model_of,
    score_parts,
    scores_with_hidden,
    subsets,
)

FOCUS, HIDING = module("token-focus.js"), module("hidden-word.js")
ROUNDED = 6e-6  # the page has the weights in five decimals
FINDER = 4  # layer 2, head 1
EACH = {name: [place] for place, name in enumerate(PARTS)}  # a bar for every part


@pytest.fixture(scope="module", autouse=True)
def published():
    FOCUS.run("(globalThis.data = x, null)", payload(1, 0, range(len(EXAMPLES)), EACH))


def look(sentence, word=None, head=FINDER, causal=False, **changed):
    state = {"sentence": sentence, "word": word, "head": head, "causal": causal, **changed}
    code = "((model) => ({...model, told: m.summarize(model)}))(m.looks(data, x))"
    return FOCUS.run(code, state)


def every_look(heads, **state):
    """[head][from] → the model, for each head, and last their mean."""
    every = """Array.from({length: x.heads}, (_, head) =>
      data.sentences[x.state.sentence].tokens.map((_, token) =>
        m.looks(data, {...x.state, head, word: {sentence: x.state.sentence, token}})))"""
    return FOCUS.run(every, {"heads": heads, "state": state})


def assert_rows(looks, want):
    assert_near([[one["row"] for one in head] for head in looks], want, ROUNDED)


def found(words, row, at):
    return "itself" if row.argmax() == at else words[row.argmax()]


@pytest.mark.parametrize(("name", "sentence"), [*product(["masked", "causal"], range(len(TEXTS)))])
def test_every_word_looks_in_every_head_as_in_the_model(name, sentence):
    """What a pronoun finds is said of the head that finds it alone."""
    causal, want, words = name == "causal", maps(name, sentence), TEXTS[sentence]
    looks = every_look(len(want) + 1, sentence=sentence, causal=causal)
    assert_rows(looks[:-1], want)
    assert looks[-1] == looks[-2], "beyond the last head is the mean"
    for head, at in product(range(len(want)), range(len(words))):
        one, finds = looks[head][at], ""
        if (name, head, words[at]) == ("masked", FINDER, "it"):
            finds = found(words, want[head, at], at)
        assert (one["from"], one["finds"]) == (at, finds)
        assert one["hidden"] == [causal and to > at for to in range(len(words))]


@torch.no_grad()
def assert_answers(got, run, at):
    """Of all words the most probable at ``at``, in the run of a whole model."""
    chance, index = run.logits[0, at].softmax(-1).max(-1)
    assert got["answer"]["word"] == model_of("masked").config.vocabulary[index]
    assert got["answer"]["share"] == pytest.approx(chance.item(), abs=ROUNDED)


@pytest.mark.parametrize("sentence", range(len(EXAMPLES)))
def test_what_the_model_answers_and_what_is_true_is_said_of_the_focus_alone(sentence):
    _, focus, says = EXAMPLES[sentence]
    for head in (0, FINDER, 6):  # the answer is the whole model's
        got = look(sentence, {"sentence": sentence + 1, "token": 0}, head)  # of another sentence
        assert (got["from"], got["says"]) == (focus, says)
        assert_answers(got, model_of("masked")(model_of("masked").encode(TEXTS[sentence])), focus)
    told = [got["answer"]["word"], share(got["answer"]["share"], 1)]
    finds = [look(sentence)["finds"]] if "it" in TEXTS[sentence] else []
    assert in_order(look(sentence)["told"], *finds, *told)
    beside = look(sentence, {"sentence": sentence, "token": focus - 1})
    assert (beside["from"], beside["says"], beside["answer"]) == (focus - 1, "", None)
    assert look(sentence, causal=True)["answer"] is None


@pytest.mark.parametrize("name", ["masked", "causal"])
def test_the_sentence_names_the_three_that_get_most(name):
    causal, words = name == "causal", TEXTS[1]
    row = maps(name, 1)[0, 3, : 4 if causal else None]
    most = [(words[to], str(to + 1), share(row[to])) for to in row.topk(3).indices.tolist()]
    got = look(1, {"sentence": 1, "token": 3}, head=0, causal=causal)
    assert in_order(got["told"], words[3], "4", *(part for one in most for part in one))


CHANGES = [*product(["taken"], TAKEN, HANDED), *product(["lent"], [True], LENT)]


@torch.no_grad()
@pytest.mark.parametrize(("field", "value", "sentence"), CHANGES)
def test_a_change_in_layer_1_head_4_is_what_a_hook_in_the_model_makes(field, value, sentence):
    """The first noun gets another value or none from the last word, or another query."""
    model, words = model_of("masked"), TEXTS[sentence]
    layer = model.layers[0].attention
    last, first = words[-1], words[1]
    told = {"off": (last, first), "hidden": (first, last), True: ("1", "4", first, words[7])}
    told["other"] = "1", "4", first, TEXTS[HANDED.get(sentence, 0)][-1], last
    if value == "hidden":

        def hide(module, inputs):  # queries, keys and values, and then which it may see
            seen = torch.ones(1, 1, 13, 13, dtype=torch.bool)
            seen[..., 1, 12] = False
            return (*inputs[:3], seen)

        hook = model.layers[0].register_forward_pre_hook(hide)
    elif field == "taken":
        weight = model(model.encode(words)).weights[0][0, 3, 1, -1]
        other = TEXTS[HANDED[sentence]][-1]
        values = layer.qkv_proj(model.embedding[model.encode([words[-1], other])[0]])[:, -16:]

        def hand(module, inputs):  # before layer 1 makes one vector of what its heads took in
            inputs[0][0, 1, -16:] += weight * ((values[1] if value == "other" else 0) - values[0])

        hook = layer.out_proj.register_forward_pre_hook(hand)
    else:

        def lend(module, inputs, output):
            queries = output.unflatten(-1, (3, 4, -1))[0, :, 0, 3]
            queries[1] = queries[words.index("trophy")]

        hook = layer.qkv_proj.register_forward_hook(lend)
    run = model(model.encode(words))
    hook.remove()
    want = torch.cat(run.weights, dim=1)[0]
    looks = every_look(len(want), sentence=sentence, causal=False, **{field: value})
    assert_rows(looks, want)
    assert in_order(looks[0][0]["says"], *told[value])
    assert looks[FINDER][9]["finds"] == found(words, want[FINDER, 9], 9)
    assert_answers(looks[FINDER][9], run, 9)
    causal = every_look(1, sentence=sentence, causal=True, asks=True, **{field: value})
    assert not causal[0][0]["isChanged"], "the other model has no such change"
    assert causal[0][0]["bars"] is None, "and its scores aren't taken apart"
    if field == "taken":
        assert_asks_as_in_the_other_sentence(sentence, run, told[value], taken=value)


def assert_asks_as_in_the_other_sentence(sentence, run, told=(), **state):
    """Layer 2 by hand, after this run's layer 1: the pronoun's query is from the other sentence."""
    model, other = model_of("masked"), TEXTS[HANDED[sentence]]
    layer, words = model.layers[1], run.residual[0][0]

    def part(vectors, of):  # of the queries, keys and values, for both heads
        return layer.attention.qkv_proj(vectors).unflatten(-1, (3, 2, 32))[:, of].transpose(0, 1)

    borrowed = part(model(model.encode(other)).residual[1][0], 0)[:, 9]
    scores = (part(run.residual[1][0], 1) @ borrowed[..., None])[..., 0] / 32**0.5
    rows = (scores + layer.relative(13)[:, 9]).softmax(-1)
    mixed = (rows[:, None] @ part(words, 2)).flatten()
    last = run.residual[1][0, 9] + layer.attention.out_proj(mixed)
    chances = (model.embedding @ last + model.unembedding_bias).softmax(-1)
    usual = torch.cat(run.weights, dim=1)[0]
    want = usual.clone()
    want[-2:, 9] = rows
    looks = every_look(len(want), sentence=sentence, causal=False, asks=True, **state)
    assert_rows(looks, want)
    got = looks[FINDER][9]
    assert got["finds"] == found(TEXTS[sentence], rows[0], 9)
    assert got["answer"]["word"] == model.config.vocabulary[chances.argmax()]
    assert got["answer"]["share"] == pytest.approx(chances.max().item(), abs=ROUNDED)
    assert in_order(got["says"], *told, "layer 2", other[-1])


@torch.no_grad()
@pytest.mark.parametrize("sentence", HANDED)
def test_the_pronoun_may_ask_with_its_query_of_the_other_sentence(sentence):
    model = model_of("masked")
    assert_asks_as_in_the_other_sentence(sentence, model(model.encode(TEXTS[sentence])))


def test_a_sentence_without_another_query_stays_as_it_is():
    assert look(LENT[0], asks=True) == look(LENT[0])
    assert look(HANDED[1], asks=True) != look(HANDED[1])


def truth_of(sentence, value, asks=None):
    words = TEXTS[sentence]
    last = words[-1] if value != "other" else TEXTS[HANDED[sentence]][-1]

    def change(added, of):
        if value == "off":
            added[-1] = 0
        elif value == "other":
            layer = model_of("masked").layers[0].attention
            share = model_of("masked")(model_of("masked").encode(words)).weights[0][0, 3, 1, -1]
            vector, out = of(last)
            added[-1] = share * (out @ layer.qkv_proj(vector)[-16:])

    return last, score_parts(
        words, change, lends=value is True, unseen=value == "hidden", asks=asks
    )


WITH_BARS = [s for s, text in enumerate(TEXTS) if "did" in text]
STATES = [*((s, "own", "taken") for s in WITH_BARS), *((s, v, f) for f, v, s in CHANGES)]
STATES = [(*state, False) for state in STATES] + [
    (s, how, "taken", True) for s in HANDED for how in ("own", *TAKEN)
]


@torch.no_grad()
@pytest.mark.parametrize(("sentence", "value", "field", "asks"), STATES)
def test_the_bars_are_the_parts_of_a_score_one_by_one(sentence, value, field, asks):
    last, want = truth_of(sentence, value, TEXTS[HANDED[sentence]] if asks else None)
    low, high = FOCUS.run("m.RANGE")
    totals = [sum(parts) for parts in want.values()]
    for at, (word, parts) in enumerate(want.items()):
        got = look(sentence, apart=at, asks=asks, **{field: value})
        bars, row = got["bars"], got["row"]
        rows = bars["rows"]
        assert bars["word"] == word
        values = [one["value"] for one in rows]
        assert_near(values[:7], parts, 3e-4)
        assert_near([bars["rest"]], [sum(parts[:6])], 3e-4)
        assert_near(values[7:], totals, 3e-4)
        for one, after in pairwise(rows[:7]):
            assert one["to"] == after["from"], "each begins where the one above ends"
        assert [one["name"] for one in rows[:6]] == [*PARTS]
        assert rows[6]["to"] == pytest.approx(totals[at], abs=3e-4)
        ends = [end for one in rows for end in (one["from"], one["to"])]
        assert low <= min(ends) <= max(ends) <= high, "there is room for them"
        assert in_order(rows[6]["name"], last if at == 0 else TEXTS[sentence][-1])
        assert [one["name"] for one in rows[7:]] == [*want]
        places = [i for i, token in enumerate(TEXTS[sentence]) if token in want]
        assert_near([one["weight"] for one in rows[7:]], [row[i] for i in places], 1e-4)
        told = [f"{number:.1f}" for number in totals]
        mark = f"{parts[6]:+.1f}" if parts[6] > 0.05 else f"{parts[6]:.1f}".replace("-0.0", "0.0")
        assert in_order(got["told"], *told, mark)


@torch.no_grad()
@pytest.mark.parametrize(("bars", "apart"), [(FOLDED, ()), (WITH_MARKER, (3,))], ids=["one", "two"])
def test_a_picture_adds_up_the_parts_that_its_page_does_not_discuss(bars, apart):
    """One bar for all but the mark, or another for did."""
    FOCUS.run("(globalThis.folded = x, null)", payload(1, 0, (6, 2), bars))
    code = "m.looks(folded, {sentence: x.place, word: null, head: 4, apart: x.at}).bars.rows"
    for place, sentence in enumerate((6, 2)):
        for at, parts in enumerate(score_parts(TEXTS[sentence]).values()):
            rows = FOCUS.run(code, {"place": place, "at": at})
            rest = sum(parts[:6]) - sum(parts[i] for i in apart)
            want = [rest, *(parts[i] for i in apart), parts[6]]
            assert_near([one["value"] for one in rows[:-3]], want, 3e-4)
            assert [one["name"] for one in rows[: len(want) - 1]] == [*bars]
            assert [one["kind"] for one in rows[:-3]] == (
                ["part", "part", "mark"] if apart else ["bare", "mark"]
            )


def test_on_the_lesson_no_score_is_taken_apart():
    FOCUS.run("(globalThis.lesson = x, null)", payload(1, 0))
    code = "m.looks(lesson, {sentence: x, word: null, head: 4, causal: false}).bars"
    assert [FOCUS.run(code, sentence) for sentence in range(3)] == [None] * 3


NOUNS = {"trophy": 1, "suitcase": 7, "it": 9}


@pytest.mark.parametrize("unseen", subsets([*NOUNS.values()]), ids=str)
@pytest.mark.parametrize(("last", "index"), [("big", 1), ("small", 2)])
def test_every_way_to_hide_the_last_word_is_the_model_written_out_by_hand(last, index, unseen):
    hidden = {word: at in unseen for word, at in NOUNS.items()}
    got = HIDING.told("withHidden", hiding(), {"last": last, **hidden})
    scores = scores_with_hidden(last, unseen)
    found = scores.softmax(-1)[[*NOUNS.values()]].tolist()
    scores = scores[[*NOUNS.values()]].tolist()
    all_looks = maps("masked", index)[3, :, 12].tolist()
    looks = [0 if at in unseen else all_looks[at] for at in NOUNS.values()]
    assert [row["found"] for row in got["words"]] == pytest.approx(found, abs=ROUNDED)
    assert [row["score"] for row in got["words"]] == pytest.approx(scores, abs=1e-4)
    assert [row["looks"] for row in got["words"]] == pytest.approx(looks, abs=ROUNDED)
    most, finds = max(zip(found, NOUNS, strict=True))
    shown = [f"{score:.1f}" for score in scores], map(share, found)
    assert in_order(got["says"], *shown[0], *shown[1], finds)
    assert ("sure" in got["says"]) == (most < 0.6)
