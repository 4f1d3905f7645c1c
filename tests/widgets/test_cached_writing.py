"""What m12's first widget counts, against PyTorch's own counter; and how it writes."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from models.storyteller.model import load_storyteller
from tests.widgets.js import module

WIDGET, DECODING = module("cached-writing.js"), module("lib/decoding.js")
SIZES = {"layers": 4, "width": 128, "inner": 512, "vocabulary": 1024}


@pytest.fixture(scope="module")
def model():
    return load_storyteller()


@torch.no_grad()
def counted(model, length):
    """Multiplications of a run of all tokens, for one guess: causal, where PyTorch counts all."""
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, length, dtype=torch.int64))  # explicit attention
    width, layers = SIZES["width"], SIZES["layers"]
    hidden = length * length - length * (length + 1) // 2
    other_guesses = (length - 1) * width * SIZES["vocabulary"]
    return counter.get_total_flops() // 2 - layers * 2 * width * hidden - other_guesses


@pytest.mark.parametrize("length", [1, 2, 24, 100, 128])
def test_the_multiplications_are_pytorch_s(model, length):
    found = WIDGET.call("workOf", SIZES, length)
    assert found["whole"]["products"] == counted(model, length)
    assert found["whole"]["words"] == length
    guess = SIZES["width"] * SIZES["vocabulary"]
    before = counted(model, length - 1) - guess if length > 1 else 0
    assert found["cached"]["products"] == counted(model, length) - before  # what is new
    assert found["cached"]["kept"] == 2 * 4 * 128 * (length - 1)


# A model of eight tokens whose guess depends on all that it has read, in place of the storyteller.
FAKE = """(() => {
  const reads = [];
  const model = {
    cache: () => ({length: 0, held: []}),
    run(tokens, {past, last}) {
      const all = past ? [...past.held.slice(0, past.length), ...tokens] : tokens;
      if (past) Object.assign(past, {held: all, length: all.length});
      reads.push(tokens.length);
      const mixed = all.reduce((sum, token, i) => sum + (token + 1) * (i + 3), 0);
      const logits = [0, 1, 2, 3, 4, 5, 6, 7].map((token) => Math.sin(mixed * (token + 1)));
      return {logits: [logits], last};
    }
  };
  const story = {model, encode: () => [3, 1, 4], decode: (tokens) => tokens.join(" ")};
  let time = 0;
  const decode = m.decoder(story, () => (time += 1));
  const write = (isCached, most, tokens) => decode({begin: "", tokens, isCached, most});
  const cached = write(true, 9);
  const whole = write(false, 9);
  const first = write(true, 4);
  const goesOn = write(true, 5, first.tokens);
  return {reads, cached, whole, goesOn};
})()"""


def test_both_ways_write_the_same_and_the_cache_reads_one_token_at_a_time():
    found = DECODING.run(FAKE)
    assert found["cached"]["text"] == found["whole"]["text"] == found["goesOn"]["text"]
    assert len(found["cached"]["tokens"]) == 12
    assert len(set(found["cached"]["tokens"])) > 3
    assert found["reads"] == [3] + 8 * [1] + [*range(3, 12)] + [1] * 9  # the cache still has them
    assert len(found["cached"]["times"]) == 9


def state(length=24, **lanes):
    race = {"lanes": {"cached": {}, "whole": {}} | lanes, "now": None}
    return WIDGET.run(
        "((found) => ({...found, said: m.sentence(found)}))(m.writing(x.data, x.state))",
        {"data": {"sizes": SIZES, "most": 8, "race": race}, "state": {"length": length}},
    )


def test_the_sentence_says_what_is_counted_and_what_was_measured():
    assert (
        "1 token goes through the layers, 0.9 million multiplications, and 23,552 kept"
        in (state()["said"])
    )
    text = {"text": "a", "tokens": [0] * 8}
    found = state(
        cached=text | {"times": [50, 2, 2, 4, 2]}, whole=text | {"times": [50, 10, 20, 30, 20]}
    )
    assert found["lanes"]["cached"]["perSecond"] == 400  # without the first, which reads more
    assert [step["length"] for step in found["lanes"]["cached"]["steps"]] == [4, 5, 6, 7]
    assert (
        "400 tokens a second with the cache, 50 without; the same text both times"
        in (found["said"])
    )
