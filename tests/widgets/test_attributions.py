"""The model of m09's widget, and what PyTorch says of the same reviews."""

import random

import pytest
import torch

from course.payloads.attributions import EXAMPLES, FILES, classifier, payload
from models.sentiment import attributions
from models.sentiment.reviews import BLANK, INDEX
from tests.widgets.js import JSException, module

NAMES = tuple(FILES)
START = {"review": 0, "model": "A", "erased": [], "truth": False}


@pytest.fixture(scope="module")
def js():
    """The widget, with the data that the page publishes as ``globalThis.data``."""
    found = module("attributions.js")
    found.run("(globalThis.data = {...x, loaded: {}}, null)", payload())
    return found


@pytest.fixture(scope="module")
def loaded(js):
    """The same with both classifiers fetched."""
    for name in NAMES:
        file = f"models/sentiment/weights/{FILES[name]}.safetensors"
        js.run(f"(data.loaded.{name} = await loadModel(x), null)", file)
    yield js
    js.run("(data.loaded = {}, null)")


def shown(js, **state):
    return js.run("m.compare(data, x)", {**START, **state})


def margin(name, words, erased):
    model = classifier(name)
    tokens = model.encode(["[class]", *words])
    tokens[0, [1 + i for i in erased]] = INDEX[BLANK]
    return attributions.margin(model, tokens).item()


def chance(number):
    return torch.tensor(number).sigmoid().item()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("review", range(len(EXAMPLES)))
def test_shares_and_answers_are_pytorch_s(js, review, name):
    found = shown(js, review=review, model=name)
    model = classifier(name)
    tokens = model.encode(["[class]", *found["words"]])
    assert found["words"] == EXAMPLES[review].split()
    assert [row["method"] for row in found["rows"]] == list(attributions.METHODS)
    for row, method in zip(found["rows"], attributions.METHODS.values(), strict=True):
        sizes = method(model, tokens)[0, 1:].abs()
        want = (sizes / sizes.sum()).tolist()
        assert row["shares"] == pytest.approx(want, abs=1e-4)
        assert row["order"][0] == max(range(len(want)), key=lambda i: want[i])
        first = row["order"][: len(found["decisive"])]
        assert row["hits"] == len(set(first) & set(found["decisive"]))
    whole = chance(margin(name, found["words"], []))
    assert found["whole"] == found["chance"] == pytest.approx(whole, abs=1e-4)


def test_one_word_needs_no_model_and_more_ask_for_it(js):
    one = shown(js, erased=[2])
    want = chance(margin("A", one["words"], [2]))
    assert one["chance"] == pytest.approx(want, abs=1e-4)
    two = shown(js, erased=[2, 3])
    assert two["chance"] is None
    assert "being fetched" in js.run("m.summarize(x)", two)


@pytest.mark.parametrize("seed", range(12))
def test_without_any_words_the_answer_is_pytorch_s(loaded, seed):
    draw = random.Random(seed)
    review, name = draw.randrange(len(EXAMPLES)), draw.choice(NAMES)
    length = len(EXAMPLES[review].split())
    erased = sorted(draw.sample(range(length), draw.randint(1, length)))
    found = shown(loaded, review=review, model=name, erased=erased)
    want = chance(margin(name, found["words"], erased))
    assert found["chance"] == pytest.approx(want, abs=1e-4)


def test_erased_places_beyond_a_shorter_review_are_left_out(loaded):
    lengths = [len(text.split()) for text in EXAMPLES]
    short = lengths.index(min(lengths))
    found = shown(loaded, review=short, erased=[1, max(lengths) - 1])
    assert found["erased"] == [1] if max(lengths) > min(lengths) else [1, max(lengths) - 1]


def test_the_sentence_names_the_words(loaded):
    found = shown(loaded, erased=[2], truth=True)
    said = loaded.run("m.summarize(x)", found)
    assert f"Without {found['words'][2]}:" in said
    assert "Decisive: " + ", ".join(found["words"][i] for i in found["decisive"]) in said
    assert all(f"{method}: " in said for method in attributions.METHODS)


def test_only_b_keeps_its_answer_without_the_word_with_the_most_attention(loaded):
    kept = dict.fromkeys(NAMES, 0)
    for name in NAMES:
        for review in range(len(EXAMPLES)):
            top = shown(loaded, review=review, model=name)["rows"][0]["order"][0]
            found = shown(loaded, review=review, model=name, erased=[top])
            kept[name] += loaded.run("m.GOALS.unmoved(x)", found)
    assert kept == {"A": 0, "B": 4}


def test_a_word_that_the_model_doesn_t_know_is_an_error(loaded):
    with pytest.raises(JSException, match="unknown"):
        loaded.run("m.marginOf(data.loaded.A, ['the', 'cat'], [])")
