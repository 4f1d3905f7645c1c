"""m08: its claims against numbers computed here, on other texts than the page's."""

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
from tests.lessons.page_text import cells, output, share, shows
from tests.numbers import numbers
from tests.scores import scores_of

PAGE = "modules/m08_patterns/lesson.html"
BLIND = math.log(32)
HALF = 24


@cache
def checkpoint(step=1000, name="two-layers"):
    return load(ROOT / f"models/induction/weights/{name}-{step:04}.safetensors")


@cache
def storyteller_scores():
    return scores_of("storyteller", "storyteller")["seeds"]["0"]


@cache
def fresh_texts():
    """Other texts than those of the scores: 512 of another seed, 24 signs twice."""
    return sequences(512, HALF, torch.Generator().manual_seed(7))


@torch.no_grad()
def losses(model, off=()):
    """Of the guess after each place, the mean over fresh texts."""
    logits = model(fresh_texts(), off=off).logits[:, :-1]
    return F.cross_entropy(logits.mT, fresh_texts()[:, 1:], reduction="none").mean(0)


def loss_on_what_repeats(model, off):
    return losses(model, off)[HALF:].mean().item()


def test_the_text_of_the_prediction_is_the_lab_s_and_nearly_all_right_the_second_time(page):
    text = signs(12, 4)
    assert text[:12] == text[12:]
    assert page.select_one(".lead-in").get_text().split() == list(text)
    model = checkpoint()
    tokens = model.encode(list(text))
    with torch.no_grad():
        shares = model(tokens).logits[0, :-1].softmax(-1)
    given = shares[range(23), tokens[0, 1:]]
    assert given[12:].min() > 0.96, "from the second sign of the second time on"
    assert given[:12].max() < 0.1
    assert -given[:12].log().mean() > BLIND - 0.1
    assert math.log(12) > 50 * -given[12:].log().mean(), "far better than one in twelve"


def test_the_loss_falls_where_the_text_begins_to_repeat():
    places = losses(checkpoint())
    assert (places[: HALF - 1] - BLIND).abs().max() < 0.15
    assert places[HALF - 1] > BLIND - 0.1, "what stands before the 25th is new: nothing to look up"
    assert places[HALF:].max() < 0.1


def test_the_best_heads_are_those_of_which_the_page_goes_on_to_tell():
    trained = storyteller_scores()["held out"]["heads"]
    for look, name in (("previous", (1, 3)), ("induction", (3, 2))):  # 2.4 and 4.3
        best = max(trained, key=lambda head, look=look: head[look])
        assert (best["layer"], best["head"]) == name


def test_before_training_heads_look_at_all_words_nearly_alike(page):
    heads = scores_of("storyteller", "storyteller")["seeds"]["0"]["on the way"]["0"]["held out"]
    previous = [head["previous"] for head in heads["heads"]]
    equal = sum(1 / n for n in range(2, 257)) / 255
    assert all(weight == pytest.approx(equal, rel=0.25) for weight in previous)
    assert numbers(cells(page, "found")[0][3]) == [round(max(previous), 2)]


def test_seeds_fall_together_and_one_layer_stays():
    for seed, turned in zip("012", (2, 1, 1), strict=True):
        loss = {point["step"]: point["repeated_loss"] for point in history(seed=seed)}
        assert loss[0] > 4.4
        assert abs(loss[50] - BLIND) < 0.05
        assert loss[200] > BLIND - 0.1
        assert loss[350] < 0.3
        assert loss[1000] < 0.02
        first = [head["previous"] for head in history(seed=seed)[-1]["heads"][:2]]
        assert sum(weight > 0.3 for weight in first) == turned
        assert history("one-layer", seed)[-1]["repeated_loss"] > 1.8


def test_the_page_says_where_one_layer_stops(page):
    single = {point["step"]: point["repeated_loss"] for point in history("one-layer")}
    last = loss_on_what_repeats(checkpoint(4000, "one-layer"), [])
    assert last == pytest.approx(single[4000], abs=0.05)
    assert single[1500] - single[4000] < 0.05 < single[1000] - single[1500], "it stops falling"
    assert shows(page, "#sec-lab", *(f"{single[step]:.2f}" for step in (1500, 4000)))


