"""The models of m10's widgets, and what course/page/costs.py says of the same sizes."""

import math
import random
from dataclasses import asdict, replace

import pytest

from course import costs
from course.page.costs import MACHINES, MODELS
from tests.lessons.page_text import in_order, share
from tests.numbers import numbers
from tests.widgets.js import module

LIB, CURVES, MEMORY, ROOFLINE = (
    module(f"{name}.js") for name in ("lib/costs", "cost-curves", "memory-bars", "roofline")
)
DATA = {
    "models": [{**asdict(m), "parameters": sum(costs.parameters(m).values())} for m in MODELS],
    "machines": [asdict(machine) for machine in MACHINES],
    "chosen": "Llama 2 7B",
}


@pytest.mark.parametrize("seed", range(12))
def test_counts_are_course_costs(seed):
    draw = random.Random(seed)
    groups, shared = draw.randint(1, 6), draw.randint(1, 4)
    model = replace(
        MODELS[seed % len(MODELS)], num_heads=groups * shared, num_kv_heads=groups,
        layers=draw.randint(1, 40), embed_dim=draw.randint(1, 600),
        head_dim=draw.randint(1, 300), mlp_dim=draw.randint(1, 900),
    )  # fmt: skip
    queries, batch, size = draw.choice([1, 3000]), draw.randint(1, 300), draw.choice([1, 2, 4])
    keys = queries if queries > 1 else draw.randint(1, 5000)
    sizes = {"queries": queries, "keys": keys, "batch": batch}
    code = """[m.layerFlops(...x), m.step(...x), m.cacheBytes(x[0], x[1].keys, x[1].batch, x[2]),
      m.mapBytes(x[0], x[1].keys, x[1].batch, x[2])]"""
    assert LIB.run(code, [asdict(model), sizes, size]) == [
        costs.layer_flops(model, queries, keys, batch),
        costs.step(model, queries, keys, batch, size),
        costs.cache_bytes(model, keys, batch, size),
        costs.map_bytes(model, keys, batch=batch, number_bytes=size),
    ]


@pytest.mark.parametrize(
    ("write", "texts"),
    [
        ("m.amount(n, 'B')", {0: "0.00 B", 999: "999 B", 999.6: "1.00 kB", 3.436e11: "344 GB",
                              33_554_432: "33.6 MB", 9.996e6: "10.0 MB", 1.6e21: "1.60 ZB"}),
        ("m.tick(n)", {0: "1", 2: "100", 8: "100 M", 9: "1 G", 12: "1 T", 18: "1 E"}),
        ("m.duration(n)", {1666: "1,666 s", 2: "2.00 s", 0.00479: "4.79 ms", 1.5e-5: "15.0 µs",
                           3e-8: "30.0 ns"}),
    ],
)  # fmt: skip
def test_numbers_are_written_with_three_digits_and_their_unit(write, texts):
    got = LIB.run(f"x.map((n) => {write})", [*texts])
    assert [text.replace("\u202f", " ") for text in got] == [*texts.values()]


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("which", range(len(MODELS)))
def test_the_arithmetic_of_a_text(which, everything):
    model, stops = MODELS[which], CURVES.run("m.STOPS")

    def parts(tokens):
        layer, times = costs.layer_flops(model, tokens), model.layers if everything else 1
        each = layer["projections"] + (layer["mlp"] if everything else 0)
        return times * each, times * layer["pairs"]

    for at in (0, 24, 88):
        state = {"model": which, "length": at, "everything": everything}
        got, (each, pairs) = CURVES.told("costs", DATA, state), parts(stops[at])
        assert [got["each"], got["pairs"]] == pytest.approx([each, pairs], rel=1e-12)
        twice = sum(parts(2 * stops[at])) / (each + pairs)
        assert in_order(got["says"], share(pairs / (each + pairs)), f"{twice:.2f}")


@pytest.mark.parametrize(
    ("which", "length", "batch"), [(0, 3, 4), (1, 0, 0), (1, 8, 7), (2, 5, 2), (3, 6, 5)]
)
def test_memory_is_course_costs_and_each_product_is_its_line(which, length, batch):
    got = MEMORY.told("memory", DATA, {"model": which, "length": length, "batch": batch})
    model, sizes = MODELS[which], (512 * 2**length, 2**batch)
    cache, maps = costs.cache_bytes(model, *sizes), costs.map_bytes(model, sizes[0], batch=sizes[1])
    want = [costs.parameter_bytes(model), cache, maps]
    assert [part["bytes"] for part in got["parts"]] == want
    products = [math.prod(map(int, numbers(part["of"]))) for part in got["parts"][1:]]
    assert products == [cache, maps]
    gpus = sum(want) / 80e9
    assert in_order(got["says"], share(gpus) if gpus <= 1 else f"{gpus:,.{gpus < 10:d}f}")


@pytest.mark.parametrize("seed", range(12))
def test_both_kinds_of_work_take_what_the_machine_allows(seed):
    """Parameters are fetched once for all texts, and each text's keys and values for itself."""
    draw = random.Random(seed)
    which, where, length, bits = seed % 4, seed % 3, draw.randrange(11), draw.choice([16, 8])
    state = {"model": which, "machine": where, "length": length, "bits": bits}
    batch, size, tokens = draw.randint(1, 512), bits / 8, 125 * 2**length
    got = ROOFLINE.call("roofline", DATA, {**state, "batch": batch})
    model, machine = MODELS[which], MACHINES[where]
    done = costs.model_flops(model, 1, tokens)
    pairs, fetched = done.pop("pairs"), sum(done.values()) / 2 * size
    caches = costs.cache_bytes(model, tokens, batch, size)
    work = [(batch * sum(done.values()), fetched), (batch * pairs, caches)]
    for part, (flops, moved) in zip(got["parts"], work, strict=True):
        assert [part["flops"], part["bytes"]] == pytest.approx([flops, moved], rel=1e-12)
        roof = min(machine.flops, machine.bandwidth * flops / moved)
        assert [part["intensity"], part["rate"]] == pytest.approx([flops / moved, roof])
    seconds = sum(costs.least_seconds(machine, *each) for each in work)
    assert [got["seconds"], got["tokens"]] == pytest.approx([seconds, batch / seconds])
    parameters = costs.parameter_bytes(model, size)
    assert [got["ridge"], got["kept"]] == pytest.approx([machine.ridge, parameters + caches])
    room = (machine.memory - parameters) // costs.cache_bytes(model, tokens, 1, size)
    assert got["fit"] == max(0, room)


def test_after_1000_tokens_an_h100_is_full_before_its_arithmetic_is():
    """The numbers of the bill: 126 texts fit, and the ring reaches the flat top at 296."""
    state = {"model": 1, "machine": 1, "length": 3, "bits": 16}
    all_ = [ROOFLINE.told("roofline", DATA, {**state, "batch": n}) for n in range(1, 300)]
    top, full = math.ceil(989.4 / 3.35), 126
    assert [m["batch"] for m in all_ if "is reached" in m["says"]] == [*range(top, 300)]
    assert [m["batch"] for m in all_ if "more than" in m["says"]] == [*range(full + 1, 300)]
    assert [m["batch"] for m in all_ if m["turns"]] == [26]
    assert {m["parts"][1]["intensity"] for m in all_} == {1}
    assert in_order(all_[full - 1]["says"], "23.7", "5,325")
    unknown = {**DATA, "machines": [{**DATA["machines"][1], "memory": 0}]}
    m = ROOFLINE.told("roofline", unknown, {**state, "machine": 0, "batch": 299})
    assert (m["fit"], "more than" in m["says"]) == (None, False)
