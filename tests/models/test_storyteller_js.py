"""The storyteller in JavaScript is PyTorch's: a text read at once, bit by bit, or gone on with.

It runs in a page, on the weights that a reader's page loads.
"""

import re

import pytest
import torch

from models.storyteller.model import ADDRESS, load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.attention.inputs import assert_refused
from tests.models.small import assert_near
from tests.widgets.js import JSException, module

TEXT = '"The little rabbit\'s 🐇 house," said the'
OFF = [[0, 1], [2, 3]]
HALF = re.compile("[\uee80-\ueeff]")  # a byte that is no character alone


@pytest.fixture(scope="module")
def js():
    made = module("lib/storyteller.js")
    made.run("(globalThis.model = await loadModel(x), null)", ADDRESS)
    made.run("(globalThis.story = m.storyteller(model), null)")
    # 256 tokens would take half a minute, and how many there are is the model's to say.
    short = "{...model, config: {...model.config, max_len: 8}}"
    made.run(f"(globalThis.brief = m.storyteller({short}), null)")
    return made.run


@pytest.fixture(scope="module")
def model():
    return load_storyteller().double()


@pytest.fixture(scope="module")
def tokenizer(model):
    return Tokenizer(model.config.vocabulary)


@torch.no_grad()
def wanted(model, tokens, off=()):
    return model(torch.tensor([tokens]), off=[tuple(pair) for pair in off])


@pytest.mark.parametrize("off", [[], OFF, [[3, head] for head in range(4)]], ids=str)
def test_a_text_read_at_once_is_pytorchs(js, model, tokenizer, off):
    run = wanted(model, tokenizer.encode(TEXT), off)
    js("(globalThis.found = story.run(...x), 0)", [TEXT, {"off": off}])
    assert js("found.tokens") == tokenizer.encode(TEXT)
    assert_near(js("found.logits"), run.logits[0])
    for layer, want in enumerate(run.weights):
        assert_near(js(f"found.weights[{layer}]"), want[0])


@pytest.mark.parametrize("off", [[], OFF], ids=str)
@pytest.mark.parametrize("most", [1, 5])
def test_a_text_read_bit_by_bit_is_the_same(js, model, tokenizer, off, most):
    tokens = tokenizer.encode(TEXT)
    run = wanted(model, tokens, off)
    js("(globalThis.read = story.begin(...x), 0)", [TEXT, {"off": off, "most": most}])
    left = []
    while not left or left[-1]:
        left.append(js("read.change(...x)", [TEXT, most]))
    assert left[0] == len(tokens) - 2 * most
    assert js("read.tokens") == tokens
    assert_near(js("read.logits"), run.logits[0, -1])
    for layer, want in enumerate(run.weights):
        for head, of_head in enumerate(js(f"read.weights[{layer}]")):
            assert [len(row) for row in of_head] == [*range(1, len(tokens) + 1)]
            rows = torch.cat([want[0, head, i, : i + 1] for i in range(len(tokens))])
            assert_near([weight for row in of_head for weight in row], rows)


def test_a_text_that_changes_is_read_as_if_it_were_new(js, model, tokenizer):
    js('globalThis.read = story.begin("The rabbit ran to the river, and"), 0')
    for text in ("The rabbit ran home.", "The rabbit ran home. He", "A", "The", "The rabbit ran"):
        js("read.change(x)", text)
        tokens = tokenizer.encode(text)
        assert js("read.tokens") == tokens
        assert js("read.weights.map((heads) => heads[0].length)") == [len(tokens)] * 4
        assert_near(js("read.logits"), wanted(model, tokens).logits[0, -1])


def test_what_it_writes_on_is_what_it_would_read(js, model):
    js('globalThis.read = story.begin("Once upon a time"), 0')
    for _ in range(6):
        best = wanted(model, js("read.tokens")).logits[0, -1].argmax().item()
        assert js("read.next({temperature: 0})") == best
    js("read.append(story.encode('!')[0]), 0")
    assert_near(js("read.logits"), wanted(model, js("read.tokens")).logits[0, -1])


