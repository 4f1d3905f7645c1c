"""m10: what it claims of its models, machines and timings. tests/test_costs.py has the counting."""

import json
import math
import re
from statistics import mean, median

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention import MultiHeadAttention
from course import costs
from course.page.costs import MACHINES, MODELS
from tests.conftest import ROOT
from tests.lessons.reading import numbers, output, shows

PAGE = "modules/m10_cost/lesson.html"
GPT2, LLAMA2, LLAMA3, GEMMA = MODELS
H100 = MACHINES[1]
LENGTHS = [128, 256, 512, 1024, 2048, 4096, 8192]
E, F = 4096, 11_008  # Llama 2 7B


def llama_flops(n):
    """Each token by itself, pairs, and the guess of one token from 32,000."""
    each, pairs = 32 * n * (8 * E * E + 6 * E * F), 32 * 4 * n * n * E
    return each + pairs + 2 * E * 32_000, pairs


@pytest.mark.parametrize(
    ("box", "right"), [("predict-twice", "1"), ("predict-write", "3"), ("bug-fit", "2")]
)
def test_the_right_answers(page, box, right):
    assert page.select_one(f"#{box}")["data-right"] == right


def test_twice_the_text_is_hardly_more_than_twice_the_work(page):
    (once, pairs), (twice, _) = llama_flops(1000), llama_flops(2000)
    assert 2 < twice / once < 2.1
    assert pairs / once < 0.05
    small = round(100 * pairs / once, 1)
    found = page.select("#sec-kinds > p")
    [parts] = [p for p in found if p.get_text().startswith("Now the first")]
    [said] = [p for p in found if p.get_text().startswith("This is ")]
    assert results(parts) == [1000, 8 * E, 6 * F, 4 * 1000]
    text = (ROOT / "modules/m10_cost/lesson.qmd").read_text("utf-8")
    assert r"\frac{4{,}000}{102{,}816}" in text
    assert 4 * 1000 + 8 * E + 6 * F == 102_816
    grown = 2 * (100 - small) + 4 * small
    told = [small, 100, 100 - small, 4, small, 2, 100 - small, grown, twice / once]
    told += [1000, 102_816, 1000, E, 32, round(once / 1e12, 1)]
    assert results(said) == pytest.approx(told, abs=0.051)
    [opened] = [p for p in found if p.get_text().startswith("When the plot opens")]
    in_a_layer = 4 * 1024 / (4 * 1024 + 8 * E)
    assert results(opened)[:2] == [1024, round(100 * in_a_layer)]


def results(element):
    """The numbers of a sentence, without commas and formulas."""
    text = "".join(part for part in element.strings if not part.find_parent("math"))
    return numbers(text.replace(",", ""))


def test_the_answers_say_these_numbers(page):
    (once, pairs), (twice, _) = llama_flops(1000), llama_flops(2000)
    grows, meets, share = map(results, page.select("#predict-twice ol")[-1].select("li"))
    assert grows == [round(twice / once, 2)]
    assert meets[0] == round(2 * E + 1.5 * F, -3)
    assert share == [1000, round(100 * pairs / once)]
    used, ridge = PARAMETERS / 2 - 32_000 * E, 989.4e12 / 3.35e12
    computing, meanwhile, fetching = map(results, page.select("#predict-write ol")[-1].select("li"))
    assert computing == [round(2 * used / 1e9), round(2 * used / 989.4e6)]
    assert meanwhile == [round(ridge, -2)]
    assert fetching == [round(2 * used / 1e9), round(2 * used / 3.35e9, 1)]
    [kept] = [p for p in page.select("#sec-memory > p") if p.get_text().startswith("So a text of")]
    a_text = A_TEXT * 1000 / 4096
    gb, room = round(PARAMETERS / 1e9, 2), (80e9 - PARAMETERS) / a_text
    division = [80, gb, round(a_text / 1e9, 3), round(room, 1)]
    assert results(kept) == [1000, division[2], gb, 80, *division, int(room)]


def test_the_layer_with_a_pencil(page):
    """3 tokens of width 4: four matrices, scores, mix; then 6 tokens, then 8."""

    def work(n, d=4):
        return 4 * n * d * 2 * d, n * n * 2 * d + n * d * 2 * n

    rows = [numbers(tr.get_text(" "))[-3:] for tr in page.select("#sec-count tbody tr")]
    assert all(made * each == flops for made, each, flops in rows)
    assert [flops for *_, flops in rows] == [3 * 96, 72, 72, 96]
    assert work(3) == (384, 144)
    assert work(6) == (768, 576)
    assert work(8) == (1024, 1024)
    said = page.select_one("#sec-count").get_text()
    assert all(part in said for part in ("384 FLOPs", "144 FLOPs", "768", "576", "1,024"))
    assert numbers(output(page, "layer").split("\n")[0]) == [sum(work(3))] * 2