@torch.no_grad()
def test_what_looks_odd_in_the_lab(page):
    """Layer 2 parks its weight while nothing fits; the bump is signs that came."""
    tokens = fresh_texts()
    weights = checkpoint()(tokens).weights[1][:, :, 1:HALF, :HALF]
    assert weights.amax(-1).mean((0, 2)).min() > 0.5, "more than half to one sign, in both heads"
    *lines, blind = (numbers(line) for line in output(page, "too-early").splitlines())
    loss, came = {}, {}
    for step, shown in lines:
        shares = checkpoint(int(step))(tokens).logits.softmax(-1)[:, : HALF - 1]
        has_come = F.one_hot(tokens[:, : HALF - 1], 32).cumsum(1).bool()
        seen = (shares * has_come).sum(-1)
        right = shares.gather(2, tokens[:, 1:HALF, None])[..., 0]
        loss[step], came[step] = -right.log().mean(), -(1 - seen).log().mean()
        assert shown == pytest.approx(100 * seen.mean().item(), abs=2)
    assert blind[0] == pytest.approx(100 * sum(n / 32 for n in range(1, HALF)) / 23, abs=0.51)
    assert abs(loss[100] - loss[50]) < 0.05
    assert loss[100] < loss[200] < loss[275] > loss[400] > loss[1000]
    assert max(came, key=came.get) == 275
    assert came[200] > came[100]
    assert came[275] - came[1000] > 0.7 * (loss[275] - loss[1000])


def places_back(signs, texts):
    """How far before the end of its text each sign last stood; 1 is the text's last place."""
    pairs = zip(signs.tolist(), texts.tolist(), strict=True)
    return [text[::-1].index(sign) + 1 if sign in text else 0 for sign, text in pairs]


@torch.no_grad()
def test_one_layer_knows_roughly_how_far_back_to_look():
    tokens = fresh_texts()[:128]
    guesses = checkpoint(4000, "one-layer")(tokens).logits.argmax(-1)
    best = guesses[:, HALF:-1] == tokens[:, HALF + 1 :]
    assert best.float().mean().item() == pytest.approx(0.6, abs=0.03)
    back = [n for i in range(24, 47) for n in places_back(guesses[:, i], tokens[:, : i + 1])]
    assert sum(n in (*range(16, 23), 24) for n in back) / len(back) > 0.99


def test_the_rivals_say_what_their_box_says():
    runs = json.loads((ROOT / "modules/m08_patterns/rival.json").read_text(encoding="utf-8"))
    larger, ordinary = (runs[name]["seeds"] for name in rival.SIZES)
    assert min(len(larger), len(ordinary)) > 1
    for run in [*larger.values(), *ordinary.values()]:
        *_, last = run["repeated_loss"].values()
        assert last < 1 < run["repeated_loss"]["1000"], "far, and later than our two layers"
        assert max(head["induction"] for head in run["heads"]) < 0.085
    assert rival.goes_by(checkpoint())["asks"] > 0.99, "our two layers go by the sign that asks"
    one = {"goes_by": rival.goes_by(checkpoint(4000, "one-layer"))}
    for run in [one, larger["0"], larger["2"], *ordinary.values()]:
        asks, age, position = run["goes_by"].values()
        assert age + position > 0.2
        assert age + position > 2 * asks, "by age and place"
    assert larger["1"]["goes_by"]["asks"] > 0.7, "though no head looks there"


@pytest.mark.slow
def test_a_rival_trains_again():
    run = rival.train("two layers, ordinary", 0, steps=3)
    assert list(run["repeated_loss"]) == ["3"]
    assert len(run["heads"]) == 4


def test_without_notes_the_later_head_is_lost(page):
    lines = [
        numbers(line.split("weight")[1]) for line in output(page, "switched-off").splitlines()[:4]
    ]
    model, offs = checkpoint(), [[], [(0, 0)], [(0, 1)], [(0, 0), (0, 1)]]
    for (weight, loss), off in zip(lines, offs, strict=True):
        with torch.no_grad():
            rows = model(fresh_texts(), off=off).weights[1][:, 0, HALF:]
        looks = rows[:, :, 1 : HALF + 1].diagonal(0, 1, 2).mean().item()
        assert looks == pytest.approx(weight, abs=0.03)
        assert loss_on_what_repeats(model, off) == pytest.approx(loss, abs=0.15)
    assert lines[3][0] < 0.05
    assert lines[3][1] > BLIND, "misled, not only ignorant"


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


def test_head_2_1_follows_the_note_to_the_wrong_sign(page):
    [(right, wrong)] = [[numbers(cell)[0] / 100 for cell in row]
                        for row in cells(page, "exchange .fallback")]  # fmt: skip
    model, asks = checkpoint(), torch.arange(HALF - 1)
    # By how far the key stands behind the place before the right sign: 1 is the right sign, 13
    # the one with its note.
    # At 12 stands what layer 1 wrote at the sign that asks.
    for head in (1, 0):  # 2.2 does the same as 2.1
        weights = exchanged(model, fresh_texts(), HALF, 0, (0, 1))[1][:, head, HALF + asks].mean(0)
        by_distance = [weights[asks, (asks + d) % HALF].mean().item() for d in range(HALF)]
        assert by_distance[1] == pytest.approx(right, abs=0.03)
        assert by_distance[13] == pytest.approx(wrong, abs=0.03)
        assert max(by_distance[:13] + by_distance[14:]) < 0.2 * by_distance[13]
    assert right < 0.05
    assert wrong > 0.6
    assert wrong + right + by_distance[12] > 0.8
    *others, _, _ = sorted(range(HALF), key=by_distance.__getitem__)
    assert by_distance[others[-1]] < 0.03, "the others share what is left"
    assert not {12, 13} & {*others}
    drawn = []  # by each head of layer 1 alone
    for head in (0, 1):
        weights = exchanged(model, fresh_texts(), HALF, 0, (head,))[1][:, 0]
        drawn.append(weights[:, asks + HALF, (asks + 13) % HALF].mean().item())
    assert drawn[1] > drawn[0] > 0.1


