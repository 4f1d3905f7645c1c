"""m10: its sentences against numbers computed here."""

import json
import math
import re
from pathlib import Path
from statistics import mean, median

import pytest
from torch.utils.flop_counter import FlopCounterMode

from attention import MultiHeadAttention
from course import costs
from course.costs import MACHINES, MODELS
from tests.lessons.reading import numbers, output

PAGE = "modules/m10_cost/lesson.html"
ROOT = Path(__file__).parents[2]
GPT2, LLAMA2, LLAMA3, GEMMA = MODELS
H100 = MACHINES[1]


def section(page, name):
    return page.select_one(f"#sec-{name}").get_text(" ", strip=True)


def test_twice_the_text_of_the_prediction(page):
    def all_flops(length):
        return sum(costs.model_flops(LLAMA2, length).values())

    said = section(page, "twice")
    assert f"{all_flops(2000) / all_flops(1000):.2f} times" in said
    assert page.select_one("#predict-twice")["data-right"] == "1"
    share = costs.model_flops(LLAMA2, 1000)["pairs"] / all_flops(1000)
    assert f"pairs are {100 * share:.0f} %" in said
    # Three times as much where pairs are half: 2 + 2 · share.
    assert round(costs.crossover(LLAMA2, with_mlp=True), -3) == 25_000
    assert "25,000 tokens" in said
    assert "trained to read 4,096" in said
    assert f"{sum(costs.parameters(LLAMA2).values()) / 1e9:.1f} billion" in said
    answer = output(page, "first-question").splitlines()
    assert share < 0.04, "said to be under 4 %"
    assert numbers(answer[0].replace(",", ""))[-1] == round(100 * share, 1)
    assert numbers(answer[1].replace(",", ""))[-1] == round(all_flops(2000) / all_flops(1000), 2)
    assert "2.08 times" in section(page, "kinds")


def test_what_pytorch_counts_is_what_the_formula_says(page):
    assert numbers(output(page, "counter"))[:2] == [120, 120]
    S, E = 300, 512
    want = 2 * S * 4 * E * E + 2 * 2 * S * S * E
    assert numbers(output(page, "layer").replace(",", ""))[:2] == [want, want]
    import torch

    def counted(device):
        with torch.device(device), FlopCounterMode(display=False) as counter:
            MultiHeadAttention(E, 8)(torch.randn(1, S, E))
        return counter.get_total_flops()

    assert counted("meta") == want
    # On a CPU the counter sees nothing of the fused call: the four matrices alone.
    assert counted("cpu") == 2 * S * 4 * E * E
    said = section(page, "kinds")
    assert f"the counter prints {counted('cpu'):,} for the layer above" in said
    assert "of the fused call on a CPU, in PyTorch 2.13" in said


