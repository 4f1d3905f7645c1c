"""m06: its claims against numbers computed here."""

from dataclasses import replace
from fractions import Fraction
from random import Random
from statistics import fmean

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attention import MultiHeadAttention, fused_attention
from models.grammar.scores import VERBS, held_out, to_tensors
from models.grammar.sentences import agreement
from models.grammar.words import NOUNS
from models.heads.task import Recall
from tests.lessons.page_text import in_order, output
from tests.numbers import numbers
from tests.scores import scores_of
from tests.site.numbers import payloads
from tests.widgets.truth_heads import grammar_model, likeliest, shares_of

PAGE = "modules/m06_multi_head/lesson.html"
SCORES = scores_of("heads")


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


def test_the_output_is_a_sum_over_heads_each_by_its_own_slice():
    """So heads have no order, as the answer of Check it says."""
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(64, 4).eval(), torch.randn(2, 10, 64)
    _, weights = layer(x, return_attention=True)
    heads = weights @ layer.project(x, None)[2]
    slices = layer.out_proj.weight.T.unflatten(0, (4, 16))
    torch.testing.assert_close((heads @ slices).sum(1) + layer.out_proj.bias, layer(x))


def test_loop_numpy_and_pytorch_agree(page):
    assert numbers(output(page, "by-head").split(":")[1])[0] < 1e-6
    lines = output(page, "parity").splitlines()
    assert [line.split()[0] for line in lines] == ["plain", "plain", "causal", "causal"]
    assert all(numbers(line.split(":")[1])[0] < 1e-6 for line in lines)


def test_the_layer_that_is_shown_is_attention_py_s(page):
    shown = {"nn": nn, "fused_attention": fused_attention}
    exec(page.select_one("#layer code").get_text(), shown)
    for heads, is_causal in ((1, False), (4, True)):
        torch.manual_seed(0)
        layer, x = MultiHeadAttention(64, heads).eval(), torch.randn(2, 10, 64)
        mine = shown["Layer"](64, heads)
        mine.load_state_dict(layer.state_dict())
        assert torch.equal(mine(x, is_causal), layer(x, is_causal=is_causal))


def test_view_can_t_join_heads_and_a_blind_merge_leaks(page):
    assert output(page, "memory").startswith("RuntimeError")
    assert numbers(output(page, "bug-check")) == [3, 9]
    word = torch.arange(1, 11).expand(4, 10)  # of 4 heads
    rows = word.repeat_interleave(16).view(10, 64)
    sees_the_last = (rows == 10).any(1).nonzero().flatten() + 1
    assert sees_the_last.tolist() == [3, 5, 8, 10]
    head = torch.arange(1, 5)[:, None].expand(4, 10).repeat_interleave(16).view(10, 64)
    third = list(dict.fromkeys(zip(head[2].tolist(), rows[2].tolist(), strict=True)))
    assert third == [(1, 9), (1, 10), (2, 1), (2, 2)]
    assert sorted({*rows[0].tolist()}) == [1, 2, 3, 4]  # the first row sees later words, too


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
    with pytest.raises(ValueError, match=r"mask\[:, None\].*mask\[None\]"):
        layer(x, mask)
    _, weights = layer(x, mask[:, None], return_attention=True)
    assert (weights[1, :, :, 5:] == 0).all()
    with pytest.raises(ValueError, match="broadcast"):
        MultiHeadAttention(64, 4)(x, mask)


def test_two_heads_learn_two_questions_before_one_head_does():
    two, four = SCORES["curves"]["2"], SCORES["curves"]["4"]
    assert min(two["2 heads"]["500"]) == min(two["1 head, MLP"]["500"]) == 1
    assert max(two["1 head"]["500"]) < 0.2
    assert min(two["1 head"]["10000"]) == 1
    assert 0 < two["1 head"]["3000"].count(1.0) < 5  # some seeds, not all
    assert min(four["4 heads"]["500"]) == 1
    others = ("1 head", "1 head, MLP", "2 heads")
    assert all(max(four[line]["10000"]) < 1 for line in others)
    assert Recall(1, 4, mlp=True).answer[0].out_features == 64


def test_one_head_answers_both_questions_alike():
    """So one question is right nearly always, the other about as often as two digits are equal."""
    for seed, both in zip(
        SCORES["answers"]["1 head"], SCORES["curves"]["2"]["1 head"]["500"], strict=True
    ):
        assert seed["same"] > 0.9
        assert max(seed["each"]) > 0.99
        assert min(seed["each"]) < 0.2
        assert min(seed["each"]) == pytest.approx(both, abs=0.01)


def test_half_of_each_digit_is_one_vector_in_both_orders_even_with_places_in_the_values():
    torch.manual_seed(0)
    model = Recall(1, 2)
    rows = torch.tensor([[4, 3, 7, 0, 9, 2], [4, 3, 9, 0, 7, 2]])
    values = model.attention.project(model.word(rows) + model.position.weight[:6])[2][:, 0]
    one, other = (values[:, 2] + values[:, 4]) / 2
    torch.testing.assert_close(one, other)
    assert (values[0, 2] - values[1, 4]).abs().max() > 0.1  # the same digit, in another place


