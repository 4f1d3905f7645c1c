"""widgets/attention-steps.js: its numbers, the arithmetic of each cell, and its sentence."""

import itertools
import math
import random
import re

import pytest
import torch

from attention import scaled_dot_product_attention
from tests.site.reading import numbers
from tests.widgets.js import module

JS = module("attention-steps.js")
INPUTS, COMPUTED = ["query", "key", "value"], ["scores", "scaled", "weights", "output"]
WORKED = {
    "tokens": ["The", "cat", "sat"],
    "query": [[1, 0.5], [0, 2], [2, 1]],
    "key": [[0, 1], [2, 0.5], [0.5, 1]],
    "value": [[-1, 1], [2, 0.5], [0.5, 1.5]],
}
RESULTS = ["output", "scores", "scaled", "weights", "output"]  # of each step


def state(step=0, cell=None, **changes):
    cell = cell or (step, RESULTS[step], 2, 1)
    chosen = dict(zip(("step", "matrix", "row", "col"), cell, strict=True))
    return {**WORKED, "step": step, "causal": False, "drawn": False, "cell": chosen, **changes}


def model(*args, **changes):
    return JS.call("steppedAttention", WORKED, state(*args, **changes))


def text(parts):
    return "".join(part if isinstance(part, str) else part["text"] for part in parts)


def sentence(*args, **changes):
    return JS.run("m.sentence(m.steppedAttention(x[0], x[1]))", [WORKED, state(*args, **changes)])


def random_inputs(draw, columns=2):
    def number(_):
        return round(draw.uniform(-9.99, 9.99), 2)

    return {n: [list(map(number, range(columns))) for _ in range(3)] for n in INPUTS}


@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
def test_numbers_are_attention_pys(is_causal):
    draw = random.Random(0)
    for inputs in [WORKED, *(random_inputs(draw, 1 + i % 3) for i in range(60))]:
        got = model(causal=is_causal, **{name: inputs[name] for name in INPUTS})
        q, k, v = (torch.tensor(inputs[name], dtype=torch.float64) for name in INPUTS)
        output, weights = scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        want = (q @ k.T, q @ k.T / k.shape[-1] ** 0.5, weights, output)
        for name, exact in zip(COMPUTED, want, strict=True):
            have = torch.tensor(got[name], dtype=torch.float64)
            torch.testing.assert_close(have, exact, rtol=1e-12, atol=1e-12)


ROLES = {"q": "query", "k": "key", "v": "value", "w": "weights"}


@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("step", range(1, 5))
def test_the_arithmetic_of_every_cell_comes_to_its_number(step, is_causal):
    """The text itself is computed; it agrees as far as its own rounding lets it."""
    draw, name = random.Random(step), RESULTS[step]
    for inputs in [{}, *(random_inputs(draw) for _ in range(5))]:
        for row in range(3):
            for col in range(2 if name == "output" else 3):
                m = model(step, (step, name, row, col), causal=is_causal, **inputs)
                if is_causal and col > row and name != "output":
                    assert text(m["parts"]).startswith(f"Hidden: {WORKED['tokens'][row]} may not")
                    assert m["read"] == []
                    continue
                _, made, result = re.split(r" = | ≈ | = (?=[−\d.]+$)", text(m["parts"]))
                assert number(result) == pytest.approx(m[name][row][col], abs=5.1e-4)
                assert compute(made) == pytest.approx(m[name][row][col], abs=0.02)
                for part in m["parts"]:
                    if isinstance(part, dict):
                        read = [cell for cell in m["read"] if cell[0] == ROLES[part["role"]]]
                        assert number(part["text"]) in rounded(m, read)


def number(shown):
    return float(shown.strip("()").replace("−", "-"))


def compute(made):
    python = made.replace("−", "-").replace("×", "*").replace("÷", "/")
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


def test_a_score_is_shown_in_all_its_decimals():
    """9.99² + 9.99² is 199.6002: no rounded number stands after "="."""
    largest = {"query": [[9.99, 9.99]] * 3, "key": [[9.99, 9.99]] * 3}
    assert text(model(1, **largest)["parts"]).endswith(" = 199.6002")
    draw = random.Random(1)
    for _ in range(50):
        m = model(1, **random_inputs(draw))
        exact = m["scores"][2][1]
        assert number(text(m["parts"]).split(" = ")[-1]) == pytest.approx(exact, abs=1e-9)


