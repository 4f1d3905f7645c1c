"""m08: its claims, by models that run here on other texts than the page's."""

import json
import math
from functools import cache

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course.payloads.induction_lab import history, signs
from models.induction.sequences import VOCABULARY, sequences
from models.storyteller.model import load_storyteller
from models.storyteller.scores import repeated
from models.storyteller.tokens import Tokenizer
from models.weights import load
from modules.m08_patterns import gpt2, rival
from modules.m08_patterns.circuits import head_matrices, match_and_copy, on_diagonal
from tests.conftest import ROOT
from tests.lessons.page_text import cells, output, shows
from tests.numbers import numbers
from tests.scores import scores_of

PAGE = "modules/m08_patterns/lesson.html"
BLIND = math.log(32)
HALF = 24


@cache
def checkpoint(step=1000, name="two-layers"):
    return load(ROOT / f"models/induction/weights/{name}-{step:04}.safetensors")


@cache
def fresh_texts():
    """512 texts of 24 signs twice, of another seed than those of the scores."""
    return sequences(512, HALF, torch.Generator().manual_seed(7))


@torch.no_grad()
def losses(model, off=()):
    """Of the guess after each place, the mean over fresh texts."""
    logits = model(fresh_texts(), off=off).logits[:, :-1]
    return F.cross_entropy(logits.mT, fresh_texts()[:, 1:], reduction="none").mean(0)


def test_of_the_first_text_only_the_second_half_is_guessed_and_nearly_all_of_it(page):
    text = page.select_one(".lead-in").get_text().split()
    assert text == list(signs(12, 4))
    model = checkpoint()
    tokens = model.encode(text)
    with torch.no_grad():
        shares = model(tokens).logits[0, :-1].softmax(-1)
    given = shares[range(23), tokens[0, 1:]]
    assert given[:12].max() < 0.1
    assert given[12:].min() > 0.96


def test_heads_2_4_and_4_3_are_the_best_and_before_training_all_look_alike():
    scores = scores_of("storyteller", "storyteller")["seeds"]["0"]
    trained = scores["held out"]["heads"]
    equal = sum(1 / n for n in range(2, 257)) / 255
    for look, name in (("previous", (1, 3)), ("induction", (3, 2))):
        best = max(trained, key=lambda head, look=look: head[look])
        assert (best["layer"], best["head"]) == name
    for head in scores["on the way"]["0"]["held out"]["heads"]:
        assert head["previous"] == pytest.approx(equal, rel=0.25)
    assert max(head["first"] for head in trained) < 1.1 * equal, "none has a sink"
    layer_2 = sorted((head["previous"], head["head"]) for head in trained if head["layer"] == 1)
    assert {head for _, head in layer_2[-2:]} == {1, 3}, "2.2 and 2.4 look at the word before"


@pytest.mark.parametrize(("seed", "turned"), [("0", 2), ("1", 1), ("2", 1)])
def test_two_layers_fall_within_150_steps_and_one_stays(seed, turned):
    loss = {point["step"]: point["repeated_loss"] for point in history(seed=seed)}
    assert loss[200] > BLIND - 0.1
    assert loss[350] < 0.3
    assert loss[1000] < 0.02
    first = [head["previous"] for head in history(seed=seed)[-1]["heads"][:2]]
    assert sum(weight > 0.3 for weight in first) == turned, "heads that look at the sign before"
    single = {point["step"]: point["repeated_loss"] for point in history("one-layer", seed)}
    assert single[4000] > 1.8
    if seed == "0":
        assert single[1500] - single[4000] < 0.05 < single[1000] - single[1500]


@torch.no_grad()
def test_layer_2_parks_its_weight_while_nothing_fits_and_at_no_certain_place():
    weights = checkpoint()(fresh_texts()).weights[1][:, :, 1:HALF, :HALF]
    assert weights.amax(-1).mean((0, 2)).min() > 0.5, "in both heads"
    equal = torch.ones(HALF, HALF).tril()[1:] / torch.arange(2, HALF + 1)[:, None]
    assert (weights[:, 0].mean((0, 1)) / equal.mean(0)).max() < 2
    assert equal.diagonal(1).mean() == pytest.approx(0.12, abs=0.005), "the answer of Check it"


