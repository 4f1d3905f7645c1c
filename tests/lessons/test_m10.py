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
H100 = MACHINES[1]
LENGTHS = [128, 256, 512, 1024, 2048, 4096, 8192]
E, F = 4096, 11_008  # Llama 2 7B

A_TEXT = 2 * 32 * E * 1000 * 2  # bytes: keys and values of 32 layers, for 1,000 tokens
PARAMETERS = 2 * (32 * (4 * E * E + 3 * E * F + 2 * E) + E + 2 * 32_000 * E)
USED = PARAMETERS - 2 * 32_000 * E  # all but the table of tokens


def llama_flops(n):
    """Each token by itself, pairs, and the guess of one token from 32,000."""
    return 32 * n * (8 * E * E + 6 * E * F) + 32 * 4 * n * n * E + 2 * E * 32_000


def figure_rows(page, cell):
    _, *rows = page.select_one(f"#cell-{cell}").find_next_sibling().select("tr")
    return [[td.get_text() for td in row.select("td")] for row in rows]


def test_twice_the_text_is_hardly_more_than_twice_the_work(page):
    once, twice = llama_flops(1000), llama_flops(2000)
    assert 2 < twice / once < 2.1
    assert page.select_one("#predict-twice")["data-right"] == "1"
    each, pairs = 8 * E + 6 * F, 4 * 1000
    small = round(100 * pairs / (each + pairs), 1)
    parts = f"{small}", f"{100 - small}", "4", f"{small}", "2", f"{100 - small}"
    grown = f"{2 * (100 - small) + 4 * small:.1f}", f"{twice / once:.2f}"
    work = "1,000", "32", "32", "1,000", f"{E:,}", f"{each + pairs:,}", f"{once / 1e12:.1f}"
    assert 32 * 1000 * E * (each + pairs) == pytest.approx(once, rel=1e-4), "without the guess"
    assert shows(page, "#sec-kinds", *parts, *grown, *work)
    of_a_number = f"{8 * E:,}", f"{6 * F:,}", f"{pairs:,}", f"{each + pairs:,}", f"{small}", "100"
    assert shows(page, "#sec-kinds", *of_a_number)


def test_where_the_kinds_meet_twice_the_text_takes_three_times(page):
    def work(n):
        return 8 * n * E * E + 4 * n * n * E

    assert work(4 * E) / work(2 * E) == 3
    assert shows(page, "#sec-kinds", f"{2 * E:,}", "3", "2", "4")


def test_the_layer_with_a_pencil(page):
    """3 tokens of width 4: four matrices, scores, mix; then 6 tokens, then 8."""

    def work(n, d=4):
        return 4 * n * d * 2 * d, n * n * 2 * d + n * d * 2 * n

    rows = [numbers(tr.get_text(" "))[-3:] for tr in page.select("#sec-count tbody tr")]
    assert all(count * each == flops for count, each, flops in rows)
    assert [flops for *_, flops in rows] == [3 * 96, 72, 72, 96]
    assert work(8)[0] == work(8)[1]
    for shown in (work(3), work(6)[:1], work(6)[1:], work(8)[:1]):
        assert shows(page, "#sec-count", *(f"{flops:,}" for flops in shown)), shown
    larger = 2 * 300 * 4 * 512**2 + 2 * 2 * 300**2 * 512
    counted = numbers(output(page, "layer"))
    assert counted == [sum(work(3))] * 2 + [larger] * 2


def test_what_is_kept_with_a_pencil(page):
    first, second, third = page.select("#sec-memory p")[:3]
    assert numbers(first.get_text()) == [4, 4, 4, 4 * 4 * 4]
    assert numbers(second.get_text()) == [3, 3 * 2 * 4, 6, 6 * 2 * 4]
    assert numbers(third.get_text()) == [3 * 3, 6, 6 * 6]


