"""The models of m07's widgets, and what attention.py, positions.py and PyTorch say of the same."""

import random
from itertools import permutations, product

import pytest
import torch

from attention import scaled_dot_product_attention
from positions import Rotary, sinusoidal_positions
from tests.widgets.js import assert_near, module

ORDER, CLOCKS, PAIR = (module(f"{n}.js") for n in ("word-order", "clock-hands", "moved-pair"))
torch.manual_seed(0)
WORDS = {
    "tokens": ["dog", "bites", "man"],
    "x": torch.randn(3, 4).double(),
    **{name: torch.randn(4, 2).double() for name in ("query", "key", "value")},
}


@pytest.mark.parametrize(("causal", "rotary"), [*product([False, True], repeat=2)])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_shuffled_words_have_attention_py_s_outputs(order, causal, rotary):
    turn = Rotary(2) if rotary else lambda heads: heads

    def attend(x):
        q, k, v = (x @ WORDS[name] for name in ("query", "key", "value"))
        return scaled_dot_product_attention(turn(q), turn(k), v, is_causal=causal)

    state = {"order": ".".join(map(str, order)), "causal": causal, "rotary": rotary}
    model = ORDER.call("ordered", WORDS, state)
    (now, weights), first = attend(WORDS["x"][list(order)]), attend(WORDS["x"])[0][list(order)]
    assert model["asks"] == "bites"
    assert_near([word["output"] for word in model["words"]], now, atol=1e-6, rtol=1e-6)
    assert_near([word["weight"] for word in model["words"]], weights[order.index(1)], 1e-6)
    same = [torch.allclose(a, b, atol=1e-9) for a, b in zip(now, first, strict=True)]
    assert [word["same"] for word in model["words"]] == same
    assert model["meanSame"] == torch.allclose(now.mean(0), first.mean(0), atol=1e-9)
    # A word keeps its output where it sees the same words, with rotary as far away as before.
    away = [{word: at - order.index(i) for at, word in enumerate(order)} for i in order]
    seen = [{w: d for w, d in row.items() if d <= 0 or not causal} for row in away]
    before = [{w: w - i for w in range(3) if w <= i or not causal} for i in order]
    if not rotary:
        seen, before = (list(map(set, rows)) for rows in (seen, before))
    assert same == [a == b for a, b in zip(seen, before, strict=True)]


def test_clocks_are_the_sinusoidal_vectors():
    for seed in range(20):
        draw = random.Random(seed)
        data = {"size": 2 * draw.randint(1, 8), "base": draw.choice([100, 10000]), "places": 48}
        state = {"place": draw.randrange(48), "distance": draw.randrange(48)}
        model = CLOCKS.call("sinusoidal", data, state)
        waves = sinusoidal_positions(96, data["size"], base=data["base"], dtype=torch.float64)
        first, second = waves[state["place"]], waves[state["place"] + state["distance"]]
        hands = torch.tensor([clock["first"] for clock in model["clocks"]]).double()
        assert_near(torch.stack([hands.sin(), hands.cos()], -1).flatten(), first, 1e-6)
        shares = (first * second).unflatten(0, (-1, 2)).sum(-1)
        assert_near([clock["share"] for clock in model["clocks"]], shares)
        assert_near(model["curve"], torch.cosine_similarity(waves[:1], waves[:48]))
        assert_near(model["now"], first @ second / (data["size"] / 2))


def test_turned_hands_are_rotary_s_scores():
    for seed in range(20):
        draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
        size, base = 2 * draw.randint(1, 4), draw.choice([100, 10000])
        *words, key = torch.randn(3, 1, size, generator=generator).double()
        position, distance = draw.randint(23, 60), draw.randrange(24)
        queries = dict(zip(("dog", "man"), (word[0] for word in words), strict=True))
        data = {"queries": queries, "key": key[0], "base": base, "places": 24}
        word, query = draw.choice([*zip(queries, words, strict=True)])
        model = CLOCKS.call("rotary", data, {"word": word, "place": position, "distance": distance})
        turn = Rotary(size, base=base)
        score = (turn(query, position) @ turn(key, position - distance).mT).item()
        whole = sum(clock["share"] for clock in model["clocks"])
        assert_near([model["now"], model["curve"][distance], whole], [score] * 3, 1e-9)


def pair(scores, position, distance):
    schemes = [{"key": "one", "name": "One", "scores": scores}]
    state = {"scheme": "one", "place": position, "distance": distance}
    return PAIR.call("moved", {"schemes": schemes, "trained": 4}, state)


def test_the_moved_pair_reads_diagonals():
    for seed in range(10):
        draw = random.Random(seed)
        scores = torch.randn(8, 8, generator=torch.Generator().manual_seed(seed)).double()
        position, distance = draw.randrange(8), draw.randrange(8)
        model = pair(scores, position, distance)
        query = max(position, distance)  # a key has to stand somewhere
        assert model["now"] == scores[query, query - distance].item()
        assert model["along"] == scores.diagonal(-distance).tolist()
        assert model["apart"] == [scores[query, query - d].item() for d in range(query + 1)]
        assert not model["still"] or distance == 7


def test_what_a_scheme_does_is_told_from_its_scores():
    away = (torch.arange(8)[:, None] - torch.arange(8)).double()
    for still in (1.5 - 0.25 * away, torch.full((8, 8), 2.0), -torch.cos(0.8 * away)):
        assert pair(still, 7, 2)["still"] is True
    assert pair(torch.arange(64).view(8, 8).double(), 7, 2)["still"] is False
