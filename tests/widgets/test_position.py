"""The models of m07's widgets, and what attention.py, positions.py and PyTorch say of the same."""

import random
from itertools import permutations, product

import pytest
import torch

from attention import scaled_dot_product_attention
from positions import Rotary, sinusoidal_positions
from tests.lessons.page_text import in_order
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
    def attend(x):
        q, k, v = (x @ WORDS[name] for name in ("query", "key", "value"))
        turn = Rotary(2) if rotary else lambda heads: heads
        return scaled_dot_product_attention(turn(q), turn(k), v, is_causal=causal)

    state = {"order": ".".join(map(str, order)), "causal": causal, "rotary": rotary}
    model = ORDER.told("ordered", WORDS, state)
    (now, weights), first = attend(WORDS["x"][list(order)]), attend(WORDS["x"])[0][list(order)]
    assert_near([word["output"] for word in model["words"]], now, atol=1e-6, rtol=1e-6)
    assert_near([word["weight"] for word in model["words"]], weights[order.index(1)], 1e-6)
    same = [torch.allclose(a, b, atol=1e-9) for a, b in zip(now, first, strict=True)]
    assert [word["same"] for word in model["words"]] == same
    changed = [WORDS["tokens"][i] for i, is_same in zip(order, same, strict=True) if not is_same]
    assert " and ".join(changed) in model["says"]


@pytest.mark.parametrize("seed", range(10))
def test_clocks_are_the_sinusoidal_vectors(seed):
    draw = random.Random(seed)
    data = {"size": 2 * draw.randint(1, 8), "base": draw.choice([100, 10000]), "places": 48}
    state = {"place": draw.randrange(48), "distance": draw.randrange(48)}
    model = CLOCKS.call("sinusoidal", data, state)
    waves = sinusoidal_positions(96, data["size"], base=data["base"], dtype=torch.float64)
    first, second = waves[state["place"]], waves[state["place"] + state["distance"]]
    hands = torch.tensor([clock["first"] for clock in model["clocks"]]).double()
    assert_near(torch.stack([hands.sin(), hands.cos()], -1).flatten(), first, 1e-6)
    shares = (first * second).unflatten(0, (-1, 2)).sum(-1)
    curve = torch.cosine_similarity(waves[:1], waves[:48])
    assert_near([clock["share"] for clock in model["clocks"]], shares)
    assert_near(model["curve"], curve)
    assert_near(model["now"], shares.mean())
    assert_near(model["lowest"], curve[: state["distance"] + 1].min())


@pytest.mark.parametrize("seed", range(12))
def test_turned_hands_are_rotary_s_scores(seed):
    draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    size, base, places = 2 * draw.randint(1, 4), draw.choice([100, 10000]), 16
    query, *keys = torch.randn(3, 1, size, generator=generator).double()
    keys, word = dict(zip(("dog", "man"), keys, strict=True)), draw.choice(["dog", "man"])
    position, place = draw.sample(range(places), 2)
    data = {"query": query[0], "keys": {w: k[0] for w, k in keys.items()}, "base": base,
            "places": places, "start": {"query": 8, "key": 7}}  # fmt: skip
    state = {"word": word, "query": position, "key": place, "all": False}
    model, turn = HANDS.call("rotary", data, state), Rotary(size, base=base)

    def score(at, key, of=word):
        return (turn(query, at) @ turn(keys[of], key).mT).item()

    shown = [model["now"], model["curve"][place], sum(clock["adds"] for clock in model["clocks"])]
    assert_near(shown, [score(position, place)] * 3, 1e-9)
    assert_near(model["curve"], [score(position, key) for key in range(places)], 1e-9)
    assert_near(model["atFirst"], score(8, 7, "dog"), 1e-9)
    everywhere = {d: score(max(d, 0), max(-d, 0)) for d in range(1 - places, places)}
    assert model["best"] == max(everywhere, key=everywhere.get)
    turned = {
        "before": (query, keys[word]),
        "after": (turn(query, position), turn(keys[word], place)),
    }
    for when, vectors in turned.items():
        q, k = (torch.view_as_complex(vector.view(-1, 2)) for vector in vectors)
        for part, want in (("first", q), ("second", k), ("apart", q * k.conj())):
            angles = torch.tensor([clock[when][part] for clock in model["clocks"]]).double()
            assert_near(torch.stack([angles.cos(), angles.sin()], -1),
                        torch.view_as_real(want / want.abs()), 1e-6)  # fmt: skip


def test_words_are_dragged_along_the_line_and_never_onto_each_other():
    ends = (-3.2, 0.4, 6.6, 15.3, 40)
    drags = [*product(permutations(range(16), 2), ends)]
    code = """x.map(([[query, key], to]) => [["query", 0], ["key", 0], ["both", 5]]
      .map(([what, from]) => m.dragged({query, key}, what, {from, to, places: 16})))
      .map((all) => all.map(({query, key}) => [query, key]))"""
    for ((query, key), to), (one, other, both) in zip(drags, HANDS.run(code, drags), strict=True):
        place = min(15, max(0, round(to)))
        assert one == [query if place == key else place, key]
        assert other == [query, key if place == query else place]
        assert both[0] - both[1] == query - key, "the distance stays"
        low, high = -min(query, key), 15 - max(query, key)
        assert both[0] - query == max(low, min(high, round(to - 5))), "as far as both can go"


AWAY = (torch.arange(8)[:, None] - torch.arange(8)).double()
MOVING = torch.randn(8, 8, generator=torch.Generator().manual_seed(1)).double()


@pytest.mark.parametrize(("place", "distance"), [(7, 2), (3, 5), (6, 0)])
@pytest.mark.parametrize(
    ("scores", "still"),
    [(MOVING, False), (1.5 - 0.25 * AWAY, True), (-torch.cos(0.8 * AWAY), True)],
    ids=["moving", "alibi", "rotary"],
)
def test_a_moved_pair_reads_diagonals_and_tells_whether_its_score_stays(
    scores, still, place, distance
):
    data = {"schemes": [{"key": "one", "name": "One", "scores": scores}], "trained": 4}
    model = PAIR.told("moved", data, {"scheme": "one", "place": place, "distance": distance})
    query, along = max(place, distance), scores.diagonal(-distance)
    now = scores[query, query - distance]  # the key has to stand somewhere
    assert (model["now"], model["along"], model["still"]) == (now, along.tolist(), still)
    assert model["apart"] == [scores[query, query - d] for d in range(query + 1)]
    told = [now] if still else [now, along.min(), along.max()]
    assert in_order(model["says"], *(f"{x:.2f}" for x in told))
