"""The storyteller's widget shows PyTorch's numbers, from the page and from its worker."""

import json
import math
import re
from pathlib import Path

import pytest
import torch
from bs4 import BeautifulSoup

from course.payloads import story
from models.storyteller.model import ADDRESS, FILE, load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.widgets.js import JSException, module

WORDS = module("lib/token-text.js")
ROOT = Path(__file__).parents[2]
TEXT = 'The moon looked down at Peter Rabbit. "Good night, moon," said Peter'
JS = module("story.js")
START = {"text": TEXT, "at": None, "head": 14, "off": [], "temperature": 0.8}
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def model():
    return load_storyteller().double()


@pytest.fixture(scope="module")
def tokens(model):
    return Tokenizer(model.config.vocabulary).encode(TEXT)


@pytest.fixture(scope="module")
def published():
    return story.payload(TEXT, 0.8, "4.3")


def shown(published, asked=None, **state):
    x = {"data": published, "state": START | state, "story": asked}
    return JS.run(
        """(() => {
          if (x.story?.reading) x.story.reading.weights = new Float32Array(x.story.reading.weights);
          const data = {...x.data, opening: m.opened(x.data), story: x.story ?? {}};
          const {heads, ...rest} = m.shown(data, x.state);
          const sentence = m.summarize({heads, ...rest});
          return {...rest, rows: heads.map(({row}) => row), sentence};
        })()""",
        x,
    )


@torch.no_grad()
def run(model, tokens, off=()):
    return model(torch.tensor([tokens]), off=[tuple(pair) for pair in off])


def near(got, want, tolerance=TOLERANCE):
    got = torch.tensor(got, dtype=torch.double)
    torch.testing.assert_close(got, want, rtol=0, atol=tolerance)


# ---- The opening, as published ------------------------------------------------------------------