def test_the_first_half_is_guessed_worst_where_copying_begins(page):
    steps = 50, 200, 275, 400, 1000
    loss = {step: losses(checkpoint(step))[: HALF - 1].mean() for step in steps}
    assert loss[50] < loss[200] < loss[275] > loss[400] > loss[1000]
    lines = [numbers(line) for line in output(page, "too-early").splitlines()[:-1]]
    to_signs_that_came = {int(step): percent for step, percent in lines}
    assert max(to_signs_that_came, key=to_signs_that_came.get) == 275


@torch.no_grad()
def test_one_layer_guesses_among_the_signs_at_about_the_right_distance():
    tokens, near = fresh_texts()[:128], []
    guesses = checkpoint(4000, "one-layer")(tokens).logits.argmax(-1)
    for i in range(HALF, 47):
        came = tokens[:, : i + 1] == guesses[:, i, None]
        back = i + 1 - (came * torch.arange(i + 1)).amax(-1)  # the text's last sign is at 1
        near.append((back >= 16) & (back <= 24))
    assert torch.stack(near).float().mean() > 0.99


def test_the_rivals_get_far_without_an_induction_head_and_by_other_ways():
    runs = json.loads((ROOT / "modules/m08_patterns/rival.json").read_text(encoding="utf-8"))
    larger, ordinary = (runs[name]["seeds"] for name in rival.SIZES)
    for run in [*larger.values(), *ordinary.values()]:
        *_, last = run["repeated_loss"].values()
        assert last < 1 < run["repeated_loss"]["1000"], "far, and later than our two layers"
        assert max(head["induction"] for head in run["heads"]) < 0.085
    assert rival.goes_by(checkpoint())["asks"] > 0.99, "our two layers go by the sign that asks"
    one = {"goes_by": rival.goes_by(checkpoint(4000, "one-layer"))}
    for run in [one, larger["0"], larger["2"], *ordinary.values()]:
        asks, age, position = run["goes_by"].values()
        assert age + position > max(0.2, 2 * asks), "by age and place"
    assert larger["1"]["goes_by"]["asks"] > 0.7, "though no head looks there"


@pytest.mark.slow
def test_a_rival_trains_again():
    run = rival.train("two layers, ordinary", 0, steps=3)
    assert list(run["repeated_loss"]) == ["3"]
    assert len(run["heads"]) == 4


def test_without_marks_head_2_1_is_lost_and_the_model_misled():
    off = [(0, 0), (0, 1)]
    with torch.no_grad():
        rows = checkpoint()(fresh_texts(), off=off).weights[1][:, 0, HALF:]
    assert rows[:, :, 1 : HALF + 1].diagonal(0, 1, 2).mean() < 0.05
    assert losses(checkpoint(), off)[HALF:].mean() > BLIND


