"""pronoun.qmd: its claims against numbers computed here."""

import json
import re

import numpy as np
import pytest
import torch

from course.payloads.token_focus import EXAMPLES, FOLDER, SWAPPED, handed, head_maps, lent
from models.grammar import scores as grammar
from models.grammar.sentences import sentences
from models.grammar.words import FRAMES, NOUNS, ONLY_SINGULAR, PEOPLE
from models.weights import load
from tests.lessons.page_text import cells, in_order, output, share, shows, text_of
from tests.numbers import number, numbers

PAGE = "pronoun.html"
ADJECTIVES = sorted({word for frame in FRAMES for half in frame.adjectives for word in half})
KNOWN = {*NOUNS, *ONLY_SINGULAR}
IT = "the trophy did not fit in the suitcase because it was too big"
BARS = ["the word itself", "heads 1 to 3", "head 4, other words", "the distance",
        "without the mark", "the mark", "trophy", "suitcase", "it"]  # fmt: skip


@pytest.fixture(scope="module")
def masked():
    return load(FOLDER / "weights" / "masked.safetensors")


def parts_of_scores(page):
    """Each panel's bars: four parts, their sum without the mark, the mark, and three scores."""
    tables = page.select_one("#cell-figure-parts").find_next_sibling().select("table")
    panels = [[row.select("td") for row in table.select("tbody tr")] for table in tables]
    assert [[name.get_text() for name, _ in bars] for bars in panels] == [BARS, BARS]
    return [[number(size.get_text()) for _, size in bars] for bars in panels]


def test_big_looks_at_the_pronoun_for_its_distance(page, masked):
    """Layer 1, head 4: with the learned number for distance, and without it."""
    layer, words = masked.layers[0], IT.split()
    run, it = masked(masked.encode(words)), words.index("it")
    q, k, _ = layer.attention.qkv_proj(run.residual[0][0]).unflatten(-1, (3, 4, 16)).unbind(1)
    scores, far = k[:, 3] @ q[-1, 3] / 16**0.5, layer.relative(13)[3, -1]
    weights = (scores + far).softmax(0)
    torch.testing.assert_close(weights, run.weights[0][0, 3, -1])
    assert weights.argmax() == far.argmax() == it
    assert (scores > scores[it]).sum() > 4
    # "By its query": few of all words score less.
    known = layer.attention.qkv_proj(masked.embedding).unflatten(-1, (3, 4, 16))[:, 1, 3]
    fits = known @ q[-1, 3] / 16**0.5
    backwards = fits[masked.ids["it"]].item()
    assert abs(backwards) < 0.2
    ahead = (fits > backwards).sum().item()
    assert ahead > 0.7 * 198, "big doesn't ask for the pronoun"
    assert shows(page, "#sec-evidence", f"{backwards:.1f}", str(ahead), "198")
    assert shows(page, "#sec-evidence", share(weights[it]))


def test_a_layer_adds_what_it_takes_to_the_vector(masked):
    """The first layer's output is its input and the mix of values, through W_O: nothing else."""
    layer, run = masked.layers[0], masked(masked.encode(IT.split()))
    assert layer.mlp is None
    v = layer.attention.qkv_proj(run.residual[0])[..., 128:].unflatten(-1, (4, 16))
    mixed = torch.einsum("bhqk,bkhd->bqhd", run.weights[0], v).flatten(-2)
    want = run.residual[0] + layer.attention.out_proj(mixed)
    torch.testing.assert_close(run.residual[1], want, rtol=1e-4, atol=1e-5)


