"""m06: its claims against numbers computed here."""

from dataclasses import replace
from random import Random
from statistics import fmean

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attention import MultiHeadAttention, fused_attention
from course.payloads.two_heads import missing_verbs
from models.grammar.scores import VERBS, held_out, to_tensors
from models.grammar.sentences import agreement
from models.grammar.words import NOUNS
from models.heads.task import Recall
from tests.lessons.page_text import cells, in_order, output, text_of
from tests.numbers import numbers
from tests.scores import scores_of
from tests.site.numbers import payloads
from tests.widgets.truth_heads import grammar_model, likeliest, shares_of

PAGE = "modules/m06_multi_head/lesson.html"
SCORES = scores_of("heads")
TWO, FOUR = SCORES["curves"]["2"], SCORES["curves"]["4"]


def test_two_heads_learn_two_questions_before_one_head_does():
    assert min(TWO["2 heads"]["500"]) == 1
    assert max(TWO["1 head"]["500"]) < 0.2
    assert min(TWO["1 head"]["10000"]) == 1
    assert 0 < TWO["1 head"]["3000"].count(1.0) < 5  # some seeds, not all
    assert min(FOUR["4 heads"]["500"]) == 1
    for name in ("1 head", "1 head, MLP", "2 heads"):
        assert max(FOUR[name]["10000"]) < 1
    for heads in SCORES["weights"]["2 heads"]:
        assert min(max(head) for head in heads) > 0.975, "a digit each"
        assert {head.index(max(head)) for head in heads} == {0, 1}


def test_one_head_answers_both_questions_alike_or_shares_its_weight_unequally_for_an_mlp():
    for seed, both in zip(SCORES["answers"]["1 head"], TWO["1 head"]["500"], strict=True):
        assert seed["same"] > 0.9
        assert max(seed["each"]) > 0.99
        # The other is right about as often as two digits are equal.
        assert min(seed["each"]) == pytest.approx(both, abs=0.01)
    by_places = TWO["1 head, places alone"]
    assert max(max(seeds) for seeds in by_places.values()) < 0.2
    assert fmean(by_places["10000"]) == pytest.approx(0.1, abs=0.005)
    assert min(TWO["1 head, MLP"]["500"]) == 1
    assert Recall(1, 4, mlp=True).answer[0].out_features == 64
    for (one,) in SCORES["weights"]["1 head, MLP"]:
        assert sorted(one) == pytest.approx([0.3, 0.68], abs=0.02)


def test_half_of_each_digit_is_one_vector_in_both_orders_even_with_places_in_the_values():
    torch.manual_seed(0)
    model = Recall(1, 2)
    rows = torch.tensor([[4, 3, 7, 0, 9, 2], [4, 3, 9, 0, 7, 2]])
    values = model.attention.project(model.word(rows) + model.position.weight[:6])[2][:, 0]
    one, other = (values[:, 2] + values[:, 4]) / 2
    torch.testing.assert_close(one, other)
    assert (values[0, 2] - values[1, 4]).abs().max() > 0.1  # the same digit, in another place


def test_the_last_matrix_by_hand(page):
    """Two heads bring 9 and 7; one W_O keeps them apart, the other makes one number of them."""
    rows = [[td.get_text() for td in tr.select("td")] for tr in page.select("#sec-play tbody tr")]
    for (a, b), (c, d) in (((1, 0), (0, 1)), ((10, 0), (1, 0))):
        (row,) = (r for r in rows if r[1:3] == [f"({a}, {b})", f"({c}, {d})"])
        handed_on = f"({9 * a + 7 * c}, {9 * b + 7 * d})"
        assert in_order(row[3], "9", f"({a}, {b})", "7", f"({c}, {d})", handed_on)
        assert row[4] == f"({7 * a + 9 * c}, {7 * b + 9 * d})"  # the order survives
        assert row[4] != handed_on


def count(*modules):
    return sum(p.numel() for module in modules for p in module.parameters())


def test_heads_cost_no_parameters_and_no_multiplications_but_maps(page):
    lines = output(page, "parameters").splitlines()
    shown = [int(line.split()[-1].replace(",", "")) for line in lines]
    classifier = nn.Embedding(1000, 64), nn.MultiheadAttention(64, 4), nn.Linear(64, 2)
    wide = nn.MultiheadAttention(512, 8, bias=False)
    assert shown == [4 * (64**2 + 64)] * 4 + [count(wide), count(*classifier)]
    x, products, maps = torch.randn(2, 10, 64), set(), []
    for heads in (1, 2, 8, 64):
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            _, weights = MultiHeadAttention(64, heads).eval()(x, return_attention=True)
        products.add(counter.get_total_flops())
        maps.append(weights[0].numel())
    assert len(products) == 1
    assert maps == [heads * 10 * 10 for heads in (1, 2, 8, 64)]