def test_what_is_kept_with_a_pencil(page):
    said = [numbers(li.get_text().split(".", 1)[1]) for li in page.select("#sec-memory li")[:2]]
    assert said[0][-1] == 4 * 4 * 4
    assert said[1] == [4, 3, 3 * 4, 3, 2 * 3 * 4, 6, 6 * 2 * 4]
    assert "9 numbers, and for 6 tokens 36" in page.select("#sec-memory li")[2].get_text()
    maps, kept = [p for p in page.select("#sec-memory > p")
                  if p.get_text().startswith(("The maps outgrow", "But the cache"))]  # fmt: skip
    gb = 32 * 32_768**2 * 2
    assert results(maps) == [32_768, round(gb / 1e9), round(gb / PARAMETERS)]
    assert results(kept)[9:] == [524_288 / 2, 0.524]


def test_intensity_with_a_pencil(page):
    """A 4 × 4 matrix or 4 keys, for one text and for eight: FLOPs over bytes fetched."""
    rows = [numbers(tr.get_text(" "))[-4:] for tr in page.select("#sec-batch tbody tr")[:4]]
    flops, fetched = 2 * 16, 2 * 16  # one multiplication and one addition, two bytes, a number
    want = []
    for matrices_or_caches in (lambda texts: 1, lambda texts: texts):
        for texts in (1, 8):
            taken = fetched * matrices_or_caches(texts)
            want.append([texts, texts * flops, taken, texts * flops / taken])
    assert rows == want