def test_the_table_of_meetings(page):
    rows = [[cell.get_text() for cell in row.select("td")] for row in
            page.select("#sec-kinds table:not(.static-form table) tbody tr")]  # fmt: skip
    found = {
        row[0].replace("\u00a0", " "): [numbers(cell.replace(",", ""))[0] for cell in row[1:]]
        for row in rows
        if row
    }
    assert {LLAMA2.name, LLAMA3.name, GEMMA.name} <= set(found), "GPT-2 reads 1,024 tokens at most"
    assert GPT2.positions == 1024
    for model in (LLAMA2, LLAMA3, GEMMA):
        E, D, H, G = model.embed_dim, model.head_dim, model.num_heads, model.num_kv_heads
        each = 4 * E * D * H + 4 * E * D * G
        wide = 2 * model.mlp_matrices * E * model.mlp_dim
        pair = 4 * H * D

        def ratio(n, each=each, wide=wide, pair=pair):
            return (2 * (each + wide) + 4 * n * pair) / (each + wide + n * pair)

        want = [each / pair, (each + wide) / pair, ratio(1000)]
        assert found[model.name] == pytest.approx(want, abs=0.5e-2), model.name
    said = section(page, "kinds")
    assert found["Llama 2 7B"][0] == 8192
    assert "4,096: 8,192 tokens" in said
    assert 2 * GPT2.embed_dim == costs.crossover(GPT2) == 1536 > GPT2.positions
    assert "1,536 tokens." in said
    assert "Both read less: 4,096 and 1,024 at most" in said
    assert costs.crossover(LLAMA2) > 4096, "Touvron et al. 2023: texts of 4,096 tokens"
    # Gemma's report: 8,192 tokens. Grattafiori et al.: Llama 3.1 8B reads 128,000.
    assert costs.crossover(GEMMA, with_mlp=True) > 8192
    assert costs.crossover(LLAMA3, with_mlp=True) < 128_000
    assert "Llama 2 was trained to read 4,096 tokens" in said
    assert "Gemma 7B 8,192" in said
    assert "reads 128,000" in said
    assert LLAMA2.mlp_dim == 11_008
    assert found["Llama 2 7B"][1] == 2 * LLAMA2.embed_dim + 1.5 * LLAMA2.mlp_dim == 24_704
    assert "11,008" in said
    assert "24,704" in said
    # Two of four matrices a quarter as large: 5/8 of the work, and so of 2 E.
    assert found["Llama 3 8B"][0] == 5 / 8 * 2 * LLAMA3.embed_dim == 5120
    assert costs.crossover(LLAMA3) == 1.25 * LLAMA3.embed_dim
    both = costs.crossover(LLAMA3, with_mlp=True)
    assert both == 1.25 * LLAMA3.embed_dim + 1.5 * LLAMA3.mlp_dim
    assert "pairs lead from" in said
    assert costs.layer_flops(LLAMA2, 7)["mlp"] == 6 * 7 * LLAMA2.embed_dim * LLAMA2.mlp_dim


def test_the_seven_costs(page):
    shown = output(page, "seven")
    for line, want in (
        ("all FLOPs", [35.4, 343.6, 2199.0, 21990.2]),
        ("cache bytes", [4.2, 33.6, 134.2, 536.9]),
        ("map bytes", [4.2, 268.4, 4295.0, 68719.5]),
    ):
        [row] = [row for row in shown.splitlines() if row.startswith(line)]
        assert numbers(row.replace(",", "")) == want


def test_long_texts(page):
    for line, n in zip(output(page, "long").splitlines(), (10_000, 128_000), strict=True):
        E, F = 4096, 11_008
        pairs = 32 * 4 * n * n * E
        whole = 32 * n * (8 * E * E + 6 * E * F) + pairs + 2 * E * 32_000
        tokens, tflop, share, stored = numbers(line.replace(",", ""))
        assert (tokens, tflop) == (n, round(whole / 1e12))
        assert share == round(100 * pairs / whole)
        assert stored == round(32 * n * n * 2 / 1e9)


def bench(name, found="ms"):
    rows = json.loads((ROOT / "benchmarks/results/attention-cpu.json").read_text())["rows"]
    return [
        (row["length"], row[found])
        for row in rows
        if row.get("pass") == "forward" and row["name"] == name
    ]


def spread_about_one_speed(flops, ms):
    """The speed of best fit, and by how much the furthest is off it."""
    rates = [count / time for count, time in zip(flops, ms, strict=True)]
    fit = math.exp(mean(map(math.log, rates)))
    return fit, max(abs(rate / fit - 1) for rate in rates)


def test_the_clock_agrees_with_the_formula_as_far_as_said(page):
    times = bench("MultiHeadAttention")
    flops = [8 * n * 512**2 + 4 * n * n * 512 for n, _ in times]
    fit, off = spread_about_one_speed(flops, [ms for _, ms in times])
    line, *spreads = output(page, "clock").splitlines()
    assert numbers(line) == [round(fit / 1e6), round(100 * off, 1)]
    assert off <= 0.035
    said = section(page, "clock")
    assert "the time of a layer 512 wide with 8 heads is" in said
    assert "within 3.5 %" in said
    assert len(times) == 7
    for line, name in zip(spreads[:2], ("explicit", "F.scaled_dot_product_attention"), strict=True):
        want = [bench(name, found)[-1][1] for found in ("ms", "fastest_ms", "slowest_ms")]
        assert numbers(line.replace(",", ""))[1:] == [round(ms) for ms in want]