@torch.no_grad()
def exchanged(model, texts, half, layer, heads):
    """The maps where tokens, half of ``half`` apart, swap what these heads write at them."""
    attention = model.layers[layer].attention

    def exchange(module, inputs):
        parts = inputs[0].unflatten(-1, (-1, attention.head_dim)).clone()
        for head in heads:
            parts[:, :half, head] = parts[:, :half, head].roll(half // 2, 1)
        return (parts.flatten(-2),)

    hook = attention.out_proj.register_forward_pre_hook(exchange)
    weights = model(texts).weights
    hook.remove()
    return weights


def test_heads_of_layer_2_follow_the_mark_to_the_wrong_sign(page):
    right, wrong = (numbers(cell)[0] / 100 for cell in cells(page, "exchange .fallback")[0])
    assert right < 0.05
    assert wrong > 0.6
    asks = torch.arange(HALF - 1)
    for head in (0, 1):  # 2.2 does the same as 2.1
        weights = exchanged(checkpoint(), fresh_texts(), HALF, 0, (0, 1))[1][:, head, HALF + asks]
        # By the key's distance from the sign that asks: 1 is the right sign, 13 has its mark.
        by_distance = [weights[:, asks, (asks + d) % HALF].mean().item() for d in range(HALF)]
        assert by_distance[1] == pytest.approx(right, abs=0.03)
        assert by_distance[13] == pytest.approx(wrong, abs=0.03)
    for head in (0, 1):  # 1.1 writes a part of the mark, too
        weights = exchanged(checkpoint(), fresh_texts(), HALF, 0, (head,))[1][:, 0]
        assert weights[:, HALF + asks, (asks + 13) % HALF].mean() > 0.1


def test_the_diagram_of_b_and_c_has_the_model_s_own_weights(page):
    text = signs(12, 4)
    assert (text[3:5], text[15:17]) == ("bc", "bc")
    with torch.no_grad():
        run = checkpoint()(checkpoint().encode(list(text)))
    at_c, at_b = run.weights[0][0, 1, 4], run.weights[1][0, 0, 15]
    shown = [numbers(row[3])[0] / 100 for row in cells(page, "two-steps .fallback")]
    assert shown == pytest.approx([at_c[3].item(), at_b[4].item()], abs=0.0051)
    assert (at_c.argmax(), at_b.argmax()) == (3, 4)
    assert VOCABULARY[run.logits[0, 15].argmax()] == "c"
    before = run.weights[0][0, 1].diagonal(-1)
    assert before[:6].min() > before[12:].max(), "1.2 looks back less further on"


@torch.no_grad()
def test_a_circuit_is_the_model_s_own_arithmetic():
    """One text of two signs, by hand from W_Q, W_K, W_V and W_O, against the whole model."""
    model = checkpoint()
    first = model.layers[0]
    tokens = model.encode(list("kc"))
    run, x = model(tokens), model.embedding[tokens[0]]
    read, added = first.norm(x), 0
    for head in (0, 1):
        W_Q, W_K, W_V, W_O = head_matrices(first, head)
        b_q, b_k, b_v = (b[32 * head : 32 * head + 32]
                         for b in first.attention.qkv_proj.bias.split(64))  # fmt: skip
        q, k = ((read + model.positions[:2]) @ W + b for W, b in ((W_Q, b_q), (W_K, b_k)))
        scores = (q @ k.T / 32**0.5).masked_fill(torch.ones(2, 2).triu(1).bool(), -torch.inf)
        torch.testing.assert_close(scores.softmax(-1), run.weights[0][0, head], atol=1e-5, rtol=0)
        added = added + scores.softmax(-1) @ (read @ W_V + b_v) @ W_O
    want = x + added + first.attention.out_proj.bias
    torch.testing.assert_close(want, run.residual[1][0], atol=1e-4, rtol=0)


def test_it_learns_where_to_look_before_what_to_say():
    for step in (0, 200, 250, 275, 300, 400):
        fits, copies = map(on_diagonal, match_and_copy(checkpoint(step)))
        assert fits >= copies
    assert [*map(on_diagonal, match_and_copy(checkpoint()))] == [32, 32]
    for heads in ((0, 0), (0, 1), (1, 0), (1, 1)):
        fits, copies = map(on_diagonal, match_and_copy(checkpoint(250), *heads))
        assert fits > 16
        assert copies <= 1


@pytest.fixture(scope="module")
def storyteller():
    return load_storyteller().double()


def test_head_4_3_follows_the_marks_of_2_4_and_2_2(storyteller):
    texts = repeated(storyteller.config.vocabulary)[:, :-1]  # 48 words twice
    rows, right, mark = torch.arange(48, 95), {}, {}
    for heads in ((), (3, 1), (0, 2)):
        weights = exchanged(storyteller, texts, 48, 1, heads)[3][:, 2].mean(0)
        right[heads] = weights[rows, rows - 47].mean().item()
        mark[heads] = weights[rows, (rows - 47 + 24) % 48].mean().item()
    assert right[3, 1] < 0.3 * right[()]
    assert mark[3, 1] > 4 * mark[()]
    assert 0.4 < mark[3, 1] / right[()] < 0.5, "nearly half of the weight"
    assert right[0, 2] > 0.9 * right[()], "the control"
    assert mark[0, 2] < 1.2 * mark[()]


@torch.no_grad()
def test_head_4_3_takes_one_name_for_another_and_copies_little(page, storyteller):
    tokenizer, looks = Tokenizer(storyteller.config.vocabulary), {}
    for name in ("Peter", "Jimmy"):
        tokens = tokenizer.encode(f'He looked at {name} Rabbit. "Come here," said Peter')
        at = [tokenizer.decode([token]) for token in tokens].index(" Rabbit")
        looks[name] = storyteller(torch.tensor([tokens])).weights[3][0, 2, -1, at].item()
    assert looks["Peter"] > 0.5
    assert looks["Jimmy"] > 0.2
    texts = repeated(storyteller.config.vocabulary)
    logits = storyteller(texts).logits[:, :-1]
    loss = F.cross_entropy(logits.mT, texts[:, 1:], reduction="none").mean(0)
    first, second = (part.mean().item() for part in (loss[:47], loss[48:]))
    blind = math.log(len(storyteller.config.vocabulary))
    assert shows(page, "#in-larger", *(f"{nats:.1f}" for nats in (second, first, blind)))


E, HEADS = 24, 8


@torch.no_grad()
def tiny_gpt2(tokens):
    """Two of PyTorch's own layers: their weights under GPT-2's names, and their maps."""
    state = {"wte.weight": torch.randn(50, E), "wpe.weight": torch.randn(16, E)}
    x = (state["wte.weight"][tokens] + state["wpe.weight"][: len(tokens)])[None]
    hidden, maps = torch.ones(len(tokens), len(tokens)).triu(1).bool(), []
    sizes = {"d_model": E, "nhead": HEADS, "dim_feedforward": 4 * E}
    options = {"dropout": 0, "activation": nn.GELU("tanh"), "norm_first": True}
    for i in range(2):
        layer = nn.TransformerEncoderLayer(**sizes, **options, batch_first=True)
        for parameter in layer.parameters():
            parameter.normal_(std=0.3)
        attention = layer.self_attn
        named = {"ln_1": layer.norm1, "ln_2": layer.norm2, "mlp.c_fc": layer.linear1,
                 "mlp.c_proj": layer.linear2, "attn.c_proj": attention.out_proj}  # fmt: skip
        for name, part in named.items():
            state[f"h.{i}.{name}.weight"] = part.weight.T if part.weight.ndim == 2 else part.weight
            state[f"h.{i}.{name}.bias"] = part.bias
        state[f"h.{i}.attn.c_attn.weight"] = attention.in_proj_weight.T
        state[f"h.{i}.attn.c_attn.bias"] = attention.in_proj_bias
        y = layer.norm1(x)
        maps.append(attention(y, y, y, attn_mask=hidden, average_attn_weights=False)[1][0])
        x = layer(x, src_mask=hidden)
    return state, maps


def test_gpt2_s_maps_are_pytorch_s():
    torch.manual_seed(0)
    tokens = torch.tensor([3, 1, 4, 1, 5, 9, 2])
    state, wanted = tiny_gpt2(tokens)
    for mine, theirs in zip(gpt2.maps(state, tokens, HEADS), wanted, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=0)


@pytest.mark.slow
def test_a_saved_gpt2_is_read_through_transformers(tmp_path):
    transformers = pytest.importorskip("transformers", reason="an extra: pip install transformers")
    torch.manual_seed(0)
    sizes = {"vocab_size": 300, "n_positions": 32, "n_embd": E, "n_layer": 3, "n_head": HEADS}
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).save_pretrained(tmp_path)
    letters = {letter: i for i, letter in enumerate("abcdefghijklmnopqrstuvwxyz.Ġ")}
    letters |= {"th": 28, "ca": 29}
    (tmp_path / "vocab.json").write_text(json.dumps(letters), encoding="utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\nt h\nc a\n", encoding="utf-8")
    tokens, maps = gpt2.local_maps("the cat", tmp_path)
    ids = transformers.AutoTokenizer.from_pretrained(tmp_path).encode("the cat")
    assert len(tokens) == len(ids)
    assert [of_layer.shape for of_layer in maps] == [(HEADS, len(ids), len(ids))] * 3
