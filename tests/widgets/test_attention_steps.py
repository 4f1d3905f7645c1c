"""widgets/attention-steps.js: the arithmetic of each cell, what it marks and tells, its arrow."""

import math
import random
import re
from itertools import product

import numpy as np
import pytest

from tests.numbers import number
from tests.widgets.js import module

JS = module("attention-steps.js")
COMPUTED = ["scores", "scaled", "weights", "output"]
WORKED = {
    "tokens": ["The", "cat", "sat"],
    "axes": ["water", "money"],
    "query": [[1, 0.5], [0, 2], [2, 1]],
    "key": [[0, 1], [2, 0.5], [0.5, 1]],
    "value": [[-1, 1], [2, 0.5], [0.5, 1.5]],
}


def stepped(step=0, cell=("output", 2, 1), data=WORKED, **changes):
    """The model, and what it says; the cell, as (matrix, row, column), was chosen in this step."""
    chosen = dict(zip(("matrix", "row", "col"), cell, strict=True))
    state = {**data, "step": step, "cell": {"step": step, **chosen}, **changes}
    return JS.told("steppedAttention", data, state)


def random_inputs(draw):
    def drawn():
        return [[round(draw.uniform(-9.99, 9.99), 2) for _ in range(2)] for _ in range(3)]

    return {name: drawn() for name in ("query", "key", "value")}


@pytest.mark.parametrize("step", range(2, 6))
def test_the_arithmetic_of_every_cell_comes_to_its_number(step):
    """As far as its own rounding lets it; that of scores has all their decimals."""
    draw, name = random.Random(step), COMPUTED[step - 2]
    for inputs in [{}, *(random_inputs(draw) for _ in range(5))]:
        for row, col in product(range(3), range(2 if name == "output" else 3)):
            m = stepped(step, (name, row, col), **inputs)
            text = "".join(part if isinstance(part, str) else part["text"] for part in m["parts"])
            _, terms, result = re.split(" = | ≈ ", text)
            exact = m[name][row][col]
            assert number(result) == pytest.approx(exact, abs=1e-9 if step == 2 else 5.1e-4)
            assert compute(terms) == pytest.approx(exact, abs=0.02)
            for part in m["parts"]:
                if isinstance(part, dict):
                    assert number(part["text"].strip("()")) in lit(m, part["role"])


def compute(terms):
    python = terms.replace("−", "-").replace("×", "*").replace("÷", "/")
    return eval(re.sub(r"√(\d+)", r"sqrt(\1)", python), {"exp": math.exp, "sqrt": math.sqrt})


def lit(m, role):
    """The numbers, to three decimals, of the matrix of this role that the arithmetic reads."""
    matrix = {"q": "query", "k": "key", "v": "value", "w": "weights"}[role]
    [(row, col)] = [(row, col) for name, row, col in m["read"] if name == matrix]
    rows = m[matrix] if row is None else [m[matrix][row]]
    return {round(x, 3) for numbers in rows for j, x in enumerate(numbers) if col in (None, j)}


@pytest.mark.parametrize(
    ("name", "weights", "outputs"), [("query", 3, 2), ("key", 9, 6), ("value", 0, 3)]
)
def test_one_changed_number_marks_what_it_moves(name, weights, outputs):
    *others, (first, second) = WORKED[name]
    m = stepped(**{name: [*others, [first, second + 1]]})
    assert m["changed"] == [name]
    for result in COMPUTED:
        assert m["moved"][result] == (np.array(m[result]) != stepped()[result]).tolist()
    assert f"{weights} of 9 weights, {outputs} of 6 numbers" in m["says"]


def test_the_ratios_are_those_of_the_weights_of_the_row():
    draw = random.Random(3)
    for row in (0, 1, 2) * 3:
        inputs = random_inputs(draw)
        inputs["query"] = [[x / 8 for x in q] for q in inputs["query"]]
        m = stepped(cell=("output", row, 0), **inputs)
        the, cat, sat = m["weights"][row]
        ratios = {ratio["words"]: ratio["value"] for ratio in m["ratios"]}
        assert ratios == pytest.approx({"cat : sat": cat / sat, "cat : The": cat / the})


