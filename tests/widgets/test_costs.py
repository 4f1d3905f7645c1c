"""The models of m10's widgets, and what course/page/costs.py says of the same sizes."""

import math
import random
from dataclasses import asdict, replace

import pytest

from course import costs
from course.page.costs import MACHINES, MODELS
from tests.lessons.page_text import in_order
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


def test_counts_are_course_costs():
    for seed in range(24):
        draw = random.Random(seed)
        groups, shared = draw.randint(1, 6), draw.randint(1, 4)
        model = replace(
            MODELS[seed % len(MODELS)], num_heads=groups * shared, num_kv_heads=groups,
            layers=draw.randint(1, 40), embed_dim=draw.randint(1, 600),
            head_dim=draw.randint(1, 300), mlp_dim=draw.randint(1, 900),
        )  # fmt: skip
        queries, batch = draw.choice([1, draw.randint(2, 5000)]), draw.randint(1, 300)
        keys, size = queries if queries > 1 else draw.randint(1, 5000), draw.choice([1, 2, 4])
        counts = LIB.run(
            """(({model, given, size}) => ({
              layer: m.layerFlops(model, given), step: m.step(model, given, size),
              cache: m.cacheBytes(model, given.keys, given.batch, size),
              map: m.mapBytes(model, given.keys, given.batch, size)}))(x)""",
            {"model": asdict(model), "size": size,
             "given": {"queries": queries, "keys": keys, "batch": batch}},
        )  # fmt: skip
        assert counts == {
            "layer": costs.layer_flops(model, queries, keys, batch),
            "step": costs.step(model, queries, keys, batch, size),
            "cache": costs.cache_bytes(model, keys, batch, size),
            "map": costs.map_bytes(model, keys, batch=batch, number_bytes=size),
        }


@pytest.mark.parametrize(
    ("write", "numbers", "texts"),
    [
        ("(n) => m.amount(n, 'B')",
         [0, 1, 999, 999.6, 3.436e11, 33_554_432, 9.996e6, 1.6e21],
         ["0.00 B", "1.00 B", "999 B", "1.00 kB", "344 GB", "33.6 MB", "10.0 MB", "1.60 ZB"]),
        ("m.tick", [0, 1, 2, 8, 9, 11, 12, 15, 18],
         ["1", "10", "100", "100 M", "1 G", "100 G", "1 T", "1 P", "1 E"]),
        ("m.duration", [1666, 2, 0.00479, 1.5e-5, 3e-8],
         ["1,666 s", "2.00 s", "4.79 ms", "15.0 µs", "30.0 ns"]),
        ("m.whole", [1, 999, 1000, 262144, 1e6], ["1", "999", "1,000", "262,144", "1,000,000"]),
    ],
    ids=["amount", "tick", "duration", "whole"],
)  # fmt: skip
def test_numbers_are_written_with_three_digits_and_their_unit(write, numbers, texts):
    got = LIB.run(f"x.map({write})", numbers)
    assert [text.replace("\u202f", " ") for text in got] == texts


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("which", range(len(MODELS)))
def test_the_arithmetic_of_a_text(which, everything):
    model, stops = MODELS[which], CURVES.run("m.STOPS")

    def parts(tokens):
        layer, times = costs.layer_flops(model, tokens), model.layers if everything else 1
        each = layer["projections"] + (layer["mlp"] if everything else 0)
        return times * each, times * layer["pairs"]

    for at in (0, 24, 48, 88):
        state = {"model": which, "length": at, "everything": everything}
        got, length = CURVES.call("costs", DATA, state), stops[at]
        each, pairs = parts(length)
        want = [each, pairs, each + pairs]
        assert [got[name] for name in ("each", "pairs", "all")] == pytest.approx(want, rel=1e-12)
        assert got["share"] == pytest.approx(pairs / (each + pairs))
        assert got["twice"] == pytest.approx(sum(parts(2 * length)) / sum(parts(length)))
    assert {128, 1024, 8192, 65_536, 262_144} <= set(stops)
    crossover = costs.crossover(model, with_mlp=everything)
    assert min(abs(stop / crossover - 1) for stop in stops) < 0.05


def test_memory_is_course_costs_and_each_product_is_its_line():
    for seed in range(12):
        draw = random.Random(seed)
        which, length, batch = draw.randrange(4), draw.randrange(9), draw.randrange(8)
        got = MEMORY.call("memory", DATA, {"model": which, "length": length, "batch": batch})
        model, length, batch = MODELS[which], 512 * 2**length, 2**batch
        assert (got["length"], got["batch"]) == (length, batch)
        want = [
            costs.parameter_bytes(model), costs.cache_bytes(model, length, batch),
            costs.map_bytes(model, length, batch=batch),
        ]  # fmt: skip
        assert [part["bytes"] for part in got["parts"]] == want
        assert got["together"] == pytest.approx(sum(want))
        for part in got["parts"][1:]:
            factors = part["of"].replace(",", "").replace("key + value:", "").split("×")
            assert math.prod(int(one.split()[0]) for one in factors) == part["bytes"], part["of"]


