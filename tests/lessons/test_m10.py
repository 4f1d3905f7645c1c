"""m10: what it claims of its models, machines and timings. tests/test_costs.py has the counting."""

import json
import math
import re
from statistics import mean, median

import pytest

from course import costs
from course.page.costs import MACHINES, MODELS
from tests.conftest import ROOT
from tests.lessons.page_text import cells, output, shows
from tests.numbers import number, numbers

PAGE = "modules/m10_cost/lesson.html"
GPT2, LLAMA2, LLAMA3, GEMMA = MODELS
LENGTHS = [128, 256, 512, 1024, 2048, 4096, 8192]
H100_FLOPS, H100_BANDWIDTH = 989.4e12, 3.35e12
RIDGE = H100_FLOPS / H100_BANDWIDTH
E, F = 4096, 11_008  # Llama 2 7B

PARAMETERS = 2 * (32 * (4 * E * E + 3 * E * F + 2 * E) + E + 2 * 32_000 * E)  # bytes
USED = PARAMETERS - 2 * 32_000 * E  # all but the table of tokens


def llama_flops(n):
    """Each token by itself, pairs, and the guess of one token from 32,000."""
    return 32 * n * (8 * E * E + 6 * E * F) + 32 * 4 * n * n * E + 2 * E * 32_000


def cache(n):
    """Bytes of the keys and values of 32 layers."""
    return 2 * 32 * E * 2 * n