def test_whose_change_turns_the_look_of_it(page, masked):
    """Head 1 of layer 2, written out, with the queries of one sentence and the other's keys."""
    layer, lines = masked.layers[1], output(page, "crossed").splitlines()
    runs = {
        word: masked(masked.encode(IT.replace("big", word).split())) for word in ("big", "small")
    }
    parts = {
        word: layer.attention.qkv_proj(run.residual[1][0]).unflatten(-1, (3, 2, 32))[:, :2, 0]
        for word, run in runs.items()
    }
    bias, crossed, it = layer.relative(13)[0], {}, IT.split().index("it")
    for ask in parts:
        for answer in parts:
            scores = parts[ask][:, 0] @ parts[answer][:, 1].T / 32**0.5
            weights = (scores + bias).softmax(-1)
            if ask == answer:
                torch.testing.assert_close(weights, runs[ask].weights[1][0, 0])
            crossed[ask, answer] = [weights[it, noun].item() for noun in (1, 7)]
            assert numbers(lines.pop(0)) == pytest.approx(crossed[ask, answer], abs=0.0051)
    # With each sentence's own query, and its number for the distance, as in the picture.
    scores = {
        w: [(q[it] @ k[n] / 32**0.5 + bias[it, n]).item() for n in (1, 7)]
        for w, (q, k) in ((w, parts[w].unbind(1)) for w in parts)
    }
    (own, other), (suitcase, still) = zip(*scores.values(), strict=True)
    rows = [column[6:8] for column in parts_of_scores(page)]
    np.testing.assert_allclose(rows, [[own, suitcase], [other, still]], atol=0.051)
    assert own > suitcase  # "it beats"
    assert other < still  # "it falls behind"
    itself = [column[8] for column in parts_of_scores(page)]
    of = [
        (q[it] @ k[it] / 32**0.5 + bias[it, it]).item()
        for q, k in (parts[w].unbind(1) for w in parts)
    ]
    assert itself == pytest.approx(of, abs=0.051)
    assert abs(of[0] - parts_of_scores(page)[0][4]) < 0.1, "level with trophy without its mark"
    for ask, answer in crossed:  # "Mostly the keys": the noun that gets more is theirs
        trophy, suitcase = crossed[ask, answer]
        assert (trophy > suitcase) == (answer == "big")
        assert max(trophy, suitcase) > 0.6


def test_where_the_street_is_too_wide_the_query_must_change_as_well(masked):
    layer, text = masked.layers[1], "the animal did not cross the street because it was too".split()
    parts = {}
    for word in ("tired", "wide"):
        after = masked(masked.encode([*text, word])).residual[1][0]
        parts[word] = layer.attention.qkv_proj(after).unflatten(-1, (3, 2, 32))[:, :2, 0]
    it, nouns = text.index("it"), [1, 6]
    for ask in parts:
        scores = parts[ask][it, 0] @ parts["wide"][:, 1].T / 32**0.5
        animal, street = (scores + layer.relative(12)[0, it]).softmax(-1)[nouns].tolist()
        assert street > 0.8 if ask == "wide" else animal > 0.6


def test_the_ordinary_model_looks_at_the_noun_where_it_is_asked(page):
    """Head 1 of layer 2, from the hidden noun of the second sentence, on unseen sentences."""
    model = load(FOLDER / "weights" / "masked-standard.safetensors")
    shown = []
    for word, noun in (("big", 1), ("small", 7)):
        text = f"{IT.replace('big', word)} . the [mask] was {word}".split()
        run = model(model.encode(text))
        row = run.weights[1][0, 0, 15]
        assert row.argmax() == noun
        assert model.config.vocabulary[run.logits[0, 15].argmax()] == text[noun]
        shown.append(share(row[noun]))
    assert shows(page, "#sec-evidence", *shown)
    for kinds in grammar.held_out(100).values():
        texts = kinds["answer"]
        weights = grammar.run(model, texts, hide=True).weights[1][:, 0]
        at = [(i, max(one.right), one.link("it")[1]) for i, one in enumerate(texts)]
        assert np.mean([weights[i, hidden, noun].item() for i, hidden, noun in at]) > 0.8
        looks = [weights[i, hidden].argmax() == noun for i, hidden, noun in at]
        assert np.mean(looks) > 0.9
        right = grammar.answers(model, texts, off=((1, 0),))
        pairs = [a and b for a, b in zip(right[::2], right[1::2], strict=True)]
        assert np.mean(pairs) < 0.6  # the look does the work
    scores = json.loads((FOLDER / "scores" / "masked-standard.json").read_text())
    assert scores["shipped"] == 1  # "the one that the course keeps"
    weights = [run["attention"]["verb"]["weight"] for run in scores["seeds"].values()]
    assert f"{weights[1]:.2f}" == "0.13"
    guessed = [run["attention"]["verb, guessed"]["weight"] for run in scores["seeds"].values()]
    assert guessed[1] < 0.2 < 0.9 < min(guessed[0], guessed[2])