def test_both_kinds_of_work_take_what_the_machine_allows():
    """Parameters are fetched once for all texts, and each text's keys and values for itself."""
    for seed in range(24):
        draw = random.Random(seed)
        state = {
            "model": draw.randrange(4), "machine": draw.randrange(3), "length": draw.randrange(11),
            "batch": draw.randint(1, 512), "bits": draw.choice([16, 8]),
        }  # fmt: skip
        got = ROOFLINE.call("roofline", DATA, state)
        model, machine = MODELS[state["model"]], MACHINES[state["machine"]]
        length, batch, size = 125 * 2 ** state["length"], state["batch"], state["bits"] / 8
        done = costs.model_flops(model, 1, length)
        pairs, fetched = done.pop("pairs"), sum(done.values()) / 2 * size
        caches = costs.cache_bytes(model, length, batch, size)
        work = [(batch * sum(done.values()), fetched), (batch * pairs, caches)]
        for part, want in zip(got["parts"], work, strict=True):
            flops, moved = want
            assert [part["flops"], part["bytes"]] == pytest.approx(want, rel=1e-12)
            assert part["intensity"] == pytest.approx(flops / moved)
            assert (part["memory"] > part["arithmetic"]) == (part["intensity"] < machine.ridge)
            assert part["rate"] == pytest.approx(
                min(machine.flops, machine.bandwidth * flops / moved)
            ), "a mark lies on the roof"
        seconds = sum(costs.least_seconds(machine, *want) for want in work)
        assert got["parts"][0]["intensity"] == pytest.approx(batch * 2 / size)
        assert got["seconds"] == pytest.approx(seconds)
        assert got["tokens"] == pytest.approx(batch / seconds)
        assert got["ridge"] == pytest.approx(machine.ridge)
        parameters = costs.parameter_bytes(model, size)
        assert got["kept"] == pytest.approx(parameters + caches)
        room = (machine.memory - parameters) // costs.cache_bytes(model, length, 1, size)
        assert got["fit"] == max(0, room)


def writing(data=DATA, **state):
    start = {"model": 1, "machine": 1, "length": 3, "batch": 1, "bits": 16}
    return ROOFLINE.call("roofline", data, start | state)


def test_the_ring_arrives_where_the_page_says_and_126_texts_fit():
    """On an H100, after 1,000 tokens: the numbers of the bill."""
    top = next(texts for texts in range(1, 513) if texts >= 989.4 / 3.35)
    below, above = (ROOFLINE.call("sentence", writing(batch=texts)) for texts in (top - 1, top))
    assert "is reached" not in below
    assert in_order(above, "flat top is reached", f"{top}")
    matrices = [writing(batch=texts)["parts"][0] for texts in (1, 2, top, 512)]
    assert matrices[1]["rate"] == pytest.approx(2 * matrices[0]["rate"]), "twice as high"
    assert [part["rate"] for part in matrices[2:]] == pytest.approx([989.4e12] * 2, rel=1e-12)
    diamonds = {writing(batch=texts)["parts"][1]["intensity"] for texts in (1, 26, 126, 512)}
    assert diamonds == {1}
    assert writing()["fit"] == 126
    assert in_order(ROOFLINE.call("sentence", writing(batch=126)), "23.7", "5,325")
    caches = [writing(batch=texts)["parts"] for texts in (25, 26)]
    assert [c["seconds"] > m["seconds"] for m, c in caches] == [False, True]
    assert [texts for texts in range(20, 40) if writing(batch=texts)["turns"]] == [26]


def test_what_is_kept_is_told_beside_the_machine_s_memory_where_that_is_known():
    unknown = {**DATA, "machines": [{**asdict(MACHINES[0]), "memory": 0}]}
    known = ROOFLINE.call("sentence", writing(model=2))
    assert in_order(known, "1", "4.48", "4", "39.1", "3.35", "989", "4.52", "221", "16.2", "80.0")
    assert "more than" not in known
    assert "more than" in ROOFLINE.call("sentence", writing(batch=127)), "it doesn't fit"
    assert "more than" not in ROOFLINE.call("sentence", writing(batch=126))
    core = ROOFLINE.call("sentence", writing(unknown, machine=0))
    assert in_order(core, "14.0")
    assert not in_order(core, "14.0", "0.00")
    assert writing(unknown, machine=0)["fit"] is None
