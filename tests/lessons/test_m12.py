"""m12: its sentences against numbers computed here."""

import copy
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from models import weights
from models.storyteller.tokens import Tokenizer
from tests.lessons.reading import cells, numbers, output, said
from tests.widgets.test_cached_writing import counted

PAGE = "modules/m12_inference/lesson.html"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model():
    return weights.load(ROOT / "models/storyteller/weights/storyteller.safetensors")


@torch.no_grad()
def test_reading_all_100_is_80_times_the_work(page, model):
    """The prediction's factor; and that what 99 tokens made stays when the 100th comes."""
    tokens = torch.arange(300, 400)[None]
    before, after = (model(t).residual for t in (tokens[:, :99], tokens))
    for a, b in zip(before, after, strict=True):
        torch.testing.assert_close(a, b[:, :99], rtol=1e-4, atol=1e-4)
    guess = 128 * 1024
    matrices = 4 * (4 * 128 * 128 + 2 * 128 * 512)
    alone = matrices + 4 * 2 * 128 * 100 + guess  # one token that looks at 100
    whole = 100 * matrices + 4 * 2 * 128 * 5050 + guess
    assert counted(model, 100) >= whole  # PyTorch counts hidden pairs, too
    assert 75 < whole / alone < 85
    asked = page.select_one("#predict-again").get_text()
    assert "Not much less than 100" in asked
    assert guess / alone == pytest.approx(1 / 8, rel=0.03)
    said = " ".join(page.select_one("#sec-cache").get_text().split())
    assert f"at 100 tokens the work without the cache is {whole / alone:.0f} times" in said
    lengths = range(1, 101)
    total = sum(n * matrices + 4 * 2 * 128 * n * (n + 1) / 2 + guess for n in lengths)
    cached = sum(matrices + 4 * 2 * 128 * n + guess for n in lengths)
    assert f"without the cache the model does about {total / cached:.0f} times the work" in said
    assert whole - guess < 100 * (alone - guess), "early tokens have few to look back at"


def test_the_cached_text_is_the_whole_model_s(page):
    assert output(page, "same-text") == "the same 60 tokens: True"


def test_what_llama_keeps_of_a_token(page):
    said = page.select_one("#sec-size").get_text()
    assert f"A quarter of 0.524 MB is {2 * 32 * 8 * 128 * 2 / 1e6:.3f} MB a token" in said
    assert f"take {2 * 32 * 8 * 128 * 2 * 131_072 / 1e9:.0f} GB" in said
    assert pytest.approx(1_200, rel=0.03) == 16e9 / 100 / 131_072
    assert pytest.approx(12_000, rel=0.03) == 16e9 / 10 / 131_072
    said = page.select_one("#predict-size").get_text()
    assert "some 1,200 tokens" in said
    assert "some 12,000 tokens" in said


@torch.no_grad()
def loss_of_ten(model, levels):
    """Of the ten sentences, with keys and values rounded where the model makes them."""
    tokenizer = Tokenizer(model.config.vocabulary)
    lines = (ROOT / "modules/start/sentences.txt").read_text(encoding="utf-8").splitlines()
    losses = []
    for layer in model.layers:
        layer.attention.qkv_proj.forward = rounding(layer.attention, levels)
    for line in lines:
        tokens = torch.tensor(tokenizer.encode(line))
        logits = model(tokens[None, :-1]).logits[0]
        losses.append(F.cross_entropy(logits, tokens[1:], reduction="none"))
    return torch.cat(losses).mean().item()


def rounding(attention, levels):
    """A projection whose keys and values have ``levels`` values, 0 in the middle; keys are rounded
    as they are kept, turned, and turned back."""
    project = attention.qkv_proj
    turn = attention.rotary
    H = attention.num_heads

    def forward(x):
        q, k, v = F.linear(x, project.weight, project.bias).unflatten(-1, (3, H, -1)).unbind(-3)
        k, v = k.transpose(-2, -3), v.transpose(-2, -3)  # (B, H, L, D)
        k, v = turned_back(turn, rounded(turn(k), levels)), rounded(v, levels)
        k, v = k.transpose(-2, -3), v.transpose(-2, -3)
        return torch.stack([q, k, v], -3).flatten(-3)

    return forward


def turned_back(turn, keys):
    """Undo rotary positions: they are linear, so find each one's matrix and solve."""
    L, D = keys.shape[-2:]
    matrices = turn(torch.eye(D)[:, None].expand(D, L, D)).transpose(0, 1)  # (L, D, D), x -> x @ M
    return torch.linalg.solve(matrices.double(), keys.double()[..., None, :], left=False)[
        ..., 0, :
    ].float()


