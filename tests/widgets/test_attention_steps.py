"""widgets/attention-steps.js: its numbers, the arithmetic of each cell, planes and arrow."""

import itertools
import math
import random
import re

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.numbers import number
from tests.widgets.js import assert_near, module

JS = module("attention-steps.js")
INPUTS, COMPUTED = ["query", "key", "value"], ["scores", "scaled", "weights", "output"]
WORKED = {
    "tokens": ["The", "cat", "sat"],
    "axes": ["water", "money"],
    "query": [[1, 0.5], [0, 2], [2, 1]],
    "key": [[0, 1], [2, 0.5], [0.5, 1]],
    "value": [[-1, 1], [2, 0.5], [0.5, 1.5]],
}
RESULTS = ["output", "scores", "scaled", "weights", "output"]  # of each step
ROLES = {"q": "query", "k": "key", "v": "value", "w": "weights"}


def state(step=0, cell=None, **changes):
    cell = cell or (step, RESULTS[step], 2, 1)
    chosen = dict(zip(("step", "matrix", "row", "col"), cell, strict=True))
    return {**WORKED, "step": step, "cell": chosen, **changes}


def model(*args, **changes):
    return JS.call("steppedAttention", WORKED, state(*args, **changes))


def text(m):
    return "".join(part if isinstance(part, str) else part["text"] for part in m["parts"])


def random_inputs(draw, columns=2):
    def drawn():
        return [[round(draw.uniform(-9.99, 9.99), 2) for _ in range(columns)] for _ in range(3)]

    return {name: drawn() for name in INPUTS}


def test_numbers_are_attention_pys():
    draw = random.Random(0)
    for i in range(120):
        inputs = random_inputs(draw, 1 + i % 3)
        got = model(**inputs)
        q, k, v = (torch.tensor(inputs[name], dtype=torch.float64) for name in INPUTS)
        output, weights = scaled_dot_product_attention(q, k, v)
        want = (q @ k.T, q @ k.T / k.shape[-1] ** 0.5, weights, output)
        for name, exact in zip(COMPUTED, want, strict=True):
            assert_near(got[name], exact)


@pytest.mark.parametrize("step", range(1, 5))
def test_the_arithmetic_of_every_cell_comes_to_its_number(step):
    """The text itself is computed; it agrees as far as its own rounding lets it."""
    draw, name = random.Random(step), RESULTS[step]
    for inputs in [{}, *(random_inputs(draw) for _ in range(5))]:
        for row, col in itertools.product(range(3), range(2 if name == "output" else 3)):
            m = model(step, (step, name, row, col), **inputs)
            _, terms, result = re.split(r" = | ≈ | = (?=[−\d.]+$)", text(m))
            assert number(result) == pytest.approx(m[name][row][col], abs=5.1e-4)
            assert compute(terms) == pytest.approx(m[name][row][col], abs=0.02)
            if name == "scores":  # in all its decimals: no rounded number stands after "="
                assert number(result) == pytest.approx(m[name][row][col], abs=1e-9)
            for part in m["parts"]:
                if isinstance(part, dict):
                    read = [cell for cell in m["read"] if cell[0] == ROLES[part["role"]]]
                    assert number(part["text"].strip("()")) in rounded(m, read)


def compute(terms):
    python = terms.replace("−", "-").replace("×", "*").replace("÷", "/")
    return eval(re.sub(r"√(\d+)", r"sqrt(\1)", python), {"exp": math.exp, "sqrt": math.sqrt})


def rounded(m, read):
    """The numbers of the cells in ``read`` as the text has them: in three decimals at most."""
    return {
        round(x, 3)
        for name, row, col in read
        for i, numbers in enumerate(m[name])
        for j, x in enumerate(numbers)
        if row in (None, i) and col in (None, j)
    }


