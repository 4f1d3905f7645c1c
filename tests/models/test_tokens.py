"""A byte-level BPE: learned as its inventors' example is, and the same in Python and JavaScript."""

import random
from itertools import pairwise

import pytest

from models.storyteller.tokens import BYTES, PIECES, PLAIN, Tokenizer, learn, to_bytes
from tests.widgets.js import module

TEXT = (
    'The little rabbit said, "I don\'t know the other rabbits."\n\n"They\'re there," said the bird.'
    "\nLittle by little the other bird and the rabbit went to the river, and there they sat.\n\n"
)
ODD = [
    "", " ", "\n\n\n", "a" * 300, "  two  spaces ", "tab\there\r\n", "’Tis “odd”—isn’t it…",
    "🐇🐇", "👩‍👩‍👧", "Ünïcödé", "猫が座った", "שלום", "مرحبا", "नमस्ते", "\ud800",
    "\udc00\ud800", "x\ud83d", "xyz", "\x00\x07\x7f", "\u00a0\u2003\u2028", "\ufeff\ufffd",
    "<b>&amp;</b>", "don't DON'T 'tis 're's'd", "1,234.56", "--!?--", "\U0010ffff", "e\u0301",
]  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer():
    """With two joins more, which are rivals for a "y": the earlier one wins."""
    return Tokenizer((*learn([TEXT], 298), "xy", "yz"))


@pytest.fixture(scope="module")
def js(tokenizer):
    context = module("lib/tokenizer.js")
    context.run("(globalThis.tokens = m.tokenizer(x), null)", tokenizer.vocabulary)
    return lambda name, given: context.run(f"x.map((one) => tokens.{name}(one))", given)


def odd_texts(count):
    """Words, marks, spaces, other scripts, emoji, and halves of surrogate pairs, at random."""
    rng = random.Random(0)
    alphabets = [
        "abcdefgh the", "THE'sdtrevm", " \t\n\r", ".,!?-\"'", "0123456789", "äéßñøł", "猫座東京",
        "שלוםم", "🐇👩🏽‍🚀", "\ud83d\udc07\ud800", "‘’“”—…\u00a0", "".join(map(chr, range(0x20))),
        "".join(map(chr, range(0x7F, 0x100))), "\u200d\ufeff\u2028\uffff",
    ]  # fmt: skip
    for _ in range(count):
        parts = (rng.choices(rng.choice(alphabets), k=rng.randint(1, 6)) for _ in range(12))
        yield "".join("".join(part) for part in parts)


def by_the_book(piece, vocabulary):
    """Join one pair at a time, the earliest learned, from the left: slow, and as BPE is defined."""
    parts = list(piece)
    while True:
        ranks = [
            (vocabulary.index(a + b), i)
            for i, (a, b) in enumerate(pairwise(parts))
            if a + b in vocabulary
        ]
        if not ranks:
            return parts
        i = min(ranks)[1]
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def test_the_most_frequent_neighbours_join_first():
    # The example of Sennrich et al. 2016, figure 1: low 5, lower 2, newest 6, widest 3.
    text = " ".join(["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3)
    learned = learn([text.replace(" ", "\n")], 260)[256:]
    assert learned[:3] == ("es", "est", "lo")


def test_a_vocabulary_is_the_bytes_and_the_joins(tokenizer):
    assert tokenizer.vocabulary[:256] == BYTES
    assert len(set(tokenizer.vocabulary)) == 300
    assert {" rabbit", " the"} <= set(tokenizer.vocabulary)
    with pytest.raises(ValueError, match="have joins for 257 tokens, not for 300"):
        learn(["aa"], 300)
    with pytest.raises(ValueError, match="begins with the 256 bytes"):
        Tokenizer(["a", "b"])


@pytest.mark.parametrize("text", [TEXT, *ODD], ids=ascii)
def test_tokens_are_those_of_the_definition_and_give_back_the_text(tokenizer, text):
    tokens = tokenizer.encode(text)
    want = [part for piece in PIECES.findall(to_bytes(text))
            for part in by_the_book(piece, tokenizer.vocabulary)]  # fmt: skip
    assert [tokenizer.vocabulary[token] for token in tokens] == want
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert tokenizer.decode(tokens) == whole.translate(PLAIN)


def test_javascript_has_the_same_tokens_and_texts(tokenizer, js):
    rng = random.Random(1)
    texts = [TEXT, *ODD, *odd_texts(1000)]
    tokens = [tokenizer.encode(text) for text in texts]
    for text, got, want in zip(texts, js("encode", texts), tokens, strict=True):
        assert got == want, ascii(text)
    cuts = [[rng.randrange(300) for _ in range(8)] + some[1:-1] for some in tokens]  # half ones too
    for cut, got in zip(cuts, js("decode", cuts), strict=True):
        assert got == tokenizer.decode(cut), cut


@pytest.mark.parametrize("text", ["a" * 10_000, " " * 10_000, "rabbit🐇 \n" * 1250, TEXT * 40])
def test_long_texts_are_the_same_too(tokenizer, js, text):
    assert js("encode", [text]) == [tokenizer.encode(text)]


def test_what_is_no_text_is_read_as_it_would_be_shown(js, tokenizer):
    assert js("encode", [12]) == [tokenizer.encode("12")]
