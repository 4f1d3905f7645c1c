"""The ground floor's numbers, computed another way: by the JavaScript that runs in the page."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from models.storyteller.model import ADDRESS, load_storyteller
from models.storyteller.tokens import Tokenizer
from models.transformer import Transformer
from tests.conftest import ROOT
from tests.lessons.page_text import cells, output, share, shows
from tests.numbers import numbers
from tests.widgets.js import module

PAGE = "modules/start/lesson.html"
BEGINNING = "The good old man went home to"
TEXT = f"{BEGINNING} his mother"
OTHER = "The little girl went home to her mother"
MISFIT = "The prince put on his mother"
SWAPPED = "The dog saw the man and", "The man saw the dog and"


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
            const run = inside(story, model, ids);
            return {...run, places: ids.map((_, i) => run.place(i))};
          };
        })()""",
        ADDRESS,
    )
    return floor.run


@pytest.fixture(scope="module")
def at_his(js):
    return js("seen(story.model, x).places[7]", TEXT)


@pytest.fixture(scope="module")
def story():
    return load_storyteller().double()


@pytest.fixture(scope="module")
def tokenizer(story):
    return Tokenizer(story.config.vocabulary)


@pytest.mark.slow
def test_three_steps_move_every_number_and_are_as_the_text_says(page, js):
    change = js("(globalThis.all = m.learned(story, x, 3), all.change)", TEXT)
    moved, count, half, most = numbers(output(page, "gradient"))
    assert moved == count == change["moved"] == change["count"]
    assert count == sum(p.numel() for p in load_storyteller().parameters())
    assert half < 0.00003 < most
    before, after = (
        [js(f"seen({model}, x).places.at(-2)", text) for text in (TEXT, OTHER, MISFIT)]
        for model in ("story.model", "all.model")
    )
    shares = [[position["truth"]["share"] for position in places] for places in (before, after)]
    lines = output(page, "three-steps").splitlines()
    for line, want in zip((lines[0], lines[3]), shares, strict=True):
        assert numbers(line)[1:] == pytest.approx(want, abs=5.1e-4)
    answer = page.select_one("#sec-up .after-prediction").get_text().replace("\u202f%", "")
    want = [100 * share for pair in zip(*shares, strict=True) for share in pair]
    assert numbers(answer) == pytest.approx(want, abs=0.51)
    firsts = [places[2]["guesses"][0]["text"] for places in (before, after)]
    assert firsts == [" head", " mother"], "it spreads to where it doesn't fit"
    assert shows(page, "#sec-up .after-prediction", "prince", "head", "mother")


def test_the_guesses_are_as_the_text_says(page, at_his):
    home, house = at_his["guesses"][:2]
    assert (home["text"], house["text"]) == (" home", " house")
    texts = "home", share(home["share"]), "house", share(house["share"])
    assert shows(page, "#sec-guess", *texts)
    of_truth, loss = (at_his["truth"][name] for name in ("share", "loss"))
    assert f"{-math.log(of_truth):.2f}" == f"{-math.log(round(of_truth, 3)):.2f}" == f"{loss:.2f}"
    assert shows(page, "#sec-up", f"{of_truth:.3f}", f"{of_truth:.3f}", f"{loss:.2f}")
    guesses = [*at_his["guesses"], at_his["truth"]]
    want = [[g["text"].strip(), f"{100 * g['share']:.1f}\u202f%"] for g in guesses]
    assert cells(page, "ground-floor .fallback") == want
    powers = math.exp(5), math.exp(2)  # of the scores of went and home
    shown = f"{powers[0]:.0f}", f"{powers[1]:.1f}", f"{sum(powers):.0f}"
    parts = [text for power, part in zip(shown[:2], powers, strict=True)
             for text in (power, shown[2], f"{part / sum(powers):.2f}")]  # fmt: skip
    assert shows(page, "#sec-guess", *shown, *parts)


@torch.no_grad()
def test_the_head_that_looked_at_went_has_a_small_part(page, story, tokenizer):
    """Silent as its columns of the matrix that mixes the heads are zeros."""
    ids = torch.tensor([tokenizer.encode(f"{BEGINNING} his")])
    [house] = tokenizer.encode(" house")
    mix = story.layers[1].attention.out_proj.weight
    before = mix.clone()
    whole = story(ids).logits[0, -1].softmax(-1)[house].item()
    mix[:, 64:96] = 0
    less = story(ids).logits[0, -1].softmax(-1)[house].item()
    mix.copy_(before)
    assert less < whole
    assert shows(page, "#sec-guess", share(whole), share(less))


