"""The models of m10's widgets, and what course/page/costs.py says of the same sizes."""

import random
from dataclasses import asdict, replace

import pytest

from course import costs
from course.page.costs import MACHINES, MODELS
from tests.site.reading import numbers
from tests.widgets.js import module

LIB, CURVES, MEMORY, ROOFLINE = (
    module(f"{name}.js") for name in ("lib/costs", "cost-curves", "memory-bars", "roofline")
)
PUBLISHED = [
    {**asdict(model), "parameters": sum(costs.parameters(model).values())} for model in MODELS
]
DATA = {
    "models": PUBLISHED,
    "machines": [asdict(machine) for machine in MACHINES],
    "chosen": "Llama 2 7B",
}


def random_case(seed):
    draw = random.Random(seed)
    groups, shared = draw.randint(1, 6), draw.randint(1, 4)
    model = replace(
        MODELS[seed % len(MODELS)],
        layers=draw.randint(1, 40), embed_dim=draw.randint(1, 600), num_heads=groups * shared,
        num_kv_heads=groups, head_dim=draw.randint(1, 300), mlp_dim=draw.randint(1, 900),
    )  # fmt: skip
    queries, batch = draw.choice([1, draw.randint(2, 5000)]), draw.randint(1, 300)
    keys = queries if queries > 1 else draw.randint(1, 5000)
    return model, queries, keys, batch, draw.choice([1, 2, 4])


@pytest.mark.parametrize("seed", range(24))
def test_counts_are_course_costs(seed):
    model, queries, keys, batch, size = random_case(seed)
    given = {"queries": queries, "keys": keys, "batch": batch}
    layer = LIB.call("layerFlops", asdict(model), given)
    assert layer == costs.layer_flops(model, queries, keys, batch)
    step = LIB.call("step", asdict(model), given, size)
    assert step == costs.step(model, queries, keys, batch, size)
    assert LIB.call("cacheBytes", asdict(model), keys, batch, size) == costs.cache_bytes(
        model, keys, batch, size
    )
    assert LIB.call("mapBytes", asdict(model), keys, batch, size) == costs.map_bytes(
        model, keys, batch=batch, number_bytes=size
    )


@pytest.mark.parametrize(
    ("x", "text"),
    [(0, "0.00 B"), (1, "1.00 B"), (999, "999 B"), (999.6, "1.00 kB"), (3.436e11, "344 GB"),
     (33_554_432, "33.6 MB"), (9.996e6, "10.0 MB"), (1.6e21, "1.60 ZB")],
)  # fmt: skip
def test_amounts_have_three_digits(x, text):
    assert LIB.call("amount", x, "B").replace("\u202f", " ") == text


def test_ticks_are_powers_of_ten():
    found = LIB.run("x.map(m.tick)", list(range(8, 19)))
    assert [text.replace("\u202f", " ") for text in found] == [
        "100 M", "1 G", "10 G", "100 G", "1 T", "10 T", "100 T", "1 P", "10 P", "100 P", "1 E",
    ]  # fmt: skip
    assert LIB.run("x.map(m.tick)", [0, 1, 2]) == ["1", "10", "100"]


def test_durations_and_whole_numbers():
    found = LIB.run("x.map(m.duration)", [1666, 2, 0.00479, 1.5e-5, 3e-8])
    assert [text.replace("\u202f", " ") for text in found] == [
        "1,666 s", "2.00 s", "4.79 ms", "15.0 µs", "30.0 ns",
    ]  # fmt: skip
    assert LIB.run("x.map(m.whole)", [1, 999, 1000, 8192, 262144, 1e6]) == [
        "1", "999", "1,000", "8,192", "262,144", "1,000,000",
    ]  # fmt: skip


# ---- Along the length -----------------------------------------------------------------------


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("which", range(len(MODELS)))
@pytest.mark.parametrize("at", [0, 24, 48, 88])
def test_the_arithmetic_of_a_text(which, everything, at):
    model, length = MODELS[which], CURVES.run("m.STOPS[x]", at)
    found = CURVES.call("costs", DATA, {"model": which, "length": at, "everything": everything})

    def parts(tokens):
        layer, times = costs.layer_flops(model, tokens), model.layers if everything else 1
        each = layer["projections"] + (layer["mlp"] if everything else 0)
        return times * each, times * layer["pairs"]

    each, pairs = parts(length)
    want = [each, pairs, each + pairs]
    assert [found[name] for name in ("each", "pairs", "all")] == pytest.approx(want, rel=1e-12)
    assert found["share"] == pytest.approx(pairs / (each + pairs))
    assert found["twice"] == pytest.approx(sum(parts(2 * length)) / sum(parts(length)))
    assert found["twice"] == pytest.approx(2 + 2 * found["share"])


def test_the_stops_hold_the_crossover_and_llama_3s_within_a_twentieth():
    stops = CURVES.run("m.STOPS")
    assert {128, 1024, 8192, 65_536, 262_144} <= set(stops)
    for model in MODELS:
        for with_mlp in (False, True):
            length = costs.crossover(model, with_mlp=with_mlp)
            assert min(abs(stop / length - 1) for stop in stops) < 0.05