# Of the keys (0, 2) and (1, ½), queries on the line x = 1.5 y make equal scores.
STEERED = {**WORKED, "key": [[1, -0.5], [0, 2], [1, 0.5]], "value": [[0, 0], [4, 0], [2, 2]],
           "ring": [2, 1]}  # fmt: skip


@pytest.mark.parametrize(
    ("query", "reached"),
    [((1.5, 1), "equal weights"), ((1.2, 0.8), "equal weights"),
     ((6, 4), "equal weights, and The is below"), ((0, 0), ""),
     ((-1.5, -1), "more than half for The"), ((0, -2), "more than half for The"), ((1, 2), ""),
     ((2.5, 1), "ring"), ((2.5, 0.7), "")],
)  # fmt: skip
def test_a_tie_that_leaves_the_third_word_less_and_the_ring_are_told(query, reached):
    queries = {"query": [*WORKED["query"][:2], list(query)]}
    m = stepped(data=STEERED, **queries)
    assert reached in m["reached"]
    assert bool(m["reached"]) == bool(reached)
    if reached == "ring":
        assert math.dist(m["output"][2], (2, 1)) <= 0.1
    if "equal weights" in reached:  # and so do all queries on the line that is drawn
        for length in (0.5, 2, 7):
            scores = np.array(STEERED["key"]) @ (length * np.array(m["tied"]))
            assert scores[1] == pytest.approx(scores[2])
        assert np.any(m["tied"])
    else:
        assert m["tied"] is None
    assert not stepped(key=STEERED["key"], **queries)["reached"], "another key made it"
    moved = [[0, 0], [4, 0], [2, 2.1]]
    assert "ring" not in stepped(data=STEERED, value=moved), "it is of the lesson's own values"


def test_the_arrow_ends_where_its_query_is_and_is_dragged_by_tenths():
    (x0, y0, _), (x1, _, _), *beyond = JS.run("x.map(m.arrowPlace)", [[0, 0], [1, 0], [9.9, -3.3]])
    draw, unit = random.Random(4), x1 - x0
    queries = [[round(draw.uniform(-7, 7), 1), round(draw.uniform(-2.8, 4.4), 1)] for _ in "." * 50]
    for (across, up), place in zip(queries, JS.run("x.map(m.arrowPlace)", queries), strict=True):
        assert place == [pytest.approx(x0 + across * unit), pytest.approx(y0 - up * unit), False]
    near = [[x0 + (across + 0.04) * unit, y0 - (up - 0.04) * unit] for across, up in queries]
    assert JS.run("x.map(m.queryAt)", near) == queries
    # One beyond the edge keeps its direction; what is dragged out of the plane stays on its edge.
    assert beyond == [[pytest.approx(x0 + 7 * unit), pytest.approx(y0 + 7 / 3 * unit), True]]
    far = [[x0 + 99 * unit, y0 - 99 * unit], [-999, 999]]
    assert JS.run("x.map(m.queryAt)", far) == [[7, 4.4], [-7, -2.8]]


def test_keys_and_double_move_the_query_within_its_range():
    keys = [([1, 2], "ArrowRight", [1.1, 2]), ([0.1, 0.3], "ArrowLeft", [0, 0.3]),
            ([9.95, 2], "ArrowRight", [9.99, 2]), ([1, 2], "Tab", None)]  # fmt: skip
    pressed = "x.map(([query, key]) => m.queryByKey(query, {key}, {max: 9.99}) ?? null)"
    assert JS.run(pressed, keys) == [want for *_, want in keys]
    double = "x.map((query) => m.doubledQuery(query, {max: 9.99}) ?? null)"
    assert JS.run(double, [[1.15, -2], [5, 0], [1, -6]]) == [[2.3, -4], None, None]
