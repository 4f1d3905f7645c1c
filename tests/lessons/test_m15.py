"""m15: its claims against numbers computed here."""

import json
from statistics import mean

import pytest
import torch
import torch.nn.functional as F

from attention import scaled_dot_product_attention
from course.payloads.token_choice import book, payload
from models.beyond.task import ROOM, Text
from models.beyond.train import load as trained
from models.beyond.train import one_asked
from models.storyteller.tokens import Tokenizer
from models.weights import load
from tests.conftest import ROOT
from tests.lessons.page_text import cells, in_order, output, share, shows, text_of
from tests.numbers import numbers
from tests.scores import scores_of
from tests.widgets.js import module

PAGE = "modules/m15_sparse_attention/lesson.html"
MOVES = scores_of("beyond")["moves"]
PASSAGES = json.loads((ROOT / PAGE).with_name("passages.json").read_text(encoding="utf-8"))
KEPT, LONG = 8, 256


@torch.no_grad()
def guessed(choose=None):
    """Share guessed, loss, and mean weights of each layer: queries, keys and values by hand."""
    model = load(ROOT / "models/storyteller/weights/storyteller.safetensors")
    encode = Tokenizer(model.config.vocabulary).encode
    tokens = torch.tensor([encode(text)[:LONG] for text in PASSAGES])
    x, rows = model.embedding[tokens], []
    for layer in model.layers:
        query, key, value = layer.attention.project(layer.norm(x))
        query, key = layer.attention.rotary(query), layer.attention.rotary(key)
        weights = scaled_dot_product_attention(query, key, value, is_causal=True)[1]
        rows.append(weights.mean(1))
        if choose:
            weights = weights * choose(rows[-1])[:, None]
            weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)
        heads = (weights @ value).transpose(1, 2).flatten(2)
        x = x + layer.attention.out_proj(heads)
        x = x + layer.mlp(x)
    logits = F.linear(model.norm(x), model.embedding, model.unembedding_bias)
    logits, right = logits[:, LONG // 2 - 1 : -1], tokens[:, LONG // 2 :]
    loss = F.cross_entropy(logits.flatten(0, 1), right.flatten())
    return float((logits.argmax(-1) == right).float().mean()), float(loss), torch.stack(rows)


def best(rows):
    return rows >= rows.topk(KEPT).values[..., -1:]


def others(rows):
    is_first = (torch.arange(LONG) < KEPT)[:, None]  # they have no others
    return ~best(rows) | is_first


def last(rows):
    back = torch.arange(LONG)[:, None] - torch.arange(LONG)
    return (back < KEPT).expand_as(rows)


def test_the_storyteller_hardly_misses_the_small_weights(page):
    whole, few, rest, near, none = (
        guessed(choose) for choose in (None, best, others, last, torch.zeros_like)
    )
    everything, eight, without, latest, lot, nothing = cells(page, "losses")
    for (right, loss, _), (_, *shown) in zip(
        (whole, few, rest, near, none), (everything, eight, without, latest, nothing), strict=True
    ):
        assert float(shown[0]) == pytest.approx(loss, abs=0.011)
        assert numbers(shown[1])[0] == pytest.approx(100 * right, abs=0.15)
    assert whole[0] - few[0] < 0.03
    assert float(lot[2]) < 100 * few[0] / 2
    assert rest[0] - none[0] < 0.02  # "next to nothing"
    rows = whole[2][:, :, LONG // 2 :]
    assert rows[0].shape[:2] == (16, 128)  # the caption's passages and tokens
    of_layers = rows.topk(KEPT).values.sum(-1).mean((1, 2))
    on_best = float(of_layers.mean())
    assert on_best < 0.5  # "more than half of the weight" is hidden
    assert shows(page, "#more-softmax", *(f"{layer:.2f}" for layer in of_layers))
    counts = torch.arange(LONG // 2, LONG).add(1).sum() * rows.shape[0] * rows.shape[1]
    tiny = float(((rows > 0) & (rows < 0.01)).sum() / counts)
    assert shows(page, "#sec-missed", f"{100 * tiny:.0f}", "0.01", f"{on_best:.2f}")
    assert 185 < float(counts) / rows[..., 0].numel() < 200  # "about two hundred"


def test_two_of_five_notes_with_a_pencil(page):
    notes = [row.select("td") for row in page.select("#sec-chosen table")[0].select("tbody tr")]
    cheap, scores = (torch.tensor([float(row[i].get_text()) for row in notes]) for i in (1, 2))
    assert cheap.topk(2).indices.tolist() == [0, 3]
    assert [notes[i][0].get_text() for i in (0, 3)] == ["Ann in 5", "Ann in 2"]
    weights = scores[[0, 3]].softmax(0)
    answer = float(weights @ torch.tensor([5.0, 2]))
    texts = [f"{weight:.2f}" for weight in weights]
    assert shows(page, "#sec-chosen", *texts, texts[0], "5", texts[1], "2", f"{answer:.1f}")
    assert 1 - scores.softmax(0)[[0, 3]].sum() < 0.01


def test_the_trained_layer_needs_two_tokens_or_twenty_six(page):
    js, data = module("token-choice.js"), payload()

    def chosen(by, looks, asked=0):
        return js.call("chosen", data, {"asked": asked, "by": by, "looks": looks})

    assert [n for n in range(1, 27) if chosen("last", n)["isRight"]] == [26]
    one, two = (chosen("cheap", n) for n in (1, 2))
    assert not one["isRight"]
    [left] = [token for token in one["tokens"] if token["isSeen"]]
    assert left["room"] == one["says"]  # "the room that she has left"
    assert [token["who"] for token in two["tokens"] if token["isSeen"]] == ["Ann", "Ann"]
    assert shows(page, "#sec-choose", "26", share(two["missed"]), str(one["says"]))
    assert all(chosen("cheap", 2, asked)["isRight"] for asked in range(16))
    some, all_ = two["multiplied"], two["everything"]
    assert 0.3 < some / all_ < 0.36  # "saves two thirds"
    assert chosen("cheap", 24)["multiplied"] <= all_ < chosen("cheap", 25)["multiplied"]
    assert shows(page, "#sec-choose", str(some), "33", "32", f"{all_:,}", "25")


@torch.no_grad()
def test_her_room_is_told_by_a_little_more_weight_of_head_1(page):
    """The layer itself, with nothing but a guest's two notes to mix."""
    model = trained("moves", "chosen")
    layer = model.layers[0]
    guests, rooms, names = book()
    old, new = 0, 1

    def scores(guest, swapped=()):
        places = [i for i, one in enumerate(guests) if one == guest]
        text = Text(torch.tensor([[*guests, guest]]), torch.tensor([[*rooms, ROOM]]), None)
        stream = model.embed(text)
        query, key, value = layer.mixer.project(layer.norm(stream))
        of = query[0, :, -1:] @ key[0, :, places].mT / query.shape[-1] ** 0.5
        of = of - layer.slopes * (len(guests) - torch.tensor(places))
        weights = of.softmax(-1)
        for head in swapped:
            weights[head] = weights[head].flip(-1)
        mix = (weights @ value[0, :, places]).flatten()
        return model.answer(stream[0, -1] + layer.mixer.out_proj(mix)), weights, places

    guest_of = {name: guest for guest, name in names.items()}
    each, weights, places = scores(guest_of["Ann"])
    one, other = weights[0, 0].tolist()
    assert [rooms[i] for i in places] == [3, 8]
    mix = f"{3 * one + 8 * other:.1f}"
    one, other = f"{one:.2f}", f"{other:.2f}"
    best_three = each.topk(3)
    assert best_three.indices[:2].tolist() == [8, 3]
    first, second, third = (f"{score:.1f}" for score in best_three.values.tolist())
    shown = one, other, one, "3", other, "8", mix, first, "8", second, "3", third
    assert shows(page, "#sec-choose", *shown)
    moved = []
    for guest in names:
        _, _, places = scores(guest)
        if rooms[places[old]] != rooms[places[new]]:
            answers = [int(scores(guest, heads)[0].argmax()) for heads in ([], [0], [1])]
            moved.append(
                [rooms[places[new]] == answers[0], *(rooms[places[old]] == x for x in answers[1:])]
            )
    eve, weights, _ = scores(guest_of["Eve"])
    assert weights[1, 0, old] > 0.9
    assert eve.argmax() == 8
    right, by_first, by_second = (sum(column) for column in zip(*moved, strict=True))
    assert right == by_first == len(moved) == 14  # "every one of them"
    assert by_second == 1  # "one answer changes"
    assert shows(page, "#sec-choose", str(len(moved)))


def test_a_choice_is_told_as_it_was_measured(page):
    every, window, chosen = (
        [seed[-1] for seed in MOVES[kind]["alone"]] for kind in ("softmax", "window", "chosen")
    )
    drawn = page.select_one("#cell-figure-choice").find_next_sibling().select("tbody tr")
    shown = [float(row.select("td")[-1].get_text()) for row in drawn]
    assert shown == pytest.approx([mean(s) for s in (window, chosen, every)], abs=0.0051)
    assert max(window) < 0.5 < 0.9 < min(chosen)
    assert all(one > other for one, other in zip(chosen, every, strict=True))  # "a little better"
    assert mean(chosen) - mean(every) < 0.01
    alone = own_notes_alone()
    assert alone > max(every)
    assert shows(page, "#sec-choose", f"{alone:.2f}")
    for (_, shown), seeds in zip(cells(page, "chosen"), (every, window, chosen), strict=True):
        assert numbers(shown) == pytest.approx([min(seeds), max(seeds)], abs=0.0051)


@torch.no_grad()
def own_notes_alone():
    """Share right of the first seed of softmax, mixing nothing but the guest's notes and itself."""
    model = trained("moves", "softmax")
    layer, right = model.layers[0], []
    for text in one_asked(16):
        stream = model.embed(text)
        query, key, value = layer.mixer.project(layer.norm(stream))
        length = stream.shape[1]
        scores = (query[:, :, -1:] @ key.mT)[:, :, 0] / query.shape[-1] ** 0.5
        scores = scores - layer.slopes[:, 0] * torch.arange(length - 1, -1, -1)
        weights = scores.exp() * (text.guests == text.guests[:, -1:])[:, None]
        mix = (weights[:, :, None] @ value / weights.sum(-1)[..., None, None]).flatten(1)
        logits = model.answer(stream[:, -1] + layer.mixer.out_proj(mix))
        right.append(logits.argmax(-1) == text.answers[:, -1])
    return float(torch.stack(right).float().mean())


@torch.no_grad()
def test_most_errors_are_where_two_notes_stand_side_by_side():
    """By the distance of the guest's notes: how often it is right, and head 1's difference."""
    model = trained("moves", "chosen")
    layer = model.layers[0]
    right, apart, differ = [], [], []
    for text in one_asked(16):
        notes = (text.guests == text.guests[:, -1:])[:, :-1].nonzero()[:, 1].view(-1, 2)
        query, key, _ = layer.mixer.project(layer.norm(model.embed(text)))
        of_two = key[:, 0].gather(1, notes[..., None].expand(-1, -1, key.shape[-1]))
        scores = (of_two @ query[:, 0, -1, :, None])[..., 0] / key.shape[-1] ** 0.5
        weights = (scores + layer.slopes[0, 0, 0] * notes).softmax(-1)
        right.append(model(text)[:, -1].argmax(-1) == text.answers[:, -1])
        apart.append(notes[:, 1] - notes[:, 0])
        differ.append((weights[:, 1] - weights[:, 0]).abs())
    right, apart, differ = (torch.cat(part) for part in (right, apart, differ))
    far = [apart == 1, apart == 2, (apart > 2) & (apart < 5), apart > 4]
    shares = [float(right[where].float().mean()) for where in far]
    between = [float(differ[where].mean()) for where in far]
    assert shares == sorted(shares)
    assert shares[0] < 0.8 < 0.99 < shares[-1]
    assert between == sorted(between)


def test_a_choice_saves_seven_eighths_of_the_work(page):
    """By the sizes that DeepSeek-AI has published."""
    full, cheap = 128 * (512 + 64), 64 * 128
    everything, choice = 9 * 128_000, 128_000 + 9 * 2048
    assert full == 9 * cheap
    assert shows(page, "#sec-saves", f"{full:,}", "64", "128", f"{cheap:,}")
    sums = "9", "128,000", f"{everything:,}", "9", "2,048", f"{9 * 2048:,}", f"{choice:,}"
    assert shows(page, "#sec-saves", *sums)
    assert choice / everything == pytest.approx(1 / 8, abs=0.005)
    mixes = 128 * 512 // cheap  # the values of one token, in cheap scores
    with_mixes = (128_000 + (9 + mixes) * 2048) / ((9 + mixes) * 128_000)
    assert 1 / 13.5 < with_mixes < 1 / 12.5  # "a thirteenth"
    even = 9 * 2048 / 8  # n + 9 · 2,048 = 9 · n
    assert in_order(text_of(page, "#sec-saves"), f"{even:,.0f}")


def test_numbers_a_token_of_open_models(page):
    rows = [
        [2 * 32 * 8 * 128, 2 * 32 * 32 * 128],  # Llama 3 8B: 32 layers, 32 heads, 8 keys of 128
        [2 * 18 * 8 * 64, 2 * 36 * 64 * 64],  # gpt-oss-120b: every second of 36 layers, 64 heads
        [2 * 12 * 2 * 256, 2 * 48 * 16 * 256],  # Qwen3-Next: one layer in four, 16 heads
        [61 * (576 + 128), 61 * 2 * 128 * 128],  # DeepSeek-V3.2: a latent and a short key
    ]
    for row, (few, many) in zip(cells(page, "open-models"), rows, strict=True):
        for cell, wanted in zip(row[2:4], (few, many), strict=True):
            product, number = cell.split(" = ")
            assert eval(product.replace("·", "*")) == int(number.replace(",", "")) == wanted
        assert row[4].split() == ["1", "in", f"{many / few:.0f}"]
    saved = [few / many for few, many in rows]
    assert min(saved) == saved[3]  # "the smallest part"
    assert rows[3][0] > max(rows[1][0], rows[2][0])  # "more than gpt-oss and Qwen3-Next"
    (few, many) = rows[1]
    assert shows(page, "#sec-models", "18", "2", "8", "64", f"{few:,}")
    assert shows(page, "#sec-models", "36", "2", "64", "64", f"{many:,}", f"{many // few}")


def test_whoever_chooses_before_hiding_loses_places(page):
    cheap = torch.tensor([[0.3, 0.9, 0.1, 0.8], [0.5, 0.2, 0.7, 0.6],
                          [0.4, 0.1, 0.3, 0.9], [0.2, 0.8, 0.1, 0.6]])  # fmt: skip
    best_two = cheap.topk(2).indices
    counts = (best_two <= torch.arange(4)[:, None]).sum(1).tolist()
    assert in_order(output(page, "bug-check"), str(counts))
    assert counts[:2] == [0, 0]  # "The first two tokens have nobody left"
