"""What m12's first widget counts, against PyTorch's own counter; and how it writes."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from models.storyteller.model import load_storyteller
from tests.widgets.js import module

WIDGET, DECODING = module("cached-writing.js"), module("lib/decoding.js")
SIZES = {"layers": 4, "width": 128, "inner": 512, "vocabulary": 1024}


@torch.no_grad()
def counted(model, length):
    """Multiplications of a run of all tokens, for one guess: causal, where PyTorch counts all."""
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, length, dtype=torch.int64))  # explicit attention
    width, layers = SIZES["width"], SIZES["layers"]
    hidden = length * length - length * (length + 1) // 2
    other_guesses = (length - 1) * width * SIZES["vocabulary"]
    return counter.get_total_flops() // 2 - layers * 2 * width * hidden - other_guesses


def test_the_multiplications_are_pytorch_s():
    model, guess = load_storyteller(), SIZES["width"] * SIZES["vocabulary"]
    for length in (1, 2, 24, 100, 128):
        work = WIDGET.call("workOf", SIZES, length)
        whole = counted(model, length)
        before = counted(model, length - 1) - guess if length > 1 else 0
        assert (work["whole"]["words"], work["whole"]["products"]) == (length, whole)
        assert work["cached"]["products"] == whole - before  # what is new


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
    runs = DECODING.run(FAKE)
    assert runs["cached"]["text"] == runs["whole"]["text"] == runs["goesOn"]["text"]
    assert len(runs["cached"]["tokens"]) == 12
    assert len(set(runs["cached"]["tokens"])) > 3
    assert runs["reads"] == [3] + 8 * [1] + [*range(3, 12)] + [1] * 9  # the cache still has them
    assert len(runs["cached"]["times"]) == 9


@pytest.mark.parametrize(("last", "is_same"), [("b", True), ("c", False)])
def test_the_first_reading_is_no_step_of_the_speeds(last, is_same):
    tokens = [0] * 8
    lanes = {
        "cached": {"text": "ab", "tokens": tokens, "times": [50, 2, 2, 4, 2]},
        "whole": {"text": f"a{last}", "tokens": tokens, "times": [50, 10, 20, 30, 20]},
    }
    data = {"sizes": SIZES, "most": 8, "race": {"lanes": lanes, "now": None}}
    model = WIDGET.call("writing", data, {"length": 24})
    assert [lane["perSecond"] for lane in model["lanes"].values()] == [400, 50]
    assert [step["length"] for step in model["lanes"]["cached"]["steps"]] == [4, 5, 6, 7]
    assert model["isSame"] == is_same
