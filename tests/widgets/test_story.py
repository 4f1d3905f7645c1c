"""The storyteller's widget shows PyTorch's numbers, from the page and from its worker."""

import json
import math
import re

import pytest
import torch

from course.payloads import story
from models.storyteller.model import ADDRESS, FILE, load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.widgets.js import assert_near, module
from tests.widgets.states_index import TEXT

JS = module("story.js")
START = {"text": TEXT, "at": None, "head": 14, "off": [], "temperature": 0.8}
TOLERANCE = 1e-4
COPIER = (3, 2)  # head 4.3


@pytest.fixture(scope="module")
def model():
    return load_storyteller().double()


@pytest.fixture(scope="module")
def tokenizer(model):
    return Tokenizer(model.config.vocabulary)


@pytest.fixture(scope="module")
def published():
    return story.payload(TEXT, 0.8, "4.3")


def shown(published, session=None, **state):
    return JS.run(
        """(() => {
          if (x.story?.reading) x.story.reading.weights = new Float32Array(x.story.reading.weights);
          const data = {...x.data, opening: m.opened(x.data), story: x.story ?? {}};
          const {heads, ...rest} = m.shown(data, x.state);
          return {...rest, rows: heads.map(({row}) => row)};
        })()""",
        {"data": published, "state": START | state, "story": session},
    )


@torch.no_grad()
def run(model, tokens, off=()):
    return model(torch.tensor([tokens]), off=off)


# ---- The opening, which comes with the page ------------------------------------------------------


