"""m04's widgets: softmax by attention.py and by NumPy, and the trainings counted anew."""

import json
import random

import numpy as np
import pytest
import torch

from analysis import entropy
from modules.m04_softmax_and_scale.training import RATES, SCORES
from tests.lessons.page_text import in_order, share
from tests.widgets import truth_saturation as keys
from tests.widgets import truth_temperature as heated
from tests.widgets.js import assert_near, module

SATURATION, SLOPE, RATE, STEP, TEMPERATURE = (
    module(f"{name}.js")
    for name in ("saturation", "softmax-slope", "learning-rate", "one-step", "temperature")
)


@pytest.mark.parametrize("divide", [False, True])
@pytest.mark.parametrize("size", range(len(keys.SIZES)))
def test_each_draw_of_keys_has_attention_pys_weights_and_the_saturated_are_counted(size, divide):
    data, draw = {"sizes": keys.SIZES, "products": keys.PRODUCTS}, 7 * size % keys.DRAWS
    got = SATURATION.told("saturation", data, {"size": size, "divide": divide, "draw": draw})
    scores, weights = keys.expected(size, divide, draw)
    assert got["scores"] == pytest.approx(scores.tolist(), rel=1e-12)
    assert got["weights"] == pytest.approx(weights.tolist(), rel=1e-9, abs=1e-300)

    largest = [keys.expected(size, divide, n)[1].max().item() for n in range(keys.DRAWS)]
    saturated = sum(weight > 0.99 for weight in largest)
    cloud = SATURATION.call("cloud", data)[divide]
    assert cloud["largest"][size] == pytest.approx(largest, rel=1e-9)
    assert cloud["means"][size] == pytest.approx(np.mean(largest), rel=1e-9)
    assert cloud["saturated"][size] == saturated
    top = share(largest[draw], 1) if largest[draw] < 0.9995 else "99.9+"
    assert in_order(got["says"], str(keys.SIZES[size]), top, str(keys.DRAWS), str(saturated))


@pytest.mark.parametrize("by", range(4))
def test_a_nudge_moves_a_weight_by_the_slope_where_it_stands(by):
    divisors, names = [1, 3, 8, 90], ["Undivided", "3", "8", "√8100"]
    data = {"words": ["a", "b", "c"], "scores": [1.5, 12, -3], "nudge": 0.1, "divisors": divisors}

    def weights(divisor, nudge=0.0):
        powers = np.exp(np.array([1.5 + nudge, 12, -3]) / divisor)
        return powers / powers.sum()

    got, divisor = SLOPE.told("onTheCurve", {**data, "names": names}, {"by": by}), divisors[by]
    now = weights(divisor)
    assert [word["weight"] for word in got["words"]] == pytest.approx(now.tolist())
    assert [word["gap"] for word in got["words"]] == pytest.approx(np.log(now / (1 - now)).tolist())
    times = [w / (now.sum() - w) for w in now]
    assert [word["times"] for word in got["words"]] == pytest.approx(times)
    slope = (weights(divisor, 1e-5 * divisor) - weights(divisor, -1e-5 * divisor))[0] / 2e-5
    assert got["words"][0]["slope"] == pytest.approx(slope, rel=1e-5)
    moves = [(weights(one, 0.1) - weights(one))[0] for one in divisors]
    assert got["moves"] == pytest.approx(moves, rel=0.06)
    assert got["moved"] == got["moves"][by] == pytest.approx(0.1 / divisor * slope, rel=1e-5)
    decimals = np.format_float_positional(got["moved"], precision=2, fractional=False)
    assert in_order(got["says"], names[by], f"{0.1 / divisor:.2g}", decimals)


def test_the_axis_says_how_many_times_the_weight_of_all_others():
    """At a gap of 5 a word has 148 parts, and all the others together 1."""
    told = {-10: "1/22,000", -5: "1/148", 0: "1", 5: "148", 0.79: "2.2", -0.79: "1/2.2"}
    for gap, name in told.items():
        w = 1 / (1 + np.exp(-gap))
        assert SLOPE.call("timesOf", w / (1 - w)) == name


def stepped(rate, divide, k, others):
    """By autograd: the gap of the own row, and those of the others, after one step of the query."""
    scale = 512**-0.5 if divide else 1.0
    q = torch.zeros(512, dtype=torch.float64, requires_grad=True)
    (1 - (k @ q * scale).softmax(0)[0]).backward()
    q = -rate * q.grad
    return [((keys[0] - keys[1]) @ q * scale).item() for keys in (k, *others)]


