"""m11's stepper: attention.py's output in float64, and every byte carried, tile by tile."""

import math
import operator
from itertools import product

import numpy as np
import pytest
import torch

from attention import create_causal_mask, scaled_dot_product_attention
from tests.widgets.js import module

TILED, STEPPER = module("lib/tiled-attention.js"), module("flash-stepper.js")
TOKENS = "The cat sat on my mat all day".split()
CALL = """m.tiledAttention(x.given, {queryTile: x.sizes[0], keyTile: x.sizes[1],
    hidden: (i, j) => !x.mask[i][j]})"""


def draw(seed, *, least_growth=False):
    """Random sizes, numbers, tiles and mask; ``least_growth``: each row's largest comes first."""
    rng = np.random.default_rng(seed)
    L, S, D, Dv = rng.integers(1, 10, 4)
    query, key = rng.normal(size=(L, D)) * rng.choice([0.3, 1, 4]), rng.normal(size=(S, D))
    if least_growth:
        query, key = np.abs(query), -np.sort(-np.abs(key), axis=0)
    mask = rng.random((L, S)) < rng.choice([0.3, 0.7, 1.0])
    sizes = [int(n) for n in rng.integers(1, 11, 2)]
    given = {"query": query, "key": key, "value": rng.normal(size=(S, Dv))}
    return given, mask, sizes


def tiled(given, mask, sizes):
    return TILED.run(CALL, {"given": given, "mask": mask, "sizes": sizes})


def explicit(given, mask):
    want, _ = scaled_dot_product_attention(
        *(torch.from_numpy(given[name]) for name in ("query", "key", "value")),
        torch.from_numpy(mask),
    )
    return want.numpy()


def at_once(given, mask):
    """The whole row: its largest, one sum and one mix from left to right, then one division."""
    q, k, v = (given[name].tolist() for name in ("query", "key", "value"))
    output = []
    for i, query in enumerate(q):
        products = [sum_from_left(map(operator.mul, query, key)) for key in k]
        scores = [score / math.sqrt(len(query)) for score in products]
        seen = [j for j in range(len(k)) if mask[i, j]]
        top = max((scores[j] for j in seen), default=0.0)
        parts = TILED.run("x.map(Math.exp)", [scores[j] - top for j in seen])  # its own last bit
        total = sum_from_left(parts)
        mix = [sum_from_left(p * v[j][c] for p, j in zip(parts, seen, strict=True))
               for c in range(len(v[0]))]  # fmt: skip
        output.append([x / total if total else 0.0 for x in mix])
    return output


def sum_from_left(numbers):
    """Plain additions: Python's own ``sum`` may make up for rounding."""
    total = 0.0
    for number in numbers:
        total = total + number
    return total


