"""m06: its claims against numbers computed here."""

import json
import re
from random import Random
from statistics import fmean

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attention import (
    KVCache,
    MultiHeadAttention,
    fused_attention,
)
from models.grammar.scores import VERBS
from models.grammar.sentences import agreement
from models.heads.task import Recall
from models.transformer import Transformer
from models.weights import load
from tests.conftest import ROOT
from tests.lessons.reading import cells, in_order, numbers, output, shows

PAGE = "modules/m06_multi_head/lesson.html"
SCORES = json.loads((ROOT / "models/heads/scores.json").read_text())


def count(*modules):
    return sum(p.numel() for module in modules for p in module.parameters())


def test_the_counts_shown(page):
    shown = [
        int(line.split()[-1].replace(",", "")) for line in output(page, "parameters").splitlines()
    ]
    assert shown == [16_640] * 4 + [1_048_576, 80_770]
    assert 4 * (64**2 + 64) == 16_640 == count(nn.MultiheadAttention(64, 4))
    assert 4 * 512**2 == 1_048_576
    assert 1000 * 64 + (64 * 2 + 2) + 16_640 == 80_770


def test_the_answer_of_check_it():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(64, 8).eval(), torch.randn(2, 10, 64)
    order = torch.randperm(8)
    columns = (order[:, None] * 8 + torch.arange(8)).flatten()
    permuted = MultiHeadAttention(64, 8).eval()
    with torch.no_grad():
        permuted.qkv_proj.weight.copy_(
            torch.cat([w[columns] for w in layer.qkv_proj.weight.split(64)])
        )
        permuted.qkv_proj.bias.copy_(torch.cat([b[columns] for b in layer.qkv_proj.bias.split(64)]))
        permuted.out_proj.weight.copy_(layer.out_proj.weight[:, columns])
        permuted.out_proj.bias.copy_(layer.out_proj.bias)
    torch.testing.assert_close(permuted(x), layer(x))
    # W_O is a slice for each head, and the output is the sum of what the slices make.
    _, weights = layer(x, return_attention=True)
    heads = weights @ layer.project(x, None)[2]
    slices = layer.out_proj.weight.T.unflatten(0, (8, 8))
    torch.testing.assert_close((heads @ slices).sum(1) + layer.out_proj.bias, layer(x))


def test_loop_numpy_and_pytorch_agree(page):
    assert numbers(output(page, "by-head").split(":")[1])[0] < 1e-6
    lines = output(page, "parity").splitlines()
    assert [line.split()[0] for line in lines] == ["plain", "plain", "causal", "causal"]
    assert all(numbers(line.split(":")[1])[0] < 1e-6 for line in lines)


def test_the_wrong_reshape_is_silent_and_view_is_not(page):
    x = torch.arange(24).view(1, 3, 8)
    right, wrong = x.view(1, 3, 2, 4).transpose(1, 2), x.view(1, 2, 3, 4)
    assert right.shape == wrong.shape
    assert not torch.equal(right, wrong)
    assert torch.equal(wrong.reshape(1, 3, 8), x)  # "if both are wrong, every number comes back"
    shown = cells(page, "split-by-hand")
    columns = (x[0], *right[0], wrong[0, 0])
    assert [row[-len(columns) :] for row in shown] == [
        [" ".join(map(str, column[i].tolist())) for column in columns] for i in range(3)
    ]
    assert output(page, "memory").startswith("RuntimeError: view size is not compatible")


def test_the_layer_that_is_shown_is_attention_py_s(page):
    assert output(page, "same-layer") == "the same output: True"
    shown = {"nn": nn, "fused_attention": fused_attention}
    exec(page.select_one("#layer code").get_text(), shown)
    for heads, is_causal in ((1, False), (4, True)):
        torch.manual_seed(0)
        layer, x = MultiHeadAttention(64, heads).eval(), torch.randn(2, 10, 64)
        mine = shown["Layer"](64, heads)
        mine.load_state_dict(layer.state_dict())
        assert torch.equal(mine(x, is_causal), layer(x, is_causal=is_causal))


def test_the_bug_leaks_and_its_repair_does_not(page):
    assert re.fullmatch(
        r"AssertionError: [1-9] of the 9 earlier outputs moved", output(page, "bug-check")
    )


