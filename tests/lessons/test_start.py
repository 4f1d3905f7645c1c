"""The ground floor's numbers, computed another way: by the JavaScript that runs in the page."""

import json
import math
import re
from dataclasses import replace

import pytest
import torch

from models import weights
from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer
from tests.conftest import ROOT
from tests.lessons.reading import numbers, output
from tests.widgets.js import Module

PAGE = "modules/start/lesson.html"
FILE = ROOT / "models/storyteller/weights/storyteller.safetensors"
TEXT = "The good old man went home to his mother"
OTHER = "The little girl went home to her mother"
MISFIT = "The prince put on his mother"


@pytest.fixture(scope="module")
def js():
    module = Module("ground-floor.js")
    module.run(
        """(globalThis.story = modules["lib/storyteller.js"].storyteller(
        modules["lib/transformer.js"].transformer(new Uint8Array(x).buffer)),
        globalThis.seen = (model, text) => {
          const ids = story.encode(text);
          const found = modules["lib/inside.js"].inside(story, model, ids);
          return {...found, places: ids.map((_, i) => found.place(i))};
        }, null)""",
        FILE.read_bytes(),
    )
    return module.run


@pytest.fixture(scope="module")
def steps(js):
    """After 0 and 3 steps: the share of "mother" in all sentences; and the third step."""
    js("(globalThis.all = m.learned(story, x, 3), 0)", TEXT)
    shares = [
        [js(f"seen({model}, x).places.at(-2).truth.share", text) for text in (TEXT, OTHER, MISFIT)]
        for model in ("story.model", "all.model")
    ]
    return {"shares": shares, "change": js("all.change")}


def open_text(page):
    return " ".join(page.select_one("main").get_text(" ").split())


@pytest.mark.slow
def test_every_number_moves(page, steps):
    moved, count, half, most = (
        float(number) for number in re.findall(r"[\d.]+", output(page, "gradient").replace(",", ""))
    )
    assert moved == count == steps["change"]["moved"] == steps["change"]["count"]
    assert count == sum(p.numel() for p in weights.load(FILE).parameters())
    assert half < 0.00003 < most
    assert "Inside are 925,440 numbers" in open_text(page)
    assert "half of them by less than 0.00003" in open_text(page)


@pytest.mark.slow
def test_three_steps_are_as_the_text_says(page, steps):
    lines = output(page, "three-steps").splitlines()
    for line, want in zip((lines[0], lines[3]), steps["shares"], strict=True):
        assert numbers(line)[1:] == pytest.approx(want, abs=5.1e-4)
    (first, first_other, first_misfit), (last, last_other, last_misfit) = steps["shares"]
    assert f"goes from {100 * first:.1f} to {100 * last:.0f} %" in open_text(page)
    assert f"goes from {100 * first_other:.1f} to {100 * last_other:.0f} %" in open_text(page)
    assert f"mother had {100 * first_misfit:.1f} %" in open_text(page).replace(" ,", ",")
    assert f"Now mother has {100 * last_misfit:.1f} %" in open_text(page)


@pytest.mark.slow
def test_what_is_learned_spreads_to_where_it_does_not_fit(page, js, steps):
    models = ("story.model", "all.model")
    best = [js(f"seen({model}, x).places.at(-2).guesses[0].text", MISFIT) for model in models]
    assert best == [" head", " mother"]
    assert "went on with head , and" in open_text(page)


def test_half_the_share_costs_as_the_text_says(page):
    assert f"is halved, the loss grows by {math.log(2):.2f}" in open_text(page)


def test_the_guesses_are_as_the_text_says(page, js):
    place = js("seen(story.model, x).places[7]", TEXT)
    home, house = place["guesses"][:2]
    assert (home["text"], house["text"]) == (" home", " house")
    said = f"home gets {100 * home['share']:.0f} %, house {100 * house['share']:.0f} %"
    assert said in open_text(page).replace(" ,", ",")
    share, loss = place["truth"]["share"], place["truth"]["loss"]
    assert f"{-math.log(share):.2f}" == f"{-math.log(round(share, 3)):.2f}" == f"{loss:.2f}"
    assert f"It got {share:.3f}, so the loss is −ln {share:.3f} = {loss:.2f}." in open_text(page)
    rows = page.select("#ground-floor .static-form tbody tr")
    guesses = [*place["guesses"], place["truth"]]
    shown = [[cell.get_text() for cell in row.select("td")] for row in rows]
    assert shown == [[g["text"].strip(), f"{100 * g['share']:.1f}\u202f%"] for g in guesses]


