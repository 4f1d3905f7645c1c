"""The storyteller in JavaScript is PyTorch's: a text read at once, bit by bit, or gone on with.

It runs in a page, on the weights that a reader's page loads.
"""

import json
import re
from pathlib import Path

import pytest
import torch

from models import weights
from models.storyteller.tokens import Tokenizer
from tests.widgets.js import JSException, module

ROOT = Path(__file__).parents[2]
FILE = ROOT / "models/storyteller/weights/storyteller.safetensors"
TEXT = '"The little rabbit\'s 🐇 house," said the'
TOLERANCE = 1e-4
OFF = [[0, 1], [2, 3]]
HALF = re.compile("[\uee80-\ueeff]")  # a byte that is no character alone


@pytest.fixture(scope="module")
def js():
    made = module("lib/storyteller.js")
    file = FILE.relative_to(ROOT).as_posix()
    made.run("(globalThis.model = await loadModel(x), null)", file)
    made.run("(globalThis.story = m.storyteller(model), null)")
    # 256 tokens would take half a minute, and how many there are is the model's to say.
    short = "{...model, config: {...model.config, max_len: 8}}"
    made.run(f"(globalThis.brief = m.storyteller({short}), null)")
    return made.run


@pytest.fixture(scope="module")
def model():
    return weights.load(FILE).double()


@pytest.fixture(scope="module")
def tokenizer(model):
    return Tokenizer(model.config.vocabulary)


@torch.no_grad()
def wanted(model, tokens, off=()):
    return model(torch.tensor([tokens]), off=[tuple(pair) for pair in off])


