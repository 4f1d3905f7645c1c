"""m11's widgets: attention by tiles against attention.py in float64, and every byte carried."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch

from attention import create_causal_mask, scaled_dot_product_attention
from tests.lessons.page_text import in_order
from tests.widgets.js import assert_near, module

TILED, STEPPER, NEW_SCORE = (
    module(f"{name}.js") for name in ("lib/tiled-attention", "flash-stepper", "new-score")
)
SIZES, FREE = (1, 2, 4, 8), torch.ones(8, 8).bool()
EIGHT = dict(
    zip(("query", "key", "value"), np.random.default_rng(89).normal(size=(3, 8, 2)), strict=True)
)


def explicit(given, mask):
    """The output, and the scores."""
    query, key, value = (torch.from_numpy(given[name]) for name in ("query", "key", "value"))
    output, _ = scaled_dot_product_attention(query, key, value, torch.as_tensor(mask))
    return output.numpy(), (query @ key.T / math.sqrt(key.shape[1])).numpy()


@pytest.mark.parametrize("seed", range(40))
def test_tiles_of_any_size_give_attention_py_s_output_and_every_number_carried_is_counted(seed):
    """On the way, of each row the largest score, the sum and the mix so far."""
    rng = np.random.default_rng(seed)
    L, S, D, Dv = rng.integers(1, 10, 4)
    given = {"query": rng.normal(size=(L, D)) * rng.choice([0.3, 1, 4]),
             "key": rng.normal(size=(S, D)), "value": rng.normal(size=(S, Dv))}  # fmt: skip
    mask = rng.random((L, S)) < rng.choice([0.3, 0.7, 1.0])
    queries, keys = (int(n) for n in rng.integers(1, 11, 2))
    code = """(([given, mask, queryTile, keyTile]) =>
      m.tiledAttention(given, {queryTile, keyTile, hidden: (i, j) => !mask[i][j]}))(x)"""
    model = TILED.run(code, [given, mask, queries, keys])
    output, scores = explicit(given, mask)
    assert_near(model["output"], output, atol=1e-14, rtol=1e-12)
    for act in [act for act in model["acts"] if act["kind"] == "meet"]:
        for row, kept in zip(act["rows"], act["kept"], strict=True):
            seen = [j for j in range(act["cols"][-1] + 1) if mask[row, j]]
            top = max((model["scores"][row][j] for j in seen), default=-math.inf)
            parts = np.exp(scores[row, seen] - top)
            assert kept["top"] == top
            assert_near(kept["sum"], parts.sum(), atol=0, rtol=1e-12)
            assert_near(kept["mix"], parts @ given["value"][seen], atol=1e-13, rtol=1e-11)

    carried = skipped = 0
    for i in range(0, L, queries):
        carried += min(queries, L - i) * (D + Dv)
        for j in range(0, S, keys):
            seen = mask[i : i + queries, j : j + keys].any()
            skipped += not seen  # a tile that is hidden altogether is left out
            carried += seen * min(keys, S - j) * (D + Dv)
    assert (model["carried"], model["skipped"]) == (carried, skipped)
    assert model["plain"] == (L + S) * D + 2 * L * S + 2 * L * S + S * Dv + L * Dv
    rows, cols = min(queries, L), min(keys, S)
    assert model["desk"] == rows * (D + 1 + 1 + Dv) + cols * (D + Dv) + rows * cols


def stepped(code, query_tile=2, key_tile=2, causal=False, step=0, cell=0):
    state = {"queryTile": query_tile, "keyTile": key_tile, "causal": causal, "step": step}
    data = {"tokens": "The cat sat on my mat all day".split(), **EIGHT, "step": 1}
    return STEPPER.run(f"((model) => {code})(m.stepped(...x))", [data, {**state, "cell": cell}])


@pytest.mark.parametrize(("queries", "keys", "causal"), [*product(SIZES, SIZES, (False, True))])
def test_what_walks_and_what_is_written_add_up(queries, keys, causal):
    """Queries come once for each group, and lie still while keys and values pass."""
    steps = stepped("Array.from({length: model.steps + 1}, (_, step) => "
                    "m.stepped(x[0], {...x[1], step}))", queries, keys, causal)  # fmt: skip
    written = carried = 0
    for done, now in enumerate(steps):
        if done and now["act"]["kind"] == "write":
            assert now["moved"] == {"output": 2 * queries}
            written += queries
        elif done:
            comes = now["act"]["cols"][0] == 0
            walks = {"query": 2 * queries * comes, "key": 2 * keys, "value": 2 * keys}
            assert now["moved"] == walks
        carried += sum((now["moved"] or {}).values())
        assert (now["done"], now["soFar"], len(now["written"])) == (done, 4 * carried, written)
    assert now["isEnd"]
    assert now["gap"] < 1e-15
    goal = now["fits"] and now["bytes"] <= now["plainBytes"] / 4
    assert goal == ((queries, keys, causal) in [(4, 1, True), (4, 2, True)]), "no others"
    mask = create_causal_mask(8) if causal else FREE
    assert_near(now["written"], explicit(EIGHT, mask)[0], atol=1e-14, rtol=1e-12)


def test_a_growing_score_is_told_with_its_rate():
    scores = explicit(EIGHT, FREE)[1][1]
    old, new = scores[:2].max(), scores[:4].max()
    rate, total = math.exp(old - new), np.exp(scores[:2] - old).sum()
    told = stepped("m.sentence(model)", step=2)
    assert in_order(told, "cat", *(f"{x:.2f}" for x in (old, new, rate, total, total * rate)))


@pytest.mark.parametrize(("causal", "step"), [*product((False, True), range(1, 13))])
def test_a_cell_s_arithmetic_gives_its_score_and_its_row(causal, step):
    """Followed with the numbers that are shown: score, part, sum and the mix's first number."""
    output, scores = explicit(EIGHT, create_causal_mask(8) if causal else FREE)
    act = stepped("model.act", causal=causal, step=step)
    for row, col in product(act["rows"], act.get("cols", [0])):
        a = stepped("m.arithmetic(model)", 2, 2, causal, step, 8 * row + col + 1)
        kept = a["kept"]
        if act["kind"] == "write":
            assert_near(a["output"], output[row])
            assert_near(np.array(kept["mix"]) / kept["sum"], output[row])
            continue
        assert (a["row"], a["col"], a["isHidden"]) == (row, col, causal and col > row)
        assert_near(sum(q * k for q, k in a["pairs"]) / math.sqrt(2), scores[row, col])
        assert_near(a["part"], math.exp(scores[row, col] - kept["top"]))
        assert_near(kept["rate"] * a["before"]["sum"] + sum(a["parts"]), kept["sum"])
        mix = kept["rate"] * a["before"]["mix"][0] + np.dot(a["parts"], a["values"])
        assert_near(mix, kept["mix"][0])