@pytest.fixture(scope="module")
def measured():
    return json.loads((ROOT / "modules/m10_cost/timings.json").read_text())


def cells_of(page, label):
    cell = page.select_one(f"#{label}, #cell-{label}")
    return [
        [td.get_text().replace("\u00a0", " ").replace(",", "") for td in row.select("td")]
        for row in cell.select("table tbody tr")
    ]


def test_other_shapes_of_a_layer_are_further_off_one_speed(page, measured):
    said, found = section(page, "clock"), {}
    for name, *shown in cells_of(page, "shapes"):
        width, heads = map(int, numbers(name))
        rows = [r for r in measured["layers"] if (r["width"], r["heads"]) == (width, heads)]
        lengths = [r["length"] for r in rows]
        assert lengths == [128, 256, 512, 1024, 2048]
        flops = [sum(costs.layer_flops(model_of(width, heads), n).values()) for n in lengths]
        assert flops == [r["flops"] for r in rows]
        ms = [r["ms"] for r in rows]
        off = spread_about_one_speed(flops, ms)[1]
        want = [flops[0] / ms[0] / 1e6, flops[-1] / ms[-1] / 1e6, 100 * off]
        assert [numbers(cell)[0] for cell in shown] == [round(x) for x in want]
        found[width, heads] = off, ms[-1]
    assert [*found] == [(512, 8), (512, 64), (128, 2), (128, 16)]
    assert found[512, 8][0] < 0.05 < min(off for key, (off, _) in found.items() if key != (512, 8))
    assert round(found[512, 64][1] / found[512, 8][1]) == 4, "at 2,048 tokens; less before"
    assert "With 64 heads the same FLOPs take up to four times as long (box below)" in said
    few, many = (part["times"] for part in measured["parts"])
    assert many["softmax"]["ms"] > 6 * few["softmax"]["ms"], "eight times the scores"
    for product in ("scores", "mix"):
        assert many[product]["ms"] > 3 * few[product]["ms"], "as many FLOPs, run slowly"
    for line, part in zip(output(page, "shapes").splitlines(), measured["parts"], strict=True):
        ms = [part["times"][name]["ms"] for name in ("scores", "softmax", "mix", "fused")]
        assert numbers(line) == [part["heads"], part["head_dim"], *map(round, ms)]