def test_the_diagram_says_what_the_model_does(page):
    text, model = signs(12, 4), checkpoint()
    assert (text[3:5], text[15:17]) == ("bc", "bc")
    with torch.no_grad():
        run = model(model.encode(list(text)))
    at_c, at_b = run.weights[0][0, 1, 4], run.weights[1][0, 0, 15]
    shown = [row[3] for row in cells(page, "two-steps .fallback")]
    assert shown == [f"{100 * weight:.0f}\u202f%" for weight in (at_c[3], at_b[4])]
    assert at_c.argmax() == 3
    assert at_b.argmax() == 4
    assert VOCABULARY[run.logits[0, 15].argmax()] == "c"
    before = run.weights[0][0, 1].diagonal(-1)
    assert before[:6].min() > before[12:].max(), "in the second half 1.2 looks back less"
    with torch.no_grad():
        first_time = model(fresh_texts()).weights[0][:, 1, :HALF, :HALF].diagonal(-1, 1, 2).mean(0)
    assert shows(page, "#sec-two", share(before[14]), share(first_time.mean()))
    assert first_time[:4].min() > first_time[8:].max()
    assert first_time[-4:].max() < 0.4


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
    # So it is between each head of layer 1 and each of layer 2.
    for heads in ((0, 0), (0, 1), (1, 0), (1, 1)):
        fits, copies = map(on_diagonal, match_and_copy(checkpoint(250), *heads))
        assert fits > 16
        assert copies <= 1


@pytest.fixture(scope="module")
def storyteller():
    return load_storyteller().double()


@torch.no_grad()
def to_rabbit(model, name):
    """Head 4.3's row at the last word, and where Rabbit stands."""
    tokenizer = Tokenizer(model.config.vocabulary)
    tokens = tokenizer.encode(f'He looked at {name} Rabbit. "Come here," said Peter')
    at = [tokenizer.decode([token]) for token in tokens].index(" Rabbit")
    return model(torch.tensor([tokens])).weights[3][0, 2, -1], at


def test_head_4_3_follows_the_notes_of_2_4_and_2_2(page, storyteller):
    row, at = to_rabbit(storyteller, "Peter")
    assert row.argmax() == at
    texts = repeated(storyteller.config.vocabulary)[:, :-1]  # 48 words twice
    rows, right, note = torch.arange(48, 95), [], []
    for heads in ((), (3,), (1,), (3, 1), (0, 2)):
        weights = exchanged(storyteller, texts, 48, 1, heads)[3][:, 2].mean(0)
        right.append(weights[rows, rows - 47].mean().item())
        note.append(weights[rows, (rows - 47 + 24) % 48].mean().item())
    assert shows(page, "#sec-larger", *(f"{x:.2f}" for x in (right[3], right[0], note[3])))
    assert right[3] < 0.3 * right[0]
    assert note[3] > 4 * note[0]
    assert note[3] > right[3]
    assert 0.4 < note[3] / right[0] < 0.5, "nearly half of the weight"
    assert right[4] > 0.9 * right[0], "the control"
    assert note[4] < 1.2 * note[0]
    heads = storyteller_scores()["held out"]["heads"]
    layer_2 = [head["previous"] for head in heads if head["layer"] == 1]
    assert sorted(layer_2)[-2:] == [layer_2[1], layer_2[3]]


@torch.no_grad()
def test_head_4_3_is_only_the_beginning(page, storyteller):
    """It takes one name for another, and its copying saves half a nat of a loss above blind."""
    row, at = to_rabbit(storyteller, "Jimmy")
    texts = repeated(storyteller.config.vocabulary)
    logits = storyteller(texts).logits[:, :-1]
    loss = F.cross_entropy(logits.mT, texts[:, 1:], reduction="none").mean(0)
    first, second = (part.mean().item() for part in (loss[:47], loss[48:]))
    blind = math.log(len(storyteller.config.vocabulary))
    shown = share(row[at]), *(f"{number:.1f}" for number in (second, first, blind))
    assert shows(page, "#in-larger", *shown)
    assert blind < second < first - 0.3