@pytest.mark.parametrize("seed", range(80))
def test_tiles_give_attention_py_s_output_for_any_sizes_tiles_and_mask(seed):
    given, mask, sizes = draw(seed)
    got = np.array(tiled(given, mask, sizes)["output"])
    np.testing.assert_allclose(got, explicit(given, mask), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("seed", range(40))
def test_one_tile_of_all_keys_is_the_whole_row_bit_for_bit(seed):
    given, mask, (queries, _) = draw(seed)
    assert tiled(given, mask, [queries, 10])["output"] == at_once(given, mask)


@pytest.mark.parametrize("seed", range(40))
def test_where_no_largest_score_grows_any_tiles_are_the_whole_row_bit_for_bit(seed):
    given, _, sizes = draw(seed, least_growth=True)
    mask = np.ones((len(given["query"]), len(given["key"])), dtype=bool)
    found = tiled(given, mask, sizes)
    meets = [act for act in found["acts"] if act["kind"] == "meet"]
    rows = [pair for act in meets for pair in zip(act["kept"], act["before"], strict=True)]
    rates = [row["rate"] for row, old in rows if old["sum"]]
    assert set(rates) <= {1}
    assert found["output"] == at_once(given, mask)


@pytest.mark.parametrize("seed", range(20))
def test_the_tile_of_queries_changes_no_bit(seed):
    given, mask, (_, keys) = draw(seed)
    outputs = [tiled(given, mask, [queries, keys])["output"] for queries in (1, 3, 10)]
    assert outputs[0] == outputs[1] == outputs[2]


@pytest.mark.parametrize("seed", range(40))
def test_what_a_row_keeps_is_that_of_the_keys_that_passed(seed):
    given, mask, sizes = draw(seed)
    found = tiled(given, mask, sizes)
    scores = np.array(found["scores"])
    want = given["query"] @ given["key"].T / math.sqrt(given["key"].shape[1])
    np.testing.assert_allclose(scores, want, rtol=1e-12, atol=1e-14)
    for act in found["acts"]:
        if act["kind"] == "write":
            continue
        for row, kept in zip(act["rows"], act["kept"], strict=True):
            seen = [j for j in range(act["cols"][-1] + 1) if mask[row, j]]
            assert kept["top"] == (max(scores[row, seen]) if seen else -math.inf)
            parts = np.exp(scores[row, seen] - kept["top"]) if seen else np.zeros(0)
            assert kept["sum"] == pytest.approx(parts.sum(), rel=1e-12)
            np.testing.assert_allclose(
                kept["mix"], parts @ given["value"][seen], rtol=1e-11, atol=1e-13
            )


@pytest.mark.parametrize("seed", range(40))
def test_every_number_carried_is_counted(seed):
    """Trip by trip, with the tiles that are hidden altogether left out."""
    given, mask, (queries, keys) = draw(seed)
    (L, D), (S, Dv) = given["query"].shape, given["value"].shape
    carried = skipped = 0
    for i in range(0, L, queries):
        rows = min(queries, L - i)
        carried += rows * D + rows * Dv
        for j in range(0, S, keys):
            seen = mask[i : i + queries, j : j + keys].any()
            skipped += not seen
            carried += min(keys, S - j) * (D + Dv) if seen else 0
    found = tiled(given, mask, [queries, keys])
    assert (found["carried"], found["skipped"]) == (carried, skipped)
    assert found["plain"] == (L + S) * D + 2 * L * S + 2 * L * S + S * Dv + L * Dv
    assert found["acts"][-1]["carried"] == carried


def eight():
    rng = np.random.default_rng(89)
    drawn = rng.normal(size=(3, 8, 2)).round(1)
    q, k, v = ((t * s).round(1) for t, s in zip(drawn, (1.4, 1.4, 1), strict=True))
    return {"tokens": TOKENS, "query": q, "key": k, "value": v, "step": 1}


STATES = [dict(zip(("queryTile", "keyTile", "causal"), state, strict=True))
          for state in product((1, 2, 4, 8), (1, 2, 4, 8), (False, True))]  # fmt: skip


@pytest.mark.parametrize("state", STATES, ids=str)
def test_at_the_end_the_page_shows_attention_py_s_output(state):
    data = eight()
    model = STEPPER.call("stepped", data, {**state, "step": 72})
    mask = create_causal_mask(8).numpy() if state["causal"] else np.ones((8, 8), dtype=bool)
    np.testing.assert_allclose(model["written"], explicit(data, mask), rtol=1e-12, atol=1e-14)
    assert model["isEnd"]
    assert model["gap"] < 1e-15
    assert model["soFar"] == model["bytes"]
    assert "All rows are done" in STEPPER.call("sentence", model)


@pytest.mark.parametrize("step", range(21))
def test_a_step_shows_what_is_written_and_kept_so_far(step):
    model = STEPPER.call("stepped", eight(), {**STATES[10], "step": step})
    assert STATES[10] == {"queryTile": 2, "keyTile": 2, "causal": False}
    assert model["done"] == step
    assert len(model["written"]) == step // 5 * 2
    on_desk = [row for row in range(8) if STEPPER.run("m.keptBy(...x)", [model, row])]
    first = step // 5 * 2
    assert on_desk == ([] if step % 5 == 0 else [first, first + 1])


def test_the_goals_of_the_desk():
    """Only causal tiles of four queries fit and carry a quarter of the plain way's bytes."""
    found = {
        (s["queryTile"], s["keyTile"], s["causal"])
        for s in STATES
        for m in [STEPPER.call("stepped", eight(), {**s, "step": 0})]
        if m["fits"] and m["bytes"] <= 1280 / 4
    }
    assert found == {(4, 1, True), (4, 2, True)}
    nothing_skipped = {
        (s["queryTile"], s["keyTile"])
        for s in STATES
        if s["causal"] and not STEPPER.call("stepped", eight(), {**s, "step": 0})["skipped"]
    }
    assert nothing_skipped == {(q, k) for q, k in product((1, 2, 4, 8), repeat=2) if 8 in (q, k)}


def test_a_growing_score_is_told_with_its_rate():
    data = eight()
    said = STEPPER.call("sentence", STEPPER.call("stepped", data, {**STATES[10], "step": 2}))
    scores = data["query"] @ data["key"].T / 2**0.5
    old, new = scores[1, :2].max(), scores[1, :4].max()
    assert f"“cat” the largest score grows from {old:.2f} to {new:.2f}" in said
    assert f"so the rate is {math.exp(old - new):.2f}." in said
    total = np.exp(scores[1, :2] - old).sum()
    assert f"Its sum of {total:.2f} becomes {total * math.exp(old - new):.2f}," in said