@pytest.mark.parametrize("score", [0, 3, 4, 6, 2000])
def test_a_new_score_leaves_the_powers_own_sum_and_mix_in_units_of_the_largest(score):
    """In fractions, which are never rounded; the whole row at once agrees until it overflows."""
    scores, values = [0, 1, 3, 2], [10, 20, 30, 40, 50]
    given = {"scores": scores, "values": values[:4], "value": 50, "choices": [score]}
    model = NEW_SCORE.told("withNewScore", given, {"score": 0})
    everything, top = [*scores, score], max(3, score)
    kinds = {"before": (3, scores), "converted": (top, scores), "after": (top, everything)}
    for kind, (unit, of) in kinds.items():
        parts = [Fraction(2) ** score / 2**unit for score in of]
        mix = sum(part * value for part, value in zip(parts, values, strict=False))
        got = [model[kind][name] for name in ("top", "parts", "sum", "mix")]
        assert got == [unit, [*map(float, parts)], float(sum(parts)), float(mix)]
    output, at_once = float(mix / sum(parts)), model["atOnce"]
    assert model["output"] == pytest.approx(output, rel=1e-15)
    assert ("overflows" in model["says"]) == (at_once["sum"] == math.inf) == (score == 2000)
    if score < 2000:
        assert at_once["mix"] / at_once["sum"] == pytest.approx(output)
        rate = [f"1/{2 ** (score - 3)}"] * (score > 3)
        assert in_order(model["says"], *rate, f"{output:.2f}", f"{output:.2f}")