def test_the_best_heads_are_those_of_the_scores(page):
    lines = output(page, "scores").splitlines()
    looks = {}
    for name in ("masked", "masked-standard"):
        seeds = json.loads((FOLDER / "scores" / f"{name}.json").read_text())["seeds"].values()
        for relation in ("verb", "it"):
            want = [run["attention"][relation]["weight"] for run in seeds]
            looks[name, relation] = want
            np.testing.assert_allclose(numbers(lines.pop(0)), want, atol=0.0051)
            assert len(want) >= 3
        assert all(run["accuracy"]["pairs"]["1 distractors"] > 0.98 for run in seeds)
    assert min(*looks["masked", "verb"], *looks["masked", "it"]) > 0.8
    assert min(looks["masked-standard", "verb"]) < 0.3 < 0.9 < max(looks["masked-standard", "verb"])
    assert max(looks["masked-standard", "it"]) < 0.25
    runs = json.loads((FOLDER / "scores" / "masked-standard.json").read_text())["seeds"].values()
    named = [min(run["accuracy"][kind]["answer"] for kind in ("pairs", "words")) for run in runs]
    assert min(named) > 0.92  # "more than nine in ten"


def test_the_example_heads_do_what_the_page_says():
    maps, it = head_maps("masked"), 4  # head 1 of layer 2, after the four of layer 1
    assert maps["heads"][it] == "layer 2, head 1"
    for sentence, noun in [(1, "trophy"), (2, "suitcase"), (4, "mat")]:
        text, focus, _ = EXAMPLES[sentence]
        row = maps["weights"][sentence][it, focus]
        assert text.split()[row.argmax()] == noun
        assert row.sum().item() == pytest.approx(1, abs=1e-4)
    assert maps["weights"][3][5, 5, 1] > 0.999  # "are gives keys nearly everything"


def test_a_trophy_asks_for_adjectives_and_a_suitcase_for_nothing(page, masked):
    """Layer 1, head 4, written out; and the nouns that stand first in its training, or second."""
    layer, ids = masked.layers[0].attention, masked.ids
    parts = torch.nn.functional.linear(masked.embedding, *layer.qkv_proj.parameters())
    q, k, _ = parts.detach().unflatten(-1, (3, 4, 16))[:, :, 3].unbind(1)
    scores = q @ k.T / 16**0.5  # from, to
    of = {noun: scores[ids[noun], ids["big"]].item() for noun in ("trophy", "suitcase", "it")}
    assert 1.7 < of["trophy"] < of["it"] < 1.2 * of["trophy"]  # "almost as much as"
    assert scores[ids["suitcase"], [ids["big"], ids["small"]]].max() < 0.25

    firsts, seconds = set(), set()
    for one in sentences(seed=0, count=20_000):  # of the kind that the model was trained on
        links = [link for link in one.links if link[0] == "it"]
        nouns = [w for w in one.words[: one.words.index("it")] if w in KNOWN] if links else []
        if len(nouns) == 2 and nouns[0] not in PEOPLE:
            firsts.add(nouns[0])
            seconds.add(nouns[1])
    only_second = seconds - firsts
    asks = {n: scores[ids[n], [ids[a] for a in ADJECTIVES]].mean().item() for n in firsts | seconds}
    assert min(asks[noun] for noun in firsts) > 1.22
    assert max(asks[noun] for noun in only_second) < 0.5
    assert "trophy" in firsts - seconds
    assert "suitcase" in only_second  # "no suitcase ever went into anything"
    assert shows(page, "#sec-missing", f"All {len(firsts)} nouns", f"the {len(only_second)} that")


