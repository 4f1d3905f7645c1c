"""m11's stepper: attention.py's output in float64, and every byte carried, tile by tile."""

import math
from itertools import product

import numpy as np
import torch

from attention import create_causal_mask, scaled_dot_product_attention
from tests.lessons.page_text import in_order
from tests.widgets.js import assert_near, module

TILED, STEPPER = module("lib/tiled-attention.js"), module("flash-stepper.js")
TOKENS = "The cat sat on my mat all day".split()
CALL = """m.tiledAttention(x.given, {queryTile: x.sizes[0], keyTile: x.sizes[1],
    hidden: (i, j) => !x.mask[i][j]})"""


def draw(seed):
    """Random sizes, numbers, tiles and mask."""
    rng = np.random.default_rng(seed)
    L, S, D, Dv = rng.integers(1, 10, 4)
    query, key = rng.normal(size=(L, D)) * rng.choice([0.3, 1, 4]), rng.normal(size=(S, D))
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


def test_tiles_give_attention_py_s_output_and_keep_what_has_passed():
    """For any sizes, tiles and mask: of each row the largest score, the sum and the mix so far."""
    for seed in range(80):
        given, mask, sizes = draw(seed)
        model = tiled(given, mask, sizes)
        assert_near(model["output"], explicit(given, mask), atol=1e-14, rtol=1e-12)
        scores = np.array(model["scores"])
        want = given["query"] @ given["key"].T / math.sqrt(given["key"].shape[1])
        assert_near(scores, want, atol=1e-14, rtol=1e-12)
        rows, want = [], []
        for act in [act for act in model["acts"] if act["kind"] == "meet"]:
            rows += act["kept"]
            for row in act["rows"]:
                seen = [j for j in range(act["cols"][-1] + 1) if mask[row, j]]
                top = max(scores[row, seen]) if seen else -math.inf
                parts = np.exp(scores[row, seen] - top) if seen else np.zeros(0)
                want.append((top, parts.sum(), parts @ given["value"][seen]))
        tops, sums, mixes = zip(*want, strict=True) if want else ((), (), ())
        assert [row["top"] for row in rows] == [*tops]
        assert_near([row["sum"] for row in rows], sums, atol=0, rtol=1e-12)
        assert_near([row["mix"] for row in rows], np.array(mixes), atol=1e-13, rtol=1e-11)


def test_every_number_carried_is_counted():
    """Trip by trip, with the tiles that are hidden altogether left out."""
    for seed in range(40):
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
        model = tiled(given, mask, [queries, keys])
        assert (model["carried"], model["skipped"]) == (carried, skipped)
        assert model["plain"] == (L + S) * D + 2 * L * S + 2 * L * S + S * Dv + L * Dv
        assert model["acts"][-1]["carried"] == carried


def eight():
    rng = np.random.default_rng(89)
    drawn = rng.normal(size=(3, 8, 2)).round(1)
    q, k, v = ((t * s).round(1) for t, s in zip(drawn, (1.4, 1.4, 1), strict=True))
    return {"tokens": TOKENS, "query": q, "key": k, "value": v, "step": 1}


def call(name, query_tile=2, key_tile=2, causal=False, step=0, cell=0):
    state = {"queryTile": query_tile, "keyTile": key_tile, "causal": causal, "step": step}
    return STEPPER.run(name, [eight(), {**state, "cell": cell}])


def stepped(*state, **chosen):
    return call("m.stepped(...x)", *state, **chosen)


ALL = [*product((1, 2, 4, 8), (1, 2, 4, 8), (False, True))]


def test_at_the_end_the_page_shows_attention_py_s_output():
    for state in ALL:
        model = stepped(*state, step=72)
        mask = create_causal_mask(8).numpy() if state[2] else np.ones((8, 8), dtype=bool)
        assert_near(model["written"], explicit(eight(), mask), atol=1e-14, rtol=1e-12)
        assert model["isEnd"]
        assert model["gap"] < 1e-15
        assert model["soFar"] == model["bytes"]


def test_a_step_shows_what_is_written_and_kept_so_far():
    for step in range(21):
        model, first = stepped(step=step), step // 5 * 2
        assert model["done"] == step
        assert len(model["written"]) == first
        on_desk = STEPPER.run("[0, 1, 2, 3, 4, 5, 6, 7].filter((row) => m.keptBy(x, row))", model)
        assert on_desk == ([] if step % 5 == 0 else [first, first + 1])


