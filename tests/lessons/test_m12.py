"""m12: its claims against numbers computed here, by the storyteller and by masks of our own."""

import copy

import pytest
import torch
import torch.nn.functional as F

from models.storyteller.model import load_storyteller
from models.storyteller.tokens import Tokenizer
from tests.conftest import ROOT
from tests.lessons.page_text import cells, output, shows
from tests.numbers import numbers
from tests.widgets.truth_sparse_patterns import layers_to_first, masked

PAGE = "modules/m12_inference/lesson.html"
BOOK = 131_072  # tokens
LLAMA_3 = 2 * 32 * 8 * 128 * 2  # bytes of a token: keys and values, layers, heads, size, 16 bits
PARAMETERS = 16.06e9  # bytes


def test_the_count_by_pencil(page):
    """In steps of 1,024 multiplications, for the 100th token: with the cache, and without."""
    layers, pair, guess = (
        of / 1024 for of in (4 * (4 * 128 * 128 + 2 * 128 * 512), 4 * 2 * 128, 128 * 1024)
    )
    assert shows(page, "#sec-cache", f"{layers:.0f}", f"{pair:.0f}", f"{guess:.0f}")
    ways = [(layers, 100 * pair, guess), (100 * layers, 5050 * pair, guess)]
    table = [[f"{n:,.0f}" for n in row] for row in (*zip(*ways, strict=True), map(sum, ways))]
    assert [row[1:] for row in cells(page, "count")] == table
    alone, whole = map(sum, ways)
    assert shows(page, "#sec-cache", *reversed(table[-1]), f"{whole / alone:.0f}")
    assert 75 < whole / alone < 85, "not much less than 100"
    assert guess / alone == pytest.approx(1 / 8, rel=0.03)
    first = next(
        n for n in range(1, 129)
        if 50 * (layers + n * pair + guess) <= n * layers + n * (n + 1) / 2 * pair + guess
    )  # fmt: skip
    assert shows(page, "#sec-cache", str(first), "49", "50")


def test_a_third_word_needs_two_keys_and_two_values(page):
    scores, values = torch.tensor([0, 0.7, 0]), torch.tensor([3.0, 9, 4, 7])
    powers = torch.tensor([1.0, 2, 1, 2])  # about, of the scores
    about = [(powers[:n] @ values[:n] / powers[:n].sum()).item() for n in (3, 4)]
    assert shows(page, "#sec-cache", f"{about[0]:.2f}")
    assert shows(page, "#sec-cache", f"{about[1]:.1f}")
    assert output(page, "one-step") == f"{scores.softmax(0) @ values[:3]:.2f}"


def test_what_llama_keeps_of_a_token(page):
    assert shows(page, "#sec-share", f"{2 * 8 * 128:,}", f"{2 * 32 * 128:,}")
    assert shows(page, "#sec-size", f"{LLAMA_3 / 1e6:.3f}")
    for tokens, times in ((1_200, 100), (12_000, 10)):  # they take a part of the parameters' room
        assert tokens == pytest.approx(16e9 / times / LLAMA_3, rel=0.03)
        assert shows(page, "#predict-size", f"{tokens:,}")
    assert LLAMA_3 * BOOK > PARAMETERS
    _, *rows = cells(page, "ways")
    one_key, latent = (32 * 2 * numbers * BOOK for numbers in (2 * 128, 576))
    ways = [one_key, latent, LLAMA_3 * 4096, LLAMA_3 * BOOK / 2]  # … a window, and 8 bits
    assert [row[1] for row in rows] == [f"{size / 1e9:.1f}" for size in ways]


def test_what_makes_room_for_64_texts_of_llama_3():
    whole, room = 64 * 32_768 * LLAMA_3, 80e9 - PARAMETERS
    one, window, latent = whole / 8, 64 * 4096 * LLAMA_3, whole * 4.5 / 16
    assert max(one, window) < room < min(latent, whole / 2), "two of four do it alone"
    assert latent / 2 < room, "and a latent with 8 bits"


def test_a_latent_is_met_by_the_query(page):
    c, W = torch.tensor([2, 1]), torch.tensor([[[1, 0], [1, 2]], [[0, 1], [1, -1]]])
    q = torch.tensor([[1, 2], [3, 1]])
    keys = ["({}, {})".format(*(c @ of).tolist()) for of in W]
    asked = ["({}, {})".format(*(ask @ of.T).tolist()) for ask, of in zip(q, W, strict=True)]
    scores = [str(int(ask @ (c @ of))) for ask, of in zip(q, W, strict=True)]
    assert shows(page, "#sec-compress", keys[0], scores[0])
    assert shows(page, "#sec-compress", scores[0], asked[0])
    assert shows(page, "#sec-compress", keys[1], scores[1], asked[1], scores[1])
    assert shows(page, "#sec-compress", "576", f"{2 * 128 * 128:,}", f"{2 * 128 * 128 / 576:.0f}")
    made = [numbers(cell) for cell in cells(page, "latent-keys .fallback")[0][1:]]
    assert made == [W[0].flatten().tolist(), (c @ W[0]).tolist()]
    shown = [numbers(cell) for cell in cells(page, "latent-asked .fallback")[0]]
    assert shown == [q[0].tolist(), made[0], (q[0] @ W[0].T).tolist(), c.tolist(), [7]]


@pytest.fixture(scope="module")
def model():
    return load_storyteller()