def test_the_slopes_on_the_way_back(page, story, tokenizer):
    """As autograd finds them, with a number of 0.5 that is multiplied by 3 in the score."""
    ids = torch.tensor([tokenizer.encode(f"{BEGINNING} his")])
    [mother] = tokenizer.encode(" mother")
    with torch.no_grad():
        scores = story(ids).logits[0, -1]
    number = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    score = 3 * number + (scores[mother] - 1.5)
    score.retain_grad()
    all_scores = torch.cat((scores[:mother], score[None], scores[mother + 1 :]))
    all_scores.retain_grad()
    F.cross_entropy(all_scores[None], torch.tensor([mother])).backward()
    to_score, to_number = f"{score.grad:.2f}", f"{number.grad:.2f}"
    assert shows(page, "#sec-up", "0.5", "3", "3", "1", to_score, to_score, "3", to_number)
    moved = f"{0.5 - 0.01 * number.grad.item():.2f}"
    assert shows(page, "#sec-up", "0.5", "0.01", to_number.removeprefix("-"), moved)
    [house] = tokenizer.encode(" house")
    assert shows(page, "#sec-up", "house", f"{all_scores.grad[house]:.2f}", "father")
    [slopes] = cells(page, "way-back .fallback")
    shown = [slope.replace("\N{MINUS SIGN}", "-") for slope in slopes]
    assert shown == ["3", to_score, to_number]


def test_some_others_get_more_although_their_rows_move_away(page, tokenizer):
    """One plain step of 0.01 on the sentence, in PyTorch."""
    model = load_storyteller().double().requires_grad_(True)
    tokens = torch.tensor([tokenizer.encode(TEXT)])
    asked = torch.tensor([tokenizer.encode(f"{BEGINNING} his")])
    [father] = tokenizer.encode(" father")

    def now():
        with torch.no_grad():
            return model(asked).logits[0, -1].softmax(-1)[father].item()

    before = now()
    F.cross_entropy(model(tokens[:, :-1]).logits[0], tokens[0, 1:]).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.01 * parameter.grad
    after = now()
    assert after > 2 * before
    assert shows(page, "#sec-up", "father", share(before, 1), share(after))


def test_s_begins_school(page, js):
    """Guess after guess, each the likeliest: "s", "ch", "ool"."""
    text = f"{BEGINNING} his"
    for piece in (" s", "ch", "ool"):
        guesses = [g["text"] for g in js("seen(story.model, x).places.at(-1).guesses", text)]
        assert piece in guesses if piece == " s" else piece == guesses[0]
        text += piece
    assert shows(page, "#ground-floor", "school")


def test_a_head_looks_from_his_at_what_the_man_did(page, js):
    weights = js("seen(story.model, x).maps", TEXT)[1][2]
    row = weights[7]
    assert max(range(8), key=row.__getitem__) == 4
    assert row[4] > 0.5
    assert shows(page, "#sec-listen", "0.125", f"{row[4]:.2f}", "went")
    drawn = [line[1:] for line in cells(page, "sec-listen .screen-reader-only")]
    for line, want in zip(drawn, weights[:8], strict=True):
        assert [float(x) for x in line if x != "none"] == pytest.approx(want, abs=5.1e-4)


def test_the_stream_grows_as_the_text_says(page, at_his):
    start, end = at_his["start"], at_his["layers"][-1]["after"]
    assert shows(page, "#sec-stream", f"{end / start:.0f}")


def test_layer_norm_and_a_unit_by_pencil(page):
    stream, pattern = torch.tensor([9.0, 3, 3, 1]), torch.tensor([1.0, 0, 0, -1])
    off = stream - stream.mean()
    copy = [f"{x:.3g}" for x in F.layer_norm(stream, (4,)).round(decimals=2).tolist()]
    left, squares = ([f"{x:.0f}" for x in row.tolist()] for row in (off, off**2))
    mean, size = f"{stream.mean():.0f}", f"{off.square().mean().sqrt():.0f}"
    before = [f"{x:.0f}" for x in stream.tolist()]
    root = f"{off.square().mean():.0f}", size
    assert shows(page, "#sec-stream", *before, mean, *left, *squares, *root, *copy)
    terms = F.layer_norm(stream, (4,)) * pattern
    total, gelu = terms.sum(), F.gelu(torch.stack((terms.sum(), -terms.sum()))).tolist()
    answer, silent = (f"{x:.2f}" for x in gelu)
    added = [f"{x:.1f}" if x else "0" for x in (0, 0.3 * gelu[0], 0, 0)]
    compared = f"{total:.2f}"
    sums = copy[0], "0", "0", "1", compared, compared, answer, f"-{compared}", silent
    assert shows(page, "#sec-unit", *sums)
    after = "9", f"{3 + 0.3 * gelu[0]:.1f}", "3", "1"
    want = [before, copy, [compared], [answer], added, after]
    for (_, shown), texts in zip(cells(page, "one-unit .fallback"), want, strict=True):
        assert shown.replace("\N{MINUS SIGN}", "-").split(", ") == [*texts]