def test_the_opening_shows_pytorchs_weights_and_guesses(published, model, tokenizer):
    tokens = tokenizer.encode(TEXT)
    last = len(tokens) - 1
    whole = run(model, tokens)
    for at, asked in ((0, 0), (7, 7), (last, None), (last, 200)):
        view = shown(published, at=asked)
        for head, row in enumerate(view["rows"]):
            assert_near(row, whole.weights[head // 4][0, head % 4, at, : at + 1], TOLERANCE)
        shares, likeliest = (whole.logits[0, at] / 0.8).softmax(0).topk(5)
        words = [tokenizer.decode([token]) for token in likeliest.tolist()]
        assert [guess["text"] for guess in view["guesses"]] == words
        assert_near([guess["share"] for guess in view["guesses"]], shares, TOLERANCE)
    words = ["".join(view["pieces"][i] for i in word).strip() for word in view["words"]]
    assert words == TEXT.split()


def test_the_opening_says_what_the_caption_says(model, tokenizer, read):
    """Head 4.3 looks at what came after the same word, and the guess rests on it."""

    def guessed(text, *off):
        return (run(model, tokenizer.encode(text), off).logits[0, -1] / 0.8).softmax(-1)

    [comma], [rabbit], [brown] = map(tokenizer.encode, (",", " Rabbit", " Brown"))
    assert run(model, tokenizer.encode(TEXT)).weights[3][0, 2, -1].argmax() == 7
    whole, left = guessed(TEXT), guessed(TEXT, COPIER)
    assert (whole.argmax(), left.argmax()) == (rabbit, comma)
    tom = TEXT.replace("Peter Rabbit", "Tom Brown").replace("Peter", "Tom")
    fox = TEXT.replace("Rabbit", "Fox")
    of_tom = guessed(tom)
    assert (guessed(fox).argmax(), of_tom.argmax()) == (rabbit, brown), "it knows the name, too"
    assert brown not in guessed(tom, COPIER).topk(5).indices
    want = [left[comma], whole[rabbit], left[rabbit], of_tom[brown]]
    answer = read("index.html").select_one(".answer").get_text()
    shares = [int(x) for x in re.findall(r"(\d+)\u202f%", answer)]
    assert shares == [round(100 * x.item()) for x in want]


NAMES = (
    "Mary Green, Ann White, Jack Hill, John Wood, Alice Stone, Jane Black, Harry Field, "
    "Robert King, Emma Day, George Young, Nancy Short, Will Knight, Kate Rose, Sam Bird"
)


def test_most_other_names_are_not_guessed_first(model, tokenizer):
    guessed = 0
    for first, last in map(str.split, NAMES.split(", ")):
        tokens = tokenizer.encode(
            TEXT.replace("Peter Rabbit", f"{first} {last}").replace("Peter", first)
        )
        guessed += run(model, tokens).logits[0, -1].argmax() == tokenizer.encode(f" {last}")[0]
    assert guessed < len(NAMES.split(", ")) / 3


def test_each_head_is_told_by_its_own_measures(published):
    """By what has grown most in training; and each costs probability, as the box says."""
    scores = json.loads((FILE.parents[1] / "scores/storyteller.json").read_text("utf-8"))
    told = {entry["name"]: JS.call("told", entry) for entry in published["heads"]}
    for head in scores["seeds"]["0"]["held out"]["heads"]:
        note = told[f"{head['layer'] + 1}.{head['head'] + 1}"]
        assert note["lost"] == pytest.approx(1 - math.exp(-head["cost"]))
        assert note["lost"] > 0.001
    looks = {"2.4": "before", "4.1": "punctuation", "4.3": "after the same word"}
    assert all(word in told[name]["look"] for name, word in looks.items())


# ---- The reader, which the worker runs -----------------------------------------------------------


@pytest.fixture(scope="module")
def reader():
    """Of chance it draws .3 of 1."""
    context = module("lib/storyteller-reader.js")
    storyteller = "(await import('/widgets/lib/storyteller.js')).storyteller"
    make = f"m.reader({storyteller}(await loadModel(x)), () => 0.3)"
    context.run(f"(globalThis.read = {make}, 0)", ADDRESS)
    return lambda text, **question: context.run(
        "read(x)", {"text": text, "temperature": 0.8} | question
    )


def test_a_reading_is_pytorchs(reader, model, tokenizer):
    off = [1, 7, 14]
    reading, tokens = reader(TEXT, off=off, temperature=0.5), tokenizer.encode(TEXT)
    whole = run(model, tokens, [(head // 4, head % 4) for head in off])
    rows, columns = torch.tril_indices(len(tokens), len(tokens))
    want = torch.cat([layer[0, :, rows, columns].flatten() for layer in whole.weights])
    assert_near(reading["weights"], want, TOLERANCE)
    shares = (whole.logits[0] / 0.5).softmax(-1).topk(5).values
    guesses = [[guess["share"] for guess in some] for some in reading["guesses"]]
    assert_near(guesses, shares, TOLERANCE)


def test_guesses_are_new_where_text_temperature_or_heads_are(reader):
    """Those of tokens that stay are kept; a fresh reading tells whether they are still right."""
    changes = [{}, {"temperature": 2}, {"text": TEXT[:20]}, {"text": "A cat"}, {"off": [1]}, {}]
    for change in changes:
        question = {"text": TEXT, "off": []} | change
        reading = reader(**question)
        reader("Another", off=[2])
        assert reading == reader(**question)


@pytest.mark.parametrize("text", ["Once upon a time", "x  ", "🐇"])
def test_it_writes_what_is_likeliest_or_by_chance(reader, text):
    longer = reader(text, temperature=0, write=True)["text"]
    likeliest = reader(text, temperature=0)["guesses"][-1][0]["text"]
    assert longer == text.rstrip(" ") + likeliest
    assert "\ufffd" not in longer
    drawn = reader(TEXT, temperature=2, write=True)["text"].removeprefix(TEXT)
    assert drawn in [guess["text"] for guess in reader(TEXT, temperature=2)["guesses"][-1]]


def test_the_bars_of_a_long_text_are_wide_enough_to_be_seen():
    """At most 60, each as high as the largest of its tokens; a short row is itself."""
    row = [(7 * i % 177) / 177 for i in range(177)]
    bars = JS.run("m.barsOf(Float64Array.from(x), 3)", row)
    assert bars == [max(row[i : i + 3]) for i in range(0, 177, 3)]
    assert JS.run("m.barsOf(Float64Array.from(x), 1)", row[:60]) == row[:60]