def test_a_head_of_one_number_never_looks_most_at_the_middle_key():
    queries = torch.linspace(-5, 5, 101)
    winners = [(query * torch.tensor([1.0, 2.0, 3.0])).argmax().item() for query in queries]
    assert 1 not in winners
    keys = torch.tensor([[1, 0], [2, 1], [3, 0]])
    assert (keys @ torch.tensor([0, 1])).tolist() == [0, 1, 0]


def test_one_head_whose_weights_are_by_places_alone_stays_at_chance():
    shares = SCORES["curves"]["2"]["1 head, places alone"]
    assert max(max(seeds) for seeds in shares.values()) < 0.2
    assert fmean(shares["10000"]) == pytest.approx(0.1, abs=0.005)


def test_the_last_matrix_by_hand(page):
    """Two heads bring 9 and 7; one W_O keeps them apart, the other makes one number of them."""
    rows = [[td.get_text() for td in tr.select("td")] for tr in page.select("#sec-play tbody tr")]
    for (a, b), (c, d) in (((1, 0), (0, 1)), ((10, 0), (1, 0))):
        (row,) = (r for r in rows if r[1:3] == [f"({a}, {b})", f"({c}, {d})"])
        handed_on = f"({9 * a + 7 * c}, {9 * b + 7 * d})"
        assert in_order(row[3], "9", f"({a}, {b})", "7", f"({c}, {d})", handed_on)
        assert row[4] == f"({7 * a + 9 * c}, {7 * b + 9 * d})"  # the order survives
        assert row[4] != handed_on


def test_unequal_weights_hide_the_order_in_one_number(page):
    """10/11 of one digit and 1/11 of the other; a matrix on one number is a number."""
    mixes = {Fraction(10, 11) * a + Fraction(b, 11) for a in range(10) for b in range(10)}
    assert len(mixes) == 100  # another number for every pair of digits, in order
    assert {Fraction(97, 11), Fraction(79, 11)} <= mixes
    ratios = {Fraction(9) / Fraction(97, 11), Fraction(7) / Fraction(79, 11)}
    text = page.select_one("#sec-play").get_text()
    assert in_order(text, "10/11", "1/11", "97/11", "79/11")
    assert len(ratios) == 2  # no one factor gives the first digit of both


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


@pytest.fixture(scope="module")
def causal():
    return grammar_model("causal")


@pytest.fixture(scope="module")
def seeds():
    return scores_of("grammar", "causal")["seeds"]


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


def row_of(page, label, name):
    """The counts of a row of a table, by the row's name."""
    rows = page.select(f"#{label} tbody tr")
    (row,) = (cells for cells in (r.select("td") for r in rows) if cells[0].get_text() == name)
    return [int(cell.get_text()) for cell in row[1:]]


@pytest.fixture(scope="module")
def gaps():
    """400 sentences with *is* or *are* before an adjective: words, gap, right verb."""
    rng, made = Random(0), []
    while len(made) < 400:
        sentence = agreement(rng, held="pairs", distractors=1)
        ((gap, _),) = sentence.right.items()
        if sentence.words[gap] in ("is", "are"):
            made.append((sentence.words, gap, sentence.words[gap]))
    return made


def test_a_gap_needs_two_heads_and_one_map_loses_its_verb(page, gaps):
    model = grammar_model("masked")
    shown = [(one["tokens"], one["right"]) for one in payloads(page)["headData"]["sentences"]]
    with_one_map = shares_of(model, [(words, words.index("▢")) for words, _ in shown], "mean")
    guessed = map(likeliest, with_one_map)
    still = [words for (words, right), word in zip(shown, guessed, strict=True) if word == right]
    assert [" ".join(words) for words in still] == ["the keys near the old cabinet ▢ red"]
    assert in_order(page.select_one("#predict-one-map .answer").get_text(" "), " ".join(still[0]))
    names = {
        "on": "both on", "off-1": "head 1 off", "off-2": "head 2 off", "mean": "one map for both",
        "mean, doubled": "one map for both, all doubled",
    }  # fmt: skip
    rows = [gap[:2] for gap in gaps]
    said = {way: [likeliest(one) for one in shares_of(model, rows, way)] for way in names}
    for way, name in names.items():
        counts = [0, 0, 0, 0]
        for word, (*_, right) in zip(said[way], gaps, strict=True):
            kind = 0 if word == right else 1 if word in ("is", "are") else 2 if word == "the" else 3
            counts[kind] += 1
        assert row_of(page, "heads-on-400", name) == counts
        if way != "mean, doubled":
            assert row_of(page, "one-map", name) == counts
    assert said["on"] == [right for *_, right in gaps]
    assert {*said["off-1"]} == {"the"}
    assert {*said["off-2"]} == {"is"}  # so it is right where one is meant
    none_wrong = row_of(page, "one-map", "one map for both")
    assert none_wrong[2] > 300 > 100 > none_wrong[0]
    assert none_wrong[1] == 0
    assert row_of(page, "heads-on-400", "one map for both, all doubled")[0] > 375