@pytest.fixture(scope="module")
def ten(model):
    """The ten sentences of the ground floor."""
    tokenizer = Tokenizer(model.config.vocabulary)
    text = (ROOT / "modules/start/sentences.txt").read_text(encoding="utf-8")
    return [torch.tensor(tokenizer.encode(line)) for line in text.splitlines()]


def rounded(vectors, levels):
    largest = vectors.abs().max(-1, keepdim=True).values
    return torch.round(vectors * (levels // 2) / largest) * largest / (levels // 2)


def rounding(attention, levels):
    """A projection whose keys and values have ``levels`` values, 0 in the middle; keys are rounded
    as they are kept, turned, and turned back."""
    project, turn = attention.qkv_proj, attention.rotary

    def forward(x):
        parts = F.linear(x, project.weight, project.bias)
        q, k, v = parts.unflatten(-1, (3, attention.num_heads, -1)).transpose(1, 3).unbind(2)
        back = -torch.arange(x.shape[1])
        k = turn(rounded(turn(k), levels), position_ids=back)
        return torch.stack([q, k, rounded(v, levels)], 2).transpose(1, 3).flatten(-3)

    return forward


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


def test_eight_bits_lose_nothing_two_do_and_sharing_untrained_loses_most(page, model, ten):
    (_, _, whole), *rows = cells(page, "rounded")
    whole, by_bits = float(whole), {}
    for label, levels, loss in rows:
        bits = int(label.split()[0])
        by_bits[bits] = loss_of(model, ten, rounding, 2**bits - 1)
        assert int(levels) == 2**bits - 1
        assert float(loss) == pytest.approx(by_bits[bits], abs=0.0051)
    assert by_bits[8] == pytest.approx(whole, abs=0.0051)
    assert by_bits[4] < whole + 0.015
    assert by_bits[3] < whole + 0.05
    assert by_bits[2] > whole + 0.3
    both, keys, values = (
        loss_of(model, ten, sharing, of) for of in (slice(1, 3), slice(1, 2), slice(2, 3))
    )
    assert both > max(by_bits[2], whole + 0.5)
    assert values > keys + 0.1, "to share the values alone costs more"
    assert shows(page, "#told-to-share", f"{whole:.2f}", f"{both:.2f}")
    assert shows(page, "#told-to-share", f"{values:.2f}", f"{keys:.2f}")
    key = torch.tensor([[1.27, 0.734]])
    assert float(rounded(key, 255)[0, 1]) == pytest.approx(0.73), "steps of 0.01"


def tiles(mask):
    return int(F.max_pool2d(mask[None].float(), 8).sum())


def keys_seen(pattern, size, n=64):
    """The keys of the first n tokens that later ones see, counted from 1."""
    return (1 + masked(pattern, 3 * n, size)[n:, :n].any(0).nonzero()[:, 0]).tolist()


def test_how_far_a_window_hears(page):
    assert layers_to_first(masked("window", 15, 8)) == 2, "token 15 hears of token 1"
    reach = 32 * 4095
    assert 0 < BOOK - reach < 50, "nearly the whole book"
    assert shows(page, "#sec-patterns", "32", "4,095", f"{reach:,}")
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
    assert shows(page, "#sec-patterns", "9", "4", "11", "5", "8", "8", "4", *left, "64")


def test_only_a_window_of_8_takes_nine_layers(page):
    layers = {size: layers_to_first(masked("window", 64, size)) for size in range(1, 33)}
    assert [size for size, n in layers.items() if n == 9] == [8]
    assert len(keys_seen("window", 8)) == 7
    assert shows(page, "#sec-patterns", "8", "63", "7", "9", "7", "63")


def test_a_head_s_value_of_a_mix_is_the_mix_of_values(page):
    latents, matrix = torch.tensor([[2.0, 1], [0, 3]]), torch.tensor([[1.0, 1], [0, 2]])
    weights = torch.tensor([0.5, 0.5])
    first, second = (latents @ matrix).tolist()
    mix, want = weights @ latents, weights @ (latents @ matrix)
    torch.testing.assert_close(mix @ matrix, want)
    texts = [f"({a:.0f}, {b:.0f})" for a, b in (first, second, want, mix, want)]
    assert shows(page, "#sec-compress", *texts)


@pytest.mark.parametrize(("row", "pattern", "size"), [
    (0, "window", 3), (1, "strided", 3), (2, "blocks", 2),
])  # fmt: skip
def test_what_patterns_keep_of_eight_tokens(page, row, pattern, size):
    """Token 8 sees these, and those after it will still see these."""
    cells_of = page.select("#sec-patterns .box table tbody tr")[row].select("td")
    _, sees, stays = (cell.get_text() for cell in cells_of)
    assert numbers(sees) == (1 + masked(pattern, 8, size)[7].nonzero()[:, 0]).tolist()
    seen = keys_seen(pattern, size, 8)
    assert seen == ([*range(1, 9)] if pattern == "strided" else numbers(stays))


def test_the_cells_that_compare_agree(page):
    """The whole model's text and the cached one, pages and one cache, two processes."""
    assert output(page, "same-text").endswith("True")
    assert output(page, "paged").endswith("True")
    processes, error = output(page, "ring").splitlines()[:2]
    assert numbers(processes) == [2, 512, 1024]
    assert numbers(error)[-1] < 1e-12