def test_big_and_small_have_opposite_values(page, masked):
    """The whole value of a word, put on trophy's vector: what that does to its score in layer 2."""
    one, two = (layer.attention for layer in masked.layers)
    v = torch.nn.functional.linear(masked.embedding, *one.qkv_proj.parameters())[:, 128:]
    marks, rises, through_others = [], [], []
    table = {e: [number(cell) for cell in row] for e, *row in cells(page, "whole-by-query")}
    for column, word in zip(parts_of_scores(page), ("big", "small"), strict=True):
        run, value = masked(masked.encode(IT.replace("big", word).split())), torch.zeros(64)
        after = run.residual[1][0]
        value[48:] = v[masked.ids[word], 48:]
        moved = after.clone()
        moved[1] += one.out_proj(value) - one.out_proj.bias
        (q, old), (_, new) = (
            two.qkv_proj(x).unflatten(-1, (3, 2, 32))[:, :2, 0].unbind(1) for x in (after, moved)
        )
        marks.append(new[1] - old[1])
        rises.append((q[9] @ marks[-1]).item() / 32**0.5)
        weight = run.weights[0][0, 3, 1, 12].item()
        *parts, rest, mark, total = column[:7]
        assert sum(parts) == pytest.approx(rest, abs=0.21), "but for rounding"
        # The other parts, each from the vector without it.
        only = [masked.embedding[masked.ids["trophy"]] + one.out_proj.bias]
        sets = v[masked.encode(IT.replace("big", word).split())[0]].unflatten(-1, (4, 16))
        brought = torch.einsum("hk,khd->hd", run.weights[0][0, :, 1], sets)
        for heads in ([0, 1, 2], [3]):
            mixed = torch.zeros(4, 16)
            mixed[heads] = brought[heads]
            only.append(one.out_proj(mixed.flatten()) - one.out_proj.bias)
        scores = torch.stack(only) @ two.qkv_proj.weight[64:96].T
        scores[0] += two.qkv_proj.bias[64:96]
        exact = (scores @ q[9] / 32**0.5).tolist()
        assert parts[:2] == pytest.approx(exact[:2], abs=0.051)
        assert parts[2] + mark == pytest.approx(exact[2], abs=0.11)
        assert mark == pytest.approx(weight * rises[-1], abs=0.051)
        assert rest + mark == pytest.approx(total, abs=0.11)  # by pencil
        product = [f"{weight:.2f}", f"{rises[-1]:.1f}", f"{mark:.1f}"]
        assert shows(page, "#sec-mark", *product)
        # The same vector, without what came from the adjective.
        without = after[1] - weight * (one.out_proj(value) - one.out_proj.bias)
        key = two.qkv_proj(without).unflatten(-1, (3, 2, 32))[1, 0]
        distance = masked.layers[1].relative(13)[0, 9, 1]
        assert rest == pytest.approx((q[9] @ key / 32**0.5 + distance).item(), abs=0.051)
        others = torch.zeros(64)
        of_head = v[masked.ids[word]].unflatten(-1, (4, 16)) * run.weights[0][0, :, 1, 12, None]
        others[:48] = of_head[:3].flatten()
        push = (one.out_proj(others) - one.out_proj.bias) @ two.qkv_proj.weight[64:96].T
        through_others.append((q[9] @ push).item() / 32**0.5)
        # "In both sentences": the other's value pushes this sentence's query the other way.
        other = {"big": "small", "small": "big"}[word]
        value[48:] = v[masked.ids[other], 48:]
        push = (one.out_proj(value) - one.out_proj.bias) @ two.qkv_proj.weight[64:96].T
        of_other = (q[9] @ push).item() / 32**0.5
        assert of_other * rises[-1] < 0
        want = [rises[-1], of_other] if word == "big" else [of_other, rises[-1]]
        assert table[word] == pytest.approx(want, abs=0.051)
    assert rises[0] > 10 > -5 > rises[1]
    assert torch.cosine_similarity(*marks, dim=0) < -0.8, "nearly opposite directions"
    assert shows(page, "#box-mark", *(f"{rise:.1f}" for rise in through_others))
    rows = [c[4:8] for c in parts_of_scores(page)]
    (rest, adjective, trophy, suitcase), after = rows
    assert abs(rest - after[0]) < 1.5  # "nearly the same"
    assert abs(suitcase - after[3]) < 2.5  # "changes little"
    assert adjective - after[1] > 0.85 * (trophy - after[2])
    assert trophy > suitcase > after[2] < after[3]
    assert rest > suitcase
    assert after[0] < after[3], "suitcase stays ahead"
    leads = []
    for unmarked, _, marked, other in rows:
        leads.append([abs(unmarked - other), abs(marked - other)])
        assert leads[-1][0] < 0.3 * leads[-1][1], "by much less"
    falls = rows[0][2] - rows[1][2], rows[0][1] - rows[1][1]
    assert shows(page, "#sec-mark", *(f"{fall:.1f}" for fall in falls))
    bare = [lead for lead, _ in leads]
    assert shows(page, "#sec-try", *(f"{lead:.1f}" for lead in bare))


