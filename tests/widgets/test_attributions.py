"""The model of m09's widget, and what PyTorch says of the same reviews."""

import random

import pytest

from course.payloads.attributions import EXAMPLES, FILES, classifier, payload
from models.sentiment import attributions
from models.sentiment.reviews import BLANK, INDEX
from tests.widgets.js import assert_near, module

NAMES = tuple(FILES)
JS = module("attributions.js")
WORDS = [text.split() for text in EXAMPLES]


@pytest.fixture(scope="module", autouse=True)
def published():
    JS.run("(globalThis.data = {...x, loaded: {}}, null)", payload())


@pytest.fixture(scope="module")
def loaded(published):
    """Both classifiers are fetched."""
    for name in NAMES:
        file = f"models/sentiment/weights/{FILES[name]}.safetensors"
        JS.run(f"(data.loaded.{name} = await loadModel(x), null)", file)


def shown(review=0, name="A", erased=(), then="x", *, every=True):
    state = {"review": review, "model": name, "erased": list(erased), "truth": False, "all": every}
    return JS.run(f"((x) => {then})(m.compare(data, x))", state)


def chance(review, name, erased=()):
    model = classifier(name)
    tokens = model.encode(["[class]", *WORDS[review]])
    tokens[0, [1 + i for i in erased]] = INDEX[BLANK]
    return attributions.margin(model, tokens).sigmoid().item()


def test_one_word_needs_no_model_and_more_wait_for_it():
    for i in range(len(WORDS[0])):
        assert shown(erased=[i])["chance"] == pytest.approx(chance(0, "A", [i]), abs=1e-4)
    assert shown(erased=[2, 3])["chance"] is None


@pytest.mark.parametrize("name", NAMES)
def test_shares_and_answers_are_pytorch_s(name):
    model = classifier(name)
    for review, words in enumerate(WORDS):
        got, tokens = shown(review, name), model.encode(["[class]", *words])
        assert got["words"] == words
        assert [row["method"] for row in got["rows"]] == list(attributions.METHODS)
        for row, method in zip(got["rows"], attributions.METHODS.values(), strict=True):
            sizes = method(model, tokens)[0, 1:].abs()
            want = (sizes / sizes.sum()).tolist()
            assert_near(row["shares"], want, 1e-4)
            assert row["order"][0] == max(range(len(want)), key=lambda i: want[i])
            first = row["order"][: len(got["decisive"])]
            assert row["hits"] == len(set(first) & set(got["decisive"]))
        assert got["whole"] == got["chance"]
        assert got["whole"] == pytest.approx(chance(review, name), abs=1e-4)


def test_three_ways_are_shown_until_all_are_asked_for():
    few, all_of_them = (shown(every=every)["rows"] for every in (False, True))
    assert [row["method"] for row in few] == ["attention", "integrated gradients", "erasure"]
    assert [row for row in all_of_them if row in few] == few


@pytest.mark.usefixtures("loaded")
def test_without_any_words_the_answer_is_pytorch_s():
    for seed in range(12):
        draw = random.Random(seed)
        review, name = draw.randrange(len(EXAMPLES)), draw.choice(NAMES)
        length = len(WORDS[review])
        erased = sorted(draw.sample(range(length), draw.randint(1, length)))
        got = shown(review, name, erased)
        assert got["chance"] == pytest.approx(chance(review, name, erased), abs=1e-4)
    lengths = [len(words) for words in WORDS]
    short, long = lengths.index(min(lengths)), max(lengths)
    assert lengths[short] < long
    assert shown(short, erased=[1, long - 1])["erased"] == [1], "a shorter review has no such place"


@pytest.mark.usefixtures("loaded")
def test_only_b_keeps_its_answer_without_the_word_with_the_most_attention():
    counts = dict.fromkeys(NAMES, 0)
    for name in NAMES:
        for review in range(len(EXAMPLES)):
            top = shown(review, name)["rows"][0]["order"][0]
            counts[name] += shown(review, name, [top], then="m.GOALS.unmoved(x)")
    assert counts == {"A": 0, "B": 4}