def test_the_demonstration_is_causal(page):
    lines = output(page, "demonstration-causal").splitlines()
    rows = [numbers(line) for line in lines[1:6]]
    assert all(weight == 0 for i, row in enumerate(rows) for weight in row[i + 1 :])
    moved = numbers(lines[-1])
    assert moved[:-1] == [0] * 4
    assert moved[-1] > 0
    assert 0.81 in rows[1]  # "a weight like the 0.81 looks like a finding"


def test_a_mask_without_a_heads_axis_is_laid_along_the_heads():
    layer, x = MultiHeadAttention(64, 2).eval(), torch.randn(2, 10, 64)
    mask = torch.ones(2, 10, 10, dtype=torch.bool)
    mask[1, :, 5:] = False  # of the second text, so they mean
    query, key, _ = layer.project(x, None)
    one_hot = torch.eye(10).expand(2, 2, 10, 10)  # so that PyTorch's output is its weights
    weights = nn.functional.scaled_dot_product_attention(query, key, one_hot, mask)
    assert (weights[:, 1, :, 5:] == 0).all()  # the second head of both
    assert (weights[1, 0, :, 5:] > 0).all()
    with pytest.raises(ValueError, match=r"for sequences .*, for heads"):
        layer(x, mask)
    _, weights = layer(x, mask[:, None], return_attention=True)
    assert (weights[1, :, :, 5:] == 0).all()
    with pytest.raises(ValueError, match="broadcast"):
        MultiHeadAttention(64, 4)(x, mask)


# ---- Single against many ----------------------------------------------------------------------


def test_two_heads_learn_two_questions_before_one_head_does():
    two, four = SCORES["curves"]["2"], SCORES["curves"]["4"]
    assert min(two["2 heads"]["500"]) == min(two["1 head, MLP"]["500"]) == 1
    assert max(two["1 head"]["500"]) < 0.2
    assert min(two["1 head"]["10000"]) == 1
    assert 0 < two["1 head"]["3000"].count(1.0) < 5  # some seeds, not all
    assert min(four["4 heads"]["500"]) == 1
    others = ("1 head", "1 head, MLP", "2 heads")
    assert all(max(four[line]["10000"]) < 1 for line in others)


def test_one_head_answers_both_questions_alike():
    """So one question is right nearly always, the other about as often as two digits are equal."""
    for seed, both in zip(
        SCORES["answers"]["1 head"], SCORES["curves"]["2"]["1 head"]["500"], strict=True
    ):
        assert seed["same"] > 0.9
        assert max(seed["each"]) > 0.99
        assert min(seed["each"]) < 0.2
        assert min(seed["each"]) == pytest.approx(both, abs=0.01)


def test_places_alone_stay_at_chance():
    for shares in SCORES["curves"]["2"]["1 head, places alone"].values():
        assert max(shares) < 0.2
    last = SCORES["curves"]["2"]["1 head, places alone"]["10000"]
    assert fmean(last) == pytest.approx(0.1, abs=0.005)


def test_the_last_matrix_by_hand(page):
    """Two heads bring 9 and 7; one W_O keeps them apart, the other makes one number of them."""
    brought = torch.tensor([9, 7])
    for rows in ([[1, 0], [0, 1]], [[10, 0], [1, 0]]):
        first, second, handed_on = (
            f"({a}, {b})" for a, b in [*rows, (brought @ torch.tensor(rows)).tolist()]
        )
        numbers_shown = "9", first, "7", second, handed_on
        sums = [td.get_text() for td in page.select("#sec-play td")]
        assert any(in_order(shown, *numbers_shown) for shown in sums)


def test_how_one_head_and_two_do_it():
    for (one,) in SCORES["weights"]["1 head, MLP"]:
        assert sorted(one) == pytest.approx([0.3, 0.68], abs=0.02)
    for heads in SCORES["weights"]["2 heads"]:
        assert sorted(max(head) for head in heads)[0] > 0.975
        assert {head.index(max(head)) for head in heads} == {0, 1}


def test_more_heads_need_no_more_multiplications_but_more_maps():
    x, products, maps = torch.randn(2, 10, 64), set(), []
    for heads in (1, 2, 8, 64):
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            _, weights = MultiHeadAttention(64, heads).eval()(x, return_attention=True)
        products.add(counter.get_total_flops())
        maps.append(weights[0].numel())
    assert len(products) == 1
    assert maps == [heads * 10 * 10 for heads in (1, 2, 8, 64)]