@torch.no_grad()
def test_without_a_mark_the_query_decides_which_noun_is_ahead(page, masked):
    """The keys with small, and trophy's without its mark; the query of either sentence."""
    one, two = (layer.attention for layer in masked.layers)
    runs = [masked(masked.encode(IT.replace("big", word).split())) for word in ("big", "small")]
    x, row = runs[1].residual[1][0].clone(), runs[1].weights[0][0, 3, 1]
    value = one.qkv_proj(masked.embedding[masked.ids["small"]])[176:]
    x[1] -= row[12] * one.out_proj.weight[:, 48:] @ value
    keys = two.qkv_proj(x)[:, 64:96]
    leads = []
    for run in runs:
        q = two.qkv_proj(run.residual[1][0, 9])[:32]
        scores = keys @ q / 32**0.5 + masked.layers[1].relative(13)[0, 9]
        leads.append((scores[1] - scores[7]).item())
    assert leads[0] > 0 > leads[1]
    assert shows(page, "#sec-try", f"{-leads[1]:.1f}", f"{leads[0]:.1f}")


@torch.no_grad()
def test_the_mark_decides_whether_trophy_is_found(page, masked):
    """By hand: trophy alone gets another value, or none, from the last word in layer 1, head 4."""
    one, two = masked.layers
    rows = cells(page, "each-mark")
    for word in ("big", "small"):
        x = masked.embedding[masked.encode(IT.replace("big", word).split())[0]]
        q, k, v = one.attention.qkv_proj(x).unflatten(-1, (3, 4, 16)).permute(1, 2, 0, 3)
        weights = (q @ k.mT / 4 + one.relative(13)).softmax(-1)
        for mark in ("big", "none", "small"):
            values = v[3].clone()
            if mark != word:
                values[12] = 0
            if mark not in (word, "none"):
                vector = masked.embedding[masked.ids[mark]]
                values[12] = one.attention.qkv_proj(vector).unflatten(-1, (3, 4, 16))[2, 3]
            mixed = weights @ v
            mixed[3, 1] = weights[3, 1] @ values
            after = x + one.attention.out_proj(mixed.transpose(0, 1).flatten(1))
            ask, key, _ = two.attention.qkv_proj(after).unflatten(-1, (3, 2, 32))[:, :, 0].unbind(1)
            row = (ask[9] @ key.T / 32**0.5 + two.relative(13)[0, 9]).softmax(-1)
            last, by, *shares = rows.pop(0)
            assert (last, by) == (word, mark)
            shown = [numbers(text)[0] / 100 for text in shares]
            assert shown == pytest.approx(row[[1, 7, 9]].tolist(), abs=0.0051)
            if mark == "big":
                assert row[1] > 0.98, "with either ending"
            assert (row[1] < 0.01) == (mark == "small"), "hardly anything"
            if (word, mark) == ("big", "small"):
                assert row[9] > 0.5, "mostly at itself"
                # "Because its own key is marked": without that mark it hardly looks at itself.
                unmarked = after.clone()
                value = torch.cat([torch.zeros(48), v[3, 12]])
                unmarked[9] -= weights[3, 9, 12] * (
                    one.attention.out_proj(value) - one.attention.out_proj.bias
                )
                own = two.attention.qkv_proj(unmarked).unflatten(-1, (3, 2, 32))[:, 1, 0]
                assert (ask[9] @ own.T / 32**0.5 + two.relative(13)[0, 9]).softmax(-1)[9] < 0.01
            if mark == "none":
                assert 0.25 < row[1] < 0.5, "a good part"
            if (word, mark) == ("small", "big"):
                assert shows(page, "#sec-try", share(row[1]))


@torch.no_grad()
def test_the_sum_says_what_the_running_model_does(page, masked):
    """With small and the value of big: the score by hand from the sum, and the lead as weights."""
    one, two = (layer.attention for layer in masked.layers)
    x = masked(masked.encode(IT.replace("big", "small").split())).residual[1][0]
    q, k = two.qkv_proj(x).unflatten(-1, (3, 2, 32))[:, :2, 0].unbind(1)
    far = masked.layers[1].relative(13)[0, 9]
    v = one.qkv_proj(masked.embedding)[:, 176:] @ one.out_proj.weight[:, 48:].T
    big, small = (v[masked.ids[w]] @ two.qkv_proj.weight[64:96].T @ q[9] for w in ("big", "small"))
    weight = masked(masked.encode(IT.replace("big", "small").split())).weights[0][0, 3, 1, 12]
    scores = k @ q[9] / 32**0.5 + far
    new = scores[1] + weight * (big - small) / 32**0.5
    lead = (new - scores[7]).item()
    whole = f"{big / 32**0.5:.1f}"
    times = f"{np.exp(round(lead, 1)).round(-1):.0f}"
    shown = f"{new:.1f}", f"{scores[7]:.1f}", f"{lead:.1f}", times
    assert shows(page, "#sec-try", f"{weight:.2f}", whole, *shown)
    shares = [numbers(cell)[0] for cell in cells(page, "each-mark")[3][2:4]]
    assert shares[0] / shares[1] == pytest.approx(np.exp(lead), rel=0.08)
    # The running model, by the maps that the widget shows.
    trophy, suitcase = handed(2)["weights"][4, 9, [1, 7]].tolist()
    ratio = trophy / suitcase
    assert np.log(ratio) == pytest.approx(lead, abs=0.002), "softmax's ratio gives the lead"
    of_model = share(trophy, 1), share(suitcase, 1), f"{ratio:.0f}"
    assert shows(page, "#sec-try", *shown, *of_model)


