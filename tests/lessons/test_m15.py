"""m15: its sentences against numbers computed here."""

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
from tests.lessons.reading import cells, numbers, output, said
from tests.widgets.js import module

PAGE = "modules/m15_sparse_attention/lesson.html"
MOVES = json.loads((ROOT / "models/beyond/scores.json").read_text(encoding="utf-8"))["moves"]
PASSAGES = json.loads((ROOT / PAGE).with_name("passages.json").read_text(encoding="utf-8"))
KEPT, LONG = 8, 256


def at(kind):
    return [seed[-1] for seed in MOVES[kind]["alone"]]


def figure_rows(page, cell):
    table = page.select_one(f"#cell-{cell}").find_next_sibling().select_one("table")
    return [[td.get_text() for td in row.select("td")] for row in table.select("tbody tr")]


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
    shown = cells(page, "losses")
    chance = [float(x) for x in shown[4][1:]]
    for (right, loss, *_), row in zip(
        (whole, few, rest, near, none), (*shown[:4], shown[5]), strict=True
    ):
        assert numbers(row[1])[0] == pytest.approx(loss, abs=0.011)
        assert numbers(row[2])[0] == pytest.approx(100 * right, abs=0.15)
    text = said(page, "#sec-missed")
    assert f"it guesses {100 * whole[0]:.0f} of 100 next tokens right" in text
    assert f"guesses {100 * few[0]:.0f} of 100 right" in text
    assert whole[0] - few[0] < 0.03
    assert chance[1] < 100 * few[0] / 2
    assert f"and the storyteller guesses {100 * rest[0]:.0f}." in text
    assert f"and it still guesses {100 * none[0]:.0f}." in text
    assert rest[0] - none[0] < 0.02  # "next to nothing"
    assert f"still guesses {100 * near[0]:.0f} of 100" in said(page, "#sec-chosen")
    rows = whole[2][:, :, LONG // 2 :]
    on_best = float(rows.topk(KEPT).values.sum(-1).mean())
    assert on_best < 0.5  # "more than half of the weight"
    assert f"The best eight tokens together have {on_best:.2f} of the weight" in text
    of_layers = [f"{layer:.2f}" for layer in rows.topk(KEPT).values.sum(-1).mean((1, 2))]
    assert f"{', '.join(of_layers[:3])} and {of_layers[3]} of the weight" in said(
        page, "#more-softmax"
    )
    counts = torch.arange(LONG // 2, LONG).add(1).sum() * rows.shape[0] * rows.shape[1]
    tiny = float(((rows > 0) & (rows < 0.01)).sum() / counts)
    assert f"{100 * tiny:.0f} in 100 are below 0.01" in text
    assert rows[0].shape[:2] == (16, 128)  # the caption's passages and tokens
    assert 185 < float(counts) / rows[..., 0].numel() < 200  # "about two hundred"


def test_two_of_five_notes_with_a_pencil(page):
    scores = torch.tensor([2.8, 0.2, 0.1, 6.1, 0.4])
    kept, whole = scores[[0, 3]].softmax(0), scores.softmax(0)
    assert kept.tolist() == pytest.approx([0.04, 0.96], abs=0.005)
    assert float(kept @ torch.tensor([5.0, 2])) == pytest.approx(2.1, abs=0.05)
    assert 1 - whole[[0, 3]].sum() < 0.01
    assert "0.04 · 5 + 0.96 · 2 ≈ 2.1" in said(page, "#sec-chosen")
    table = page.select("#sec-chosen table")[0].select("tbody tr")
    cheap = [[cell.get_text() for cell in row.select("td")] for row in table]
    best_two = sorted(cheap, key=lambda row: -float(row[1]))[:2]
    assert [note for note, *_ in best_two] == ["Ann in 5", "Ann in 2"]  # the older one first
    assert [float(score) for *_, score in cheap] == pytest.approx(scores.tolist())


def test_the_trained_layer_needs_two_tokens_or_twenty_six(page):
    js, data = module("token-choice.js"), payload()

    def chosen(by, looks, asked=0):
        return js.call("chosen", data, {"asked": asked, "by": by, "looks": looks})

    text = said(page, "#sec-choose")
    first = next(n for n in range(1, 34) if chosen("last", n)["isRight"])
    assert f"The last tokens have to be {first}" in text
    assert [chosen("cheap", n)["isRight"] for n in (1, 2)] == [False, True]
    one, two = (chosen("cheap", n) for n in (1, 2))
    assert f"the layer says {one['says']}, the room that she has left" in text
    assert [token["who"] for token in two["tokens"] if token["isSeen"]] == ["Ann", "Ann"]
    assert f"They miss {round(100 * two['missed'])} % of the weight" in text
    [left] = [token for token in one["tokens"] if token["isSeen"]]
    assert left["room"] == one["says"]
    for asked in range(16):
        assert chosen("cheap", 2, asked)["isRight"]  # "two are always enough"
    assert f"{two['multiplied']} in place of 33 · 32 = {two['everything']:,}" in text
    assert 0.3 < two["multiplied"] / two["everything"] < 0.36  # "saves two thirds"
    dearer = next(n for n in range(1, 34) if chosen("cheap", n)["multiplied"] > two["everything"])
    assert f"from {dearer} tokens on" in text


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

    text = said(page, "#sec-choose")
    ann = next(guest for guest, name in names.items() if name == "Ann")
    each, weights, places = scores(ann)
    one, other = weights[0, 0].tolist()
    assert [rooms[i] for i in places] == [3, 8]
    assert f"head 1 gives her notes {one:.2f} and {other:.2f}" in text
    assert f"{one:.2f} · 3 + {other:.2f} · 8 ≈ {3 * one + 8 * other:.1f}" in text
    best_three = each.topk(3)
    assert best_three.indices[:2].tolist() == [8, 3]
    first, second, third = (f"{score:.1f}" for score in best_three.values.tolist())
    assert f"{first} for 8, {second} for 3, and at most {third} for any other" in text
    moved = []
    for guest in names:
        _, _, places = scores(guest)
        if rooms[places[old]] != rooms[places[new]]:
            told = [int(scores(guest, heads)[0].argmax()) for heads in ([], [0], [1])]
            moved.append(
                [rooms[places[new]] == told[0], *(rooms[places[old]] == x for x in told[1:])]
            )
    eve, weights, _ = scores(next(guest for guest, name in names.items() if name == "Eve"))
    assert weights[1, 0, old] > 0.9
    assert eve.argmax() == 8
    right, by_first, by_second = (sum(column) for column in zip(*moved, strict=True))
    assert right == by_first == len(moved) == 14
    assert f"each of the {len(moved)} guests" in text
    assert "the older room of every one of them" in text
    assert by_second == 1
    assert "in the same way, one answer changes" in text


def test_a_choice_is_told_as_it_was_measured(page):
    window, chosen, every = (at(kind) for kind in ("window", "chosen", "softmax"))
    rows = figure_rows(page, "figure-choice")
    shares = [mean(seeds) for seeds in (window, chosen, every)]
    assert [float(row[-1]) for row in rows] == pytest.approx(shares, abs=0.0051)
    assert max(window) < 0.5 < 0.9 < min(chosen)
    assert all(one > other for one, other in zip(chosen, every, strict=True))  # "a little better"
    assert mean(chosen) - mean(every) < 0.01
    alone = own_notes_alone()
    assert alone > max(every)
    assert f"{alone:.2f} of its rooms are right" in said(page, "#sec-choose")
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
        told = model.answer(stream[:, -1] + layer.mixer.out_proj(mix))
        right.append(told.argmax(-1) == text.answers[:, -1])
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
    text = said(page, "#sec-saves")
    assert f"= {full:,} numbers, and a cheap one 64 · 128 = {cheap:,}" in text
    assert full == 9 * cheap
    everything, choice = 9 * 128_000, 128_000 + 9 * 2048
    assert f"9 · 128,000 = {everything:,} cheap scores" in text
    assert f"{choice:,} together" in text
    assert choice / everything == pytest.approx(1 / 8, abs=0.005)
    mixes = 128 * 512 // cheap  # the values of one token, in cheap scores
    with_mixes = (128_000 + (9 + mixes) * 2048) / ((9 + mixes) * 128_000)
    assert 1 / 13.5 < with_mixes < 1 / 12.5  # "a thirteenth"
    even = 9 * 2048 / 8  # n + 9 · 2,048 = 9 · n
    assert f"Below {even:,.0f} tokens" in text


def test_numbers_a_token_of_open_models(page):
    rows = [[int(cell.split(" = ")[1].replace(",", "")) for cell in row[2:4]]
            for row in cells(page, "open-models")]  # fmt: skip
    assert rows == [
        [2 * 32 * 8 * 128, 2 * 32 * 32 * 128],  # Llama 3 8B: 32 layers, 32 heads, 8 keys of 128
        [2 * 18 * 8 * 64, 2 * 36 * 64 * 64],  # gpt-oss-120b: every second of 36 layers, 64 heads
        [2 * 12 * 2 * 256, 2 * 48 * 16 * 256],  # Qwen3-Next: one layer in four, 16 heads
        [61 * (576 + 128), 61 * 2 * 128 * 128],  # DeepSeek-V3.2: a latent and a short key
    ]
    for row, (few, many) in zip(cells(page, "open-models"), rows, strict=True):
        for sum_ in row[2:4]:
            told, number = sum_.split(" = ")
            assert eval(told.replace("·", "*")) == int(number.replace(",", ""))
        assert row[4].split() == ["1", "in", f"{many / few:.0f}"]
    saved = [few / many for few, many in rows]
    assert min(saved) == saved[3]  # "the smallest part"
    assert rows[3][0] > max(rows[1][0], rows[2][0])  # "more than gpt-oss and Qwen3-Next"
    assert "36 · 2 · 64 · 64 = 294,912, which is 16 times as many" in said(page, "#sec-models")
    assert rows[1][1] == 16 * rows[1][0]
    assert "18 · 2 · 8 · 64 = 18,432 numbers" in said(page, "#sec-models")


def test_whoever_chooses_before_hiding_loses_places(page):
    cheap = torch.tensor([[0.3, 0.9, 0.1, 0.8], [0.5, 0.2, 0.7, 0.6],
                          [0.4, 0.1, 0.3, 0.9], [0.2, 0.8, 0.1, 0.6]])  # fmt: skip
    best_two = [set(sorted(range(4), key=lambda j: -row[j])[:2]) for row in cheap]
    counts = [len({j for j in chosen if j <= i}) for i, chosen in enumerate(best_two)]
    assert f"they look at {counts} tokens" in output(page, "bug-check")
    assert counts[:2] == [0, 0]  # "The first two tokens have nobody left"