def test_the_opening_shows_pytorchs_weights_and_guesses(published, model, tokens):
    whole = run(model, tokens)
    for at in (0, 1, 7, len(tokens) - 1):
        found = shown(published, at=at)
        assert found["at"] == at
        for head, row in enumerate(found["rows"]):
            near(row, whole.weights[head // 4][0, head % 4, at, : at + 1])
        shares, likeliest = (whole.logits[0, at] / 0.8).softmax(0).topk(5)
        decode = Tokenizer(model.config.vocabulary).decode
        assert [g["text"] for g in found["guesses"]] == [decode([t]) for t in likeliest.tolist()]
        near([g["share"] for g in found["guesses"]], shares)


def test_without_a_choice_the_last_word_looks(published, tokens):
    found = shown(published)
    assert found["at"] == len(tokens) - 1
    assert shown(published, at=200)["at"] == len(tokens) - 1
    assert re.search("Peter .*Rabbit 64.* Rabbit 87", found["sentence"])
    words = ["".join(found["pieces"][i] for i in word).strip() for word in found["words"]]
    assert words == TEXT.split()


def test_the_opening_says_what_the_caption_says(model, tokens, site):
    """Head 4.3 looks at what came after the same word, and the guess rests on it."""
    whole, without = run(model, tokens), run(model, tokens, off=[(3, 2)])
    rabbit = tokens[7]
    assert whole.weights[3][0, 2, -1].argmax() == 7
    assert whole.logits[0, -1].argmax() == rabbit
    shares, left = ((run.logits[0, -1] / 0.8).softmax(-1) for run in (whole, without))
    comma = Tokenizer(model.config.vocabulary).encode(",")[0]
    assert left.argmax() == comma
    page = (site / "index.html").read_text("utf-8")
    answer = BeautifulSoup(page, "html.parser").select_one(".answer").get_text()
    fox = TEXT.replace("Rabbit", "Fox")  # "it guesses Rabbit"
    tom = TEXT.replace("Peter Rabbit", "Tom Brown").replace("Peter", "Tom")
    encode = Tokenizer(model.config.vocabulary).encode
    of_fox, of_tom = (
        (run(model, encode(text)).logits[0, -1] / 0.8).softmax(-1) for text in (fox, tom)
    )
    [brown] = encode(" Brown")
    assert (of_fox.argmax(), of_tom.argmax()) == (rabbit, brown)
    assert brown not in run(model, encode(tom), off=[(3, 2)]).logits[0, -1].topk(5).indices
    want = [left[comma], shares[rabbit], left[rabbit], of_fox[rabbit], of_tom[brown]]
    said = [int(x) for x in re.findall(r"(\d+)\u202f%", answer)]
    assert said == [round(100 * x.item()) for x in want]


def test_switching_a_head_off_costs_probability_as_the_box_says(published):
    """The box says that probability is lost, so every head must lose some."""
    assert all(0.001 < JS.call("told", entry)["lost"] < 1 for entry in published["heads"])


def test_the_scores_are_the_committed_ones(published):
    scores = json.loads((FILE.parents[1] / "scores/storyteller.json").read_text("utf-8"))
    heads = scores["seeds"]["0"]["held out"]["heads"]
    for head, entry in zip(heads, published["heads"], strict=True):
        told = JS.call("told", entry)
        assert told["name"] == f"{head['layer'] + 1}.{head['head'] + 1}"
        assert told["lost"] == pytest.approx(1 - math.exp(-head["cost"]))
        assert told["now"] in [head[look] for look in story.LOOKS]
    told = {entry["name"]: JS.call("told", entry)["look"] for entry in published["heads"]}
    assert told["2.4"] == "the word before"
    assert told["4.3"] == "what came after the same word last time"
    assert told["4.1"] == "punctuation"


# ---- What waits, and what fails -----------------------------------------------------------------


def test_until_a_text_is_read_the_last_one_stands(published, tokens):
    asked = {"reading": None, "left": 0, "asking": {"arrived": 0.5, "problem": ""}}
    found = shown(published, asked, text="Another text")
    assert len(found["pieces"]) == len(tokens)
    assert found["arrived"] == 0.5
    other = START | {"text": "Another text"}
    asked["asking"] = {"arrived": None, "problem": "No.", "about": other}
    failed = shown(published, asked, text="Another text")
    assert failed["problem"] == failed["sentence"] == "No."
    assert shown(published, asked)["problem"] == "", "the opening stands"


@pytest.mark.parametrize(
    ("piece", "name"),
    [(" Rabbit", "Rabbit"), (" ", "space"), ("\n", "new line"), ("\n\n", "new line"), (",", ",")],
)
def test_every_piece_has_a_name(piece, name):
    assert JS.call("called", piece) == name


# ---- The reader, which the worker runs -----------------------------------------------------------


@pytest.fixture(scope="module")
def read():
    made = module("lib/reader.js")
    storyteller = "(await import('/widgets/lib/storyteller.js')).storyteller"
    make = f"m.reader({storyteller}(await loadModel(x)), () => 0.3)"
    made.run(f"(globalThis.read = {make}, 0)", ADDRESS)
    return lambda **question: made.run("read(x)", {"temperature": 0.8, **question})


@pytest.mark.parametrize("off", [[], [14], [1, 7, 14]], ids=str)
def test_a_reading_is_pytorchs(read, model, tokens, off):
    found = read(text=TEXT, off=off, temperature=0.5)
    whole = run(model, tokens, [(head // 4, head % 4) for head in off])
    rows, columns = torch.tril_indices(len(tokens), len(tokens))
    want = torch.cat([layer[0, :, rows, columns].flatten() for layer in whole.weights])
    near(found["weights"], want, 1e-4)
    shares = (whole.logits[0] / 0.5).softmax(-1).topk(5).values
    near([[guess["share"] for guess in some] for some in found["guesses"]], shares, 1e-4)
    assert "".join(found["pieces"]) == TEXT


def test_a_reading_takes_the_openings_place(read, published):
    found = read(text="The little duck ", off=[3], temperature=1)
    asked = {"reading": found, "left": 0}
    state = {"text": "The little duck ", "off": [3], "temperature": 1}
    now = shown(published, asked, **state, at=1)
    assert now["pieces"] == found["pieces"] == ["The", " little", " d", "uck"]
    assert now["rows"][3] == [0, 0]
    assert now["rows"][0] == pytest.approx(found["weights"][1:3])


def test_guesses_are_new_where_text_temperature_or_heads_are(read):
    """Those of tokens that stay are kept; a fresh reading tells whether they are still right."""
    changes = [{}, {"temperature": 2}, {"text": TEXT[:20]}, {"text": "A cat"}, {"off": [1]}, {}]
    for change in changes:
        found = read(**{"text": TEXT, "off": [], **change})
        read(text="Another", off=[2])
        assert found == read(**{"text": TEXT, "off": [], **change})


@pytest.mark.parametrize("text", ["Once upon a time", "Once upon a time  ", "x", "🐇", "Mr."])
def test_it_writes_what_may_follow(read, text):
    found = read(text=text, temperature=0, write=True)
    before = read(text=text, temperature=0)
    likeliest = before["guesses"][-1][0]["text"]
    assert found["text"] == text.rstrip(" ") + likeliest
    assert "\ufffd" not in found["text"]


def test_it_writes_by_chance_from_the_likeliest(read):
    """At the draw .3 of 1."""
    found = read(text=TEXT, temperature=2, write=True)
    guesses = read(text=TEXT, temperature=2)["guesses"][-1]
    assert found["text"].removeprefix(TEXT) in [guess["text"] for guess in guesses]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "There is no text yet"),
        ("   ", "There is no text yet"),
        ("word " * 10_000, r"256 tokens at once, and this text has \d{5}"),
    ],
)
def test_a_text_that_can_t_be_read_is_a_sentence_and_the_next_is_read(read, text, says):
    with pytest.raises(JSException, match=says):
        read(text=text, off=[2])
    assert read(text="A cat", off=[2])["pieces"] == ["A", " cat"]


@pytest.mark.parametrize(
    "text", ["<b>bold</b>", "&amp; <script>", "a\tb\r\nc", "猫が 🐇", "“x”—y…"]
)
def test_any_text_is_read_as_text(read, model, text):
    tokenizer = Tokenizer(model.config.vocabulary)
    pieces = [WORDS.call("withoutParts", piece) for piece in read(text=text)["pieces"]]
    assert "".join(pieces) == tokenizer.decode(tokenizer.encode(text))


# ---- Arcs ----------------------------------------------------------------------------------------


def test_arcs_stay_in_their_room():
    arc = module("lib/arcs.js")
    left, right = {"x": 10, "top": 50, "bottom": 70}, {"x": 900, "top": 50, "bottom": 70}
    numbers = arc.run("m.arc(x[0], x[1], 40).match(/-?[\\d.]+/g).map(Number)", [right, left])
    assert numbers[:2] == [900, 50]
    assert numbers[-2:] == [10, 50]
    highest = 0.25 * numbers[1] + 0.75 * numbers[3]  # of a cubic whose ends are level
    assert highest == pytest.approx(10, abs=0.2)
    above = {"x": 300, "top": 0, "bottom": 20}
    path = arc.call("arc", right, above, 40)
    assert path.endswith("300,20"), "an arc to another line ends at the word's foot"
    loop = arc.call("arc", left, left, 40)
    assert loop.startswith("M22,50")
    assert loop.endswith("-2,50")


def test_the_bars_of_a_long_text_are_wide_enough_to_be_seen():
    """At most 60, each as high as the largest of its tokens; a short row is itself."""
    row = [(7 * i % 177) / 177 for i in range(177)]
    bars = JS.run("m.barsOf(Float64Array.from(x), 3)", row)
    assert bars == [max(row[i : i + 3]) for i in range(0, 177, 3)]
    assert JS.run("m.barsOf(Float64Array.from(x), 1)", row[:60]) == row[:60]
