"""The models of m07's widgets, and what attention.py, positions.py and PyTorch say of the same."""

import itertools
import random

import pytest
import torch

from attention import scaled_dot_product_attention
from positions import Rotary, sinusoidal_positions
from tests.widgets.js import module

ORDER, CLOCKS, PAIR = (module(f"{n}.js") for n in ("word-order", "clock-hands", "moved-pair"))
torch.manual_seed(0)
WORDS = {
    "tokens": ["dog", "bites", "man"],
    "x": torch.randn(3, 4).double(),
    **{name: torch.randn(4, 2).double() for name in ("query", "key", "value")},
}


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_shuffled_words_have_attention_py_s_outputs(order, causal, rotary):
    turn = Rotary(2) if rotary else lambda heads: heads

    def attend(x):
        q, k, v = (x @ WORDS[name] for name in ("query", "key", "value"))
        return scaled_dot_product_attention(turn(q), turn(k), v, is_causal=causal)

    state = {"order": ".".join(map(str, order)), "causal": causal, "rotary": rotary}
    model = ORDER.call("ordered", WORDS, state)
    (now, weights), first = attend(WORDS["x"][list(order)]), attend(WORDS["x"])[0][list(order)]
    got = torch.tensor([word["output"] for word in model["words"]]).double()
    torch.testing.assert_close(got, now, rtol=1e-6, atol=1e-6)
    of_bites = [word["weight"] for word in model["words"]]
    assert of_bites == pytest.approx(weights[order.index(1)].tolist(), abs=1e-6)
    assert model["asks"] == "bites"
    same = [torch.allclose(a, b, atol=1e-9) for a, b in zip(now, first, strict=True)]
    assert [word["same"] for word in model["words"]] == same
    assert model["meanSame"] == torch.allclose(now.mean(0), first.mean(0), atol=1e-9)
    if rotary:  # only a word that sees the same words as far away as before keeps its output
        away = [{word: at - order.index(i) for at, word in enumerate(order)} for i in order]
        seen = [{w: d for w, d in row.items() if d <= 0 or not causal} for row in away]
        first = [{w: w - i for w in range(3) if w <= i or not causal} for i in order]
        assert same == [a == b for a, b in zip(seen, first, strict=True)]
    elif not causal:
        assert all(same)
    else:  # a word sees the same words before it, in whatever order
        seen = [set(order[:i]) == set(range(order[i])) for i in range(3)]
        assert same == seen


@pytest.mark.parametrize("seed", range(20))
def test_clocks_are_the_sinusoidal_vectors(seed):
    draw = random.Random(seed)
    data = {"size": 2 * draw.randint(1, 8), "base": draw.choice([100, 10000]), "places": 48}
    state = {"place": draw.randrange(48), "distance": draw.randrange(48)}
    model = CLOCKS.call("sinusoidal", data, state)
    waves = sinusoidal_positions(96, data["size"], base=data["base"], dtype=torch.float64)
    first, second = waves[state["place"]], waves[state["place"] + state["distance"]]
    for i, clock in enumerate(model["clocks"]):
        hands = [f(torch.tensor(clock["first"]).double()) for f in (torch.sin, torch.cos)]
        torch.testing.assert_close(torch.stack(hands), first[2 * i : 2 * i + 2], atol=1e-6, rtol=0)
        product = first[2 * i : 2 * i + 2] @ second[2 * i : 2 * i + 2]
        assert clock["share"] == pytest.approx(product.item(), abs=1e-12)
    cosine = torch.nn.functional.cosine_similarity(waves[:1], waves[:48])
    assert model["curve"] == pytest.approx(cosine.tolist(), abs=1e-12)
    assert model["now"] == pytest.approx((first @ second / (data["size"] / 2)).item(), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_turned_hands_are_rotary_s_scores(seed):
    draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    size, base = 2 * draw.randint(1, 4), draw.choice([100, 10000])
    *words, key = torch.randn(3, 1, size, generator=generator).double()
    place, distance = draw.randint(23, 60), draw.randrange(24)
    queries = dict(zip(("dog", "man"), (word[0] for word in words), strict=True))
    data = {"queries": queries, "key": key[0], "base": base, "places": 24}
    word, query = draw.choice([*zip(queries, words, strict=True)])
    model = CLOCKS.call("rotary", data, {"word": word, "place": place, "distance": distance})
    turn = Rotary(size, base=base)
    score = (turn(query, place) @ turn(key, place - distance).mT).item()
    assert model["now"] == pytest.approx(score, abs=1e-9)
    assert model["curve"][distance] == pytest.approx(score, abs=1e-9)
    assert sum(clock["share"] for clock in model["clocks"]) == pytest.approx(score, abs=1e-9)


def scheme(scores, trained=4):
    return {"schemes": [{"key": "one", "name": "One", "scores": scores}], "trained": trained}


def pair(scores, place, distance):
    return PAIR.call(
        "moved", scheme(scores), {"scheme": "one", "place": place, "distance": distance}
    )


@pytest.mark.parametrize("seed", range(10))
def test_the_moved_pair_reads_diagonals(seed):
    draw = random.Random(seed)
    scores = torch.randn(8, 8, generator=torch.Generator().manual_seed(seed)).double()
    place, distance = draw.randrange(8), draw.randrange(8)
    model = pair(scores, place, distance)
    query = max(place, distance)  # a key has to stand somewhere
    assert model["now"] == scores[query, query - distance].item()
    assert model["along"] == scores.diagonal(-distance).tolist()
    assert model["apart"] == [scores[query, query - d].item() for d in range(query + 1)]
    assert not model["still"] or distance == 7


def test_what_a_scheme_does_is_told_from_its_scores():
    away = torch.arange(8)[:, None] - torch.arange(8)

    def told(scores, distance=2):
        model = pair(scores, 7, distance)
        return model["still"]

    assert told(1.5 - 0.25 * away.double()) is True
    assert told(torch.full((8, 8), 2.0), 6) is True
    assert told(-torch.cos(0.8 * away.double())) is True
    assert told(torch.arange(64).view(8, 8).double()) is False
