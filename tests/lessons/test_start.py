"""The ground floor's numbers, computed another way: by the JavaScript that runs in the page."""

import json
import math
import re
from dataclasses import replace

import pytest
import torch

from models.storyteller.model import ADDRESS, FILE, load_storyteller
from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer
from tests.conftest import ROOT
from tests.lessons.reading import numbers, output
from tests.widgets.js import module

PAGE = "modules/start/lesson.html"
TEXT = "The good old man went home to his mother"
OTHER = "The little girl went home to her mother"
MISFIT = "The prince put on his mother"


@pytest.fixture(scope="module")
def js():
    floor = module("ground-floor.js")
    floor.run(
        """(async () => {
          const {storyteller} = await import("/widgets/lib/storyteller.js");
          const {inside} = await import("/widgets/lib/inside.js");
          globalThis.story = storyteller(await loadModel(x));
          globalThis.seen = (model, text) => {
            const ids = story.encode(text);
            const found = inside(story, model, ids);
            return {...found, places: ids.map((_, i) => found.place(i))};
          };
        })()""",
        ADDRESS,
    )
    return floor.run


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
    text = " ".join(page.select_one("main").get_text(" ").split())
    return re.sub(r" ([.,:;)])", r"\1", text).replace("\u202f", " ")


@pytest.mark.slow
def test_every_number_moves(page, steps):
    moved, count, half, most = (
        float(number) for number in re.findall(r"[\d.]+", output(page, "gradient").replace(",", ""))
    )
    assert moved == count == steps["change"]["moved"] == steps["change"]["count"]
    assert count == sum(p.numel() for p in load_storyteller().parameters())
    assert half < 0.00003 < most
    assert f"{count:,.0f} numbers, and a recipe" in open_text(page)
    [said] = re.findall(r"half of them by less than ([\d.]+\d)", open_text(page))
    assert half < float(said) <= half + 1e-5


@pytest.mark.slow
def test_three_steps_are_as_the_text_says(page, steps):
    lines = output(page, "three-steps").splitlines()
    for line, want in zip((lines[0], lines[3]), steps["shares"], strict=True):
        assert numbers(line)[1:] == pytest.approx(want, abs=5.1e-4)
    before = f"to her, the model gives mother {100 * steps['shares'][0][1]:.1f} %"
    assert before in open_text(page)
    found = page.select_one("#sec-up .after-prediction").get_text().replace("\u202f%", "")
    want = [100 * share for pair in zip(*steps["shares"], strict=True) for share in pair]
    assert numbers(found) == pytest.approx(want, abs=0.51)


@pytest.mark.slow
def test_what_is_learned_spreads_to_where_it_does_not_fit(page, js, steps):
    models = ("story.model", "all.model")
    best = [js(f"seen({model}, x).places.at(-2).guesses[0].text", MISFIT) for model in models]
    assert best == [" head", " mother"]
    assert "the first guess was head" in open_text(page)


def test_half_the_share_costs_as_the_text_says(page):
    assert f"is halved, the loss grows by {math.log(2):.2f}" in open_text(page)


def test_the_guesses_are_as_the_text_says(page, js):
    place = js("seen(story.model, x).places[7]", TEXT)
    home, house = place["guesses"][:2]
    assert (home["text"], house["text"]) == (" home", " house")
    said = f"home gets {100 * home['share']:.0f} %, and house gets {100 * house['share']:.0f} %"
    assert said in open_text(page)
    share, loss = place["truth"]["share"], place["truth"]["loss"]
    assert f"{-math.log(share):.2f}" == f"{-math.log(round(share, 3)):.2f}" == f"{loss:.2f}"
    assert f"the loss is −ln {share:.3f} = {loss:.2f}." in open_text(page)
    rows = page.select("#ground-floor .fallback tbody tr")
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
    assert "such as s, with which school begins" in open_text(page)


def test_a_head_looks_from_his_at_what_the_man_did(page, js):
    maps = js("seen(story.model, x).maps", TEXT)
    row = maps[1][2][7]
    assert max(range(8), key=row.__getitem__) == 4
    assert row[4] > 0.5
    assert f"three words back, {100 * row[4]:.0f} %" in open_text(page)
    [table] = page.select("#row-of-his table, #cell-row-of-his table")
    shown = [cell.get_text() for cell in table.select("tbody tr > *")][1:]
    assert shown[4] == f"{100 * row[4]:.0f}\u202f%"
    assert len(shown) == len(row) == 8


def test_the_stream_grows_as_the_text_says(page, js):
    place = js("seen(story.model, x).places[7]", TEXT)
    start, end = place["start"], place["layers"][-1]["after"]
    told = open_text(page)
    assert f"is {start:.1f} long" in told
    assert f"after the fourth layer it is {end:.1f} long, {end / start:.0f} times" in told