@torch.no_grad()
def test_the_answer_follows_the_mark_though_not_all_the_way(page, masked):
    """tests/widgets/ has the changed models' answers."""
    answer = handed(2)["answer"]
    assert answer["word"] == "trophy"
    assert answer["share"] < 0.7
    assert shows(page, "#sec-try", share(answer["share"], 1))
    off = []
    for word, noun in (("big", "trophy"), ("small", "suitcase")):
        x = masked.layers[1]
        run = masked(masked.encode(IT.replace("big", word).split()))
        value = x.attention.qkv_proj(run.residual[0][0])[:, 128:160]
        brought = x.attention.out_proj.weight[:, :32] @ (run.weights[1][0, 0, 9] @ value)
        logits = masked.embedding @ (run.residual[2][0, 9] - brought) + masked.unembedding_bias
        assert logits.argmax() == masked.ids[noun]
        off.append(share(logits.softmax(-1)[masked.ids[noun]].item(), 1))
    assert shows(page, "#sec-try", *off)
    # With too tall the mending does harm.
    one, two = masked.layers
    run = masked(
        masked.encode("the suitcase did not fit in the trophy because it was too tall".split())
    )
    assert run.weights[1][0, 0, 9].argmax() == 1
    q, k, v = (
        one.attention.qkv_proj(run.residual[0][0]).unflatten(-1, (3, 4, 16)).permute(1, 2, 0, 3)
    )
    row = (k[3] @ q[3, 7] / 4 + one.relative(13)[3, 1]).softmax(-1)
    x = run.residual[1][0].clone()
    x[1] += one.attention.out_proj.weight[:, 48:] @ ((row - run.weights[0][0, 3, 1]) @ v[3])
    q, k = two.attention.qkv_proj(x).unflatten(-1, (3, 2, 32))[:, :2, 0].unbind(1)
    assert (k @ q[9] / 32**0.5 + two.relative(13)[0, 9]).argmax() == 7
    mended = [lent(sentence)["answer"] for sentence in SWAPPED]
    assert [one["word"] for one in mended] == ["suitcase", "trophy"], "both right"
    assert max(one["share"] for one in mended) < 0.5, "not sure"
    assert shows(page, "#sec-trick", *(share(one["share"], 1) for one in mended))


@torch.no_grad()
def test_the_pronoun_s_own_key_falls_by_the_mark_of_the_last_word(page, masked):
    one, two = (layer.attention for layer in masked.layers)
    scores, without = [], []
    for word in ("big", "small"):
        run = masked(masked.encode(IT.replace("big", word).split()))
        value = one.qkv_proj(masked.embedding[masked.ids[word]])[176:]
        taken = run.weights[0][0, 3, 9, 12] * (one.out_proj.weight[:, 48:] @ value)
        for x, kept in ((run.residual[1][0, 9], scores), (run.residual[1][0, 9] - taken, without)):
            q, k = two.qkv_proj(run.residual[1][0, 9])[:32], two.qkv_proj(x)[64:96]
            kept.append((q @ k / 32**0.5 + masked.layers[1].relative(13)[0, 9, 9]).item())
    assert scores[0] - scores[1] > 9
    assert without[0] < without[1], "without the marks it would not fall at all"
    assert shows(page, "#sec-try", *(f"{score:.1f}" for score in scores))