def test_intensity_with_a_pencil(page):
    """16 parameters or 16 numbers of a cache, for one text and for eight: FLOPs over bytes."""
    rows = [numbers(tr.get_text(" "))[-4:] for tr in page.select("#sec-batch tbody tr")[:4]]
    flops, fetched = 2 * 16, 2 * 16  # one multiplication and one addition, two bytes, a number
    want = []
    for matrices_or_caches in (lambda texts: 1, lambda texts: texts):
        for texts in (1, 8):
            traffic = fetched * matrices_or_caches(texts)
            want.append([texts, texts * flops, traffic, texts * flops / traffic])
    assert rows == want


def steps(n):
    """Seconds of a token for one text, and for each of the texts that fit, whose count is third."""
    cache = 2 * 32 * E * 2 * n
    full = int((80e9 - PARAMETERS) // cache)
    return *((USED + texts * cache) / 3.35e12 for texts in (1, full)), full


def test_the_bill(page):
    """From 1,000 tokens to 2,000: counted here once more, with an answer of 100 tokens."""
    shown = [[*map(number, row[1:])] for row in cells(page, "bill")]
    want = []
    for n in (1000, 2000):
        alone, crowd, full = steps(n)
        total = llama_flops(n) / 989.4e12 + 100 * crowd / full
        rates = 1e3 * alone, full / crowd, 1e3 * total
        want.append([llama_flops(n) / 1e12, 2 * 32 * E * 2 * n / 1e9, full, *rates])
    for (before, after, times), *counted in zip(shown, *want, strict=True):
        assert [before, after] == pytest.approx(counted, rel=0.011)
        assert times == pytest.approx(counted[1] / counted[0], abs=0.0051)
    assert shown[-1][-1] == pytest.approx(2, abs=0.05), "twice the bill"
    assert shown[-3][-1] < 1.05, "but for one customer a token takes hardly longer"


def test_the_sums_of_the_bill(page):
    """What stands left of an equals sign comes to what stands right of it."""
    crowd = steps(1000)[1], steps(2000)[1]
    assert crowd[0] == crowd[1], "the caches of 126 short texts are those of 63 long ones"
    parameters, step = f"{USED / 1e9:.2f}", f"{1e3 * crowd[0]:.1f}"
    one, two = (f"{1e3 * steps(n)[0]:.2f}" for n in (1000, 2000))
    sums = parameters, "0.52", "3.35", one, parameters, "1.05", "3.35", two
    assert shows(page, "#sec-token", *sums)
    assert shows(page, "#sec-batch", "126", parameters, "126", "0.524", "3.35", step)
    assert shows(page, "#sec-bill", "63", step)
    read = [1e3 * llama_flops(n) / 989.4e12 for n in (1000, 2000)]
    write = [
        1e5 * second / full for second, full in ((s[1], s[2]) for s in map(steps, (1000, 2000)))
    ]
    (r1, r2), (w1, w2) = ([f"{ms:.1f}" for ms in parts] for parts in (read, write))
    assert shows(page, "#sec-batch", f"{llama_flops(1000) / 1e12:.1f}", "989.4", r1, r2)
    t1, t2 = (f"{a + b:.1f}" for a, b in zip(read, write, strict=True))
    assert shows(page, "#sec-bill", r1, "100", "100", w1, t1, r2, w2, t2)
    assert float(f"{llama_flops(1000) / 1e12:.1f}") / 0.9894 == pytest.approx(float(r1), abs=0.05)
    assert float(r1) + float(w1) == pytest.approx(float(t1)), "as a pencil adds what is shown"
    assert float(r2) + float(w2) == pytest.approx(float(t2))


def test_reading_waits_for_arithmetic():
    """Even with each token's own vectors counted; writing one token waits for memory."""
    for tokens, waits in ((1000, "flops"), (2000, "flops"), (1, "bytes")):
        work = costs.step(LLAMA2, tokens, 1000 if tokens == 1 else tokens)["matrices"]
        seconds = {"flops": work["flops"] / 989.4e12, "bytes": work["bytes"] / 3.35e12}
        assert max(seconds, key=seconds.get) == waits


def test_the_bill_fills_line_by_line(page):
    """The first table is empty, the last full; the others have lines that have just been found."""
    labels = "bill-empty", "bill-arithmetic", "bill-memory", "bill-token", "bill"
    empty, *tables = [page.select(f"#{label} tbody tr, #cell-{label} tbody tr") for label in labels]
    full = [row.get_text() for row in tables[-1]]
    for (first, known), rows in zip(((0, 1), (0, 3), (3, 4), (0, 6)), tables, strict=True):
        assert [row.get_text() for row in rows] == full[first:known]
    assert [td.get_text() for row in empty for td in row.select("td")[1:]] == ["?"] * 3 * len(full)
    names = [[row.td.get_text() for row in rows] for rows in (empty, tables[-1])]
    assert names[0] == names[1]


def test_where_pairs_lead_and_who_reads_so_far():
    reads = {LLAMA2: 4096, GEMMA: 8192, LLAMA3: 131_072}  # tokens, by the papers of the models
    leads = {model: costs.crossover(model, with_mlp=True) for model in reads}
    assert leads[LLAMA2] == 2 * E + 1.5 * F
    assert leads[LLAMA3] == 1.25 * LLAMA3.embed_dim + 1.5 * LLAMA3.mlp_dim
    assert [leads[model] < reads[model] for model in reads] == [False, False, True]
    assert costs.crossover(GPT2) > GPT2.positions


@pytest.fixture(scope="module")
def measured():
    return json.loads((ROOT / "modules/m10_cost/timings.json").read_text())


def bench(name, column="ms"):
    rows = json.loads((ROOT / "benchmarks/results/attention-cpu.json").read_text())["rows"]
    return {
        row["length"]: row[column]
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
    as_it_is, reuse = (alone(measured, "by hand", name) for name in ("as it is", "memory kept"))
    system = alone(measured, "by hand", "as it is", "system_ms")
    assert [*reuse] == LENGTHS
    assert all(system[n] > 0.5 * as_it_is[n] for n in LENGTHS if n >= 1024)
    assert as_it_is[8192] - reuse[8192] > 0.5 * as_it_is[8192], "what keeping memory saves"
    faults = [
        alone(measured, "by hand", name, "page_faults") for name in ("as it is", "memory kept")
    ]
    assert faults[0][8192] > 8 * 8192**2 * 4 / 4096, "more than one array is new at every call"
    assert {*faults[1].values()} == {0}


def test_with_memory_kept_pairs_set_the_time(measured):
    hand, fused, unmasked = (alone(measured, way) for way in ("by hand", "fused", "fused, no mask"))
    steps = [hand[2 * n] / hand[n] for n in LENGTHS[:-1]]
    assert 3.5 < min(steps) < max(steps) < 4.8
    assert median(steps) == pytest.approx(4, abs=0.2), "four times for twice the tokens"
    assert unmasked[8192] / fused[8192] == pytest.approx(2, abs=0.2), "pairs that the mask hides"
    assert hand[8192] / unmasked[8192] == pytest.approx(2, abs=0.2), "arrays that are stored"
    products = measured["parts"][0]["times"]
    assert products["scores"]["ms"] + products["mix"]["ms"] < 0.7 * hand[2048], "the rest is passes"


def test_the_figure_has_both_settings(page, measured):
    want = [alone(measured, "by hand", "as it is"), alone(measured, "by hand"),
            alone(measured, "fused")]  # fmt: skip
    names = [th.get_text() for th in
             page.select_one("#cell-figure-kept").find_next_sibling().select("th")]  # fmt: skip
    rows = figure_rows(page, "figure-kept")
    assert len(rows) == 7
    for row in rows:
        n, *times = map(number, row)
        shown = [times[names.index(name) - 1] for name in ("by hand", "memory kept", "fused")]
        assert shown == pytest.approx([column[int(n)] for column in want], rel=6e-3)


def test_the_step_on_two_threads_stands_where_scores_take_32_mib():
    by_hand = bench("explicit")
    assert 8 * 1024**2 * 4 == 32 * 2**20
    assert by_hand[1024] / by_hand[512] > 6
    assert by_hand[512] / by_hand[256] < 4.5, "before it the pairs alone"


def test_one_thread_was_timed_and_a_warm_up_seen(measured):
    assert measured["threads"] == 1
    variables = {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}
    assert {*measured["settings"]["memory kept"]} == variables
    calls = measured["first_calls_ms"]
    assert calls[0] > 2 * median(calls[5:])


def test_the_slope_of_a_layer(page):
    def flops(n):
        return 8 * n * 512**2 + 4 * n**2 * 512

    def slope(n, step=1e-4):
        return math.log(flops(n * (1 + step)) / flops(n)) / math.log(1 + step)

    short, even, long = (f"{slope(n):.2g}" for n in (1, 1024, 10**7))
    doubled = f"{flops(2048) / flops(1024):.0f}"
    assert shows(page, "#sec-clock", "1", short, even, long, "2", "2", doubled)


def texts_that_fit():
    return int((80e9 - PARAMETERS) // A_TEXT)


def test_the_price(page):
    """Of 1,000 texts with their answers, at 2 dollars for an hour of the GPU."""
    cents = []
    for n in (1000, 2000):
        _, crowd, full = steps(n)
        seconds = llama_flops(n) / 989.4e12 + 100 * crowd / full
        cents.append(f"{1000 * seconds / 3600 * 200:.1f}")
    assert shows(page, "#sec-bill", "2", "1,000", cents[0], "1,000", cents[1])
    assert page.select_one("#sec-bill [data-cites~=deepseek2024v3]")


def test_the_kitchen(page):
    """Each row of the table and dot of the figure: the slower of helper and cook."""
    carrots, most = 2, 8
    waits = {-1: "the cook", 0: "nobody", 1: "the helper"}
    rows = [[td.get_text() for td in tr.select("td")] for tr in page.select("#sec-roof table tr")]
    for each, made, who in [row for row in rows if len(row) == 3][:3]:
        wanted = carrots * int(each)
        assert int(made) == min(wanted, most)
        assert who == waits[(wanted > most) - (wanted < most)]
    numbers_of = [row for row in figure_rows(page, "figure-kitchen") if row]
    dots = {float(cuts): float(made) for cuts, made in numbers_of}
    for each in (1, 2, 4, 8):
        assert dots[each] == min(carrots * each, most)
    answer = page.select_one("#sec-roof .answer, #sec-roof details")
    assert numbers(answer.get_text())[0] == min(carrots * 8, most)
    assert shows(page, "#sec-roof", "8", "2", f"{most // carrots}")
    assert shows(page, "#sec-roof", "989.4", "3.35", f"{989.4 / 3.35:.1f}")
    assert shows(page, "#sec-roof", f"{int(989.4 / 3.35)}")


class Queue:
    """A device that answers later, moment by moment: each call ends before the next begins."""

    def __init__(self):
        self.clock, self.waiting = 0.0, []

    def spend(self, ms):
        self.clock += ms
        while self.waiting and ms > 0:
            used = min(ms, self.waiting[0])
            self.waiting[0], ms = self.waiting[0] - used, ms - used
            if self.waiting[0] == 0:
                self.waiting.pop(0)

    def run(self, ms):
        self.spend(0.01)
        self.waiting.append(ms)

    def synchronize(self):
        while self.waiting:
            self.spend(self.waiting[0])


def code_of(page, cell):
    return page.select_one(f"#{cell} pre code").get_text()


@pytest.fixture
def hunt(page):
    names = {}
    for cell in ("device", "bug"):
        exec(code_of(page, cell), names)
    return names


def test_the_device_keeps_a_queue(hunt):
    device, truth = hunt["Device"](), Queue()
    for call in (125, 503, None, 3, None, 0.004, 0.004, 7, None, None):
        for one in (device, truth):
            one.synchronize() if call is None else one.run(call)
        assert device.clock == pytest.approx(truth.clock)


def test_the_clock_is_read_before_the_work_is_done(page, hunt, measured):
    """Handing over is timed, whatever the work; one line repairs it."""
    few, many = hunt["benchmark"](Queue(), [125, 503])
    assert [few, many] == pytest.approx([0.01, 0.01])
    assert numbers(output(page, "bug-tried")) == [1]
    flops = 8 * 2048 * 512**2 + 4 * 2048**2 * 512
    assert numbers(output(page, "bug-check")) == [round(flops / 1e-5 / 1e12)]
    assert flops / 1e-5 > 989.4e12, "faster than an H100"

    exec(code_of(page, "bug-repair"), hunt)
    assert hunt["benchmark"](Queue(), [125, 503]) == pytest.approx([125.01, 503.01])
    assert numbers(output(page, "bug-repaired")) == [round(503.01 / 125.01, 1)]
    assert page.select_one("#bug-clock")["data-right"] == "3"

    layers = {(r["width"], r["heads"], r["length"]): r for r in measured["layers"]}
    timed = [layers[512, heads, 2048] for heads in (8, 64)]
    assert [round(layer["ms"]) for layer in timed] == [125, 503]
    assert {layer["flops"] for layer in timed} == {flops}


def test_without_the_wait_after_the_warm_up_the_first_round_is_too_long(page, hunt):
    code = code_of(page, "bug-repair")
    wait = "    device.synchronize()\n    times"
    assert code.count(wait) == 1
    exec(code.replace(wait, "    times").replace("median", "max"), hunt)
    assert hunt["benchmark"](Queue(), [125, 503])[0] > 600


def test_more_texts_reach_the_flat_top_than_fit(page):
    """Each parameter has 2 bytes, and takes 2 FLOPs for each text."""
    arrives = next(texts for texts in range(1, 1025) if 2 * texts / 2 >= 989.4 / 3.35)
    assert shows(page, "#sec-batch", f"{arrives}", f"{texts_that_fit()}")
    matrices = [(E, 3 * E), (E, E), (E, 2 * F), (F, E)]

    def exact(texts):  # with the vectors in and out; the last matrix once, the others in 32 layers
        flops = moved = 0
        for (a, b), times in [*((sizes, 32) for sizes in matrices), ((E, 32_000), 1)]:
            flops += times * 2 * texts * a * b
            moved += times * 2 * (a * b + texts * (a + b))
        return flops / moved

    later = next(texts for texts in range(1, 1025) if exact(texts) >= 989.4 / 3.35)
    assert shows(page, "#sec-batch", f"{later}", f"{arrives}")


def test_from_26_texts_on_the_caches_take_longer(page):
    """At the pace of memory, with the parameters and each text's cache fetched once."""

    def parts(texts):
        return [1e3 * size / 3.35e12 for size in (USED, texts * A_TEXT)]

    assert 25 * A_TEXT < USED < 26 * A_TEXT
    most = texts_that_fit()
    second = 1e3 * most / sum(parts(most))
    gain = most * sum(parts(1)) / sum(parts(most))
    assert shows(page, "#sec-batch", f"{second:,.0f}", f"{gain:.1f}", "26")


def test_one_token_more_takes_300_times_as_long_to_fetch_as_to_compute(page):
    compute, fetch = USED / 989.4e12, USED / 3.35e12
    assert round(fetch / compute, -2) == 300
    assert page.select_one("#predict-write")["data-right"] == "3"
    shown = [float(row[-1]) for row in figure_rows(page, "figure-fetch")]
    assert shown == pytest.approx([1e3 * compute, 1e3 * fetch], rel=0.02)


def test_batches_lift_matrices_alone(page):
    rows = [[float(cell) for cell in row] for row in cells(page, "intensity")]
    assert [row[0] for row in rows] == [1, 8, 64]
    for texts, *shown in rows:
        matrix = 2 * texts * 4096**2 / (2 * (2 * texts * 4096 + 4096**2))
        assert shown == [round(matrix, 2), 0.99]


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


def test_every_preset_s_source_is_cited_on_the_page():
    text = (ROOT / "modules/m10_cost/lesson.qmd").read_text("utf-8")
    for preset in [*MODELS, *MACHINES]:
        assert re.search(rf"@{preset.source}\b", text), preset.name