def test_layer_norm_and_a_unit_by_pencil(page):
    vector = torch.tensor([9.0, 3, 3, 1])
    normed = torch.nn.functional.layer_norm(vector, (4,))
    assert normed.tolist() == pytest.approx([1.67, -0.33, -0.33, -1], abs=0.005)
    assert (vector.mean(), vector.std(unbiased=False)) == (4, 3)
    unit = page.select_one("#one-unit").get_text()
    assert "9, 3.8, 3, 1" in unit
    compared = normed @ torch.tensor([1.0, 0, 0, -1])
    answer = torch.nn.functional.gelu(compared).item()
    assert torch.nn.functional.gelu(-compared).item() == pytest.approx(-0.01, abs=0.005)
    assert answer == pytest.approx(2.66, abs=0.005)
    assert 3 + 0.3 * answer == pytest.approx(3.8, abs=0.005)
    for said in (
        "that leaves 5, −1, −1 and −3. Then it divides them by 3",
        "are 25, 1, 1 and 9, their mean is 9, and its root is 3",
        "the copy is 1.67, −0.33, −0.33 and −1",
        "1.67 + 0 + 0 + 1 = 2.67",
        "a large sum nearly as it is, so 2.67 becomes 2.66",
        "a sum of −2.67 becomes −0.01",
    ):
        assert said in open_text(page)


POSSESSIVES = [" your", " my", " her", " their", " his", " our"]


@torch.no_grad()
def silent_or_not(text, silent):
    """The model written out from the weights' products: what layer 2's unit 489 answers, and the
    share of " mother" after ``text``, with the unit or without it."""
    model = load_storyteller().double()
    tokenizer = Tokenizer(model.config.vocabulary)
    norm, wide, _, narrow = model.layers[1].mlp
    answer = []

    def rewritten(_, inputs, __):
        x = torch.nn.functional.layer_norm(inputs[0], (128,), norm.weight, norm.bias)
        units = torch.nn.functional.gelu(x @ wide.weight.T + wide.bias, approximate="tanh")
        answer.append(units[0, -1, 488].item())
        if silent:
            units[..., 488] = 0
        return units @ narrow.weight.T + narrow.bias

    model.layers[1].mlp.register_forward_hook(rewritten)
    logits = model(torch.tensor([tokenizer.encode(text)])).logits[0, -1]
    return answer[0], logits.softmax(-1)[tokenizer.encode(" mother")[0]].item()


def test_the_unit_answers_to_words_that_say_whose_something_is(page):
    [table] = page.select("#unit table, #cell-unit table")
    tokens = [f" {cell.get_text()}" for cell in table.select("th")][1:]
    answers = numbers(table.select_one("tbody").get_text(" "))
    assert tokens == POSSESSIVES
    assert answers == sorted(answers, reverse=True)
    want = [
        silent_or_not("The good old man went home to" + token, False)[0] for token in POSSESSIVES
    ]
    assert answers == pytest.approx(want, abs=0.0051)
    assert "answers to your, my, her, their, his and our, which all say" in open_text(page)
    assert "There is only this one" in open_text(page)
    assert "to the same six words all three times" in open_text(page)


def test_the_unit_adds_to_mother_as_the_text_says(page):
    said = open_text(page)
    start, end = said.index("Making the unit silent"), said.index("a guess is the work of many")
    said = said[start:end]
    shares = [
        100 * silent_or_not(text, silent)[1]
        for text in ("The little girl went home to her", "The good old man went home to his")
        for silent in (False, True)
    ]
    assert numbers(said) == pytest.approx(shares, abs=0.051)


def test_what_the_unit_adds_fits_words_that_follow_such_words(page):
    model = load_storyteller()
    added = model.layers[1].mlp[3].weight[:, 488]
    scores = model.embedding @ ((added - added.mean()) * model.norm.weight)
    best = [Tokenizer(model.config.vocabulary).name(i) for i in scores.topk(4).indices.tolist()]
    assert best == [" own", "self", " mother", " father"]
    said = "best with own, self (which makes her into herself), mother and father"
    assert said in open_text(page)


def test_a_unit_adds_where_its_sum_is_large():
    """A unit's answer follows its sum: almost 0 below, almost the sum itself above."""
    model = load_storyteller()
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
    model = load_storyteller()
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
    said = f"by {given_away:.2f} of the probability, in place of {seen:.2f}"
    assert said in open_text(page)


def test_order_shows_without_places_from_the_second_layer_on():
    """In the first layer the last word gathers the same mix, whatever the order before it."""
    model = load_storyteller().double()
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
    config = load_storyteller().config
    text = open_text(page)
    assert f"{config.embed_dim} numbers" in text
    assert f"{config.mlp_dim} units" in text
    assert f"{len(config.vocabulary):,} tokens" in text
    assert config.num_heads == (4,) * config.num_layers
    assert config.num_layers == 4
    scores = json.loads((FILE.parents[1] / "scores/storyteller.json").read_text("utf-8"))
    steps = scores["seeds"]["0"]["steps"]
    assert f"took {steps:,} such steps, each on {scores['batch']:,} tokens" in text
