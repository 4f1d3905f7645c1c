"""m12: its claims against numbers computed here, by the storyteller and by masks of our own."""

import copy
import re

import pytest
import torch
import torch.nn.functional as F

from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.conftest import ROOT
from tests.lessons.page_text import cells, output, shows
from tests.numbers import numbers
from tests.widgets.truth_sparse_patterns import layers_to_first, masked
from tests.widgets.truth_writing_ahead import read_ahead

PAGE = "modules/m12_inference/lesson.html"
BOOK = 131_072  # tokens
LLAMA_3 = 2 * 32 * 8 * 128 * 2  # bytes of a token: keys and values, layers, heads, size, 16 bits
PARAMETERS = 16.06e9  # bytes


@pytest.fixture(scope="module")
def model():
    return load_storyteller()


@pytest.fixture(scope="module")
def ten(model):
    """The ten sentences of the ground floor."""
    tokenizer = Tokenizer(model.config.vocabulary)
    text = (ROOT / "modules/start/sentences.txt").read_text(encoding="utf-8")
    return [torch.tensor(tokenizer.encode(line)) for line in text.splitlines()]


def work(tokens, pairs):
    """Multiplications: four layers of matrices, what looks and is mixed, and one guess."""
    matrices, guess = 4 * 128 * 128 + 2 * 128 * 512, 128 * 1024
    return 4 * (tokens * matrices + pairs * 2 * 128) + guess