def assert_near(got, want):
    torch.testing.assert_close(torch.tensor(got, dtype=torch.double), want, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("off", [[], OFF, [[3, head] for head in range(4)]], ids=str)
def test_a_text_read_at_once_is_pytorchs(js, model, tokenizer, off):
    run = wanted(model, tokenizer.encode(TEXT), off)
    options = json.dumps({"off": off})
    js(f"globalThis.found = story.run({json.dumps(TEXT)}, {options}), 0")
    assert js("found.tokens") == tokenizer.encode(TEXT)
    assert_near(js("found.logits"), run.logits[0])
    for layer, want in enumerate(run.weights):
        assert_near(js(f"found.weights[{layer}]"), want[0])


@pytest.mark.parametrize("off", [[], OFF], ids=str)
@pytest.mark.parametrize("most", [1, 5])
def test_a_text_read_bit_by_bit_is_the_same(js, model, tokenizer, off, most):
    tokens = tokenizer.encode(TEXT)
    run = wanted(model, tokens, off)
    options = json.dumps({"off": off, "most": most})
    js(f"globalThis.read = story.begin({json.dumps(TEXT)}, {options}), 0")
    left = []
    while not left or left[-1]:
        left.append(js(f"read.change({json.dumps(TEXT)}, {most})"))
    assert left[0] == len(tokens) - 2 * most
    assert js("read.tokens") == tokens
    assert_near(js("read.logits"), run.logits[0, -1])
    for layer, want in enumerate(run.weights):
        rows = js(f"read.weights[{layer}]")
        for head, of_head in enumerate(rows):
            for i, row in enumerate(of_head):
                assert len(row) == i + 1
                assert_near(row, want[0, head, i, : i + 1])


def test_a_text_that_changes_is_read_as_if_it_were_new(js, model, tokenizer):
    js('globalThis.read = story.begin("The rabbit ran to the river, and"), 0')
    for text in ("The rabbit ran home.", "The rabbit ran home. He", "A", "The", "The rabbit ran"):
        js(f"read.change({json.dumps(text)})")
        tokens = tokenizer.encode(text)
        assert js("read.tokens") == tokens
        assert js("read.weights.map((heads) => heads[0].length)") == [len(tokens)] * 4
        assert_near(js("read.logits"), wanted(model, tokens).logits[0, -1])


def test_what_it_writes_on_is_what_it_would_read(js, model, tokenizer):
    js('globalThis.read = story.begin("Once upon a time"), 0')
    for _ in range(6):
        tokens = js("read.tokens")
        best = wanted(model, tokens).logits[0, -1].argmax().item()
        assert js("read.next({temperature: 0})") == best
    js("read.append(story.encode('!')[0]), 0")
    assert_near(js("read.logits"), wanted(model, js("read.tokens")).logits[0, -1])


@pytest.mark.parametrize(("temperature", "top"), [(1, 1024), (0.5, 1024), (2, 3), (1, 1)])
def test_guesses_are_the_likeliest(js, model, tokenizer, temperature, top):
    logits = wanted(model, tokenizer.encode("The little")).logits[0, -1] / temperature
    want, tokens = logits.softmax(0).topk(min(top, 5))
    kept = logits.topk(top).values.softmax(0)[: len(want)]
    options = json.dumps({"temperature": temperature, "topK": top, "count": len(want)})
    got = js(f'story.guesses("The little", {options})')
    assert [guess["token"] for guess in got] == tokens.tolist()
    assert [guess["text"] for guess in got] == [name_of(tokenizer, t) for t in tokens.tolist()]
    assert_near([guess["share"] for guess in got], kept)


def test_draws_follow_the_shares_and_the_seed(js):
    def drawn(seed, count=4000):
        js(f"globalThis.random = m.randomFrom({seed}), 0")
        js("globalThis.share = m.shares([2, 1, 0, -1], 0.8, 3), 0")
        return js(f"Array.from({{length: {count}}}, () => m.draw(share, random()))")

    tokens = drawn(seed=7)
    seen = torch.bincount(torch.tensor(tokens), minlength=4) / len(tokens)
    want = (torch.tensor([2.0, 1.0, 0.0]) / 0.8).softmax(0)
    assert seen[3] == 0
    assert (seen[:3] - want).abs().max() < 4 * (0.25 / len(tokens)) ** 0.5
    assert drawn(seed=7) == tokens != drawn(seed=8)


@pytest.mark.parametrize("text", [TEXT, "🐇", "a🐇b", "猫が", "\ufffd\ufffd", "x", "👩🏽‍🚀!"])
def test_pieces_make_the_text(js, tokenizer, text):
    tokens = tokenizer.encode(text)
    pieces = js(f"story.pieces({json.dumps(tokens)})")
    assert len(pieces) == len(tokens)
    for piece, token in zip(pieces, tokens, strict=True):
        assert not HALF.search(piece) or piece == name_of(tokenizer, token)
    assert HALF.sub("", "".join(pieces)) == tokenizer.decode(tokens)


def name_of(tokenizer, token):
    """Its text; a byte that is no character alone is found by Python's own error handler."""
    text = tokenizer.vocabulary[token].encode("latin-1").decode(errors="surrogateescape")
    return re.sub("[\udc80-\udcff]", lambda byte: chr(ord(byte[0]) - 0xDC00 + 0xEE00), text)


def test_every_token_has_a_name_of_its_own(js, tokenizer):
    every = range(len(tokenizer.vocabulary))
    names = js(f"{json.dumps([*every])}.map((token) => story.name(token))")
    assert names == [name_of(tokenizer, token) for token in every]
    assert len({*names}) == len(names)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ('run("")', "There is no text yet"),
        ('begin("")', "There is no text yet"),
        ("guesses([])", "There is no text yet"),
        ('run("word ".repeat(10000))', r"256 tokens at once, and this text has \d{5}\. Shorten"),
        ('begin("word ".repeat(10000))', "reads 256 tokens at once"),
        ("begin([1, 2000])", "tokens are whole numbers from 0 to 1023, not 2000"),
        ('begin("A", {off: [[4, 0]]})', "no head"),
        ('guesses("A", {temperature: -1})', "A temperature is 0 or more, not -1"),
        ('guesses("A", {temperature: NaN})', "A temperature is 0 or more, not NaN"),
        ('guesses("A", {topK: 0})', "At least one token must remain, not 0"),
    ],
)  # fmt: skip
def test_wrong_input_is_a_sentence(js, call, says):
    with pytest.raises(JSException, match=says):
        js(f"story.{call}")


def test_a_full_memory_says_so_and_keeps_its_text(js):
    js("globalThis.read = brief.begin(Array(7).fill(300)), 0")
    assert not js("read.full")
    js("read.next(), 0")
    assert js("read.full")
    with pytest.raises(JSException, match="remembers 8 tokens, and they are full"):
        js("read.next()")
    assert js("read.tokens.length") == 8


def test_the_file_is_at_most_a_megabyte():
    assert FILE.stat().st_size <= 1_000_000