@torch.no_grad()
def silent_or_not(model, tokenizer, text, silent):
    """The model written out from the weights' products: what layer 2's unit 489 answers, and the
    share of " mother" after ``text``, with the unit or without it."""
    norm, wide, _, narrow = model.layers[1].mlp
    answer = []

    def rewritten(_, inputs, __):
        x = F.layer_norm(inputs[0], (128,), norm.weight, norm.bias)
        units = F.gelu(x @ wide.weight.T + wide.bias, approximate="tanh")
        answer.append(units[0, -1, 488].item())
        if silent:
            units[..., 488] = 0
        return units @ narrow.weight.T + narrow.bias

    hook = model.layers[1].mlp.register_forward_hook(rewritten)
    logits = model(torch.tensor([tokenizer.encode(text)])).logits[0, -1]
    hook.remove()
    return answer[0], logits.softmax(-1)[tokenizer.encode(" mother")[0]].item()


def test_the_unit_answers_to_words_that_say_whose_something_is(page, story, tokenizer):
    possessives = "your", "my", "her", "their", "his", "our"
    assert shows(page, "#sec-unit", "489", "2", *possessives)
    [[_, *shown]] = cells(page, "unit")
    answers = [float(text) for text in shown]
    assert answers == sorted(answers, reverse=True)
    want = [
        silent_or_not(story, tokenizer, f"{BEGINNING} {word}", False)[0] for word in possessives
    ]
    assert answers == pytest.approx(want, abs=0.0051)


def test_the_unit_adds_to_mother_as_the_text_says(page, story, tokenizer):
    shares = [
        silent_or_not(story, tokenizer, text, silent)[1]
        for text in (OTHER.removesuffix(" mother"), f"{BEGINNING} his")
        for silent in (False, True)
    ]
    assert shows(page, "#sec-guess", "2,048", *(share(of_mother, 1) for of_mother in shares))


def test_what_the_unit_adds_fits_words_that_follow_such_words(page, story, tokenizer):
    added = story.layers[1].mlp[3].weight[:, 488]
    scores = story.embedding @ ((added - added.mean()) * story.norm.weight)
    best = [tokenizer.name(i) for i in scores.topk(4).indices.tolist()]
    assert best == [" own", "self", " mother", " father"]
    names = [name.strip() for name in best]
    assert shows(page, "#predict-unit .answer", *names[:2], "herself", *names[2:])
    ranks = scores.argsort(descending=True).argsort() + 1
    for words in [(" his", " her"), (" to", " with")]:
        behind = [ranks[tokenizer.encode(word)].item() for word in words]
        assert min(behind) > 300
        assert shows(page, "#predict-unit .answer", *map(str, behind))


def test_words_used_alike_have_vectors_alike(page, js):
    near = "seen(story.model, x).places.map((place) => place.near.map((n) => n.text.trim()))"
    mother, went = js(near, " mother went")
    assert (mother[0], *went[:2]) == ("father", "ran", "came")
    assert shows(page, "#sec-down", "mother", "father", "went", "ran", "came")


def test_without_places_the_loss_is_larger(page, story, tokenizer):
    sentences = (ROOT / "modules/start/sentences.txt").read_text(encoding="utf-8").splitlines()
    assert len(sentences) == 10
    # Zeros as the vectors of the places, in the way of other models, are no places at all.
    blind = Transformer(replace(story.config, positions="learned")).double()
    zeros = {"positions": torch.zeros_like(blind.positions)}
    blind.load_state_dict(story.state_dict() | zeros)

    def shares(model, tokens):
        return model(torch.tensor([tokens])).logits[0].softmax(-1)

    want = []
    with torch.no_grad():
        for model in (story, blind):
            losses = []
            for sentence in sentences:
                tokens = tokenizer.encode(sentence)
                of_all = shares(model, tokens[:-1])
                losses += [-of_all[i, token].log() for i, token in enumerate(tokens[1:])]
            one, other = (shares(model, tokenizer.encode(text))[-1] for text in SWAPPED)
            apart = (one - other).clamp(min=0).sum()  # total variation
            want += [torch.stack(losses).mean().item(), apart.item()]
    assert numbers(output(page, "order")) == pytest.approx(want, abs=0.0051)
    assert want[2] > want[0]
    assert 0 < want[3] < want[1]


def test_order_shows_without_places_from_the_second_layer_on(tokenizer):
    """In the first layer the last word gathers the same mix, whatever the order before it."""
    model = load_storyteller().double()
    for layer in model.layers:
        layer.attention.rotary = None
    with torch.no_grad():
        one, other = (model(torch.tensor([tokenizer.encode(text)])).residual for text in SWAPPED)
    apart = [(a - b)[0, -1].abs().max().item() for a, b in zip(one[1:], other[1:], strict=True)]
    assert apart[0] < 1e-9
    assert min(apart[1:]) > 0.01


def test_the_other_counts(page, story):
    config, count = story.config, sum(p.numel() for p in story.parameters())
    assert shows(page, "#sec-down", f"{len(config.vocabulary):,}", f"{config.embed_dim}")
    assert shows(page, "#sec-unit", f"{config.mlp_dim}")
    assert config.num_heads == (4,) * config.num_layers
    assert config.num_layers == 4
    assert shows(page, "#sec-stream", f"{config.embed_dim // 4}", f"{config.embed_dim}")
    assert shows(page, "main", f"{count:,}")
