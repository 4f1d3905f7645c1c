"""The storyteller in JavaScript is PyTorch's: a text that is read, and then changes.

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
    context = module("lib/storyteller.js")
    context.run("(globalThis.model = await loadModel(x), null)", ADDRESS)
    context.run("(globalThis.story = m.storyteller(model), null)")
    context.run("(globalThis.draw = (await import('/widgets/lib/next-token.js')).draw, null)")
    return context.run


@pytest.fixture(scope="module")
def model():
    return load_storyteller().double()


@pytest.fixture(scope="module")
def tokenizer(model):
    return Tokenizer(model.config.vocabulary)


def shares(js, at=None):
    """What the whole vocabulary gets after the token ``at``, or the last, in its own order."""
    guesses = js("read.guesses(x)", {"count": 1024, **({} if at is None else {"at": at})})
    return [guess["share"] for guess in sorted(guesses, key=lambda guess: guess["token"])]


@torch.no_grad()
def wanted(model, tokens, off=()):
    return model(torch.tensor([tokens]), off=[tuple(pair) for pair in off])


@pytest.mark.parametrize("off", [[], OFF, [[3, head] for head in range(4)]], ids=str)
def test_a_text_read_at_once_is_pytorchs(js, model, tokenizer, off):
    tokens = tokenizer.encode(TEXT)
    run = wanted(model, tokens, off)
    js("(globalThis.read = story.begin(...x), 0)", [TEXT, {"off": off}])
    assert js("read.tokens") == tokens
    for at in range(len(tokens)):
        assert_near(shares(js, at), run.logits[0, at].softmax(0))
    for layer, want in enumerate(run.weights):
        for head, of_head in enumerate(js(f"read.weights[{layer}]")):
            assert [len(row) for row in of_head] == [*range(1, len(tokens) + 1)]
            rows = torch.cat([want[0, head, i, : i + 1] for i in range(len(tokens))])
            assert_near([weight for row in of_head for weight in row], rows)


def test_a_text_that_changes_is_read_as_if_it_were_new(js, model, tokenizer):
    js('globalThis.read = story.begin("The rabbit ran to the river, and"), 0')
    before = js("read.tokens")
    texts = (
        "The rabbit ran home.",
        "The rabbit ran home. He",
        "The rabbit",
        "The rabbit",
        "A",
        "The",
    )
    for text in texts:
        tokens = tokenizer.encode(text)
        differ = (i for i, (old, new) in enumerate(zip(before, tokens, strict=False)) if old != new)
        assert js("read.change(x)", text) == next(differ, min(len(before), len(tokens)))
        before = tokens
        assert js("read.tokens") == tokens
        assert js("read.weights.map((heads) => heads[0].length)") == [len(tokens)] * 4
        assert_near(shares(js), wanted(model, tokens).logits[0, -1].softmax(0))


@pytest.mark.parametrize(("temperature", "top"), [(1, 1024), (0.5, 1024), (2, 3), (1, 1)])
def test_guesses_are_the_likeliest(js, model, tokenizer, temperature, top):
    logits = wanted(model, tokenizer.encode("The little")).logits[0, -1] / temperature
    best = logits.topk(min(top, 5)).indices.tolist()
    options = {"temperature": temperature, "topK": top, "count": len(best)}
    got = js('story.begin("The little").guesses(x)', options)
    assert [guess["token"] for guess in got] == best
    assert [guess["text"] for guess in got] == [name_of(tokenizer, token) for token in best]
    shares = logits.topk(top).values.softmax(0)[: len(best)]
    assert_near([guess["share"] for guess in got], shares)


def test_draws_follow_the_shares_and_the_seed(js):
    def drawn(seed, count=4000):
        js("globalThis.random = m.randomFrom(x), 0", seed)
        js("globalThis.share = m.shares([2, 1, 0, -1], 0.8, 3), 0")
        return js("Array.from({length: x}, () => draw(share, random()))", count)

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
        ('begin("")', "no text"),
        ('begin("word ".repeat(10000))', "256 tokens; this text"),
        ('begin("A", {off: [[4, 0]]})', "no head"),
        ('begin("A").guesses({temperature: -1})', "temperature; -1"),
        ('begin("A").guesses({temperature: NaN})', "temperature; NaN"),
        ('begin("A").guesses({topK: 0})', "token; 0"),
    ],
)
def test_wrong_input_is_named(js, call, says):
    assert_refused(lambda: js(f"story.{call}"), JSException, says)