def test_the_queries_of_the_heads_stand_side_by_side():
    """Split cuts the product: each head has its 64 × 8 matrix, and reads all 64 numbers."""
    layer, x = MultiHeadAttention(64, 8).eval(), torch.randn(2, 10, 64)
    W_Q, b_Q = layer.qkv_proj.weight[:64].T, layer.qkv_proj.bias[:64]
    assert W_Q.shape == (64, 64)
    apart = [x @ w + b for w, b in zip(W_Q.split(8, dim=1), b_Q.split(8), strict=True)]
    torch.testing.assert_close(torch.stack(apart, dim=1), layer.project(x, None)[0])


def test_only_sharing_makes_the_layer_smaller():
    assert count(MultiHeadAttention(64, 8, num_kv_heads=4)) == 0.75 * 16_640


def test_two_heads_are_no_larger_and_the_mlp_is():
    assert SCORES["parameters"]["2"] < SCORES["parameters with the MLP"]["2"]


def test_the_mlp_has_64_numbers_between_its_matrices():
    answer = Recall(1, 2, mlp=True).answer
    assert (answer[0].out_features, answer[2].in_features) == (64, 64)


def test_by_heads_as_many_as_questions_suffice():
    for questions, by_heads in SCORES["accuracy"].items():
        for heads, shares in by_heads.items():
            assert len(shares) == 5
            enough = int(heads) >= int(questions)
            assert min(shares) == 1 if enough else max(shares) <= 1 / 6, (questions, heads)


# ---- Heads that were trained --------------------------------------------------------------------


@pytest.fixture(scope="module")
def causal():
    return load(ROOT / "models/grammar/weights/causal.safetensors")


@pytest.fixture(scope="module")
def seeds():
    return json.loads((ROOT / "models/grammar/scores/causal.json").read_text())["seeds"]


@pytest.fixture(scope="module")
def to_subject(causal):
    """Each head's weight from where the verb is guessed to its subject, (200, heads) a layer."""
    rng, rows = Random(0), []
    for _ in range(200):
        sentence = agreement(rng, held="pairs", distractors=1)
        verb, subject = sentence.link("verb")
        with torch.no_grad():
            layers = causal(causal.encode(sentence.words[:verb])).weights
        rows.append([w[0, :, verb - 1, subject] for w in layers])
    return [torch.stack(layer) for layer in zip(*rows, strict=True)]


def test_the_heads_that_find_the_subject(page, to_subject):
    lines = output(page, "subjects").splitlines()
    shown = dict(line.split(":") for line in lines)
    for layer in (0, 1):
        shares = numbers(shown[f"trained, layer {layer + 1}"])
        assert shares == pytest.approx(to_subject[layer].mean(0).tolist(), abs=0.0051)
        untrained = numbers(shown[f"random, layer {layer + 1}"])
        assert max(untrained) < 0.2
    early, late = (layer.mean(0) for layer in to_subject)
    assert late.max() > 0.9
    assert sorted(late.tolist())[-3] < 0.1
    assert 0.4 < sorted(late.tolist())[-2] < 0.5  # "another halfway"
    assert early.max() < 0.2  # "and the rest don't"


def test_without_that_head_the_verb_is_a_coin_s(to_subject, seeds):
    scores = seeds["0"]
    layer, head = scores["attention"]["verb, guessed"]["head"]
    assert (layer, head) == (1, int(to_subject[1].mean(0).argmax())) == (1, 1)  # head 2 of layer 2
    assert scores["accuracy"]["pairs"]["1 distractors"] == 1
    assert scores["accuracy without the verb head"]["pairs"]["1 distractors"] == 0.53


@torch.no_grad()
def test_head_4_looks_at_the_subject_and_the_verb_does_not_need_it(causal):
    rng, right = Random(0), {None: 0, 1: 0, 3: 0}
    for _ in range(100):
        sentence = agreement(rng, held="pairs", distractors=1)
        ((position, words),) = sentence.right.items()
        tokens = causal.encode(sentence.words[:position])
        for head in right:
            off = () if head is None else ((1, head),)
            best = causal(tokens, off=off).logits[0, -1, VERBS].argmax()
            right[head] += causal.config.vocabulary[VERBS[best]] in words
    assert right[None] == right[3] == 100
    assert right[1] < 65