@torch.no_grad()
def test_the_heads_do_not_go_by_not(page, masked):
    shown = []
    for word, noun in (("small", 6), ("big", 1)):
        text = f"the trophy did fit in the suitcase because it was {word}".split()
        row = masked(masked.encode(text)).weights[1][0, 0, text.index("it")]
        assert row.argmax() == noun, "the one that isn't meant"
        shown.append(share(row[noun], int(word == "big")))
    assert shows(page, "#sec-not", *shown)
    chances = []
    for word, noun in (("small", "suitcase"), ("big", "trophy")):
        text = f"the trophy did fit in the suitcase because it was {word}".split()
        named = masked(masked.encode(text)).logits[0, text.index("it")].softmax(-1)
        assert named.argmax() == masked.ids[noun]
        chances.append(share(named.max().item(), 1))
    assert shows(page, "#sec-not", *chances)
    # "If only *too* is taken away"
    for word, noun in (("small", 7), ("big", 1)):
        text = IT.replace("too big", word).split()
        assert masked(masked.encode(text)).weights[1][0, 0, 9].argmax() == noun
    texts = [str(one) for one in sentences(seed=0, count=20_000)]
    assert not any("did fit" in text for text in texts), "not was in every such sentence"
    assert any("did not fit" in text for text in texts)


@torch.no_grad()
def nouns_found(masked, word, at, heads):
    """By hand: the weights of both nouns, if a word can't see the last one in heads of layer 1."""
    one, two = masked.layers
    x = masked.embedding[masked.encode(IT.replace("big", word).split())[0]]
    q, k, v = one.attention.qkv_proj(x).unflatten(-1, (3, 4, 16)).permute(1, 2, 0, 3)
    scores = q @ k.mT / 4 + one.relative(13)
    scores[heads, at, 12] = -torch.inf
    x = x + one.attention.out_proj((scores.softmax(-1) @ v).transpose(0, 1).flatten(1))
    q, k, _ = two.attention.qkv_proj(x).unflatten(-1, (3, 2, 32))[:, :, 0].unbind(1)
    return (q[9] @ k.T / 32**0.5 + two.relative(13)[0, 9]).softmax(-1)[[1, 7]].tolist()


def test_the_noun_has_to_look_and_the_pronoun_hardly(page, masked):
    whole, blind = (
        [nouns_found(masked, word, at, heads) for word in ("big", "small")]
        for at, heads in ((1, []), (9, range(4)))
    )
    noun = [nouns_found(masked, word, 1, [3])[0] for word in ("big", "small")]
    assert min(noun) > 0.7, "trophy with either ending"
    assert blind[0][0] > 0.99
    assert 0.4 < blind[1][1] < whole[1][1]
    assert shows(page, "#box-mark", *map(share, noun))
    sure, less, before = share(blind[0][0], 1), share(blind[1][1]), share(whole[1][1])
    assert shows(page, "#box-mark", sure, less, before)


@torch.no_grad()
def test_the_verb_marks_the_suitcase_that_stands_first(page, masked):
    """Layer 1, head 4, with the nouns swapped and too small: "did" adds most to its score."""
    one, two = (layer.attention for layer in masked.layers)
    run = masked(masked.encode(EXAMPLES[6][0].split()))
    after, weights = run.residual[1][0], run.weights[0][0, 3, 1]
    assert weights.argmax() == 2  # "did"
    value = one.qkv_proj(run.residual[0][0])[:, 128:].unflatten(-1, (4, 16))[:, 3]
    q = two.qkv_proj(after)[9, :32]
    adds = [
        (weights[at] * (q @ two.qkv_proj.weight[64:96] @ one.out_proj.weight[:, 48:] @ v)).item()
        for at, v in enumerate(value)
    ]
    adds = [x / 32**0.5 for x in adds]
    assert max(adds) == adds[2] > 5
    # "No other word's value": of the whole vocabulary, with the query of either ending.
    values = one.qkv_proj(masked.embedding)[:, 176:] @ one.out_proj.weight[:, 48:].T
    for ending, shown in zip((5, 6), cells(page, "swapped-marks"), strict=True):
        run = masked(masked.encode(EXAMPLES[ending][0].split()))
        x, weights = run.residual[1][0], run.weights[0][0, 3]
        q, k = two.qkv_proj(x).unflatten(-1, (3, 2, 32))[:, :2, 0].unbind(1)
        fits = values @ two.qkv_proj.weight[64:96].T @ q[9] / 32**0.5
        assert fits.argmax() == masked.ids["did"]
        of = [{w for frame in FRAMES for w in frame.adjectives[at]} for at in (0, 1)]
        assert min(fits[masked.ids[w]] for w in of[0] - of[1]) > 0 or ending == 6
        if ending == 5:
            assert max(fits[masked.ids[w]] for w in of[1] - of[0]) < 0
            for words, row in zip(of, cells(page, "whole-values"), strict=False):
                shown_words = re.findall(r"[a-z]+", row[1])
                assert set(shown_words) < words - of[1 - of.index(words)]
            for word, number in re.findall(
                r"([a-z]+) ([−\d.]+)", " ".join(row[1] for row in cells(page, "whole-values"))
            ):
                exact = fits[masked.ids[word]].item()
                assert float(number.replace("−", "-")) == pytest.approx(exact, abs=0.051)
        # The table: a mark is a word's weight times how well its value fits the pronoun's query.
        far = masked.layers[1].relative(13)[0, 9]
        scores = k @ q[9] / 32**0.5 + far
        of_did = weights[1, 2] * fits[masked.ids["did"]]
        of_last = weights[7, 12] * fits[masked.ids[EXAMPLES[ending][0].split()[-1]]]
        last = fits[masked.ids[EXAMPLES[ending][0].split()[-1]]]
        products = [[weights[1, 2], fits[masked.ids["did"]]], [weights[7, 12], last]]
        want = [*products[0], of_did, scores[1], *products[1], of_last, scores[7]]
        got = numbers(" ".join(shown[1:]).replace("−", "-"))
        assert got == pytest.approx([x.item() for x in want], abs=0.051)
        for weight, full, brings in (got[:3], got[4:7]):
            assert weight * full == pytest.approx(brings, abs=0.051), "by pencil"
        assert of_did > 4 * abs(of_last)
        # Without that mark trophy is found with either ending.
        key = k[1] - weights[1, 2] * values[masked.ids["did"]] @ two.qkv_proj.weight[64:96].T
        scores[1] = q[9] @ key / 32**0.5 + far[1]
        noun = scores.softmax(-1)[7]
        assert noun > 0.5
        assert in_order(text_of(page, "#sec-missing"), share(noun))


