"""m15: its claims against numbers computed here. tests/widgets has its widget."""

import json
from fractions import Fraction
from statistics import mean

import pytest
import torch
import torch.nn.functional as F

from attention import scaled_dot_product_attention
from course.payloads.token_choice import book, payload
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
JS, BOOK = module("token-choice.js"), payload()


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
    assert float(lot[2]) < none - 1, "they do harm"
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
    even = 9 * 2048 // 8  # n + 9 · 2,048 = 9 · n
    assert in_order(text_of(page, "#sec-saves"), f"{even:,}", f"{9 * even:,}", f"{9 * even:,}")
    of_one = (128_000 + 9) / everything
    assert 1 / 9 < of_one < 1 / 8.99, "hardly nine times less if a single token is chosen"


def three_notes(page):
    rows = [row.select("td") for row in page.select("#sec-two table")[0].select("tbody tr")]
    keys = [tuple(map(int, numbers(row[1].get_text()))) for row in rows]
    return [row[0].get_text().split()[0] for row in rows], keys


def test_no_single_short_query_finds_both_notes(page):
    """Cleo's score is the mean of the two others', for every query in the plane.

    By the coefficients of q, exactly; and by a full turn of queries, the 0 counted or not.
    """
    names, (ann, cleo, ben) = three_notes(page)
    assert names == ["Ann", "Cleo", "Ben"]
    assert [2 * c for c in cleo] == [a + b for a, b in zip(ann, ben, strict=True)]
    turn = torch.arange(0, 360, 0.25, dtype=torch.float64).deg2rad()
    scores = torch.stack([turn.cos(), turn.sin()], 1) @ torch.tensor([ann, cleo, ben]).double().T
    for counted in (scores, scores.relu()):
        assert (counted[:, [0, 2]].amin(1) <= counted[:, 1] + 1e-12).all()
    for query in [(1, 0), (1, 1)]:
        found = [sum(x * y for x, y in zip(query, key, strict=True)) for key in (ann, cleo, ben)]
        assert shows(page, "#sec-two", *map(str, query), *map(str, dict.fromkeys(found)))


def test_two_short_queries_and_a_zero_find_both_notes(page):
    names, keys = three_notes(page)
    queries = [[1, -1], [-1, 1]]
    results = torch.tensor(keys) @ torch.tensor(queries).T
    together = results.relu().sum(1)
    assert [names[i] for i in together.topk(2).indices.sort().values] == ["Ann", "Ben"]
    assert results.sum(1).tolist() == [0, 0, 0], "without the 0"
    told = page.select("#sec-two table")[1]
    assert [numbers(th.get_text()) for th in told.select("th")[1:3]] == queries
    for row, each, all_ in zip(told.select("tbody tr"), results, together, strict=True):
        cells_ = [numbers(cell.get_text()) for cell in row.select("td")[1:]]
        assert [cell[0] for cell in cells_] == [*each.tolist(), all_]
        assert [cell[1:] for cell in cells_[:2]] == [[0] if x < 0 else [] for x in each]