def rounded(vectors, levels):
    largest = vectors.abs().max(-1, keepdim=True).values
    return torch.round(vectors * (levels // 2) / largest) * largest / (levels // 2)


def test_eight_bits_lose_nothing_and_two_do(page, model):
    (_, _, whole), *rows = cells(page, "rounded")
    losses = {int(kept.removesuffix(" bits")): float(loss) for kept, _, loss in rows}
    for bits, (_, levels, loss) in zip(losses, rows, strict=True):
        assert int(levels) == 2**bits - 1
        found = loss_of_ten(copy.deepcopy(model), int(levels))
        assert float(loss) == pytest.approx(found, abs=0.0051)
    whole = float(whole)
    assert losses[8] == whole
    assert losses[4] < whole + 0.015
    assert losses[3] < whole + 0.05
    assert losses[2] > whole + 0.3
    boxed = " ".join(page.select_one("#sec-round").get_text().split())
    assert "even with 3 bits, where a number can have only 7 values" in boxed


@torch.no_grad()
def test_sharing_costs_a_model_that_was_not_trained_for_it(page, model):
    """The mean of two heads' keys and values, made in the projection: turning is linear."""
    said = " ".join(page.select_one("#told-to-share").get_text().split())
    whole, shared = re.search(r"grows from ([\d.]+) to ([\d.]+), because", said).groups()
    values, keys = re.search(r"the loss becomes ([\d.]+) and ([\d.]+)\.\)", said).groups()
    tokenizer = Tokenizer(model.config.vocabulary)
    lines = (ROOT / "modules/start/sentences.txt").read_text(encoding="utf-8").splitlines()
    found = {}
    for of in (slice(1, 3), slice(1, 2), slice(2, 3)):  # both, keys, values
        for layer in model.layers:
            weight, bias = copy.deepcopy(layer.attention.qkv_proj).parameters()
            for part in (weight, bias):
                heads = part.unflatten(0, (3, 2, 2, 32))  # query, key, value; two groups of two
                heads[of] = heads[of].mean(2, keepdim=True).expand_as(heads[of]).clone()
            layer.attention.qkv_proj.forward = lambda x, w=weight, b=bias: F.linear(x, w, b)
        losses = []
        for tokens in (torch.tensor(tokenizer.encode(line)) for line in lines):
            logits = model(tokens[None, :-1]).logits[0]
            losses.append(F.cross_entropy(logits, tokens[1:], reduction="none"))
        for layer in model.layers:
            del layer.attention.qkv_proj.forward
        found[of.start, of.stop] = torch.cat(losses).mean().item()
    assert float(shared) == pytest.approx(found[1, 3], abs=0.0051)
    assert float(keys) == pytest.approx(found[1, 2], abs=0.0051)
    assert float(values) == pytest.approx(found[2, 3], abs=0.0051)
    assert found[1, 3] > float(whole) + 0.5
    assert found[2, 3] > found[1, 2] + 0.1, "To share the values alone costs more"


@torch.no_grad()
def test_the_mean_of_two_keys_lies_farther_away_than_one_of_4_bits(page, model):
    """The reason that the question's answers give, for keys and values of the ten sentences."""
    tokenizer = Tokenizer(model.config.vocabulary)
    lines = (ROOT / "modules/start/sentences.txt").read_text(encoding="utf-8").splitlines()
    off = {"mean": [], "4 bits": [], "2 bits": []}
    for line in lines:
        states = model(torch.tensor([tokenizer.encode(line)[:-1]])).residual
        for layer, x in zip(model.layers, states, strict=False):
            _, key, value = layer.attention._project(layer.norm(x))
            for kept in (layer.attention.rotary(key), value):
                mean = kept.unflatten(1, (2, 2)).mean(2).repeat_interleave(2, dim=1)
                others = ("mean", mean), ("4 bits", rounded(kept, 15)), ("2 bits", rounded(kept, 3))
                for name, other in others:
                    change = (other - kept).norm(dim=-1) / kept.norm(dim=-1)
                    off[name].append(change.flatten())
    mean, four, two = (torch.cat(changes).mean().item() for changes in off.values())
    assert mean > two > four
    said = " ".join(page.select_one("#told-to-share").get_text().split())
    assert f"far from both: sharing moves a key or a value by {mean:.1f} of its length" in said
    assert f"it to 4 bits moves it by {four:.1f}.)" in said
    losses = {kept: float(loss) for kept, _, loss in cells(page, "rounded")}
    shared = float(re.search(r"grows from [\d.]+ to ([\d.]+)", said)[1])
    assert shared > losses["2 bits"] > losses["4 bits"], "Worse than with 2 bits"


def test_how_far_back_a_window_hears_in_32_layers(page):
    said = " ".join(page.select_one("#sec-patterns").get_text().split())
    assert f"32 · 4,095 = {32 * 4095:,} tokens back" in said
    assert 0 < 131_072 - 32 * 4095 < 50  # nearly the whole book


def test_the_static_forms_are_attention_py_s(page):
    table = page.select_one("#sparse-patterns .static-form table").get_text(" ")
    causal = torch.ones(64, 64).tril().bool()
    at = torch.arange(64)
    distance = at[:, None] - at
    blocks = (at // 8 == 0) | (at[:, None] // 8 - at // 8 < 2)
    masks = [causal | True, causal, causal & (distance < 8),
             causal & ((distance < 8) | (distance % 8 == 0)), causal & blocks]  # fmt: skip
    want = [(m.float().mean(), F.max_pool2d(m[None].float(), 8).mean()) for m in masks]
    found = re.findall(r"(\d+)\u202f% (\d+)\u202f%", re.sub(r"[ \n]+", " ", table))
    assert found == [(f"{100 * p:.0f}", f"{100 * t:.0f}") for p, t in want]
    said = page.select_one("#sec-patterns").get_text()
    said = re.sub(r"\s+", " ", said)
    assert "in tiles 8 wide they touch as many tiles as the whole causal mask" in said
    assert want[3][1] == want[1][1]
    assert "In a window of 8, what a token says can travel 7 tokens in each layer" in said
    assert int(masks[2][-1].nonzero()[0]) == 63 - 7


def test_a_stride_spares_no_key_and_blocks_of_4_spare_most(page):
    """The causal mask of 64, and what 128 later tokens still see of its keys."""
    n = 64
    at = torch.arange(3 * n)
    distance = at[:, None] - at
    causal = distance >= 0
    every_8 = causal & ((distance < 8) | (distance % 8 == 0))
    in_4 = causal & ((at // 4 == 0) | (at[:, None] // 4 - at // 4 < 2))
    tiles, kept = zip(
        *(
            (int(F.max_pool2d(m[None, :n, :n].float(), 8).sum()), int(m[n:, :n].any(0).sum()))
            for m in (causal, every_8, in_4)
        ),
        strict=True,
    )
    assert (tiles[:2], kept[:2]) == ((36, 36), (64, 64))
    said = re.sub(r"\s+", " ", page.select_one("#sec-patterns").get_text())
    left = f"{tiles[2]} of the causal mask’s 36 tiles, and only {kept[2]} of 64 keys"
    assert f"Blocks of 4 leave {left}" in said.replace("'", "’")


def pattern_of_64(pattern, size):
    at = torch.arange(64)
    distance = at[:, None] - at
    near = {
        "window": distance < size,
        "stride": (distance < size) | (distance % size == 0),
        "blocks": (at // size == 0) | (at[:, None] // size - at // size < 2),
    }[pattern]
    return near & (distance >= 0)


def test_the_goals_of_patterns_are_met_by_what_the_box_names():
    def tiles(pattern, size):
        return int(F.max_pool2d(pattern_of_64(pattern, size)[None].float(), 8).sum())

    def is_far_with_few(pattern, size):
        mask = pattern_of_64(pattern, size).float()
        return bool((mask @ mask)[-1, 0] and mask.mean() < 0.2)

    sizes = range(1, 33)
    assert [s for s in sizes if tiles("window", s) <= 16] == [*range(1, 10)]
    assert [s for s in sizes if is_far_with_few("stride", s)] == [*range(4, 12)]
    assert [s for s in sizes if is_far_with_few("blocks", s)] == [*range(1, 6)]
    assert tiles("window", 64) == 64 - 28  # the causal mask


@pytest.mark.parametrize(("window", "kept", "layers"), [(16, 15, 5), (8, 7, 9)])
def test_a_smaller_window_keeps_less_and_needs_more_layers(page, window, kept, layers):
    mask = pattern_of_64("window", window).float()
    seen = torch.eye(64)[63]
    needed = 0
    while not seen[0]:
        seen, needed = (seen @ mask).clamp(max=1), needed + 1
    assert (window - 1, needed) == (kept, layers)
    said = re.sub(r"\s+", " ", page.select_one("#sec-patterns").get_text())
    assert re.search(rf"{layers} with a window of {window}|window of {window} needs {layers}", said)


def test_from_60_tokens_on_the_cache_saves_49_of_50(page):
    pairs_and_words = 4 * 128 * 128 + 2 * 128 * 512, 2 * 128

    def work(words, pairs):
        return 4 * (words * pairs_and_words[0] + pairs * pairs_and_words[1]) + 128 * 1024

    first = next(n for n in range(1, 129) if 50 * work(1, n) <= work(n, n * (n + 1) // 2))
    said = " ".join(page.select_one("#sec-cache").get_text().split())
    assert f"From {first} tokens on, 49 of 50 multiplications are saved" in said


def test_what_makes_room_for_64_texts_of_llama_3(page):
    """32 layers, 8 heads of keys and values, of 128 numbers; 80 GB less the parameters."""
    a_text, parameters = 131_072 * 4096, 16.06e9
    assert 16 * a_text < parameters < 32 * a_text
    said = page.select_one("#sec-room").get_text()
    assert "With 32 texts of 4k tokens" in said
    room = 80e9 - parameters
    whole = 64 * 32_768 * 131_072
    one, latent = whole / 8, whole * 4.5 / 16
    assert max(64 * a_text, one, latent / 2) < room < min(latent, whole / 2)
    said = " ".join(said.split())
    assert 64 * a_text == one
    assert f"each leave an eighth of the keys and values, {one / 1e9:.0f} GB" in said
    assert f"With 8 bits {whole / 2e9:.0f} GB are left" in said
    assert f"with a latent {latent / 1e9:.0f}. Together with the parameters" in said
    assert f"a latent with 8 bits takes {latent / 2e9:.0f}, and fits" in said


def test_8_bits_of_a_key_whose_largest_number_is_1_27():
    assert float(rounded(torch.tensor([[1.27, 0.734]]), 255)[0, 1]) == pytest.approx(0.73)


def test_writing_ahead_spares_runs_and_two_layers_cost_more(page):
    rows = cells(page, "ahead-counts")
    assert len(rows) == 3
    readings = sorted(numbers(row[2])[0] for row in rows)
    said = " ".join(page.select_one("#sec-ahead").get_text().split())
    assert f"in {readings[0]:.0f} to {readings[-1]:.0f} readings in place of 60." in said
    for _, *ways in rows:
        (alone, four, all_alone), (copied, _, all_copied), (drafted, each, all_drafted), one = (
            [int(n) for n in re.findall(r"\d+", way)] for way in ways
        )
        assert (alone, four, all_alone) == (60, 4, 240)
        assert all_copied == 4 * copied < all_alone
        assert each == 4 + 4 * 2  # the model's layers, and two for each of four drafted tokens
        assert drafted < alone
        assert all_drafted == each * drafted > all_alone
        assert one[1] == 4 + 2
        assert one[2] == one[1] * one[0] == pytest.approx(all_alone, rel=0.1)  # near even


def test_a_third_word_needs_two_keys_and_two_values(page):
    values = torch.tensor([3.0, 9, 4])
    powers = torch.tensor([1.0, 2, 1])  # of 0, 0.7 and 0
    assert float(powers / powers.sum() @ values) == 6.25
    exactly = torch.tensor([0, 0.7, 0]).softmax(0) @ values
    assert output(page, "one-step") == f"{exactly:.2f}"
    four = torch.tensor([1.0, 2, 1, 2])  # and a fourth word, like the second
    assert float(four / four.sum() @ torch.tensor([3.0, 9, 4, 7])) == pytest.approx(6.5)
    assert "(3 + 2 · 9 + 4 + 2 · 7)/6 = 6.5." in said(page, "#sec-cache")


def test_the_three_ways_side_by_side(page):
    _, *rows = [row[1:] for row in cells(page, "ways")]
    numbers_kept = [2 * 128, 576]  # of 16 bits, in each of 32 layers
    book = [32 * 2 * kept * 131_072 / 1e9 for kept in numbers_kept]
    book.append(32 * 2 * 2048 * 4096 / 1e9)
    book.append(32 * 2048 * 131_072 / 1e9)  # in 8 bits
    assert [row[0] for row in rows] == [f"{size:.1f}" for size in book]
    losses = [float(loss) for *_, loss in cells(page, "rounded")]
    assert losses[1] == losses[0]  # rounding to 8 bits costs nothing, to 4 bits nearly nothing
    assert losses[2] == pytest.approx(losses[0], abs=0.015)


def test_a_latent_is_met_by_the_query(page):
    c, W = torch.tensor([2, 1]), torch.tensor([[[1, 0], [1, 2]], [[0, 1], [1, -1]]])
    q = torch.tensor([[1, 2], [3, 1]])
    assert (c @ W).tolist() == [[3, 2], [1, 1]]
    assert [int(a @ b) for a, b in zip(q, c @ W, strict=True)] == [7, 4]
    moved = torch.stack([a @ w.T for w, a in zip(W, q, strict=True)])
    assert moved.tolist() == [[1, 5], [1, 2]]
    assert (moved @ c).tolist() == [7, 4]
    latents, V = torch.tensor([[2.0, 1], [0, 5]]), torch.tensor([[1.0, 1], [0, 2]])
    assert (latents @ V).tolist() == [[2, 4], [0, 10]]
    assert latents.mean(0).tolist() == [1, 3]
    assert (latents @ V).mean(0).tolist() == (latents.mean(0) @ V).tolist() == [1, 7]
    text = said(page, "#sec-compress")
    assert "= (2, 4), and 5 · (0, 2) = (0, 10). Half of each is (1, 7)." in text
    assert "half of (0, 5) is (1, 3)." in text
    assert "1 · (1, 1) + 3 · (0, 2) = (1, 7) again." in text
    assert "2 · 2 = 7" in text.replace("1 · 3 + ", "")  # the score, by the key
    assert "2 · 1 + 1 · 5 = 7 again" in text


def test_a_matrix_may_be_applied_before_a_sum_or_after_it():
    torch.manual_seed(0)
    weights, latents, W = torch.rand(5), torch.randn(5, 2), torch.randn(2, 2)
    torch.testing.assert_close(weights @ (latents @ W.T), W @ (weights @ latents))


def test_what_patterns_keep_of_eight_tokens(page):
    """Token 8 sees these, and those after it will still see these."""
    at = torch.arange(1, 33)
    distance = at[:, None] - at
    causal, block = distance >= 0, (at - 1) // 2
    masks = [causal & (distance < 3), causal & ((distance < 3) | (distance % 3 == 0)),
             causal & ((block == 0) | (block[:, None] - block < 2))]  # fmt: skip
    seen = [at[m[7]].tolist() for m in masks]
    assert seen == [[6, 7, 8], [2, 5, 6, 7, 8], [1, 2, 5, 6, 7, 8]]
    kept = [at[:8][m[8:, :8].any(0)].tolist() for m in masks]
    assert kept == [[7, 8], [*range(1, 9)], [1, 2, 7, 8]]


def test_the_bug_sees_the_first_key_alone(page):
    assert "off by up to" in output(page, "bug-check")
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 4, 8)
    seen = F.scaled_dot_product_attention(q[:, :, 3:], k, v, is_causal=True)
    assert torch.equal(seen, v[:, :, :1])


def test_the_boxes(page):
    assert output(page, "paged").endswith("True")
    wanted, found = (numbers(part) for part in re.findall(r"\[([^\]]*)\]", output(page, "chance")))
    assert found == pytest.approx(wanted, abs=0.005)


def test_two_processes_find_what_one_finds(page):
    said = output(page, "ring")
    assert "2 processes, each with 512 of 1024 keys" in said
    assert numbers(said.splitlines()[1])[-1] < 1e-12


def test_the_answers_of_check_it(page):
    answers = page.select_one("#check-it").get_text()
    window = torch.ones(1100, 1100).tril().triu(-99)
    seen = torch.eye(1100)
    for _ in range(10):
        seen = (seen @ window).clamp(max=1)
    assert 1099 - int(seen[-1].argmax()) == 990
    assert "990" in answers


def test_what_llama_3_keeps_with_and_without_sharing(page):
    said = " ".join(page.select_one("#sec-share").get_text().split())
    assert 2 * 8 * 128 == 2048
    assert 2 * 32 * 128 == 8192 == 4 * 2048
    assert "2 · 8 · 128 = 2,048" in said
    assert "2 · 32 · 128 = 8,192" in said
    latent = " ".join(page.select_one("#sec-compress").get_text().split())
    assert 2 * 128 * 128 == 32_768
    assert "576 numbers the latent has 512. The other 64 are" in latent
    assert "2 · 128 · 128 = 32,768 numbers, 57 times as many" in latent
    assert round(32_768 / 576) == 57