@pytest.mark.parametrize(("temperature", "top"), [(1, 1024), (0.5, 1024), (2, 3), (1, 1)])
def test_guesses_are_the_likeliest(js, model, tokenizer, temperature, top):
    logits = wanted(model, tokenizer.encode("The little")).logits[0, -1] / temperature
    best = logits.topk(min(top, 5)).indices.tolist()
    options = {"temperature": temperature, "topK": top, "count": len(best)}
    got = js('story.guesses("The little", x)', options)
    assert [guess["token"] for guess in got] == best
    assert [guess["text"] for guess in got] == [name_of(tokenizer, token) for token in best]
    shares = logits.topk(top).values.softmax(0)[: len(best)]
    assert_near([guess["share"] for guess in got], shares)


def test_draws_follow_the_shares_and_the_seed(js):
    def drawn(seed, count=4000):
        js("globalThis.random = m.randomFrom(x), 0", seed)
        js("globalThis.share = m.shares([2, 1, 0, -1], 0.8, 3), 0")
        return js("Array.from({length: x}, () => m.draw(share, random()))", count)

    tokens = drawn(seed=7)
    seen = torch.bincount(torch.tensor(tokens), minlength=4) / len(tokens)
    want = (torch.tensor([2.0, 1.0, 0.0]) / 0.8).softmax(0)
    assert seen[3] == 0
    assert (seen[:3] - want).abs().max() < 4 * (0.25 / len(tokens)) ** 0.5
    assert drawn(seed=7) == tokens != drawn(seed=8)


@pytest.mark.parametrize("text", [TEXT, "🐇", "a🐇b", "猫が", "\ufffd\ufffd", "x", "👩🏽‍🚀!"])
def test_pieces_make_the_text(js, tokenizer, text):
    tokens = tokenizer.encode(text)
    pieces = js("story.pieces(x)", tokens)
    for piece, token in zip(pieces, tokens, strict=True):
        assert not HALF.search(piece) or piece == name_of(tokenizer, token)
    assert HALF.sub("", "".join(pieces)) == tokenizer.decode(tokens)


def name_of(tokenizer, token):
    """Its text; a byte that is no character alone is found by Python's own error handler."""
    text = tokenizer.vocabulary[token].encode("latin-1").decode(errors="surrogateescape")
    return re.sub("[\udc80-\udcff]", lambda byte: chr(ord(byte[0]) - 0xDC00 + 0xEE00), text)


def test_every_token_has_a_name_of_its_own(js, tokenizer):
    every = [*range(len(tokenizer.vocabulary))]
    names = js("x.map((token) => story.name(token))", every)
    assert names == [name_of(tokenizer, token) for token in every]
    assert len({*names}) == len(names)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ('run("")', "no text"),
        ('begin("")', "no text"),
        ("guesses([])", "no text"),
        ('run("word ".repeat(10000))', "256 tokens; this text"),
        ('begin("word ".repeat(10000))', "256 tokens; this text"),
        ("begin([1, 2000])", "tokens; from 0 to 1023; 2000"),
        ('begin("A", {off: [[4, 0]]})', "no head"),
        ('guesses("A", {temperature: -1})', "temperature; -1"),
        ('guesses("A", {temperature: NaN})', "temperature; NaN"),
        ('guesses("A", {topK: 0})', "token; 0"),
    ],
)
def test_wrong_input_is_named(js, call, says):
    assert_refused(lambda: js(f"story.{call}"), JSException, says)


def test_a_full_memory_says_so_and_keeps_its_text(js):
    js("globalThis.read = brief.begin(Array(7).fill(300)), 0")
    assert not js("read.full")
    js("read.next(), 0")
    assert js("read.full")
    assert_refused(lambda: js("read.next()"), JSException, "8 tokens; full")
    assert js("read.tokens.length") == 8
