"""widgets/attention-steps.js: its numbers, the arithmetic of each cell, and its plane."""

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
    return {**WORKED, "step": step, "causal": False, "drawn": False, "cell": chosen, **changes}


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
        inputs, is_causal = random_inputs(draw, 1 + i % 3), i % 2 == 0
        got = model(causal=is_causal, **inputs)
        q, k, v = (torch.tensor(inputs[name], dtype=torch.float64) for name in INPUTS)
        output, weights = scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        want = (q @ k.T, q @ k.T / k.shape[-1] ** 0.5, weights, output)
        for name, exact in zip(COMPUTED, want, strict=True):
            assert_near(got[name], exact)


@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("step", range(1, 5))
def test_the_arithmetic_of_every_cell_comes_to_its_number(step, is_causal):
    """The text itself is computed; it agrees as far as its own rounding lets it."""
    draw, name = random.Random(step), RESULTS[step]
    for inputs in [{}, *(random_inputs(draw) for _ in range(5))]:
        for row, col in itertools.product(range(3), range(2 if name == "output" else 3)):
            m = model(step, (step, name, row, col), causal=is_causal, **inputs)
            if is_causal and col > row and name != "output":
                assert text(m).startswith("Hidden")
                assert m["read"] == []
                continue
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


def test_numbers_drawn_or_changed_are_not_the_lesson_s():
    own, drawn = model(), model(drawn=True)
    assert (own["source"], own["axes"], own["changed"]) == ("constructed", WORKED["axes"], [])
    assert (drawn["source"], drawn.get("axes")) == ("random", None)
    assert model(query=[[1, 0.5], [0, 2], [2, -1]])["changed"] == ["query"]
    assert model(key=[[0, 0]] * 3, value=[[0, 0]] * 3)["changed"] == ["key", "value"]


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
    for (name, counts), is_causal in itertools.product(wanted.items(), [False, True]):
        rows = [list(row) for row in WORKED[name]]
        rows[0 if is_causal else 2][1] += 1
        m = model(causal=is_causal, **{name: rows})
        moved = tuple(sum(map(sum, m["moved"][result])) for result in ("weights", "output"))
        assert is_causal or moved == counts
        for result in COMPUTED:
            own = model(causal=is_causal)[result]
            assert m["moved"][result] == [
                [a != b for a, b in zip(*pair, strict=True)]
                for pair in zip(m[result], own, strict=True)
            ]
        said = JS.run("m.sentence(m.steppedAttention(...x))", [WORKED, state(**{name: rows})])
        assert is_causal or f"{counts[0]} of 9 weights, {counts[1]} of 6 numbers" in said
    for m in (model(), model(drawn=True, query=[[2, 1]] * 3)):
        assert not any(cell for rows in m["moved"].values() for row in rows for cell in row)