def test_without_the_zero_short_queries_are_one(page):
    queries, key = torch.tensor([[2.0, 0.0], [-1.0, 1.0]]), torch.tensor([3.0, 1.0])
    one = queries.sum(0)
    keys = torch.randn(100, 2, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close((keys @ queries.T).sum(1), keys @ one)
    results = queries @ key
    assert shows(page, "#more-softmax", *(f"{int(x)}" for x in [*results.abs(), results.sum()]))
    assert (results.sum(), key @ one) == (4, 4)


def test_a_choice_fetches_as_much_less_but_keeps_more(page):
    latent, short = 2 * (512 + 64), 128  # bytes
    assert latent == 9 * short
    assert shows(page, "#sec-saves", f"{latent:,}", f"{short}")
    rows = cells(page, "savings-numbers")
    for tokens, *shown in rows:
        length = int(tokens.replace(",", ""))
        few = min(length, 2048)
        times = (
            9 * length / (length + 9 * few),
            9 / (1 + 9 * few / length),
            latent / (latent + short),
        )
        assert [float(cell) for cell in shown] == pytest.approx(times, abs=0.006)
    assert float(rows[1][1]) == 1, "there both cost the same"
    assert 8.8 < float(rows[-1][1]) < 9, "in a million tokens nearly nine times"


def test_a_whole_token_waits_for_fetching(page):
    """Published sizes: 61 layers, 37 billion parameters for a token; an H100's two speeds."""
    latent, short, layers = 2 * (512 + 64), 128, 61
    each_byte = 128 * 2 * (576 + 512) / latent
    ridge = 989.4 / 3.35
    assert 2 * 64 * 128 / short < each_byte < ridge
    everything, few = (
        layers * size / 1e9 for size in (128_000 * latent, 128_000 * short + 2048 * latent)
    )
    told = f"{each_byte:.0f}", f"{ridge:.0f}", f"{everything:.1f}", f"{few:.1f}"
    # 64 queries of 128 numbers from a latent of 1,536, a key and 64 factors from 7,168
    choosing = layers * (1536 * 64 * 128 + 7168 * (128 + 64)) / 1e9
    both = f"{choosing:.2f}", f"{37 + everything:.0f}", f"{37 + few + choosing:.0f}"
    assert in_order(text_of(page, "#sec-saves"), *told, "37", *both)


def test_numbers_a_token_of_open_models(page):
    rows = [  # layers that keep, layers, and a layer's numbers: few, and with all heads' own
        [32, 32, 2 * 8 * 128, 2 * 32 * 128],  # Llama 3 8B: 32 heads, 8 keys of 128
        [18, 36, 2 * 8 * 64, 2 * 64 * 64],  # gpt-oss-120b: every second layer, 64 heads
        [12, 48, 2 * 2 * 256, 2 * 16 * 256],  # Qwen3-Next: one layer in four, 16 heads
        [61, 61, 576 + 128, 2 * 128 * 128],  # DeepSeek-V3.2: a latent and a short key
    ]
    told = zip(cells(page, "open-models"), rows, strict=True)
    for (_, keeping, each, left), (some, layers, few, many) in told:
        assert numbers(keeping)[:2] == [some, layers]
        assert numbers(each.replace(",", ""))[:2] == [few, many]
        first, second = Fraction(some, layers), few / many
        factors = [first, second, first * second]
        shown = ["1" if factor == 1 else f"1/{float(1 / factor):.0f}" for factor in factors]
        assert left == "{} · {} = {}".format(*shown)


def test_whoever_chooses_before_hiding_loses_places(page):
    cheap = torch.tensor([[0.3, 0.9, 0.1, 0.8], [0.5, 0.2, 0.7, 0.6],
                          [0.4, 0.1, 0.3, 0.9], [0.2, 0.8, 0.1, 0.6]])  # fmt: skip
    counts = (cheap.topk(2).indices <= torch.arange(4)[:, None]).sum(1).tolist()
    assert in_order(output(page, "bug-check"), str(counts))
    assert counts[:2] == [0, 0], "the first two tokens have nobody left"


def chosen(by, looks, asked=0):
    return JS.call("chosen", BOOK, {"asked": asked, "by": by, "looks": looks})


def test_the_trained_layer_needs_two_tokens_or_twenty_four(page):
    assert [n for n in range(1, 25) if chosen("last", n)["isRight"]] == [24]
    one, two = (chosen("cheap", n) for n in (1, 2))
    [left] = [token for token in one["tokens"] if token["isSeen"]]
    assert left["who"] == "Ann"
    assert left["room"] == one["says"], "the room that she has left"
    seen = [token for token in two["tokens"] if token["isSeen"]]
    assert [token["who"] for token in seen] == ["Ann", "Ann"]
    assert [token["rank"] for token in seen] == [1, 2], "the older one comes first"
    assert all(chosen("cheap", n)["isRight"] for n in range(2, 34))
    eight = chosen("cheap", 8)
    assert eight["multiplied"] / eight["everything"] == pytest.approx(1 / 2, abs=0.01)
    assert shows(page, "#sec-choose", "24", str(one["says"]))


def test_a_note_that_is_overlooked_is_lost(page):
    guests, rooms, names = book()
    asked = [*names.values()].index("Eve")
    told = [chosen("cheap", n, asked) for n in range(1, 34)]
    old, new = (room for guest, room in zip(guests, rooms, strict=True) if names[guest] == "Eve")
    assert [one["says"] for one in told] == [old] * 3 + [new] * 30
    assert shows(page, "#sec-choose .answer", str(old), str(new))
    order = sorted(told[0]["tokens"], key=lambda token: token["rank"])[:4]
    best = [(token["who"], token.get("room")) for token in order]
    assert [who for who, _ in best] == ["Eve", "Ben", "Ben", "Eve"]
    assert [best[0][1], best[3][1]] == [old, new]
    assert all(chosen("cheap", 2, other)["isRight"] for other in range(16) if other != asked)
    ann, eve = chosen("cheap", 2), told[1]
    assert ann["missed"] > eve["missed"]
    assert shows(page, "#sec-choose", share(ann["missed"]), share(eve["missed"]))
    older, newer = order[0]["heads"], order[3]["heads"]
    assert older[0] < newer[0], "the first head prefers the new note"
    assert newer[1] < older[1], "and the second the old one"
    missed = [
        [sum(t["heads"][head] for t in one["tokens"] if not t["isSeen"]) for head in (0, 1)]
        for one in (ann, eve)
    ]
    assert missed[0][0] < missed[1][0] / 2, "the head that brings the room misses more of Eve's"
    shown = share(missed[0][0]), share(missed[1][0]), f"{newer[0]:.2f}", f"{older[0]:.2f}"
    assert in_order(text_of(page, "#sec-choose"), *shown)


@torch.no_grad()
def test_the_first_head_brings_the_room(page):
    """In the books of the figure: by attention, with one head's part of the output alone."""
    model, right = trained("moves", "chosen"), {(0,): [], (1,): [], (0, 1): []}
    layer, D = model.layers[0], 16
    for text in one_asked(16):
        stream = model.embed(text)
        x = layer.norm(stream)
        query, key, value = layer.mixer.project(x)
        back = torch.arange(x.shape[1] - 1, -1, -1)
        scores = (query[:, :, -1:] @ key.mT)[:, :, 0] / D**0.5 - layer.slopes[:, 0] * back
        cheap = layer.mixer.index(x)[:, -1:]
        hidden = cheap < cheap.topk(8).values[..., -1:]
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        mixes = (weights[:, :, None] @ value)[:, :, 0]
        for heads, found in right.items():
            parts = (mixes[:, h] @ layer.mixer.out_proj.weight[:, h * D :][:, :D].T for h in heads)
            guess = model.answer(stream[:, -1] + sum(parts) + layer.mixer.out_proj.bias)
            found.append(guess.argmax(-1) == text.answers[:, -1])
    first, second, both = (float(torch.cat(found).double().mean()) for found in right.values())
    assert shows(page, "#sec-choose", f"{100 * first:.0f}", "100", f"{100 * second:.0f}")
    assert second < 0.3 < 0.85 < first < both


def test_a_choice_is_as_good_as_everything_and_a_window_isn_t():
    every, window, chosen = (
        [seed[-1] for seed in MOVES[kind]["alone"]] for kind in ("softmax", "window", "chosen")
    )
    assert max(window) < 0.5 < 0.9 < min(chosen)
    assert mean(every) < mean(chosen) < mean(every) + 0.01
    assert blind_to_others() > max(every)
