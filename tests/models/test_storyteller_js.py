"""The storyteller in JavaScript is PyTorch's: a text that is read, and then changes.

It runs in a page, on the weights that a reader's page loads.
"""

import re
from itertools import takewhile

import pytest
import torch

from models.storyteller.model import ADDRESS, load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.attention.inputs import assert_refused
from tests.models.small import assert_near
from tests.widgets.js import JSException, module

TEXT = '"The little rabbit\'s 🐇 house," said the'
HALF = re.compile("[\uee80-\ueeff]")  # a byte that is no character alone


@pytest.fixture(scope="module")
def js():
    context = module("lib/storyteller.js")
    context.run("(globalThis.story = await m.loadStoryteller(x), null)", ADDRESS)
    return context.run


@pytest.fixture(scope="module")
def model():
    return load_storyteller().double()


@pytest.fixture(scope="module")
def tokenizer(model):
    return Tokenizer(model.config.vocabulary)


@torch.no_grad()
def run_of(model, tokens, off=()):
    return model(torch.tensor([tokens]), off=[tuple(pair) for pair in off])


def assert_read_as_in_pytorch(js, run):
    """What each token guesses, of the whole vocabulary, and where it looks."""
    for at, logits in enumerate(run.logits[0]):
        guesses = js("read.guesses(x)", {"count": 1024, "at": at})
        shares = [guess["share"] for guess in sorted(guesses, key=lambda guess: guess["token"])]
        assert_near(shares, logits.softmax(0))
    for layer, want in enumerate(run.weights):
        got = js(f"read.weights[{layer}].map((head) => head.flatMap((row) => [...row]))")
        assert_near(got, want[0][:, *torch.tril_indices(*want.shape[-2:])])


@pytest.mark.parametrize("off", [[], [[0, 1], [2, 3]], [[3, head] for head in range(4)]], ids=str)
def test_a_text_that_changes_is_read_as_if_it_were_new(js, model, tokenizer, off):
    js("(globalThis.read = story.begin(...x), 0)", [TEXT, {"off": off}])
    before = js("read.tokens")
    for text in (TEXT, "The rabbit ran home.", "The rabbit ran home. He", "The rabbit", "A"):
        tokens = tokenizer.encode(text)
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(before, tokens, strict=False))
        assert js("read.change(x)", text) == len([*shared]), "what is the same isn't read again"
        before = js("read.tokens")
        assert before == tokens
        assert_read_as_in_pytorch(js, run_of(model, tokens, off))


@pytest.mark.parametrize(("temperature", "top"), [(1, 1024), (0.5, 1024), (2, 3), (1, 1)])
def test_guesses_are_the_likeliest(js, model, tokenizer, temperature, top):
    logits = run_of(model, tokenizer.encode("The little")).logits[0, -1] / temperature
    best = logits.topk(min(top, 5))
    options = {"temperature": temperature, "topK": top, "count": len(best.indices)}
    got = js('story.begin("The little").guesses(x)', options)
    assert [guess["token"] for guess in got] == best.indices.tolist()
    assert [guess["text"] for guess in got] == [name_of(tokenizer, token) for token in best.indices]
    shares = logits.topk(top).values.softmax(0)[: len(got)]
    assert_near([guess["share"] for guess in got], shares)


def test_draws_follow_the_shares_and_the_seed(js):
    draws = """(async () => {
      const {draw} = await import("/widgets/lib/next-token.js");
      const [random, share] = [m.randomFrom(x), m.shares([2, 1, 0, -1], 0.8, 3)];
      return Array.from({length: 4000}, () => draw(share, random()));
    })()"""
    tokens = js(draws, 7)
    seen = torch.bincount(torch.tensor(tokens), minlength=4) / len(tokens)
    want = torch.tensor([2, 1, 0, -torch.inf]).div(0.8).softmax(0)
    assert seen[3] == 0
    assert (seen - want).abs().max() < 4 * (0.25 / len(tokens)) ** 0.5
    assert js(draws, 7) == tokens != js(draws, 8)


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
        ('begin("A").guesses({topK: 0})', "token; 0"),
    ],
)
def test_wrong_input_is_named(js, call, says):
    assert_refused(lambda: js(f"story.{call}"), JSException, says)