def test_s_begins_school(page, js):
    """Guess after guess, each the likeliest: "s", "ch", "ool"."""
    text = "The good old man went home to his"
    for piece in (" s", "ch", "ool"):
        guesses = [g["text"] for g in js("seen(story.model, x).places.at(-1).guesses", text)]
        assert piece in guesses if piece == " s" else piece == guesses[0]
        text += piece
    assert "such as s , of school" in open_text(page)


def test_a_unit_adds_where_its_sum_is_large():
    """A unit's answer follows its sum: almost 0 below, almost the sum itself above."""
    model = weights.load(FILE)
    for layer in model.layers:
        answer = layer.mlp[2](torch.tensor([-9.0, -3.0, 0.0, 3.0, 9.0]))
        assert answer.tolist() == pytest.approx([0, 0, 0, 3, 9], abs=0.005)


def test_words_used_alike_have_vectors_alike(js):
    near = js("seen(story.model, x).places.map((place) => place.near[0].text)", " mother went")
    assert near == [" father", " ran"]
    second = js("seen(story.model, x).places[0].near[1].text", " went")
    assert second == " came"


def test_without_places_the_loss_is_larger(page):
    sentences = (ROOT / "modules/start/sentences.txt").read_text(encoding="utf-8").splitlines()
    assert len(sentences) == 10
    model = weights.load(FILE)
    tokenizer = Tokenizer(model.config.vocabulary)
    # Zeros as the vectors of the places, in the way of other models, are no places at all.
    blind = Transformer(replace(model.config, positions="learned"))
    zeros = {"positions": torch.zeros_like(blind.positions)}
    blind.load_state_dict(model.state_dict() | zeros)

    def mean_loss(model):
        losses = []
        for sentence in sentences:
            tokens = tokenizer.encode(sentence)
            shares = model(torch.tensor([tokens[:-1]])).logits[0].softmax(-1)
            losses += [-shares[i, token].log() for i, token in enumerate(tokens[1:])]
        return torch.stack(losses).mean().item()

    def difference(model):
        """Total variation between the guesses after the same words in two orders."""
        one, other = (
            model(torch.tensor([tokenizer.encode(text)])).logits[0, -1].softmax(-1)
            for text in ("The dog saw the man and", "The man saw the dog and")
        )
        return (one - other).clamp(min=0).sum().item()

    with torch.no_grad():
        with_places, without = mean_loss(model), mean_loss(blind)
        seen, given_away = difference(model), difference(blind)
    want = [with_places, seen, without, given_away]
    assert numbers(output(page, "order")) == pytest.approx(want, abs=0.0051)
    assert f"rises from {with_places:.2f} to {without:.2f}" in open_text(page)
    said = f"by {given_away:.2f} of the probability, and by {seen:.2f} with the angles"
    assert said in open_text(page)


def test_order_shows_without_places_from_the_second_layer_on():
    """In the first layer the last word gathers the same mix, whatever the order before it."""
    model = weights.load(FILE).double()
    tokenizer = Tokenizer(model.config.vocabulary)
    for layer in model.layers:
        layer.attention.rotary = None
    after = []
    for layer in model.layers:
        layer.register_forward_hook(lambda _, __, out: after.append(out))
    with torch.no_grad():
        for text in ("The dog saw the man and", "The man saw the dog and"):
            model(torch.tensor([tokenizer.encode(text)]))
    last = [(out[0] if isinstance(out, tuple) else out)[0, -1] for out in after]
    apart = [(last[n] - last[n + 4]).abs().max().item() for n in range(4)]
    assert apart[0] < 1e-9
    assert min(apart[1:]) > 0.01


def test_the_other_counts(page):
    config = weights.load(FILE).config
    text = open_text(page)
    assert f"{config.embed_dim} numbers" in text
    assert f"{config.mlp_dim} units" in text
    assert f"all {len(config.vocabulary):,} tokens" in text
    assert config.num_heads == (4,) * config.num_layers
    assert config.num_layers == 4
    scores = json.loads((FILE.parents[1] / "scores/storyteller.json").read_text("utf-8"))
    steps = scores["seeds"]["0"]["steps"]
    assert f"took {steps:,} such steps, each on {scores['batch']:,} tokens" in text