def test_the_sentence_of_the_curves():
    model = CURVES.call("costs", DATA, {"model": 1, "length": 48, "everything": False})
    assert numbers(CURVES.call("sentence", model))[2:] == [8192, 1.10, 1.10, 50, 3.00]


# ---- Memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_memory_is_course_costs_and_each_product_is_its_line(seed):
    draw = random.Random(seed)
    state = {"model": draw.randrange(4), "length": draw.randrange(9), "batch": draw.randrange(8)}
    found = MEMORY.call("memory", DATA, state)
    model, length, batch = MODELS[state["model"]], found["length"], found["batch"]
    assert (length, batch) == (512 * 2 ** state["length"], 2 ** state["batch"])
    want = [
        costs.parameter_bytes(model), costs.cache_bytes(model, length, batch),
        costs.map_bytes(model, length, batch=batch),
    ]  # fmt: skip
    assert [part["bytes"] for part in found["parts"]] == want
    assert found["together"] == pytest.approx(sum(want))
    for part in found["parts"][1:]:
        product = 1
        for factor in part["of"].replace(",", "").replace("key + value:", "").split("×"):
            product *= int(factor.split()[0])
        assert product == part["bytes"], part["of"]


def test_the_sentence_of_the_memory():
    found = MEMORY.call("memory", DATA, {"model": 2, "length": 4, "batch": 0})
    told = numbers(MEMORY.call("sentence", found))
    assert told[2:] == [1, 8192, 16.1, 1.07, 4.29, 21.4, 27]


# ---- Roofline -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_both_kinds_of_work_take_what_the_machine_allows(seed):
    draw = random.Random(seed)
    state = {
        "model": draw.randrange(4), "machine": draw.randrange(3), "length": draw.randrange(11),
        "batch": draw.randrange(11), "writing": draw.random() < 0.5, "bits": draw.choice([16, 8]),
    }  # fmt: skip
    found = ROOFLINE.call("roofline", DATA, state)
    model, machine = MODELS[state["model"]], MACHINES[state["machine"]]
    length, batch = 128 * 2 ** state["length"], 2 ** state["batch"]
    queries = 1 if state["writing"] else length
    step = costs.step(model, queries, length, batch, state["bits"] / 8)
    seconds = 0
    for part in found["parts"]:
        want = step[part["name"]]
        assert [part["flops"], part["bytes"]] == pytest.approx(list(want.values()), rel=1e-12)
        assert part["intensity"] == pytest.approx(want["flops"] / want["bytes"])
        assert (part["memory"] > part["arithmetic"]) == (part["intensity"] < machine.ridge)
        assert part["rate"] <= machine.flops * (1 + 1e-12)
        assert part["seconds"] == pytest.approx(costs.least_seconds(machine, *want.values()))
        seconds += part["seconds"]
    assert found["seconds"] == pytest.approx(seconds)
    assert found["tokens"] == pytest.approx(queries * batch / seconds)
    assert found["ridge"] == pytest.approx(machine.ridge)
    size = state["bits"] / 8
    kept = costs.parameter_bytes(model, size) + costs.cache_bytes(model, length, batch, size)
    assert found["kept"] == pytest.approx(kept)


def writing(**state):
    start = {"model": 1, "machine": 1, "length": 5, "batch": 0, "writing": True, "bits": 16}
    return ROOFLINE.call("roofline", DATA, {**start, **state})


def test_batches_lift_the_matrices_and_never_the_attention():
    found = [[part["intensity"] for part in writing(batch=at)["parts"]] for at in range(11)]
    matrices, attention = zip(*found, strict=True)
    assert list(matrices) == sorted(matrices)
    assert matrices[0] < 1.01
    assert matrices[-1] > 500
    assert {round(x, 2) for x in attention} == {0.99}


def test_the_sentence_of_the_roofline():
    said = ROOFLINE.call("sentence", writing(model=2))
    told = [4096, 1, 1.00, 4.48, 3.88, 165, 4.65, 215, 16.6, 80.0]
    assert [one for one in numbers(said) if one in told][-len(told) :] == told
    many = ROOFLINE.call("sentence", writing(batch=6))
    assert "all texts together" in many
    assert "more than the machine's 80.0" in many, "it doesn't fit"
    unknown = {**DATA, "machines": [{**asdict(MACHINES[0]), "memory": 0}]}
    state = {"model": 1, "machine": 0, "length": 5, "batch": 0, "writing": True, "bits": 16}
    core = ROOFLINE.call("sentence", ROOFLINE.call("roofline", unknown, state))
    assert numbers(core)[-1] == 15.6, "of a machine without a size only what is taken is told"


@pytest.mark.parametrize(("model", "bits", "lifted"), [(1, 8, False), (2, 16, True), (3, 8, False)])
def test_shared_keys_lift_the_attention_above_three_and_smaller_numbers_do_not(model, bits, lifted):
    [_, attention] = writing(model=model, bits=bits)["parts"]
    assert (attention["intensity"] > 3) == lifted