def test_the_plane_holds_every_value_and_the_origin():
    draw = random.Random(2)
    for _ in range(30):
        value = random_inputs(draw)["value"]
        points = [*value, [0, 0], [1, 0], [0, 1]]
        scale = "m.planeScale(x.slice(0, 3))"
        places = JS.run(f"x.map(([a, b]) => [{scale}.x(a), {scale}.y(b)])", points)
        *found, origin, across, up = places
        for x, y in [*found, origin]:
            assert 25.9 < x < 174.1
            assert 25.9 < y < 124.1
        assert across[0] - origin[0] == pytest.approx(origin[1] - up[1])  # one unit for both
        for (x, y), (a, b) in zip(found, value, strict=True):
            assert (x - origin[0]) / (across[0] - origin[0]) == pytest.approx(a)
            assert (y - origin[1]) / (up[1] - origin[1]) == pytest.approx(b)


def test_the_axes_of_the_plane_show_round_numbers_that_do_not_touch():
    draw = random.Random(3)
    for inputs in [WORKED, {"value": [[0, 0], [4, 0], [2, 2]]}, {"value": [[0, 0]] * 3}] + [
        random_inputs(draw) for _ in range(30)
    ]:
        for axis, length in (("x", 200), ("y", 150)):
            place = f"m.planeScale(x).{axis}"
            shown = JS.run(f"m.ticks({place}, {length})", inputs["value"])
            places = JS.run(f"m.ticks({place}, {length}).map({place})", inputs["value"])
            assert 0 in shown
            assert all(4 <= at <= length - 4 for at in places)
            assert all(abs(a - b) >= 22 for a, b in itertools.pairwise(places))
    assert JS.run("m.ticks(m.planeScale(x).x, 200)", [[0, 0], [4, 0], [2, 2]]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("drawn", [False, True])
def test_numbers_drawn_at_random_mean_neither_water_nor_money(drawn):
    given = {**WORKED, "axes": ["water", "money"]}
    m = JS.call("steppedAttention", given, state(drawn=drawn))
    assert m.get("axes") == (None if drawn else ["water", "money"])


def test_what_the_reader_has_changed_is_named():
    assert model()["changed"] == []
    assert model(query=[[1, 0.5], [0, 2], [2, -1]])["changed"] == ["query"]
    assert model(key=[[0, 0]] * 3, value=[[0, 0]] * 3)["changed"] == ["key", "value"]


@pytest.mark.parametrize("drawn", [False, True])
def test_numbers_drawn_at_random_are_called_random(drawn):
    assert model(drawn=drawn)["source"] == ("random" if drawn else "constructed")


def test_a_cell_s_arithmetic_names_what_it_read():
    assert text(model(1)["parts"]) == "score(sat, cat) = 2.0 × 2.0 + 1.0 × 0.5 = 4.500"
    assert model(1)["read"] == [["query", 2, None], ["key", 1, None]]
    for step, told in ((1, [2.25]), (3, [0])):  # of what is hidden
        said = text(model(step, (step, RESULTS[step], 0, 1), causal=True)["parts"])
        assert [number(x) for x in re.findall(r"\d+\.?\d*(?=,|\.$)", said)] == told


def test_a_cell_chosen_in_another_step_shows_its_like_in_the_result():
    def shown(*cell, step):
        return tuple(JS.call("shownCell", state(step, cell)).values())

    assert shown(1, "scores", 0, 2, step=1) == ("scores", 0, 2)
    assert shown(1, "scores", 0, 2, step=3) == ("weights", 0, 2)
    assert shown(1, "scores", 0, 2, step=4) == ("output", 0, 1), "the last column that it has"
    assert shown(1, "scores", 0, 2, step=2) == ("scaled", 0, 2)
    assert shown(2, "scores", 0, 2, step=2) == ("scores", 0, 2), "step 2 shows the scores too"
    assert shown(1, "weights", 0, 2, step=1) == ("scores", 0, 2), "step 1 has no weights"


def test_the_sentence_says_the_step_the_weights_and_the_arithmetic():
    for causal in (False, True):
        m, said = model(3, causal=causal), sentence(3, causal=causal)
        told = [3, 1, *m["weights"][2], *m["output"][2]]
        assert numbers(said)[: len(told)] == pytest.approx(told, abs=0.0051)
        assert said.endswith(text(m["parts"]))
        assert ("Causal" in said) == causal
