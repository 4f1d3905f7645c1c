"""m15: its claims against numbers computed here. tests/widgets has its widget."""

import json
from statistics import mean

import pytest
import torch
import torch.nn.functional as F

from attention import scaled_dot_product_attention
from course.payloads.token_choice import book, payload
from models.beyond.task import ROOM, Text
from models.beyond.train import blind_to_others, one_asked
from models.beyond.train import load as trained
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
    return 100 * float((logits.argmax(-1) == right).float().mean()), float(loss), torch.stack(rows)


def best(rows):
    return rows >= rows.topk(KEPT).values[..., -1:]


def others(rows):
    is_first = (torch.arange(LONG) < KEPT)[:, None]  # they have no others
    return ~best(rows) | is_first


def last(rows):
    back = torch.arange(LONG)[:, None] - torch.arange(LONG)
    return (back < KEPT).expand_as(rows)


def test_the_storyteller_hardly_misses_the_small_weights(page):
    found = [guessed(choose) for choose in (None, best, others, last, torch.zeros_like)]
    *shown, lot, nothing = cells(page, "losses")
    for (right, loss, _), row in zip(found, [*shown, nothing], strict=True):
        assert float(row[1]) == pytest.approx(loss, abs=0.011)
        assert float(row[2]) == pytest.approx(right, abs=0.15)
    (whole, _, rows), (few, *_), (rest, *_), _, (none, *_) = found
    assert whole - few < 3
    assert float(lot[2]) < few / 2
    assert rest - none < 2, "next to nothing"
    of_layers = rows[:, :, LONG // 2 :].topk(KEPT).values.sum(-1).mean((1, 2))
    on_best = float(of_layers.mean())
    assert on_best < 0.5, "more than half of the weight is hidden"
    assert shows(page, "#sec-missed", "0.005", f"{8 * 0.005}", f"{on_best:.2f}")
    assert shows(page, "#more-softmax", *(f"{layer:.2f}" for layer in of_layers))


def test_two_of_five_notes_with_a_pencil(page):
    notes = [row.select("td") for row in page.select("#sec-chosen table")[0].select("tbody tr")]
    cheap, scores = (torch.tensor([float(row[i].get_text()) for row in notes]) for i in (2, 3))
    keys = torch.tensor([numbers(row[1].get_text()) for row in notes])
    torch.testing.assert_close(keys @ torch.tensor([0.5, 0.5]), cheap)
    assert cheap.topk(2).indices.tolist() == [0, 3]
    assert [notes[i][0].get_text() for i in (0, 3)] == ["Ann in 5", "Ann in 2"]
    weights = scores[[0, 3]].softmax(0)
    answer = float(weights @ torch.tensor([5.0, 2]))
    texts = [f"{weight:.2f}" for weight in weights]
    assert shows(page, "#sec-chosen", *texts, texts[0], "5", texts[1], "2", f"{answer:.1f}")
    assert 1 - scores.softmax(0)[[0, 3]].sum() < 0.01


def test_a_choice_saves_seven_eighths_of_the_work(page):
    """By the sizes that DeepSeek-AI has published."""
    full, cheap = 128 * (512 + 64), 64 * 128
    everything, choice = 9 * 128_000, 128_000 + 9 * 2048
    assert full == 9 * cheap
    assert shows(page, "#sec-saves", f"{full:,}", "64", "128", f"{cheap:,}")
    assert shows(page, "#sec-saves", f"{everything:,}", f"{9 * 2048:,}", f"{choice:,}")
    assert choice / everything == pytest.approx(1 / 8, abs=0.005)
    mixes = 128 * 512 // cheap  # the values of one token, in cheap scores
    with_mixes = (128_000 + (9 + mixes) * 2048) / ((9 + mixes) * 128_000)
    assert 1 / 13.5 < with_mixes < 1 / 12.5, "a thirteenth"
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
    llama, gpt, qwen, deepseek = rows
    assert deepseek[0] / deepseek[1] < min(few / many for few, many in (llama, gpt, qwen))
    assert deepseek[0] > max(gpt[0], qwen[0]), "in numbers more"
    assert shows(page, "#sec-models", "18", "2", "8", "64", f"{gpt[0]:,}")
    assert shows(page, "#sec-models", "36", "2", "64", "64", f"{gpt[1]:,}", f"{gpt[1] // gpt[0]}")


def test_whoever_chooses_before_hiding_loses_places(page):
    cheap = torch.tensor([[0.3, 0.9, 0.1, 0.8], [0.5, 0.2, 0.7, 0.6],
                          [0.4, 0.1, 0.3, 0.9], [0.2, 0.8, 0.1, 0.6]])  # fmt: skip
    counts = (cheap.topk(2).indices <= torch.arange(4)[:, None]).sum(1).tolist()
    assert in_order(output(page, "bug-check"), str(counts))
    assert counts[:2] == [0, 0], "the first two tokens have nobody left"


def test_the_trained_layer_needs_two_tokens_or_twenty_six(page):
    js, data = module("token-choice.js"), payload()

    def chosen(by, looks, asked=0):
        return js.call("chosen", data, {"asked": asked, "by": by, "looks": looks})

    assert [n for n in range(1, 27) if chosen("last", n)["isRight"]] == [26]
    one, two = (chosen("cheap", n) for n in (1, 2))
    [left] = [token for token in one["tokens"] if token["isSeen"]]
    assert left["room"] == one["says"], "the room that she has left"
    assert [token["who"] for token in two["tokens"] if token["isSeen"]] == ["Ann", "Ann"]
    assert shows(page, "#sec-choose", "26", share(two["missed"]), str(one["says"]))
    assert all(chosen("cheap", 2, asked)["isRight"] for asked in range(16))
    some, all_ = two["multiplied"], two["everything"]
    assert 0.3 < some / all_ < 0.36, "saves two thirds"
    assert chosen("cheap", 24)["multiplied"] <= all_ < chosen("cheap", 25)["multiplied"]
    assert shows(page, "#sec-choose", str(some), "33", "32", f"{all_:,}", "25")


@torch.no_grad()
def test_her_room_is_told_by_a_little_more_weight_of_head_1(page):
    """The layer itself, with nothing but a guest's two notes to mix."""
    model = trained("moves", "chosen")
    layer = model.layers[0]
    guests, rooms, names = book()

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
        told = model.answer(stream[0, -1] + layer.mixer.out_proj(mix))
        return told, weights, [rooms[i] for i in places]

    guest_of = {name: guest for guest, name in names.items()}
    each, weights, (old, new) = scores(guest_of["Ann"])
    assert each.topk(2).indices.tolist() == [new, old]
    one, other = weights[0, 0].tolist()
    top = [f"{score:.1f}" for score in each.topk(3).values.tolist()]
    mixed = f"{old * one + new * other:.1f}"
    shown = f"{one:.2f}", f"{other:.2f}", mixed, top[0], f"{new}", top[1], f"{old}", top[2]
    assert shows(page, "#sec-choose", *shown)

    changed = {heads: [] for heads in ((), (0,), (1,))}
    for heads, answers in changed.items():
        for guest in names:
            told, _, (old, new) = scores(guest, heads)
            if old != new:
                answers.append(int(told.argmax()) == (old if heads else new))
    assert [sum(answers) for answers in changed.values()] == [14, 14, 1]
    assert {len(answers) for answers in changed.values()} == {14}
    assert shows(page, "#sec-choose", "14")
    eve, weights, (_, new) = scores(guest_of["Eve"])
    assert weights[1, 0, 0] > 0.9, "head 2 looks at her older note"
    assert eve.argmax() == new


def test_a_choice_is_as_good_as_everything_and_a_window_isn_t():
    every, window, chosen = (
        [seed[-1] for seed in MOVES[kind]["alone"]] for kind in ("softmax", "window", "chosen")
    )
    assert max(window) < 0.5 < 0.9 < min(chosen)
    assert all(one > other for one, other in zip(chosen, every, strict=True)), "a little better"
    assert mean(chosen) - mean(every) < 0.01
    assert blind_to_others() > max(every)


@torch.no_grad()
def test_most_errors_are_where_two_notes_stand_side_by_side():
    model, right, apart = trained("moves", "chosen"), [], []
    for text in one_asked(16):
        notes = (text.guests == text.guests[:, -1:])[:, :-1].nonzero()[:, 1].view(-1, 2)
        right.append(model(text)[:, -1].argmax(-1) == text.answers[:, -1])
        apart.append(notes[:, 1] - notes[:, 0])
    right, apart = torch.cat(right).float(), torch.cat(apart)
    far = [apart == 1, apart == 2, (apart > 2) & (apart < 5), apart > 4]
    shares = [float(right[where].mean()) for where in far]
    assert shares == sorted(shares)
    assert shares[0] < 0.8 < 0.99 < shares[-1]
