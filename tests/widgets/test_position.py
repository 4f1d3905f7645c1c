"""The models of m07's widgets, and what attention.py, positions.py and PyTorch say of the same."""

import math
import random
from itertools import permutations, product

import pytest
import torch

from attention import scaled_dot_product_attention
from positions import Rotary, sinusoidal_positions
from tests.widgets.js import assert_near, module

ORDER, CLOCKS, HANDS, PAIR = (
    module(f"{n}.js") for n in ("word-order", "clock-hands", "rotary-hands", "moved-pair")
)
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
        size, base, places = 2 * draw.randint(1, 4), draw.choice([100, 10000]), 16
        query, *both = torch.randn(3, 1, size, generator=generator).double()
        keys = dict(zip(("dog", "man"), both, strict=True))
        position, place = draw.randrange(places), draw.randrange(places)
        word, start = draw.choice(["dog", "man"]), {"query": 8, "key": 7}
        data = {"query": query[0], "keys": {w: k[0] for w, k in keys.items()}, "base": base,
                "places": places, "start": start}  # fmt: skip
        state = {"word": word, "query": position, "key": place, "all": False}
        model = HANDS.call("rotary", data, state)
        turn = Rotary(size, base=base)

        def score(at, key, of=None, query=query, turn=turn, keys=keys, word=word):
            return (turn(query, at) @ turn(keys[of or word], key).mT).item()

        whole = sum(clock["adds"] for clock in model["clocks"])
        shown = [model["now"], model["curve"][place], whole]
        assert_near(shown, [score(position, place)] * 3, 1e-9)
        assert_near(model["curve"], [score(position, key) for key in range(places)], 1e-9)
        assert_near(model["atFirst"], score(8, 7, "dog"), 1e-9)
        everywhere = {d: score(max(d, 0), max(-d, 0)) for d in range(1 - places, places)}
        assert model["best"] == max(everywhere, key=everywhere.__getitem__)
        assert model["distance"] == position - place
        low, high = model["range"]
        assert low <= min(everywhere.values()) < max(everywhere.values()) <= high
        before = query[0], keys[word][0]
        after = turn(query, position)[0], turn(keys[word], place)[0]
        for when, vectors in (("before", before), ("after", after)):
            q, k = (hands(vector) for vector in vectors)
            for part, want in (("first", q), ("second", k), ("apart", q * k.conj())):
                angles = torch.tensor([clock[when][part] for clock in model["clocks"]]).double()
                assert_near(torch.stack([angles.cos(), angles.sin()], -1),
                            torch.view_as_real(want / want.abs()), 1e-6)  # fmt: skip
        assert all(abs(clock["after"]["apart"]) <= math.pi for clock in model["clocks"])


def hands(vector):
    return torch.view_as_complex(vector.unflatten(0, (-1, 2)))


def test_words_are_dragged_along_the_line_and_never_onto_each_other():
    def dragged(query, key, what, start, to):
        state, pull = {"query": query, "key": key}, {"from": start, "to": to, "places": 16}
        model = HANDS.call("dragged", state, what, pull)
        return model["query"], model["key"]

    for query, key in permutations(range(16), 2):
        for to in (-3.2, 0.4, 6.6, 15.3, 40):
            place = min(15, max(0, round(to)))
            at, key_at = query if place == key else place, key if place == query else place
            assert dragged(query, key, "query", 0, to) == (at, key)
            assert dragged(query, key, "key", 0, to) == (query, key_at)
            moved, other = dragged(query, key, "both", 5, to)
            assert moved - other == query - key, "the distance stays"
            assert 0 <= min(moved, other) <= max(moved, other) <= 15
            free = round(to - 5)
            assert moved - query == max(-min(query, key), min(15 - max(query, key), free))


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