def test_the_bill(page):
    """From 1,000 tokens to 2,000: counted here once more, at the pace of memory."""
    rows = [tr.select("td") for tr in page.select("#bill tbody tr, #cell-bill tbody tr")]
    shown = [[float(td.get_text().replace(",", "")) for td in row[1:]] for row in rows]
    want = []
    for n in (1000, 2000):
        cache = 2 * 32 * E * 2 * n
        full = int((80e9 - PARAMETERS) // cache)
        used = PARAMETERS - 2 * 32_000 * E
        alone, crowd = ((used + texts * cache) / 3.35e12 for texts in (1, full))
        want.append([llama_flops(n)[0] / 1e12, cache / 1e9, full, 1e3 * alone, full / crowd])
    for (before, after, times), *counted in zip(shown, *want, strict=True):
        assert [before, after] == pytest.approx(counted, rel=0.03)
        assert times == pytest.approx(counted[1] / counted[0], abs=0.011)
    [last] = [p for p in page.select("#sec-bill > p") if p.get_text().startswith("Now the last")]
    *_, texts, seconds, rate = results(last)
    assert texts / seconds == pytest.approx(rate, abs=0.5), "the printed numbers say it"
    assert rate == shown[-1][0]


def test_the_bill_fills_line_by_line(page):
    """Each table has the lines that its section and those before have found."""
    labels = "bill-empty", "bill-arithmetic", "bill-memory", "bill-token", "bill"
    tables = [page.select(f"#{label} tbody tr, #cell-{label} tbody tr") for label in labels]
    full = [row.get_text() for row in tables[-1]]
    for known, rows in zip((0, 1, 3, 4, 5), tables, strict=True):
        assert [row.get_text() for row in rows[:known]] == full[:known]
        cells = [td.get_text() for row in rows[known:] for td in row.select("td")[1:]]
        assert cells == ["?"] * 3 * (5 - known)


def test_what_pytorch_counts_is_what_the_formula_says(page):
    S, E = 300, 512
    want = 2 * S * 4 * E * E + 2 * 2 * S * S * E
    assert numbers(output(page, "layer").replace(",", ""))[2:] == [want, want]

    def counted(device):
        with torch.device(device), FlopCounterMode(display=False) as counter:
            MultiHeadAttention(E, 8)(torch.randn(1, S, E))
        return counter.get_total_flops()

    assert counted("meta") == want
    assert counted("cpu") == 2 * S * 4 * E * E, "nothing of the fused call"


def test_where_pairs_lead_and_who_reads_so_far():
    assert costs.crossover(LLAMA2) == 2 * E > 4096, "Touvron et al. 2023: texts of 4,096 tokens"
    assert costs.crossover(LLAMA2, with_mlp=True) == 2 * E + 1.5 * F
    assert costs.crossover(GPT2) == 2 * GPT2.embed_dim > GPT2.positions
    assert costs.crossover(LLAMA3) == 1.25 * LLAMA3.embed_dim
    llama3 = costs.crossover(LLAMA3, with_mlp=True)
    assert llama3 == 1.25 * LLAMA3.embed_dim + 1.5 * LLAMA3.mlp_dim
    assert llama3 < 131_072, "Grattafiori et al.: Llama 3.1 8B reads 128 K tokens"
    assert costs.crossover(GEMMA) == 2 * GEMMA.embed_dim < 2 * GEMMA.query_dim
    assert costs.crossover(GEMMA, with_mlp=True) > 8192, "Gemma's report: 8,192 tokens"


# ---- The clock --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured():
    return json.loads((ROOT / "modules/m10_cost/timings.json").read_text())


def bench(name, found="ms"):
    rows = json.loads((ROOT / "benchmarks/results/attention-cpu.json").read_text())["rows"]
    return {
        row["length"]: row[found]
        for row in rows
        if row.get("pass") == "forward" and row["name"] == name
    }


def alone(measured, way, setting="memory kept", found="ms"):
    """Length -> what was found of attention alone."""
    rows = [row for row in measured["attention"] if row["setting"] == setting]
    return {row["length"]: row[way][found] for row in rows}


def off_one_speed(flops, ms):
    """By how much the furthest is off the speed that fits best."""
    rates = [count / time for count, time in zip(flops, ms, strict=True)]
    fit = math.exp(mean(map(math.log, rates)))
    return max(abs(rate / fit - 1) for rate in rates)


def test_the_clock_agrees_with_the_formula_for_one_shape(measured):
    times = bench("MultiHeadAttention")
    assert [*times] == LENGTHS
    assert off_one_speed([8 * n * 512**2 + 4 * n * n * 512 for n in times], times.values()) < 0.05
    off, last = {}, {}
    for width, heads in ((512, 8), (512, 64), (128, 2), (128, 16)):
        rows = [r for r in measured["layers"] if (r["width"], r["heads"]) == (width, heads)]
        assert [r["length"] for r in rows] == LENGTHS[:5]
        flops = [8 * n * width**2 + 4 * n * n * width for n in LENGTHS[:5]]
        assert flops == [r["flops"] for r in rows]
        off[width, heads] = off_one_speed(flops, [r["ms"] for r in rows])
        last[width, heads] = [r["ms"] for r in rows]
    assert off.pop((512, 8)) < 0.05 < min(off.values())
    slower = [many / few for many, few in zip(last[512, 64], last[512, 8], strict=True)]
    assert max(slower) == slower[-1] > 3, "64 heads, most at 2,048 tokens"
    few, many = (part["times"] for part in measured["parts"])
    assert many["softmax"]["ms"] > 6 * few["softmax"]["ms"], "eight times the scores"
    for product in ("scores", "mix"):
        assert many[product]["ms"] > 3 * few[product]["ms"], "as many FLOPs, run slowly"


def test_more_than_half_of_the_time_by_hand_goes_into_fresh_memory(measured):
    as_it_is, kept = (alone(measured, "by hand", name) for name in ("as it is", "memory kept"))
    system = alone(measured, "by hand", "as it is", "system_ms")
    assert [*kept] == LENGTHS
    assert all(system[n] > 0.5 * as_it_is[n] for n in LENGTHS if n >= 1024)
    assert as_it_is[8192] - kept[8192] > 0.5 * as_it_is[8192], "what keeping memory saves"
    faults = [
        alone(measured, "by hand", name, "page_faults") for name in ("as it is", "memory kept")
    ]
    assert faults[0][8192] > 8 * 8192**2 * 4 / 4096, "more than one array is new at every call"
    assert {*faults[1].values()} == {0}


def test_with_memory_kept_pairs_set_the_time(measured):
    kept, fused, unmasked = (alone(measured, way) for way in ("by hand", "fused", "fused, no mask"))
    steps = [kept[2 * n] / kept[n] for n in LENGTHS[:-1]]
    assert 3.5 < min(steps) < max(steps) < 4.8
    assert median(steps) == pytest.approx(4, abs=0.2), "four times for twice the tokens"
    assert unmasked[8192] / fused[8192] == pytest.approx(2, abs=0.2), "pairs that the mask hides"
    assert kept[8192] / unmasked[8192] == pytest.approx(2, abs=0.2), "arrays that are stored"
    products = measured["parts"][0]["times"]
    assert products["scores"]["ms"] + products["mix"]["ms"] < 0.7 * kept[2048], "the rest is passes"


def test_the_figure_has_both_settings(page, measured):
    cell = page.select_one("#cell-figure-kept")
    header, *rows = cell.find_next_sibling().select("table tr")
    names = [th.get_text() for th in header.select("th")]
    columns = {
        "by hand": alone(measured, "by hand", "as it is"),
        "memory kept": alone(measured, "by hand"),
        "fused": alone(measured, "fused"),
    }
    for row in rows:
        texts = [td.get_text().replace(",", "") for td in row.select("td")]
        for name, column in columns.items():
            wanted = column[int(texts[0])]
            assert float(texts[names.index(name)]) == pytest.approx(wanted, rel=6e-3)
    assert len(rows) == 7


def test_the_step_on_two_threads_stands_where_scores_take_32_mib():
    by_hand = bench("explicit")
    assert 8 * 1024**2 * 4 == 32 * 2**20
    assert by_hand[1024] / by_hand[512] > 6
    assert by_hand[512] / by_hand[256] < 4.5, "before it the pairs alone"


def test_every_timing_says_how_it_was_taken(measured):
    assert "processor time of one thread" in measured["timed"]
    assert measured["threads"] == 1
    assert {"python", "torch", "libc"} <= set(measured["versions"])
    assert measured["device"]
    assert measured["date"]
    assert set(measured["settings"]["memory kept"]) == {
        "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_",
    }  # fmt: skip


def test_a_warm_up_was_seen(measured):
    calls = measured["first_calls_ms"]
    assert calls[0] > 2 * median(calls[5:])


def test_the_slope_of_a_layer(page):
    def log_flops(log_length):
        n = math.exp(log_length)
        return math.log(8 * n * 512**2 + 4 * n**2 * 512)

    def slope(n, step=1e-4):
        return (log_flops(math.log(n) + step) - log_flops(math.log(n) - step)) / (2 * step)

    shown = [slope(n) for n in (1, 2 * 512, 10**7)]
    shown.append(math.exp(log_flops(math.log(2048)) - log_flops(math.log(1024))))
    assert shows(page, "main", "of the pairs", *(f"{x:.2g}" for x in shown))


# ---- Memory -----------------------------------------------------------------------------------

A_TEXT = (
    2 * 32 * 4096 * 4096 * 2
)  # bytes: keys and values of 32 layers, 4,096 wide, for 4,096 tokens
PARAMETERS = 2 * (32 * (4 * E * E + 3 * E * F + 2 * E) + E + 2 * 32_000 * E)


def texts_that_fit(memory=80e9):
    return int((memory - PARAMETERS) // A_TEXT)


def test_how_many_texts_fit(page):
    assert costs.cache_bytes(LLAMA2, 4096) == A_TEXT
    assert costs.parameter_bytes(LLAMA2) == PARAMETERS
    assert H100.memory == 80e9
    assert costs.cache_bytes(LLAMA2, 1) == 4 * costs.cache_bytes(LLAMA3, 1), "four times as much"
    assert numbers(output(page, "bug-repair")) == [texts_that_fit()]
    assert numbers(output(page, "bug-check")) == [int((80e9 - PARAMETERS) // (A_TEXT // 32))]


def test_more_texts_reach_the_flat_top_than_fit():
    def intensity(texts):
        work = costs.step(LLAMA2, 1, 4096, texts)["matrices"]
        return work["flops"] / work["bytes"]

    assert intensity(texts_that_fit()) < intensity(math.ceil(H100.ridge)) < H100.ridge
    assert all(0.85 * texts < intensity(texts) <= texts for texts in range(1, 400))


def test_from_seven_texts_on_the_caches_take_longer(page):
    """At the pace of memory, which all but the work of very many texts has."""

    def parts(texts):
        work = costs.step(LLAMA2, 1, 4096, texts)
        return [costs.least_seconds(H100, p["flops"], p["bytes"]) for p in work.values()]

    assert [n for n in range(1, 1000) if parts(n)[1] > parts(n)[0]] == [*range(7, 1000)]
    assert 6 * A_TEXT < PARAMETERS - 2 * 32_000 * E < 7 * A_TEXT, (
        "by bytes alone, without the table"
    )
    most = texts_that_fit()
    assert 5 < most * sum(parts(1)) / sum(parts(most)) < 7, "far from as many times as texts"
    lines = page.select("#payoff tbody tr, #cell-payoff tbody tr")
    shown = [numbers(line.get_text(" ").replace(",", "")) for line in lines]
    assert [row[0] for row in shown] == [1, 6, 7, most], "one, before and after they meet, and all"
    for texts, *found in shown:
        want = [1e3 * part for part in parts(int(texts))]
        assert found[:2] == pytest.approx(want, abs=0.051)


def test_one_token_more_takes_300_times_as_long_to_fetch_as_to_compute(page):
    used = PARAMETERS / 2 - 32_000 * E  # all but the table of tokens
    compute, fetch = 2 * used / 989.4e12, 2 * used / 3.35e12
    assert round(fetch / compute, -2) == 300
    drawn = page.select_one("#cell-figure-fetch").find_next_sibling()
    shown = [numbers(row.get_text(" "))[-1] for row in drawn.select("tr")[1:]]
    assert shown == pytest.approx([1e3 * compute, 1e3 * fetch], rel=0.02)


def test_batches_lift_matrices_alone(page):
    lines = page.select("#intensity tbody tr, #cell-intensity tbody tr")
    rows = [numbers(line.get_text(" ")) for line in lines]
    assert [row[0] for row in rows] == [1, 8, 64]
    for texts, *found in rows:
        matrix = 2 * texts * 4096**2 / (2 * (2 * texts * 4096 + 4096**2))
        assert found == [round(matrix, 2), 0.99]


def test_nothing_that_one_core_did_lies_above_its_roof(measured):
    """The preset of the widget is the fastest product, and the fastest reading, that was timed."""
    flops, bandwidth, times = measured["flops"], measured["bandwidth"], measured["times"]
    assert flops == pytest.approx(2 * 2048**3 / times["product"]["fastest_ms"] * 1e3)
    summed = 4 * 8 * 32 * 4096 * 128  # bytes of eight texts' keys
    assert bandwidth == pytest.approx(summed / times["sum"]["fastest_ms"] * 1e3)
    assert 4 * 4096**2 / times["matrix 1"]["fastest_ms"] * 1e3 < bandwidth
    reached = [row["flops"] / row["fastest_ms"] * 1e3 for row in measured["layers"]]
    for texts in (1, 2, 4, 8):
        reached.append(2 * texts * 4096**2 / times[f"matrix {texts}"]["fastest_ms"] * 1e3)
        read = texts * 2 * 4 * 32 * 4096 * 128  # keys and values, 4 bytes each
        assert read / times[f"cache {texts}"]["fastest_ms"] * 1e3 < bandwidth
    assert max(reached) < flops
    # Two threads, by the clock on the wall: at most twice a core.
    layer = bench("MultiHeadAttention", "fastest_ms")
    assert max((8 * n * 512**2 + 4 * n**2 * 512) / ms * 1e3 for n, ms in layer.items()) < 2 * flops


def test_eight_texts_share_a_matrix_and_no_cache(measured):
    ms = {name: times["ms"] for name, times in measured["times"].items()}
    assert ms["cache 8"] / ms["cache 1"] > 6, "each text has a cache of its own"
    assert ms["matrix 8"] / ms["matrix 1"] < 5, "eight fetches would take eight times as long"
    assert ms["matrix 2"] / ms["matrix 1"] == pytest.approx(2, abs=0.2), (
        "one vector is a case apart"
    )
    assert ms["matrix 8"] / ms["matrix 2"] < 1.25


def test_a_matrix_that_meets_512_vectors_moves_a_quarter_more(page):
    one, many = (4096**2 + 2 * n * 4096 for n in (1, 512))
    assert many / one == pytest.approx(1.25, abs=0.01)
    shown = "512", "a quarter", f"{4096**2 / 1e6:.1f}", f"{2 * 4096:,}"
    assert shows(page, "main", *shown)


def test_every_preset_s_source_is_cited_on_the_page():
    text = (ROOT / "modules/m10_cost/lesson.qmd").read_text("utf-8")
    for preset in [*MODELS, *MACHINES]:
        assert re.search(rf"@{preset.source}\b", text), preset.name