@torch.no_grad()
def test_the_rivals_of_the_two_heads(page, gaps):
    model, rows = grammar_model("masked"), [gap[:2] for gap in gaps]

    def right(**options):
        said = map(likeliest, shares_of(model, rows, **options))
        return sum(word == verb for word, (*_, verb) in zip(said, gaps, strict=True))

    halve = model.layers[1].attention.out_proj.register_forward_pre_hook(lambda _, x: (x[0] / 2,))
    halved = right()
    halve.remove()
    assert row_of(page, "heads-on-400", "maps of their own, all halved")[0] == halved < 200
    layer_1 = [row_of(page, "heads-on-400", f"layer 1, head {h} off")[0] for h in (1, 2, 3, 4)]
    assert layer_1 == [right(off=((0, head),)) for head in range(4)]
    assert layer_1[3] < 100 < 350 < min(layer_1[:3])


@torch.no_grad()
def test_in_the_gap_one_head_looks_at_the_subject_and_the_other_at_the_adjective(page):
    words = "the lions near the old window [mask] tame".split()
    model = grammar_model("masked")
    one, two = model(model.encode(words)).weights[1][0, :, 6].tolist()
    assert max(one) == one[7]
    assert max(two) == two[1]
    shown = page.select_one("#sec-trained .answer").get_text()
    assert in_order(shown, f"{two[1]:.2f}", f"{one[7]:.2f}")


@torch.no_grad()
def test_the_verb_follows_what_head_2_brings_and_not_head_4(page, causal, to_subject, seeds):
    """Hooks put in what one head brings in the sentence with its subject in the other number."""
    assert seeds["0"]["attention"]["verb, guessed"]["head"] == [1, 1]
    assert to_subject[1].mean(0).argmax() == 1
    sentences = held_out()["pairs"]["1 distractors"]
    both = NOUNS | {many: one for one, many in NOUNS.items()}
    twins = []
    for sentence in sentences:
        words, subject = [*sentence.words], sentence.link("verb")[1]
        words[subject] = both[words[subject]]
        twins.append(replace(sentence, words=words))
    tokens, other = to_tensors(sentences)[0], to_tensors(twins)[0]
    gaps = [next(iter(sentence.right)) for sentence in sentences]
    join, wrong, off, kept = causal.layers[1].attention.out_proj, {}, {}, []

    def are_right(**options):
        best = causal(tokens, **options).logits[range(len(gaps)), [gap - 1 for gap in gaps]]
        verbs = [causal.config.vocabulary[VERBS[i]] for i in best[:, VERBS].argmax(-1)]
        return sum(
            verb in s.right[gap] for verb, s, gap in zip(verbs, sentences, gaps, strict=True)
        )

    hook = join.register_forward_pre_hook(lambda _, x: kept.append(x[0]))
    causal(other)
    hook.remove()
    for head in (1, 3):
        own = slice(16 * head, 16 * head + 16)

        def swapped(_, x, own=own):
            mixed = x[0].clone()
            mixed[..., own] = kept[0][..., own]
            return (mixed,)

        hook = join.register_forward_pre_hook(swapped)
        wrong[head] = 400 - are_right()
        hook.remove()
        off[head] = are_right(off=((1, head),))
    assert wrong == {1: 400, 3: 0}
    assert off[3] == 400
    assert off[1] < 250
    text = page.select_one("#sec-trained").get_text()
    assert in_order(text, f"{off[3]} of 400", str(wrong[1]), "none")
    assert sorted(seeds["1"]["attention"]["verb, guessed"]["heads"][1])[-2] > 0.8, "two heads"
    assert seeds["1"]["accuracy without the verb head"]["pairs"]["1 distractors"] == 0.75


@torch.no_grad()
def test_on_the_sentence_of_the_table_head_2_finds_the_subject_and_is_the_surest(page, causal):
    keys = "the keys near the old cabinet are red"
    layers = causal(causal.encode(keys.split())).weights
    heads = torch.cat([w[0] for w in layers])
    spread = torch.special.entr(heads).sum(-1).mean(-1)
    assert spread.argmin() == heads.amax(-1).mean(-1).argmax() == 4 + 1  # after layer 1's four
    to_keys = layers[1][0, :, 5, 1].tolist()
    _, low, another, one = sorted(to_keys)
    assert low < 0.1
    assert (one, another) == (to_keys[1], to_keys[3])
    text = page.select_one("#sec-trained").get_text()
    assert in_order(text, f"{one:.2f}", f"{another:.2f}")


def test_named_models(page):
    """Heads, size and key heads as published."""
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
    assert all(cache == 2 * heads * size for _, size, heads, cache in shown.values())