def test_with_the_nouns_swapped_the_pronoun_looks_at_the_first(page):
    maps, shown = head_maps("masked"), []
    for sentence, ending in ((6, "small"), (5, "big")):
        text = EXAMPLES[sentence][0].split()
        assert [text[1], text[7], text[-1]] == ["suitcase", "trophy", ending]
        row = maps["weights"][sentence][4, 9]
        assert row.argmax() == 1
        assert row[1] > 0.99
        shown.append(f"{100 * row[1].item():.1f}")
    assert shows(page, "#predict-swapped", shown[1])
    assert shows(page, "#sec-trick", shown[0])
    looks = [
        [maps["weights"][i][3, at, 12].item() for i in pair]
        for at, pair in ((7, (5, 6)), (1, (1, 2)))
    ]
    assert all(second < 0.7 * first for second, first in zip(*looks, strict=True)), "less"
    for weight, row in zip(shown, reversed(cells(page, "swapped-nouns")), strict=True):
        assert in_order(row[2], "suitcase", weight)


def test_with_a_lent_query_the_swapped_sentences_come_right(page):
    table = cells(page, "swapped-nouns")
    for sentence, noun, shown in ((5, 1, table[0]), (6, 7, table[1])):
        row, words = lent(sentence)["weights"], EXAMPLES[sentence][0].split()
        assert row[3, 1].argmax() == 12, "suitcase looks at the adjective"
        row = row[4, 9]
        assert row.argmax() == noun
        assert row[noun] > 0.8
        assert in_order(" ".join(shown), words[-1], words[noun], words[noun], share(row[noun]))


def test_one_noun_takes_the_adjective_in_and_the_other_does_not(page, masked):
    """The toy's two rows, and what the model does of the kind: head 4 of layer 1 and its effect."""
    scores, looks = {}, []
    for word in ("big", "small"):
        run = masked(masked.encode(IT.replace("big", word).split()))
        given = run.weights[0][0, :, [1, 7], 12]  # (heads, nouns)
        assert (given[:, 1] < 0.05).tolist() == [False, False, False, True]  # the goal
        looks.append(given[3].tolist())
        found = run.weights[1][0, 0, 9, [1, 7]]
        assert found.argmax() == (word == "small")
        # Scores up to a number that all share.
        scores[word] = run.weights[1][0, 0, 9, [1, 7]].log()
    assert shows(page, "#sec-mark", share(looks[0][0]))
    assert 0.4 < looks[0][0] < looks[1][0], "trophy finds small just as well"
    lead = [scores[word][0] - scores[word][1] for word in ("big", "small")]
    assert lead[0] > 0 > lead[1]