def test_named_models_have_the_published_heads(page):
    published = {
        "GPT-2 small": [12, 64, 12], "GPT-3 175B": [96, 128, 96],
        "Llama 2 7B": [32, 128, 32], "Llama 2 70B": [64, 128, 8], "Llama 3 8B": [32, 128, 8],
        "Llama 3 70B": [64, 128, 8],
    }  # fmt: skip
    _, bert, *lines = output(page, "models").splitlines()
    assert numbers(bert) == [12, 64, 12]
    shown = {line[:12].strip(): numbers(line[12:]) for line in lines}
    assert shown == {
        name: [heads, size, kv_heads, 2 * kv_heads * size]
        for name, (heads, size, kv_heads) in published.items()
    }


def test_the_output_is_a_sum_over_heads_each_by_its_own_slice():
    """So heads have no order, as the answer of Check it says."""
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(64, 4).eval(), torch.randn(2, 10, 64)
    _, weights = layer(x, return_attention=True)
    heads = weights @ layer.project(x, None)[2]
    slices = layer.out_proj.weight.T.unflatten(0, (4, 16))
    torch.testing.assert_close((heads @ slices).sum(1) + layer.out_proj.bias, layer(x))


def test_the_layer_that_is_shown_is_attention_py_s_and_a_loop_numpy_and_pytorch_agree(page):
    shown = {"nn": nn, "fused_attention": fused_attention}
    exec(page.select_one("#layer code").get_text(), shown)
    for heads, is_causal in ((1, False), (4, True)):
        torch.manual_seed(0)
        layer, x = MultiHeadAttention(64, heads).eval(), torch.randn(2, 10, 64)
        mine = shown["Layer"](64, heads)
        mine.load_state_dict(layer.state_dict())
        assert torch.equal(mine(x, is_causal), layer(x, is_causal=is_causal))
    apart = output(page, "by-head").splitlines() + output(page, "parity").splitlines()
    assert len(apart) == 5
    assert all(numbers(line.split(":")[1])[0] < 1e-6 for line in apart)


def test_view_can_t_join_heads_and_a_blind_merge_leaks(page):
    assert output(page, "memory").startswith("RuntimeError")
    assert numbers(output(page, "bug-check")) == [3, 9]
    word = torch.arange(1, 11).expand(4, 10)  # of 4 heads
    rows = word.repeat_interleave(16).view(10, 64)
    sees_the_last = (rows == 10).any(1).nonzero().flatten() + 1
    assert sees_the_last.tolist() == [3, 5, 8, 10]
    assert rows[0].unique().tolist() == [1, 2, 3, 4], "the first row sees later words, too"


def test_a_weight_of_an_untrained_layer_looks_like_a_finding(page):
    assert 0.81 in numbers(output(page, "demonstration-causal"))


@pytest.fixture(scope="module")
def causal():
    return grammar_model("causal")


@torch.no_grad()
def test_the_heads_that_find_the_subject(page, causal):
    """Each head's mean weight from where the verb is guessed to its subject."""
    rng, rows = Random(0), []
    for _ in range(200):
        sentence = agreement(rng, held="pairs", distractors=1)
        verb, subject = sentence.link("verb")
        layers = causal(causal.encode(sentence.words[:verb])).weights
        rows.append(torch.stack([w[0, :, verb - 1, subject] for w in layers]))
    means = torch.stack(rows).mean(0).tolist()
    shown = dict(line.split(":") for line in output(page, "subjects").splitlines())
    for layer in (1, 2):
        trained = numbers(shown[f"trained, layer {layer}"])
        assert trained == pytest.approx(means[layer - 1], abs=0.0051)
        assert max(numbers(shown[f"random, layer {layer}"])) < 0.2
    *rest, halfway, best = sorted(means[1])
    assert best == means[1][1] > 0.9, "head 2"
    assert 0.4 < halfway < 0.5, "a little less than half"
    assert max(*rest, *means[0]) < 0.2


@pytest.fixture(scope="module")
def gaps():
    """400 sentences with *is* or *are* before an adjective: words, gap, right verb."""
    sentences = [(one.words, *one.right) for one in missing_verbs()]
    return [(words, gap, words[gap]) for words, gap in sentences]


def filled(model, gaps, **options):
    """How many verbs are right, and all the words that the model puts into the gaps."""
    shares = shares_of(model, [(words, gap) for words, gap, _ in gaps], **options)
    words = [likeliest(row) for row in shares]
    return sum(word == right for word, (*_, right) in zip(words, gaps, strict=True)), words


def counts(page, label):
    return {name: [*map(int, row)] for name, *row in cells(page, label)}