def test_the_plane_holds_every_value_and_its_round_numbers_do_not_touch():
    draw, even = random.Random(2), [[0, 0], [4, 0], [2, 2]]
    drawn = [random_inputs(draw)["value"] for _ in range(30)]
    for value in [WORKED["value"], even, [[0, 0]] * 3, *drawn]:
        places, *axes = JS.run(
            """((plane) => [
              [...x, [0, 0], [1, 0], [0, 1]].map(([a, b]) => [plane.x(a), plane.y(b)]),
              ...[[plane.x, 200], [plane.y, 150]].map(([scale, length]) =>
                m.ticks(scale, length).map((tick) => [tick, scale(tick)]))
            ])(m.planeScale(x))""",
            value,
        )
        *places, (left, low), (right, _), (_, up) = places
        unit = right - left
        assert low - up == pytest.approx(unit), "one unit for both directions"
        for (x, y), (a, b) in zip([*places, (left, low)], [*value, (0, 0)], strict=True):
            assert [(x - left) / unit, (low - y) / unit] == pytest.approx([a, b])
            assert 25.9 < x < 174.1
            assert 25.9 < y < 124.1
        for axis, length in zip(axes, (200, 150), strict=True):
            shown, at = zip(*axis, strict=True)
            assert 0 in shown
            assert value != even or length != 200 or shown == (0, 1, 2, 3, 4)
            assert all(4 <= tick <= length - 4 for tick in at)
            assert all(abs(a - b) >= 22 for a, b in itertools.pairwise(at))


def test_the_ratios_are_those_of_the_weights_and_a_doubled_query_squares_them():
    draw = random.Random(3)
    for row in (0, 1, 2) * 10:
        inputs = random_inputs(draw)
        inputs["query"][row] = [x / 8 for x in inputs["query"][row]]
        twice = [[*q] for q in inputs["query"]]
        twice[row] = [2 * x for x in twice[row]]
        at = (0, "output", row, 0)
        ratios = []
        for m in (model(0, at, **inputs), model(0, at, **{**inputs, "query": twice})):
            weights = m["weights"][row]
            want = [weights[1] / weights[j] for j in (2, 0)]
            assert [r["value"] for r in m["ratios"]] == pytest.approx(want)
            assert [r["words"] for r in m["ratios"]] == ["cat : sat", "cat : The"]
            ratios.append(want)
        assert ratios[1] == pytest.approx([x**2 for x in ratios[0]])
    assert not any(r["moved"] for r in model()["ratios"])
    assert all(r["moved"] for r in model(query=[[1, 0.5], [0, 2], [2, 2]])["ratios"])


def test_a_tie_is_told_and_only_one_that_leaves_the_third_word_less():
    """Of the keys (0, 2) and (1, ½), queries on the line x = 1.5 y make equal scores."""
    key = [[1, -0.5], [0, 2], [1, 0.5]]
    data = {**WORKED, "key": key}
    for query, tie in {
        (1.5, 1): True, (3, 2): True, (1.2, 0.8): True,
        (0, 0): False, (-1.5, -1): False, (1, 2): False, (1.5, 1.2): False,
    }.items():  # fmt: skip
        now = state(0, (0, "output", 2, 0), key=key, query=[[1, 0.5], [1, 1], list(query)])
        m = JS.call("steppedAttention", data, now)
        assert ("equal weights" in m["reached"]) == tie, query
        said = JS.run("m.sentence(m.steppedAttention(...x))", [data, now])
        assert ("equal weights" in said) == tie, query
        elsewhere = JS.call("steppedAttention", WORKED, now)
        assert not elsewhere["reached"], "another key made it"


def test_the_ring_is_reached_within_a_tenth_and_stands_for_the_lesson_s_own_values_alone():
    key = [[1, -0.5], [0, 2], [1, 0.5]]
    data = {**WORKED, "key": key, "ring": [2, 1], "value": [[0, 0], [4, 0], [2, 2]]}
    for query, met in {(2.5, 1): True, (1, 2): False, (2.5, 0.7): False}.items():
        now = state(0, (0, "output", 2, 0), key=key, query=[[0, 0]] * 2 + [list(query)])
        m = JS.call("steppedAttention", data, {**now, "value": data["value"]})
        distance = math.dist(m["output"][2], data["ring"])
        assert ("ring" in m["reached"]) == met == (distance <= 0.1), query
        elsewhere = JS.call("steppedAttention", data, {**now, "value": [[0, 0], [4, 0], [2, 2.5]]})
        assert "ring" not in elsewhere