def test_the_goals_of_the_desk():
    """Only causal tiles of four queries fit and carry a quarter of the plain way's bytes."""
    models = {state: stepped(*state) for state in ALL}
    few = {state for state, m in models.items() if m["fits"] and m["bytes"] <= 1280 / 4}
    assert few == {(4, 1, True), (4, 2, True)}
    whole = {(q, k) for (q, k, causal), m in models.items() if causal and not m["skipped"]}
    assert whole == {(q, k) for q, k in product((1, 2, 4, 8), repeat=2) if 8 in (q, k)}


def test_a_growing_score_is_told_with_its_rate():
    sentence, data = STEPPER.call("sentence", stepped(step=2)), eight()
    scores = data["query"] @ data["key"].T / 2**0.5
    old, new = scores[1, :2].max(), scores[1, :4].max()
    rate, total = math.exp(old - new), np.exp(scores[1, :2] - old).sum()
    assert in_order(sentence, "cat", *(f"{x:.2f}" for x in (old, new, rate, total, total * rate)))


def test_what_walks_at_each_step_adds_up_to_what_is_carried():
    """Queries come once for each group, and lie still while keys and values pass."""
    for queries, keys, causal in ALL:
        model = stepped(queries, keys, causal)
        sofar = 0
        for step in range(1, model["steps"] + 1):
            now = stepped(queries, keys, causal, step)
            moved = now["moved"]
            sofar += sum(moved.values())
            assert 4 * sofar == now["soFar"]
            if now["act"]["kind"] == "write":
                assert moved == {"output": 2 * queries}
            else:
                comes = now["act"]["cols"][0] == 0
                assert moved == {"query": 2 * queries * comes, "key": 2 * keys, "value": 2 * keys}


def test_a_cell_s_arithmetic_gives_its_score_and_its_row():
    """Followed with the numbers that are shown: score, part, sum and the mix's first number."""
    given, mask = eight(), create_causal_mask(8).numpy()
    scores = given["query"] @ given["key"].T / math.sqrt(2)
    for causal, step in product((False, True), range(1, 13)):
        model = stepped(causal=causal, step=step)
        if model["act"]["kind"] == "write":
            continue
        for row, col in product(model["act"]["rows"], model["act"]["cols"]):
            cell = 8 * row + col + 1
            a = call("m.arithmetic(m.stepped(...x))", 2, 2, causal, step, cell)
            assert (a["row"], a["col"]) == (row, col)
            assert a["isHidden"] == (causal and not mask[row, col])
            assert_near(
                sum(q * k for q, k in a["pairs"]) / math.sqrt(2), scores[row, col], atol=1e-12
            )
            assert_near(a["part"], math.exp(scores[row, col] - a["kept"]["top"]), atol=1e-12)
            rate = a["kept"]["rate"]
            assert_near(rate * a["before"]["sum"] + sum(a["parts"]), a["kept"]["sum"], atol=1e-12)
            mix = rate * a["before"]["mix"][0] + np.dot(a["parts"], a["values"])
            assert_near(mix, a["kept"]["mix"][0], atol=1e-12)


def test_a_cell_that_isn_t_on_the_desk_gives_way_to_the_last_one_seen():
    states = [(2, 2, False, 2), (2, 2, False, 2, 1), (1, 2, True, 1), (2, 2, False, 5, 1)]
    at = [call("m.cellOf(m.stepped(...x))", *state) for state in [*states, (2, 2, False, 0, 1)]]
    want = [{"row": 1, "col": 3}, {"row": 1, "col": 3}, {"row": 0, "col": 0},
            {"row": 0, "col": None}, None]  # fmt: skip
    assert at == want
    written = call("m.arithmetic(m.stepped(...x))", step=5, cell=1)
    truth = explicit(eight(), np.ones((8, 8), dtype=bool))[0]
    assert_near(written["output"], truth, atol=1e-14, rtol=1e-12)
    mix, total = written["kept"]["mix"], written["kept"]["sum"]
    assert_near(np.array(mix) / total, truth, atol=1e-14, rtol=1e-12)