def texts_that_fit(n):
    return int((80e9 - PARAMETERS) // cache(n))


def step_ms(n, texts):
    """At the pace of memory, with the parameters and each text's cache fetched once."""
    return 1e3 * (USED + texts * cache(n)) / H100_BANDWIDTH


def read_ms(n):
    return 1e3 * llama_flops(n) / H100_FLOPS


def write_ms(n):
    """An answer of 100 tokens, with the GPU full of such texts."""
    return 100 * step_ms(n, texts_that_fit(n)) / texts_that_fit(n)


def test_the_layer_with_a_pencil(page):
    """3 tokens of width 4: four matrices, scores, mix; then 6 tokens, then 8."""

    def work(n, d=4):
        return 4 * n * d * 2 * d, n * n * 2 * d + n * d * 2 * n

    rows = [numbers(tr.get_text(" "))[-3:] for tr in page.select("#sec-count tbody tr")]
    assert all(count * each == flops for count, each, flops in rows)
    assert [flops for *_, flops in rows] == [3 * 96, 72, 72, 96]
    assert work(8)[0] == work(8)[1], "twice the width"
    for shown in (work(3), work(6)[:1], work(6)[1:], work(8)[:1]):
        assert shows(page, "#sec-count", *(f"{flops:,}" for flops in shown)), shown
    assert numbers(output(page, "layer"))[:2] == [sum(work(3))] * 2
    assert sum(work(4 * E, E)) / sum(work(2 * E, E)) == 3
    assert shows(page, "#sec-kinds", f"{2 * E:,}", "3", "2", "4")


def test_what_is_kept_with_a_pencil(page):
    first, second, third = page.select("#sec-memory p")[:3]
    assert numbers(first.get_text()) == [4, 4, 4, 4 * 4 * 4]
    assert numbers(second.get_text()) == [3, 3 * 2 * 4, 6, 6 * 2 * 4]
    assert numbers(third.get_text()) == [3 * 3, 6, 6 * 6]


def test_intensity_with_a_pencil(page):
    """16 parameters or 16 numbers of a cache, for one text and for eight: FLOPs over bytes."""
    rows = [numbers(tr.get_text(" "))[-4:] for tr in page.select("#sec-batch tbody tr")[:4]]
    flops, fetched = 2 * 16, 2 * 16  # one multiplication and one addition, two bytes, a number
    for row, (texts, copies) in zip(rows, [(1, 1), (8, 1), (1, 1), (8, 8)], strict=True):
        traffic = fetched * copies
        assert row == [texts, texts * flops, traffic, texts * flops / traffic]


def test_the_kitchen_is_as_fast_as_the_slower_of_helper_and_cook(page):
    carrots, most = 2, 8
    rows = [[td.get_text() for td in tr.select("td")] for tr in page.select("#sec-roof table tr")]
    for each, made, who in [row for row in rows if len(row) == 3][:3]:
        wanted = carrots * int(each)
        assert int(made) == min(wanted, most)
        assert who == ("nobody" if wanted == most else "the cook")
    assert numbers(page.select_one("#sec-roof .answer").get_text())[0] == min(carrots * 8, most)
    assert shows(page, "#sec-roof", "8", "2", f"{most // carrots}")
    assert shows(page, "#sec-roof", "989.4", "3.35", f"{RIDGE:.1f}")


def test_twice_the_text_is_hardly_more_than_twice_the_work(page):
    once, twice = llama_flops(1000), llama_flops(2000)
    assert 2 < twice / once < 2.1
    each, pairs = 8 * E + 6 * F, 4 * 1000
    assert 32 * 1000 * E * (each + pairs) == pytest.approx(once, rel=1e-4), "but for the guess"
    small = round(100 * pairs / (each + pairs), 1)
    grown = f"{2 * (100 - small) + 4 * small:.1f}", f"{twice / once:.2f}"
    work = f"{each + pairs:,}", f"{once / 1e12:.1f}"
    assert shows(page, "#sec-kinds", "4", f"{small}", "2", f"{100 - small}", *grown, *work)


def test_the_bill(page):
    """From 1,000 tokens to 2,000: counted here once more."""
    shown = [[*map(number, row[1:])] for row in cells(page, "bill")]
    want = []
    for n in (1000, 2000):
        full = texts_that_fit(n)
        rates = step_ms(n, 1), 1e3 * full / step_ms(n, full), read_ms(n) + write_ms(n)
        want.append([llama_flops(n) / 1e12, cache(n) / 1e9, full, *rates])
    for (before, after, times), *counted in zip(shown, *want, strict=True):
        assert [before, after] == pytest.approx(counted, rel=0.011)
        assert times == pytest.approx(counted[1] / counted[0], abs=0.0051)
    assert shown[-1][-1] == pytest.approx(2, abs=0.05), "twice the bill"
    assert shown[-3][-1] < 1.05, "but for one customer a token takes hardly longer"


def test_the_sums_of_the_bill_come_out_as_a_pencil_adds_what_is_shown(page):
    assert step_ms(1000, 126) == step_ms(2000, 63), "they fill the same room"
    texts, cents = [], []
    for n in (1000, 2000):
        both = read_ms(n) + write_ms(n)
        texts.append([f"{ms:.1f}" for ms in (read_ms(n), write_ms(n), both)])
        read, write, total = map(float, texts[-1])
        assert read + write == pytest.approx(total)
        cents.append(f"{1000 * both / 3.6e6 * 200:.1f}")
    (read, write, total), long_text = texts
    assert shows(page, "#sec-bill", read, "100", "100", write, total, *long_text)
    assert shows(page, "#sec-bill", "2", "1,000", cents[0], "1,000", cents[1])


@pytest.mark.parametrize(("tokens", "waits"), [(1000, "flops"), (2000, "flops"), (1, "bytes")])
def test_reading_waits_for_arithmetic_and_writing_for_memory(tokens, waits):
    """Even with each token's own vectors counted."""
    work = costs.step(LLAMA2, tokens, max(tokens, 1000))["matrices"]
    seconds = {"flops": work["flops"] / H100_FLOPS, "bytes": work["bytes"] / H100_BANDWIDTH}
    assert max(seconds, key=seconds.get) == waits


def test_one_token_takes_300_times_as_long_to_fetch_as_to_compute(page):
    assert round(RIDGE, -2) == 300
    assert page.select_one("#predict-write")["data-right"] == "3"
    assert shows(page, "#predict-write", f"{1e6 * USED / H100_FLOPS:.0f}")
    assert shows(page, "#predict-write", f"{1e3 * USED / H100_BANDWIDTH:.1f}")


def test_more_texts_reach_the_flat_top_than_fit(page):
    """Each parameter has 2 bytes, and takes 2 FLOPs for each text."""
    most = texts_that_fit(1000)
    assert math.ceil(RIDGE) > most
    assert 25 * cache(1000) < USED < 26 * cache(1000), "from 26 texts on caches take longer"
    second = 1e3 * most / step_ms(1000, most)
    gain = most * step_ms(1000, 1) / step_ms(1000, most)
    assert shows(page, "#sec-batch", f"{second:,.0f}", f"{gain:.1f}", "26")


def test_where_pairs_lead_and_who_reads_so_far():
    reads = {LLAMA2: 4096, GEMMA: 8192, LLAMA3: 131_072}  # tokens, by the papers of the models
    leads = {model: costs.crossover(model, with_mlp=True) for model in reads}
    assert leads[LLAMA2] == 2 * E + 1.5 * F
    assert leads[LLAMA3] == 1.25 * LLAMA3.embed_dim + 1.5 * LLAMA3.mlp_dim
    assert [leads[model] < reads[model] for model in reads] == [False, False, True]


def test_every_preset_s_source_is_cited_on_the_page():
    text = (ROOT / "modules/m10_cost/lesson.qmd").read_text("utf-8")
    for preset in [*MODELS, *MACHINES]:
        assert re.search(rf"@{preset.source}\b", text), preset.name


@pytest.fixture(scope="module")
def measured():
    return json.loads((ROOT / "modules/m10_cost/timings.json").read_text())


def bench(name):
    rows = json.loads((ROOT / "benchmarks/results/attention-cpu.json").read_text())["rows"]
    return {
        row["length"]: row["ms"]
        for row in rows
        if row.get("pass") == "forward" and row["name"] == name
    }


def alone(measured, way, setting="memory kept", column="ms"):
    """Length -> what was found of attention alone."""
    rows = [row for row in measured["attention"] if row["setting"] == setting]
    return {row["length"]: row[way][column] for row in rows}


def off_one_speed(flops, ms):
    """By how much the furthest is off the speed that fits best."""
    rates = [count / time for count, time in zip(flops, ms, strict=True)]
    fit = math.exp(mean(map(math.log, rates)))
    return max(abs(rate / fit - 1) for rate in rates)


def test_the_clock_agrees_with_the_formula_for_one_shape_alone(measured):
    times = bench("MultiHeadAttention")
    assert [*times] == LENGTHS
    assert off_one_speed([8 * n * 512**2 + 4 * n * n * 512 for n in times], times.values()) < 0.05
    ms, off = {}, {}
    for row in measured["layers"]:
        ms.setdefault((row["width"], row["heads"]), []).append(row["ms"])
    for (width, heads), of in ms.items():
        flops = [8 * n * width**2 + 4 * n * n * width for n in LENGTHS[: len(of)]]
        off[width, heads] = off_one_speed(flops, of)
    assert off.pop((512, 8)) < 0.05 < min(off.values())
    slower = [many / few for many, few in zip(ms[512, 64], ms[512, 8], strict=True)]
    assert max(slower) == slower[-1] > 3, "64 heads, most at 2,048 tokens"
    few, many = (part["times"] for part in measured["parts"])
    for part in ("scores", "softmax", "mix"):
        assert many[part]["ms"] > 3 * few[part]["ms"], part


def test_more_than_half_of_the_time_by_hand_goes_into_fresh_memory(measured):
    as_it_is, reuse = (alone(measured, "by hand", name) for name in ("as it is", "memory kept"))
    system = alone(measured, "by hand", "as it is", "system_ms")
    assert all(system[n] > 0.5 * as_it_is[n] for n in LENGTHS if n >= 1024)
    assert as_it_is[8192] - reuse[8192] > 0.5 * as_it_is[8192], "what keeping memory saves"
    assert {*alone(measured, "by hand", column="page_faults").values()} == {0}
    two_threads = bench("explicit")
    assert two_threads[1024] / two_threads[512] > 6, "from 32 MiB of scores on"
    assert two_threads[512] / two_threads[256] < 4.5, "before it the pairs alone"
    calls = measured["first_calls_ms"]
    assert calls[0] > 2 * median(calls[5:]), "the first call warms up"


def test_with_memory_kept_pairs_set_the_time(measured):
    hand, fused, unmasked = (alone(measured, way) for way in ("by hand", "fused", "fused, no mask"))
    steps = [hand[2 * n] / hand[n] for n in LENGTHS[:-1]]
    assert 3.5 < min(steps) < max(steps) < 4.8
    assert median(steps) == pytest.approx(4, abs=0.2), "four times for twice the tokens"
    assert unmasked[8192] / fused[8192] == pytest.approx(2, abs=0.2), "pairs that the mask hides"
    assert hand[8192] / unmasked[8192] == pytest.approx(2, abs=0.2), "arrays that are stored"


def test_eight_texts_share_a_matrix_and_no_cache(measured):
    ms = {name: times["ms"] for name, times in measured["times"].items()}
    assert ms["cache 8"] / ms["cache 1"] > 6, "each text has a cache of its own"
    assert ms["matrix 2"] / ms["matrix 1"] == pytest.approx(2, abs=0.2), "one vector is apart"
    assert ms["matrix 8"] / ms["matrix 2"] < 1.25


def test_the_slope_of_a_layer_is_one_and_the_share_of_the_pairs(page):
    def flops(n):
        return 8 * n * 512**2 + 4 * n**2 * 512

    def slope(n, step=1 + 1e-4):
        return f"{math.log(flops(n * step) / flops(n)) / math.log(step):.2g}"

    assert [slope(n) for n in (1, 1024, 10**7)] == ["1", "1.5", "2"]
    assert shows(page, "#sec-clock", "1", "1", "1.5", "2", "2", "2", "3")


def test_the_clock_is_read_before_the_work_is_done_and_one_line_repairs_it(page):
    flops = 8 * 2048 * 512**2 + 4 * 2048**2 * 512
    handed_over = flops / 1e-5  # in the 0.01 ms that a call takes
    assert numbers(output(page, "bug-tried")) == [1]
    assert numbers(output(page, "bug-check")) == [round(handed_over / 1e12)]
    assert handed_over > H100_FLOPS
    assert numbers(output(page, "bug-repaired")) == [round(503.01 / 125.01, 1)]
    device, repair = (
        page.select_one(f"#{cell} pre code").get_text() for cell in ("device", "bug-repair")
    )
    wait = "    device.synchronize()\n    times"
    assert repair.count(wait) == 1, "without it the first round would be too long"
    names = {}
    exec(device + "\n" + repair.replace(wait, "    times").replace("median", "max"), names)
    assert names["benchmark"](names["Device"](), [125, 503])[0] > 600