def test_what_the_cache_saves(page):
    whole, alone, guess = work(100, 5050), work(1, 100), work(0, 0)
    assert guess / alone == pytest.approx(1 / 8, rel=0.03)
    assert 75 < whole / alone < 85, "not much less than 100"
    lengths = range(1, 129)
    pairs = {n: n * (n + 1) // 2 for n in lengths}
    first = next(n for n in lengths if 50 * work(1, n) <= work(n, pairs[n]))
    assert shows(page, "#sec-cache", "100", f"{whole / alone:.0f}")
    assert shows(page, "#sec-cache", str(first), "49", "50")


def test_the_count_by_pencil(page):
    """In steps of 1,024 multiplications: what the reader is given, and the table."""
    guess = work(0, 0) / 1024
    layers, pair = (work(*of) / 1024 - guess for of in ((1, 0), (0, 1)))
    assert shows(page, "#sec-cache", f"{1024:,}", f"{layers:.0f}", f"{pair:.0f}", f"{guess:.0f}")
    ways = [(layers, 100 * pair, guess), (100 * layers, 5050 * pair, guess)]
    table = [[f"{n:,.0f}" for n in row] for row in (*zip(*ways, strict=True), map(sum, ways))]
    assert [row[1:] for row in cells(page, "count")] == table
    answer = "#sec-cache"
    assert shows(page, answer, table[-1][1], table[-1][0])
    assert shows(
        page, answer, "128", f"{(4 * 128 * 128 + 2 * 128 * 512) / 1024:.0f}", f"{layers:.0f}"
    )


def test_a_third_word_needs_two_keys_and_two_values(page):
    scores, values = torch.tensor([0, 0.7, 0, 0.7]), torch.tensor([3.0, 9, 4, 7])
    powers = torch.tensor([1.0, 2, 1, 2])  # about, of the scores
    about = [(powers[:n] @ values[:n] / powers[:n].sum()).item() for n in (3, 4)]
    assert shows(page, "#sec-cache", f"{about[0]:.2f}")
    assert shows(page, "#sec-cache", f"{about[1]:.1f}")
    assert output(page, "one-step") == f"{scores[:3].softmax(0) @ values[:3]:.2f}"


def test_what_llama_keeps_of_a_token(page):
    shared, own = 2 * 8 * 128, 2 * 32 * 128
    assert own == 4 * shared
    assert shows(page, "#sec-share", f"{shared:,}", f"{own:,}")
    assert shows(page, "#sec-size", f"{LLAMA_3 / 1e6:.3f}")
    for tokens, times in ((1_200, 100), (12_000, 10)):  # they take a part of the parameters' room
        assert tokens == pytest.approx(16e9 / times / LLAMA_3, rel=0.03)
        assert shows(page, "#predict-size", f"{tokens:,}")
    assert page.select_one("#predict-size")["data-right"] == "3"
    assert LLAMA_3 * BOOK > PARAMETERS


def test_the_ways_side_by_side(page):
    _, *rows = cells(page, "ways")
    sizes = [2 * 128, 576]  # numbers of 16 bits, in each of 32 layers
    book = [32 * 2 * each * BOOK for each in sizes]
    book += [LLAMA_3 * 4096, LLAMA_3 * BOOK / 2]  # a window, and 8 bits
    assert [row[1] for row in rows] == [f"{size / 1e9:.1f}" for size in book]


def test_what_makes_room_for_64_texts_of_llama_3():
    """32 layers, 8 heads of keys and values, of 128 numbers; 80 GB less the parameters."""
    a_text, room = LLAMA_3 * 4096, 80e9 - PARAMETERS
    whole = 64 * 32_768 * LLAMA_3
    one, latent = whole / 8, whole * 4.5 / 16
    assert 64 * a_text == one, "a window of 4k, and one key for all"
    assert max(one, latent / 2) < room < min(latent, whole / 2)


def rounded(vectors, levels):
    largest = vectors.abs().max(-1, keepdim=True).values
    return torch.round(vectors * (levels // 2) / largest) * largest / (levels // 2)


def rounding(attention, levels):
    """A projection whose keys and values have ``levels`` values, 0 in the middle; keys are rounded
    as they are kept, turned, and turned back."""
    project, turn = attention.qkv_proj, attention.rotary

    def forward(x):
        q, k, v = (
            F.linear(x, project.weight, project.bias)
            .unflatten(-1, (3, attention.num_heads, -1))
            .unbind(-3)
        )
        k, v = k.transpose(-2, -3), v.transpose(-2, -3)  # (B, H, L, D)
        k, v = turned_back(turn, rounded(turn(k), levels)), rounded(v, levels)
        k, v = k.transpose(-2, -3), v.transpose(-2, -3)
        return torch.stack([q, k, v], -3).flatten(-3)

    return forward


def turned_back(turn, keys):
    """Undo rotary positions: they are linear, so find each one's matrix and solve."""
    L, D = keys.shape[-2:]
    matrices = turn(torch.eye(D)[:, None].expand(D, L, D)).transpose(0, 1)  # (L, D, D), x -> x @ M
    rows = keys.double()[..., None, :]
    return torch.linalg.solve(matrices.double(), rows, left=False)[..., 0, :].float()


def sharing(attention, of):
    """A projection in which two neighbouring heads get their mean: turning is linear."""
    weight, bias = copy.deepcopy(attention.qkv_proj).parameters()
    for part in (weight, bias):
        heads = part.unflatten(0, (3, 2, 2, 32))  # query, key, value; two groups of two
        heads[of] = heads[of].mean(2, keepdim=True).expand_as(heads[of]).clone()
    return lambda x: F.linear(x, weight, bias)


@torch.no_grad()
def loss_of(model, ten, projection, *options):
    """Of the ten sentences, with another projection of queries, keys and values."""
    model = copy.deepcopy(model)
    for layer in model.layers:
        layer.attention.qkv_proj.forward = projection(layer.attention, *options)
    return torch.cat([
        F.cross_entropy(model(tokens[None, :-1]).logits[0], tokens[1:], reduction="none")
        for tokens in ten
    ]).mean().item()  # fmt: skip


def losses_shown(page):
    (_, _, whole), *rows = cells(page, "rounded")
    return float(whole), {int(label.split()[0]): (int(n), float(loss)) for label, n, loss in rows}


def test_eight_bits_lose_nothing_and_two_do(page, model, ten):
    whole, by_bits = losses_shown(page)
    for bits, (levels, loss) in by_bits.items():
        assert levels == 2**bits - 1
        assert loss == pytest.approx(loss_of(model, ten, rounding, levels), abs=0.0051)
    assert by_bits[8][1] == whole
    assert by_bits[4][1] < whole + 0.015
    assert by_bits[3][1] < whole + 0.05
    assert by_bits[2][1] > whole + 0.3
    key = torch.tensor([[1.27, 0.734]])
    assert float(rounded(key, 255)[0, 1]) == pytest.approx(0.73), "steps of 0.01"


@torch.no_grad()
def test_sharing_costs_a_model_that_was_not_trained_for_it(page, model, ten):
    whole, by_bits = losses_shown(page)
    both, keys, values = (
        loss_of(model, ten, sharing, of) for of in (slice(1, 3), slice(1, 2), slice(2, 3))
    )
    assert both > whole + 0.5
    assert both > by_bits[2][1] > by_bits[4][1], "worse than with 2 bits"
    assert values > keys + 0.1, "to share the values alone costs more"
    off = {"mean": [], "4 bits": [], "2 bits": []}
    for tokens in ten:
        states = model(tokens[None, :-1]).residual
        for layer, x in zip(model.layers, states, strict=False):
            _, key, value = layer.attention.project(layer.norm(x))
            for part in (layer.attention.rotary(key), value):
                mean = part.unflatten(1, (2, 2)).mean(2).repeat_interleave(2, dim=1)
                others = mean, rounded(part, 15), rounded(part, 3)
                for changes, other in zip(off.values(), others, strict=True):
                    changes.append(((other - part).norm(dim=-1) / part.norm(dim=-1)).flatten())
    mean, four, two = (torch.cat(changes).mean().item() for changes in off.values())
    assert mean > two > four, "the mean of two keys lies farther away than a rounded one"
    shown = f"{whole:.2f}", f"{both:.2f}", f"{mean:.1f}", "4", f"{four:.1f}"
    assert shows(page, "#told-to-share", *shown, f"{values:.2f}", f"{keys:.2f}")


def test_a_latent_is_met_by_the_query(page):
    c, W = torch.tensor([2, 1]), torch.tensor([[[1, 0], [1, 2]], [[0, 1], [1, -1]]])
    q = torch.tensor([[1, 2], [3, 1]])
    by_key, by_latent = c @ W, [a @ w.T for w, a in zip(W, q, strict=True)]
    scores = [str(int(a @ key)) for a, key in zip(q, by_key, strict=True)]
    assert [str(int(a @ c)) for a in by_latent] == scores

    def pair(numbers):
        return "({:.0f}, {:.0f})".format(*numbers)

    for shown in (
        [pair(by_key[0]), scores[0]], [pair(by_latent[0]), scores[0]],
        [pair(by_key[1]), scores[1], pair(by_latent[1]), scores[1]],
        ["576", f"{2 * 128 * 128:,}", f"{2 * 128 * 128 / 576:.0f}"],
        ["576", "32", "2", f"{BOOK:,}", f"{576 * 32 * 2 * BOOK / 1e9:.1f}"],
    ):  # fmt: skip
        assert shows(page, "#sec-compress", *shown), shown
    assert shows(page, "#latent-query", "576", "512", f"{576 - 512}")


def test_the_second_figure_of_the_latent_leads_to_the_score_of_the_first(page):
    shown = [torch.tensor(numbers(cell)) for cell in cells(page, "latent-asked .fallback")[0]]
    query, rows, changed, c, score = shown
    W = rows.unflatten(0, (2, 2))
    assert changed.tolist() == (query @ W.T).tolist()
    assert score.item() == (changed @ c).item() == (query @ (c @ W)).item()
    _, first, _ = cells(page, "latent-keys .fallback")[0]
    assert numbers(first) == rows.tolist(), "the matrix of the first figure"


def tiles(mask):
    return int(F.max_pool2d(mask[None].float(), 8).sum())


def keys_seen(pattern, size, n=64):
    """The keys of the first n tokens that later ones see, counted from 1."""
    return (1 + masked(pattern, 3 * n, size)[n:, :n].any(0).nonzero()[:, 0]).tolist()


def test_the_fallbacks_are_attention_py_s(page):
    patterns = "full", "causal", "window", "strided", "blocks"
    masks = [masked(pattern, 64, 8) for pattern in patterns]
    want = [[100 * mask.float().mean(), 100 * tiles(mask) / 64] for mask in masks]
    for (_, *shown), parts in zip(cells(page, "sparse-patterns .fallback"), want, strict=True):
        assert shown == [f"{part:.0f}\u202f%" for part in parts]


def test_how_far_a_window_hears(page):
    assert layers_to_first(masked("window", 15, 8)) == 2, "token 15 hears of token 1"
    reach = 32 * 4095
    assert 0 < BOOK - reach < 50, "nearly the whole book"
    for shown in (["8", "7", "8", "1", "15"], ["32", "4,095", f"{reach:,}"]):
        assert shows(page, "#sec-patterns", *shown), shown
    assert shows(page, "#check-it .answer", "10", "99", str(10 * (100 - 1)))


def test_the_goals_of_patterns_are_met_by_what_the_box_names(page):
    def is_far_with_few(pattern, size):
        mask = masked(pattern, 64, size).float()
        return bool((mask @ mask)[-1, 0] and mask.mean() < 0.2)

    sizes = range(1, 33)
    assert [s for s in sizes if tiles(masked("window", 64, s)) <= 16] == [*range(1, 10)]
    assert [s for s in sizes if is_far_with_few("strided", s)] == [*range(4, 12)]
    assert [s for s in sizes if is_far_with_few("blocks", s)] == [*range(1, 6)]
    causal, every_8, in_4 = (
        tiles(masked(pattern, 64, size))
        for pattern, size in (("causal", 64), ("strided", 8), ("blocks", 4))
    )
    assert every_8 == causal == 64 - 28, "a stride touches as many tiles"
    assert len(keys_seen("strided", 8)) == 64, "and spares no key"
    left = str(in_4), str(causal), str(len(keys_seen("blocks", 4)))
    assert shows(page, "#sec-patterns .answer", "9", "4", "11", "5", "8", "8", "4", *left, "64")


def test_what_patterns_keep_of_eight_tokens(page):
    """Token 8 sees these, and those after it will still see these."""
    rows = page.select("#sec-patterns .box table tbody tr")
    patterns = [("window", 3), ("strided", 3), ("blocks", 2)]
    for row, (pattern, size) in zip(rows, patterns, strict=True):
        seen = 1 + masked(pattern, 8, size)[7].nonzero()[:, 0]
        _, sees, stays = (cell.get_text() for cell in row.select("td"))
        assert numbers(sees) == seen.tolist()
        if pattern == "strided":
            assert keys_seen(pattern, size, 8) == [*range(1, 9)], "all eight"
        else:
            assert numbers(stays) == keys_seen(pattern, size, 8)


@torch.no_grad()
def test_one_causal_reading_guesses_after_each_beginning(page, model):
    """Four tokens in one reading, and arithmetic that hardly counts beside the fetch."""
    tokens = torch.tensor([Tokenizer(model.config.vocabulary).encode("Once upon a hill")])
    together = model(tokens).logits[0]
    for n in range(1, tokens.shape[1] + 1):
        alone = model(tokens[:, :n]).logits[0, -1]
        torch.testing.assert_close(together[n - 1], alone, rtol=1e-4, atol=1e-4)
    flops, bandwidth = 989.4e12, 3.35e12  # an H100's; a parameter of 2 bytes takes part in 2 FLOPs
    times = round(flops / bandwidth, -2)
    assert shows(page, "#sec-ahead", f"{times:.0f}")
    assert 4 / times < 0.02, "four tokens' arithmetic, in fetches"


def test_what_the_longest_guess_saves_and_costs(page):
    """The sums of the answer, and readings by how many tokens the copier may guess."""
    rows = cells(page, "writing-ahead .fallback")
    readings = {name: [int(n) for n in row] for name, *row in rows}
    for beginning, shown in readings.items():
        runs = [read_ahead(beginning, guesses) for guesses in range(1, 9)]
        counts = [len(run) for run in runs]
        assert shown == [counts[guesses - 1] for guesses in (1, 2, 4, 8)]
        assert counts == sorted(counts, reverse=True), "a longer guess never takes more readings"
        assert all(len(run) + sum(kept for _, kept in run) == 60 for run in runs)
    four, eight = (read_ahead("It was a dark night, and", n) for n in (4, 8))
    kept = [sum(kept for _, kept in run) for run in (eight, four)]
    thrown = [sum(made - kept for made, kept in run) for run in (eight, four)]
    assert thrown[0] > 2 * thrown[1]
    [idle] = {
        sum(made == 0 for made, _ in read_ahead("It was a dark night, and", guesses)[:-1])
        for guesses in range(1, 9)  # the last reading has nothing left to guess
    }
    said = kept[0], 60, len(eight), kept[1], len(four), *thrown, idle, len(eight)
    assert shows(page, "#sec-ahead", *map(str, said))


def test_writing_ahead_spares_runs_and_two_layers_cost_more(page):
    rows = cells(page, "ahead-counts")
    assert len(rows) == 3
    for _, *ways in rows:
        (alone, four, all_alone), (copied, _, all_copied), (drafted, each, all_drafted), one = (
            [int(n) for n in re.findall(r"\d+", way)] for way in ways
        )
        assert (alone, four, all_alone) == (60, 4, 240)
        assert all_copied == 4 * copied < all_alone
        assert each == 4 + 4 * 2, "the model's layers, and two for each of four drafted tokens"
        assert drafted < alone
        assert all_drafted == each * drafted > all_alone
        assert one[1] == 4 + 2
        assert one[2] == one[1] * one[0] == pytest.approx(all_alone, rel=0.1), "near even"


def test_the_bug_sees_the_first_key_alone(page):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 4, 8)
    seen = F.scaled_dot_product_attention(q[:, :, 3:], k, v, is_causal=True)
    assert torch.equal(seen, v[:, :, :1])
    assert output(page, "bug-check")


def test_the_cells_that_compare_agree(page):
    """The whole model's text and the cached one, pages and one cache, chances, two processes."""
    assert output(page, "same-text").endswith("True")
    assert output(page, "paged").endswith("True")
    wanted, written = (
        numbers(part) for part in re.findall(r"\[([^\]]*)\]", output(page, "chance"))
    )
    assert written == pytest.approx(wanted, abs=0.005)
    processes, error = output(page, "ring").splitlines()[:2]
    assert numbers(processes) == [2, 512, 1024]
    assert numbers(error)[-1] < 1e-12