@torch.no_grad()
def test_a_gap_needs_two_heads_and_one_map_loses_its_verb(page, gaps):
    model, kept = grammar_model("masked"), []
    for one in payloads(page)["headData"]["sentences"]:
        words = one["tokens"]
        if filled(model, [(words, words.index("▢"), one["right"])], way="mean")[0]:
            kept.append(" ".join(words))
    assert kept == ["the keys near the old cabinet ▢ red"]
    assert in_order(text_of(page, "#predict-one-map .answer"), kept[0])

    one_map, of_400, said = counts(page, "one-map"), counts(page, "heads-on-400"), {}
    ways = {
        "on": "both on", "off-1": "head 1 off", "off-2": "head 2 off", "mean": "one map for both",
        "mean, doubled": "one map for both, all doubled",
    }  # fmt: skip
    for way, name in ways.items():
        right, said[way] = filled(model, gaps, way=way)
        the = said[way].count("the")
        wrong = said[way].count("is") + said[way].count("are") - right
        assert of_400[name] == [right, wrong, the, 400 - right - wrong - the]
        assert one_map.get(name, of_400[name]) == of_400[name]
    assert said["on"] == [right for *_, right in gaps]
    assert {*said["off-1"]} == {"the"}
    assert {*said["off-2"]} == {"is"}, "right where one is meant"
    right, wrong, the, _ = one_map["one map for both"]
    assert the > 300 > 100 > right
    assert wrong == 0
    assert of_400["one map for both, all doubled"][0] > 375

    layer_1 = [of_400[f"layer 1, head {head} off"][0] for head in (1, 2, 3, 4)]
    assert layer_1 == [filled(model, gaps, off=((0, head),))[0] for head in range(4)]
    assert layer_1[3] < 100 < 350 < min(layer_1[:3])
    model.layers[1].attention.out_proj.weight /= 2
    halved, *_ = of_400["maps of their own, all halved"]
    assert halved == filled(model, gaps)[0] < 200


@torch.no_grad()
def test_in_the_gap_one_head_looks_at_the_subject_and_the_other_at_the_adjective(page):
    words = "the lions near the old window [mask] tame".split()
    model = grammar_model("masked")
    one, two = model(model.encode(words)).weights[1][0, :, 6]
    assert (one.argmax(), two.argmax()) == (7, 1)
    assert in_order(text_of(page, "#sec-trained .answer"), f"{two[1]:.2f}", f"{one[7]:.2f}")


@torch.no_grad()
def test_the_verb_follows_what_head_2_brings_and_not_head_4(page, causal):
    """Hooks put in what one head brings in the sentence with its subject in the other number."""
    sentences = held_out()["pairs"]["1 distractors"]
    other_number = NOUNS | {many: one for one, many in NOUNS.items()}
    twins = []
    for sentence in sentences:
        words, subject = [*sentence.words], sentence.link("verb")[1]
        words[subject] = other_number[words[subject]]
        twins.append(replace(sentence, words=words))
    tokens, other = to_tensors(sentences)[0], to_tensors(twins)[0]
    gaps = [next(iter(sentence.right)) for sentence in sentences]
    join, brought = causal.layers[1].attention.out_proj, []

    def are_right(**options):
        best = causal(tokens, **options).logits[range(400), [gap - 1 for gap in gaps]]
        verbs = [causal.config.vocabulary[VERBS[i]] for i in best[:, VERBS].argmax(-1)]
        return sum(v in s.right[gap] for v, s, gap in zip(verbs, sentences, gaps, strict=True))

    hook = join.register_forward_pre_hook(lambda _, x: brought.append(x[0]))
    causal(other)
    hook.remove()
    wrong, off = {}, {}
    for head in (1, 3):

        def swapped(_, x, own=slice(16 * head, 16 * head + 16)):
            mixed = x[0].clone()
            mixed[..., own] = brought[0][..., own]
            return (mixed,)

        hook = join.register_forward_pre_hook(swapped)
        wrong[head] = 400 - are_right()
        hook.remove()
        off[head] = are_right(off=((1, head),))
    assert wrong == {1: 400, 3: 0}
    assert off[3] == 400
    assert off[1] < 250
    assert in_order(text_of(page, "#sec-trained"), f"{off[3]} of 400", str(wrong[1]), "none")
    another_seed = scores_of("grammar", "causal")["seeds"]["1"]
    assert sorted(another_seed["attention"]["verb, guessed"]["heads"][1])[-2] > 0.8, "two heads"
    assert another_seed["accuracy without the verb head"]["pairs"]["1 distractors"] == 0.75


@torch.no_grad()
def test_on_the_sentence_of_the_table_head_2_finds_the_subject_and_is_the_surest(page, causal):
    maps = causal(causal.encode("the keys near the old cabinet are red".split())).weights[1][0]
    peaks, entropies = maps.amax(-1).mean(-1), torch.special.entr(maps).sum(-1).mean(-1)
    assert peaks.argmax() == entropies.argmin() == 1
    shown = [[float(cell) for cell in row[1:]] for row in cells(page, "decided")]
    want = torch.stack((peaks, entropies), 1)
    torch.testing.assert_close(torch.tensor(shown), want, atol=0.0051, rtol=0)
    to_keys = maps[:, 5, 1]
    assert to_keys.argsort(descending=True)[:2].tolist() == [1, 3]
    assert in_order(text_of(page, "#sec-trained"), f"{to_keys[1]:.2f}", f"{to_keys[3]:.2f}")