def model_of(width, heads):
    return costs.Model("", 1, width, heads, heads, width // heads, 0, 0, "")


def alone(measured, way, setting, found="ms"):
    """Length -> what was found of attention alone."""
    rows = [row for row in measured["attention"] if row["setting"] == setting]
    return {row["length"]: row[way][found] for row in rows}


def test_the_time_by_hand_is_the_formula_s_once_memory_is_kept(page, measured):
    """As it is, most of the time goes into fresh memory; kept, twice the tokens take four times."""
    said = section(page, "clock")
    as_it_is, kept = (alone(measured, "by hand", name) for name in ("as it is", "memory kept"))
    fused, unmasked = (alone(measured, way, "memory kept") for way in ("fused", "fused, no mask"))
    assert [*kept] == [128, 256, 512, 1024, 2048, 4096, 8192]

    # "By hand, 8,192 tokens take nine times as long as fused", "more than half of that time"
    slower = as_it_is[8192] / alone(measured, "fused", "as it is")[8192]
    assert round(slower) == 9
    assert "By hand, 8,192 tokens take nine times as long as fused" in said
    system = alone(measured, "by hand", "as it is", "system_ms")
    assert all(system[n] > 0.5 * as_it_is[n] for n in (1024, 2048, 4096, 8192))
    assert as_it_is[8192] - kept[8192] > 0.5 * as_it_is[8192], "what keeping memory saves"
    faults = [
        alone(measured, "by hand", name, "page_faults") for name in ("as it is", "memory kept")
    ]
    arrays = 8 * 8192**2 * 4 / 4096  # pages of one array of scores
    assert faults[0][8192] > arrays, "more than one array is new at every call"
    assert {*faults[1].values()} == {0}
    assert "nearly no call has a page fault" in said

    # "about four times as long for twice the tokens"
    steps = [kept[2 * n] / kept[n] for n in [*kept][:-1]]
    assert f"({min(steps):.1f} to {max(steps):.1f})" in said
    assert 3.5 < min(steps) < max(steps) < 4.8
    assert median(steps) == pytest.approx(4, abs=0.2)

    # "… 3.7 times as long as fused: about twice for pairs that the mask hides …, and twice for"
    assert f"Then 8,192 tokens take {kept[8192] / fused[8192]:.1f} times as long as fused" in said
    assert unmasked[8192] / fused[8192] == pytest.approx(2, abs=0.2)
    assert kept[8192] / unmasked[8192] == pytest.approx(2, abs=0.2)
    assert round(8 * 8192**2 * 4 / 1e9) == 2
    assert "arrays of 2 GB (8 heads × 8,192² × 4 bytes)" in said
    products = measured["parts"][0]["times"]
    assert products["scores"]["ms"] + products["mix"]["ms"] < 0.7 * kept[2048], "the rest is passes"

    for line in output(page, "kept").splitlines():
        way, setting = line.split(":")[0].split(", ")
        least, most = (alone(measured, way, setting, f"{x}est_ms") for x in ("fast", "slow"))
        assert numbers(line)[-1] == round(max(most[n] / least[n] for n in least), 2)

    shown = [[numbers(cell)[0] for cell in row] for row in cells_of(page, "kept")]
    want = [[*kept], as_it_is, system, kept, fused, unmasked]
    columns = [[*column.values()] if isinstance(column, dict) else column for column in want]
    for row, wanted in zip(shown, zip(*columns, strict=True), strict=True):
        assert row == pytest.approx(wanted, rel=5e-3, abs=0.051)


def test_the_figure_has_both_settings_and_says_the_ends(page, measured):
    cell = page.select_one("#cell-figure-kept")
    header, *rows = cell.find_next_sibling().select("table tr")
    names = [th.get_text() for th in header.select("th")]
    columns = {
        "by hand": alone(measured, "by hand", "as it is"),
        "memory kept": alone(measured, "by hand", "memory kept"),
        "fused": alone(measured, "fused", "memory kept"),
    }
    assert set(columns) <= set(names)
    for row in rows:
        texts = [td.get_text().replace(",", "") for td in row.select("td")]
        for name, column in columns.items():
            wanted = column[int(texts[0])]
            assert float(texts[names.index(name)]) == pytest.approx(wanted, rel=6e-3)
    assert len(rows) == 7
    ends = [column[8192] / 1000 for column in columns.values()]
    alt = cell.select_one("img")["alt"]
    assert numbers(alt.split("tokens")[1]) == [round(ends[0]), round(ends[1]), round(ends[2], 1)]


def test_the_step_on_two_threads_stands_where_scores_take_32_mib(page):
    by_hand = dict(bench("explicit"))
    assert 8 * 1024**2 * 4 == 32 * 2**20
    assert "whose scores take 32 MiB (8 × 1,024² × 4 bytes)" in section(page, "clock")
    growth = {n: by_hand[2 * n] / by_hand[n] for n in [*by_hand][:-1]}
    assert round(growth[512]) == 8
    assert growth[256] < 4.5, "before it the pairs alone"
    assert "twice the tokens, eight times as long" in section(page, "clock")


def test_every_timing_says_how_it_was_taken(measured):
    assert "processor time of one thread" in measured["timed"]
    assert measured["threads"] == 1
    assert {"python", "torch", "libc"} <= set(measured["versions"])
    assert measured["device"]
    assert measured["date"]
    assert set(measured["settings"]["memory kept"]) == {
        "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_",
    }  # fmt: skip


def texts_that_fit(model, tokens):
    """On the H100, beside the parameters."""
    room = H100.memory - costs.parameter_bytes(model)
    return int(room // costs.cache_bytes(model, tokens))


def test_what_a_token_keeps_and_how_many_texts_fit(page):
    said = section(page, "memory")
    assert "keeps 128 KiB" in said
    assert "512 KiB" in said
    assert costs.cache_bytes(LLAMA3, 1) == 2 * 32 * 8 * 128 * 2 == 128 * 1024
    assert costs.cache_bytes(LLAMA2, 1) == 4 * costs.cache_bytes(LLAMA3, 1), "four times as much"
    assert f"keeps {costs.cache_bytes(LLAMA2, 4096) / 1e9:.2f} GB" in said
    assert f"parameters, {costs.parameter_bytes(LLAMA2) / 1e9:.1f} GB" in said
    assert f"room for {texts_that_fit(LLAMA2, 4096)} such texts" in said
    assert "a GPU of 80 · 10^9 bytes has room for" in re.sub(r"10 9 (?=10\^9)", "", said)
    assert H100.memory == 80e9
    # Sold as 80 GB, an H100 holds more.
    shown = 81_559 * 2**20
    more = int((shown - costs.parameter_bytes(LLAMA2)) // costs.cache_bytes(LLAMA2, 4096))
    elsewhere = page.select_one("#sec-bug").get_text(" ", strip=True)
    assert f"{more} texts fit on an H100" in elsewhere
    assert f"81,559 MiB, {shown / 1e9:.1f} GB" in elsewhere


def test_so_many_texts_reach_the_flat_top_and_do_not_fit(page):
    def is_on_the_flat_top(texts):
        work = costs.step(LLAMA2, 1, 4096, texts)["matrices"]
        return work["flops"] / work["bytes"] >= H100.ridge

    least = next(texts for texts in range(1, 1000) if is_on_the_flat_top(texts))
    said = section(page, "batch")
    most = texts_that_fit(LLAMA2, 4096)
    assert f"{least} texts would bring the ring to the flat top" in said
    assert f"({H100.ridge:.0f}, if only parameters moved)" in said
    # With parameters alone the intensity is the number of texts, as each has 2 bytes.
    assert f"only {most} texts of 4,096 tokens each fit" in said
    assert most < least


def test_from_seven_texts_on_the_caches_take_longer(page):
    def parts(texts):
        """Seconds of each kind of work as the widget has them: arithmetic or memory."""
        work = costs.step(LLAMA2, 1, 4096, texts)
        return [costs.least_seconds(H100, p["flops"], p["bytes"]) for p in work.values()]

    said, shown = section(page, "batch"), {}
    for line in output(page, "payoff").splitlines():
        texts, *found = numbers(line.replace(",", ""))
        shown[texts] = found
        matrices, caches = parts(int(texts))
        both = matrices + caches
        want = [1e3 * matrices, 1e3 * caches, 1e3 * both, texts / both]
        assert found[:3] == pytest.approx(want[:3], abs=0.051)
        assert found[3] == round(want[3])
    assert [*shown] == [1, 6, 7, texts_that_fit(LLAMA2, 4096)]
    later = [texts for texts in range(1, 1000) if parts(texts)[1] > parts(texts)[0]]
    assert later == [*range(7, 1000)]
    assert "From seven texts on, the caches take longer than the parameters" in said
    one, many = shown[1], shown[30]
    assert f"With 30, a step takes {many[2]:.0f} ms instead of {one[2]}:" in said
    assert "30 times the texts give not quite six times the tokens a second" in said
    assert 5.7 < many[3] / one[3] < 6


def test_one_token_more_takes_300_times_as_long_to_fetch_as_to_compute(page):
    work = costs.step(LLAMA2, 1, 1)["matrices"]
    compute, fetch = work["flops"] / H100.flops, work["bytes"] / H100.bandwidth
    said = page.select_one("#predict-write").get_text(" ", strip=True)
    assert fetch / compute == pytest.approx(H100.ridge, rel=1e-2)
    assert round(fetch / compute, -2) == 300
    assert f"{work['flops'] / 2e9:.1f} billion parameters of 2 bytes" in said
    assert f"{round(work['flops'] / 1e9)} GFLOP" in said
    assert f"{round(work['bytes'] / 1e9)} GB take" in said
    assert f"{round(compute * 1e6)} millionths of a second" in said
    assert f"{fetch * 1e3:.1f} thousandths of a second" in said
    assert f"{H100.flops / 1e12:.0f} TFLOP a second" in said
    assert f"{H100.bandwidth / 1e12} TB" in said
    assert f"{H100.ridge:.0f} FLOPs while one byte arrives" in said
    assert page.select_one("#predict-write")["data-right"] == "3"
    used = costs.parameters(LLAMA2)
    table = LLAMA2.vocab_size * LLAMA2.embed_dim
    assert round((sum(used.values()) - table) / 1e9, 1) == 6.6, "the rest is the table of tokens"
    printed = numbers(output(page, "fetch"))
    assert printed == [round(1e3 * compute, 3), round(1e3 * fetch, 1)]
    assert f"989 / 3.35 = {H100.ridge:.0f} FLOPs" in section(page, "token")


def test_batches_lift_matrices_alone(page):
    lines = output(page, "intensity").splitlines()
    assert [numbers(line)[0] for line in lines] == [1, 8, 64]
    for line in lines:
        texts, *found = numbers(line)
        matrix = 2 * texts * 4096**2 / (2 * (2 * texts * 4096 + 4096**2))
        assert found == [round(matrix, 2), 0.99]
    # The scores of a step that writes, with the 4,096 keys of the page; one key has 0.5.
    assert round(costs.Product(1, 128, 4096).intensity(), 2) == 0.99
    assert round(costs.Product(1, 128, 1).intensity(), 1) == 0.5


def test_nothing_that_one_core_did_lies_above_its_roof(page, measured):
    """The preset of the widget is the fastest product, and the fastest reading, that was timed."""
    flops, bandwidth = measured["flops"], measured["bandwidth"]
    times = measured["times"]
    assert flops == pytest.approx(2 * 2048**3 / times["product"]["fastest_ms"] * 1e3)
    summed = 4 * 8 * 32 * 4096 * 128  # bytes of eight texts' keys
    assert bandwidth == pytest.approx(summed / times["sum"]["fastest_ms"] * 1e3)
    assert f"a sum over {summed / 1e6:.0f} MB" in section(page, "batch")
    caption = page.select_one("#roofline .widget-caption").get_text(" ", strip=True)
    assert "the fastest that we timed on one" in caption
    assert "with sums of 32 bits" in caption
    assert 4 * 4096**2 / times["matrix 1"]["fastest_ms"] * 1e3 < bandwidth
    reached = [row["flops"] / row["fastest_ms"] * 1e3 for row in measured["layers"]]
    for texts in (1, 2, 4, 8):
        reached.append(2 * texts * 4096**2 / times[f"matrix {texts}"]["fastest_ms"] * 1e3)
        read = texts * 2 * 4 * 32 * 4096 * 128  # keys and values, 4 bytes each
        assert read / times[f"cache {texts}"]["fastest_ms"] * 1e3 < bandwidth
    assert max(reached) < flops
    # Two threads, by the clock on the wall: at most twice a core.
    layer = bench("MultiHeadAttention", "fastest_ms")
    assert max((8 * n * 512**2 + 4 * n * n * 512) / ms * 1e3 for n, ms in layer) < 2 * flops


def test_the_measured_step_shows_what_batches_share(page, measured):
    found = measured
    ms = {name: times["ms"] for name, times in found["times"].items()}
    rows = page.select("#sec-batch .cell-output-display table tbody tr")
    shown = {}
    for row in rows:
        cells = [cell.get_text().strip() for cell in row.select("td")]
        if cells[0] in {"1", "2", "4", "8"}:
            shown[int(cells[0])] = cells[1:]
    assert set(shown) == {1, 2, 4, 8}
    for texts, (matrix, cache) in shown.items():
        assert matrix == f"{ms[f'matrix {texts}']:.1f}"
        assert cache == f"{ms[f'cache {texts}']:.0f}"
    printed = output(page, "decoding")
    longer = [ms[f"{name} 8"] / ms[f"{name} 1"] for name in ("matrix", "cache")]
    want = "8 texts for 1: matrix {:.1f} times as long, attention {:.1f}"
    assert want.format(*longer) in printed
    said = section(page, "batch")
    assert f"Attention takes {longer[1]:.1f} times as long for eight texts" in said
    assert longer[1] > 6, "each text has a cache of its own"
    assert longer[0] < 5, "eight fetches would take eight times as long"
    assert ms["matrix 2"] / ms["matrix 1"] == pytest.approx(2, abs=0.2), "about twice for two"
    more = 100 * (ms["matrix 8"] / ms["matrix 2"] - 1)
    assert f"from two texts to eight it takes only {more:.0f} % more" in said.replace("\u202f", " ")


def test_the_bug_keeps_the_cache_of_one_layer(page):
    room = H100.memory - costs.parameter_bytes(LLAMA2)
    one_layer = costs.cache_bytes(LLAMA2, 4096) / LLAMA2.layers
    assert numbers(output(page, "bug-check")) == [int(room // one_layer)]
    assert numbers(output(page, "bug-repair")) == [texts_that_fit(LLAMA2, 4096)]
    assert page.select_one("#bug-fit")["data-right"] == "2"


def test_a_warm_up_was_seen(page, measured):
    calls = measured["first_calls_ms"]
    first, rest = calls[:5], calls[5:]
    *shown, last = output(page, "first-calls").splitlines()
    assert numbers(" ".join(shown)) == [round(ms, 1) for ms in first]
    want = [len(rest), median(rest), mean(rest), min(rest), max(rest)]
    assert numbers(last) == pytest.approx(want, abs=0.051)
    assert first[0] > 1.5 * median(rest)


def test_answers_of_check_it(page):
    one, many = (4096**2 + 2 * n * 4096 for n in (1, 512))
    assert many / one == pytest.approx(1.25, abs=0.01)
    assert "grow by a quarter" in page.select_one("#check-it").get_text(" ", strip=True)


def test_the_slope_of_a_layer(page):
    said = page.select_one("#time-it-right").get_text(" ", strip=True)
    assert "1 for short texts, 1.5 where pairs are half, 2 at most" in said

    def log_flops(log_length):
        n = math.exp(log_length)
        return math.log(8 * n * 512**2 + 4 * n**2 * 512)

    def slope(n, step=1e-4):
        return (log_flops(math.log(n) + step) - log_flops(math.log(n) - step)) / (2 * step)

    found = [slope(n) for n in (1, 2 * 512, 10**7)]
    assert found == pytest.approx([1, 1.5, 2], abs=1e-3)
    assert "by 3" in said
    assert math.exp(log_flops(math.log(2048)) - log_flops(math.log(1024))) == pytest.approx(3)


def test_every_preset_s_source_is_cited_on_the_page():
    text = (ROOT / "modules/m10_cost/lesson.qmd").read_text("utf-8")
    for preset in [*MODELS, *MACHINES]:
        assert re.search(rf"@{preset.source}\b", text), preset.name