@pytest.mark.parametrize("divide", [False, True])
@pytest.mark.parametrize("rate", range(4))
def test_one_step_moves_its_own_row_and_others_as_autograd_says(rate, divide):
    draw = torch.Generator().manual_seed(rate)
    k, *others = torch.randn(25, 2, 512, generator=draw, dtype=torch.float64)
    apart = [keys[0] - keys[1] for keys in (k, *others)]
    rates = [0.006, 0.03, 0.3, 3]
    own, *rest = ((apart[0] @ other).item() for other in apart)
    data = {"size": 512, "rates": rates, "own": own, "others": rest}
    got = STEP.told("oneStep", data, {"rate": rate, "divide": divide})
    gap, *gaps = stepped(rates[rate], divide, k, others)
    assert got["own"]["gap"] == pytest.approx(gap)
    assert got["own"]["weight"] == pytest.approx(1 / (1 + np.exp(-gap)))
    assert got["others"] == pytest.approx(gaps)
    right, wrong = (sum(1 / (1 + np.exp(-s * g)) > 0.99 for g in gaps) for s in (1, -1))
    assert got["sure"] == {"right": right, "wrong": wrong}
    assert got["open"] == 24 - right - wrong
    assert got["spread"] == pytest.approx(np.sqrt(np.mean(np.square(gaps))))
    told = [f"{rates[rate]}", "24", str(wrong), str(right), str(got["open"])]
    assert in_order(got["says"], *told)
    assert ("√512" in got["says"]) == divide


@pytest.mark.parametrize("rate", range(len(RATES)))
def test_the_ends_of_the_trainings_are_their_last_100_steps(rate):
    scores, data, told, left = json.loads(SCORES.read_text(encoding="utf-8")), {}, [], []
    for name in ("divided", "undivided"):
        curves = {"right": scores[name], "stuck": scores["stuck"][name]}
        data[name] = {what: [*of_rates.values()] for what, of_rates in curves.items()}
        right, stuck = (np.array(of_rates[str(RATES[rate])]) for of_rates in curves.values())
        assert right.shape == (3, 25), "500 steps, 20 to a value"
        ends = right[:, -5:].mean(1)
        told += dict.fromkeys(f"{100 * end:.0f}" for end in (ends.min(), ends.max()))
        left.append(f"{100 * stuck[:, -5:].mean():.0f}")
    got = RATE.told("trainings", {"rates": RATES, "every": 20, **data}, {"rate": rate})
    assert [got[name]["right"] for name in data] == [one["right"][rate] for one in data.values()]
    assert in_order(got["says"], f"{RATES[rate]:g}", "500", *told, "100", *left)


def heat(stop, query=heated.QUERY, key=heated.KEY):
    data = {"tokens": [*"abcdef"], "query": heated.QUERY, "key": heated.KEY}
    state = {"stop": stop, "cell": (2, 1), "query": query, "key": key}
    return TEMPERATURE.told("heat", data, state)


@pytest.mark.parametrize("stop", range(len(heated.STOPS)))
def test_each_stop_of_the_temperature_has_attention_pys_weights(stop):
    draw = random.Random(stop)
    drawn = [[[draw.uniform(-9, 9) for _ in range(4)] for _ in range(6)] for _ in "qk"]
    for source, matrices in (("constructed", [heated.QUERY, heated.KEY]), ("random", drawn)):
        got, want = heat(stop, *matrices), heated.expected(*matrices, heated.STOPS[stop])
        assert_near(got["weights"], want, atol=1e-13, rtol=1e-11)
        assert (got["T"], got["source"]) == (heated.STOPS[stop], source)
        keys = entropy(want)[2].exp()
        assert in_order(got["says"], *(f"{x:.2f}" for x in [*want[2], keys]), "6")


def test_the_limits_of_the_temperature_are_exact_and_ties_share():
    assert TEMPERATURE.run("m.STOPS") == heated.STOPS
    assert heat(0)["weights"][1] == [0.5, 0, 0, 0, 0.5, 0]
    assert heat(len(heated.STOPS) - 1)["weights"] == [[1 / 6] * 6] * 6