def test_another_seed_has_two_such_heads(seeds):
    scores = seeds["1"]
    assert sorted(scores["attention"]["verb, guessed"]["heads"][1])[-2] > 0.8
    assert scores["accuracy without the verb head"]["pairs"]["1 distractors"] == 0.75


def test_the_sentence_of_the_widget(causal):
    with torch.no_grad():
        weights = causal(causal.encode("the keys near the old cabinet are red".split())).weights[1]
    _, low, another, one = sorted(weights[0, :, 5, 1].tolist())
    assert low < 0.1
    assert another == pytest.approx(0.75, abs=0.05)
    assert one > 0.95


@torch.no_grad()
def test_the_head_that_finds_the_subject_is_the_surest(causal):
    for text in ("the keys near the old cabinet are red", "the dogs that liked the bird wait"):
        heads = torch.cat([w[0] for w in causal(causal.encode(text.split())).weights])
        spread = torch.special.entr(heads).sum(-1).mean(-1)
        peaks = heads.amax(-1).mean(-1)
        assert spread.argmin() == peaks.argmax() == 4 + 1  # after the four of layer 1


@torch.no_grad()
def test_before_training_no_head_finds_keys(causal):
    torch.manual_seed(0)
    untrained = Transformer(causal.config).eval()
    most = {}
    for name, model in (("trained", causal), ("untrained", untrained)):
        layers = model(model.encode("the keys near the old cabinet are red".split())).weights
        most[name] = max(layer[0, :, 5, 1].max().item() for layer in layers)
    assert most["untrained"] < 0.35 < 0.95 < most["trained"]


def test_a_blind_merge_puts_the_last_token_into_the_second_row(page):
    tokens = torch.arange(1, 11).expand(8, 10)[..., None].expand(8, 10, 8)  # numbers: their token
    first, second = tokens.reshape(10, 64)[:2]
    ninth, tenth = second[:16].unique().tolist()
    ordinals = "no first second third fourth fifth sixth seventh eighth ninth tenth".split()
    words = str(len(first.unique())), "second", ordinals[ninth], ordinals[tenth]
    assert shows(page, "#sec-bug", *words)


# ---- Sharing ------------------------------------------------------------------------------------


def test_named_models(page):
    """Heads, size and key heads as published; what a cache keeps, by a cache of that size."""
    published = {
        "GPT-2 small": (12, 64, 12), "GPT-3 175B": (96, 128, 96),
        "Llama 2 7B": (32, 128, 32), "Llama 2 70B": (64, 128, 8), "Llama 3 8B": (32, 128, 8),
        "Llama 3 70B": (64, 128, 8),
    }  # fmt: skip
    _, bert, *lines = output(page, "models").splitlines()
    assert numbers(bert) == [12, 64, 12]
    assert "nothing" in bert  # it reads a whole text at once
    shown = {
        line[:12].strip(): [int(n.replace(",", "")) for n in line[12:].split()] for line in lines
    }
    assert {name: tuple(row[:3]) for name, row in shown.items()} == published
    for _, size, key_heads, kept in shown.values():
        cache = KVCache(1, key_heads, 1, size)
        assert kept == cache.keys.numel() + cache.values.numel()


def test_every_source_is_cited(page):
    keys = ["vaswani2017", "shazeer2019", "ainslie2023", "michel2019", "devlin2019",
            "gpt2code", "brown2020", "touvron2023", "grattafiori2024"]  # fmt: skip
    assert all(page.select_one(f"#ref-{key}") for key in keys)


def test_production_shows_the_committed_benchmark(page):
    bench = json.loads((ROOT / "benchmarks/results/attention-cpu.json").read_text())
    assert bench["device"] in output(page, "production")
    assert bench["date"] in output(page, "production")
    shown = cells(page, "production")
    ms = {
        row["name"]: row["ms"]
        for row in bench["rows"]
        if row["length"] == 2048 and row.get("pass") == "forward"
    }
    assert len(shown) == 5
    for (name, _, time, _), measured in zip(
        shown,
        ("explicit", "F.scaled_dot_product_attention", "fused_attention",
         "nn.MultiheadAttention", "MultiHeadAttention"), strict=True,
    ):  # fmt: skip
        assert int(time) == round(ms[measured]), name