def test_larger_models_and_ours(page):
    *_, parked = (
        [x for x in numbers(line) if x < 1] for line in output(page, "larger").splitlines()
    )
    heads = storyteller_scores()["held out"]["heads"]
    assert max(h["first"] for h in heads) < 1.1 * sum(1 / n for n in range(2, 257)) / 255
    tokens = fresh_texts()
    with torch.no_grad():
        weights = checkpoint()(tokens).weights[1][:, 0, 1:HALF, :HALF]
    equal = sum(1 / n for n in range(2, 25)) / 23
    want = [weights.amax(-1).mean().item(), weights[..., 0].mean().item(), equal]
    assert parked == pytest.approx(want, abs=0.02)
    assert equal == pytest.approx(0.12, abs=0.005), "as the answers of Check it say"
    fair = torch.ones(HALF, HALF).tril()[1:] / torch.arange(2, HALF + 1)[:, None]
    assert (weights.mean((0, 1)) / fair.mean(0)).max() < 2, "at no certain position"


def test_the_bug_hunt_s_check_fails(page):
    assert output(page, "bug-check").endswith("guesses Ron")


E, HEADS, LAYERS = 24, 8, 12


def tiny_gpt2():
    """A state dict under GPT-2's names: 12 layers of 8 heads."""
    torch.manual_seed(0)
    state = {"wte.weight": torch.randn(50, E), "wpe.weight": torch.randn(16, E)}
    sizes = {"attn.c_attn": (E, 3 * E), "attn.c_proj": (E, E), "mlp.c_fc": (E, 4 * E),
             "mlp.c_proj": (4 * E, E)}  # fmt: skip
    for i in range(LAYERS):
        for name, size in sizes.items():
            state[f"h.{i}.{name}.weight"] = torch.randn(size) * 0.3
            state[f"h.{i}.{name}.bias"] = torch.randn(size[1]) * 0.3
        for name in ("ln_1", "ln_2"):
            for part in ("weight", "bias"):
                state[f"h.{i}.{name}.{part}"] = 1 + torch.randn(E) * 0.2
    return state


@torch.no_grad()
def by_pytorch_s_own_layers(state, tokens):
    """The maps by torch.nn.TransformerEncoderLayer's parts, in float64."""
    state = {name: part.double() for name, part in state.items()}
    x = (state["wte.weight"][tokens] + state["wpe.weight"][: len(tokens)])[None]
    hidden = torch.ones(len(tokens), len(tokens)).triu(1).bool()
    maps = []
    for i in range(LAYERS):
        part = {k.removeprefix(f"h.{i}."): v for k, v in state.items() if k.startswith(f"h.{i}.")}
        attention = nn.MultiheadAttention(E, HEADS, batch_first=True, dtype=torch.float64)
        attention.load_state_dict({
            "in_proj_weight": part["attn.c_attn.weight"].T,
            "in_proj_bias": part["attn.c_attn.bias"],
            "out_proj.weight": part["attn.c_proj.weight"].T,
            "out_proj.bias": part["attn.c_proj.bias"],
        })  # fmt: skip
        y = F.layer_norm(x, (E,), part["ln_1.weight"], part["ln_1.bias"])
        out, weights = attention(y, y, y, attn_mask=hidden, average_attn_weights=False)
        x = x + out
        y = F.layer_norm(x, (E,), part["ln_2.weight"], part["ln_2.bias"])
        y = nn.GELU("tanh")(y @ part["mlp.c_fc.weight"] + part["mlp.c_fc.bias"])
        x = x + y @ part["mlp.c_proj.weight"] + part["mlp.c_proj.bias"]
        maps.append(weights[0])
    return maps


def test_gpt2_s_maps_are_pytorch_s():
    state, tokens = tiny_gpt2(), torch.tensor([3, 1, 4, 1, 5, 9, 2])
    got = gpt2.maps(state, tokens, HEADS)
    assert len(got) == LAYERS
    for mine, theirs in zip(got, by_pytorch_s_own_layers(state, tokens), strict=True):
        torch.testing.assert_close(mine.double(), theirs, atol=1e-5, rtol=0)


def test_without_a_folder_there_is_no_gpt2(tmp_path):
    assert gpt2.local_maps("the cat", tmp_path) is None


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
    model = transformers.AutoModel.from_pretrained(tmp_path, attn_implementation="eager")
    ids = transformers.AutoTokenizer.from_pretrained(tmp_path).encode("the cat")
    assert len(tokens) == len(ids)
    with torch.no_grad():
        theirs = model(torch.tensor([ids]), output_attentions=True).attentions
    for mine, weights in zip(maps, theirs, strict=True):
        torch.testing.assert_close(mine, weights[0], atol=1e-5, rtol=0)