def test_the_arrow_ends_where_its_query_is_and_is_dragged_by_tenths():
    origin, right, up = JS.run("x.map(m.arrowPlace)", [[0, 0], [1, 0], [0, 1]])
    unit = right[0] - origin[0]
    assert [origin[1] - up[1], right[1], up[0]] == pytest.approx([unit, origin[1], origin[0]])
    draw = random.Random(4)
    for _ in range(50):
        query = [round(draw.uniform(-7, 7), 1), round(draw.uniform(-2.8, 4.4), 1)]
        x, y, is_beyond = JS.call("arrowPlace", query)
        assert [(x - origin[0]) / unit, (origin[1] - y) / unit] == pytest.approx(query)
        assert not is_beyond
        near = [x + draw.uniform(-0.04, 0.04) * unit, y + draw.uniform(-0.04, 0.04) * unit]
        assert JS.call("queryAt", near) == pytest.approx(query)
    # One beyond the edge keeps its direction; what is dragged out of the plane stays on its edge.
    for query in ([0, 9], [9.9, -3.3], [-4, -9]):
        x, y, is_beyond = JS.call("arrowPlace", query)
        across, upwards = (x - origin[0]) / unit, (origin[1] - y) / unit
        assert is_beyond
        assert math.atan2(upwards, across) == pytest.approx(math.atan2(query[1], query[0]))
        assert -7.001 <= across <= 7.001
        assert -2.801 <= upwards <= 4.401
    far = [[origin[0] + 99 * unit, origin[1] - 99 * unit], [-999, 999]]
    assert JS.run("x.map(m.queryAt)", far) == [[7, 4.4], [-7, -2.8]]


def test_keys_move_the_query_by_tenths_and_stop_at_the_range():
    def pressed(query, key, **how):
        return JS.run("m.queryByKey(...x) ?? null", [query, {"key": key, **how}, {"max": 9.99}])

    assert pressed([1, 2], "ArrowRight") == [1.1, 2]
    assert pressed([0.3, -0.1], "ArrowUp") == [0.3, 0]
    assert pressed([0.1, 0.3], "ArrowLeft") == [0, 0.3]
    assert pressed([1, 2], "ArrowDown", shiftKey=True) == [1, 1.5]
    assert pressed([9.95, 2], "ArrowRight") == [9.99, 2]
    assert pressed([1, 2], "Tab") is None


def test_a_query_is_doubled_only_within_the_range():
    def doubled(query):
        return JS.run("m.doubledQuery(...x) ?? null", [query, {"max": 9.99}])

    assert doubled([1.15, -2]) == [2.3, -4]
    assert doubled([4.99, 0]) == [9.98, 0]
    assert doubled([5, 0]) is None
    assert doubled([1, -6]) is None


def test_a_cell_chosen_in_another_step_shows_its_like_in_the_result():
    def shown(*cell, step):
        return tuple(JS.call("shownCell", state(step, cell)).values())

    assert shown(1, "scores", 0, 2, step=1) == ("scores", 0, 2)
    assert shown(1, "scores", 0, 2, step=3) == ("weights", 0, 2)
    assert shown(1, "scores", 0, 2, step=4) == ("output", 0, 1), "the last column that it has"
    assert shown(2, "scores", 0, 2, step=2) == ("scores", 0, 2), "step 2 shows the scores too"
    assert shown(1, "weights", 0, 2, step=1) == ("scores", 0, 2), "step 1 has no weights"


def test_what_is_marked_is_what_the_lesson_s_own_numbers_do_not_give():
    """One of a query moves 3 weights and 2 outputs, of a key 9 and 6, of a value none and 3."""
    wanted = {"query": (3, 2), "key": (9, 6), "value": (0, 3)}
    for name, counts in wanted.items():
        rows = [list(row) for row in WORKED[name]]
        rows[2][1] += 1
        m = model(**{name: rows})
        moved = tuple(sum(map(sum, m["moved"][result])) for result in ("weights", "output"))
        assert moved == counts
        assert m["changed"] == [name]
        for result in COMPUTED:
            own = model()[result]
            assert m["moved"][result] == [
                [a != b for a, b in zip(*pair, strict=True)]
                for pair in zip(m[result], own, strict=True)
            ]
        said = JS.run("m.sentence(m.steppedAttention(...x))", [WORKED, state(**{name: rows})])
        assert f"{counts[0]} of 9 weights, {counts[1]} of 6 numbers" in said
    assert model()["changed"] == []
    assert not any(cell for rows in model()["moved"].values() for row in rows for cell in row)
