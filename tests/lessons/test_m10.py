"""m10: its sentences against numbers computed here."""

import json
import math
import re
from pathlib import Path

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

    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        MultiHeadAttention(E, 8)(torch.empty(1, S, E))
    assert counter.get_total_flops() == want


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
    assert "1,536 tokens, more than it reads" in said
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


def bench(name):
    rows = json.loads((ROOT / "benchmarks/results/attention-cpu.json").read_text())["rows"]
    return [
        (row["length"], row["ms"])
        for row in rows
        if row.get("pass") == "forward" and row["name"] == name
    ]


def test_the_clock_agrees_with_the_formula_as_far_as_said(page):
    times = bench("MultiHeadAttention")
    rates = [(8 * n * 512**2 + 4 * n * n * 512) / ms for n, ms in times]
    fit = math.exp(sum(map(math.log, rates)) / len(rates))
    off = max(abs(rate / fit - 1) for rate in rates)
    rate, said_off = numbers(output(page, "clock").splitlines()[0])
    assert rate == round(fit / 1e6)
    assert said_off == round(100 * off, 1)
    assert off <= 0.035
    assert "On a quiet machine, a layer's time" in section(page, "clock").replace("’", "'")
    assert "within 3.5 %" in section(page, "clock")
    assert len(times) == 7
    by_hand, fused = bench("explicit"), bench("F.scaled_dot_product_attention")
    ratios = [a / b for (_, a), (_, b) in zip(by_hand, fused, strict=True)]
    lines = [line.replace(",", "") for line in output(page, "clock").splitlines()[1:3]]
    for line, at in zip(lines, (0, -1), strict=True):
        want = [by_hand[at][0], by_hand[at][1], fused[at][1], ratios[at]]
        assert numbers(line) == pytest.approx(want, abs=0.051)
    assert f"takes {ratios[-1]:.0f} times as long as the fused call" in section(page, "clock")
    assert ratios[-1] > 4, "more than the hidden half explains"
    growth = dict(by_hand)[1024] / dict(by_hand)[512]
    assert 7.5 < growth < 8.5, "eightfold, where the FLOPs grow fourfold"
    assert round(8 * 8192**2 * 4 / 1e9) == 2
    assert "2 GB of scores are stored (8 heads × 8,192² × 4 bytes)" in section(page, "clock")


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


def test_so_many_texts_reach_the_flat_top_and_do_not_fit(page):
    def is_on_the_flat_top(texts):
        work = costs.step(LLAMA2, 1, 4096, texts)["matrices"]
        return work["flops"] / work["bytes"] >= H100.ridge

    least = next(texts for texts in range(1, 1000) if is_on_the_flat_top(texts))
    said = section(page, "batch")
    most = texts_that_fit(LLAMA2, 4096)
    assert f"{H100.ridge:.0f} texts would bring the ring to the flat top" in said
    assert f"with the vectors it takes {least}" in said
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
    assert (
        f"not quite six times the tokens a second, {many[3]:,.0f} instead of {one[3]:.0f}" in said
    )
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


def test_the_measured_step_shows_what_batches_share(page):
    found = json.loads((ROOT / "modules/m10_cost/timings.json").read_text())
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
    assert longer[1] > 6, "each text has a cache of its own"
    assert longer[0] < 5, "eight fetches would take eight times as long"
    assert 2 < ms["matrix 2"] / ms["matrix 1"] < 2.5, "more than twice as long for two"
    assert ms["matrix 8"] / ms["matrix 2"] == pytest.approx(1.25, abs=0.05), "a quarter more"


def test_the_bug_keeps_the_cache_of_one_layer(page):
    room = H100.memory - costs.parameter_bytes(LLAMA2)
    one_layer = costs.cache_bytes(LLAMA2, 4096) / LLAMA2.layers
    assert numbers(output(page, "bug-check")) == [int(room // one_layer)]
    assert numbers(output(page, "bug-repair")) == [texts_that_fit(LLAMA2, 4096)]
    assert page.select_one("#bug-fit")["data-right"] == "2"


def test_a_warm_up_and_a_slow_spell_were_seen(page):
    first, *rest = json.loads((ROOT / "modules/m10_cost/timings.json").read_text())[
        "first_calls_ms"
    ]
    rest.sort()
    middle, mean = rest[len(rest) // 2], sum(rest) / len(rest)
    said = [first, len(rest), middle, mean, rest[0], rest[-1]]
    assert numbers(output(page, "first-calls")) == pytest.approx(said, abs=0.051)
    assert first > 1.5 * middle
    assert mean > middle


def test_answers_of_check_it(page):
    one, many = (4096**2 + 2 * n * 4096 for n in (1, 512))
    assert many / one == pytest.approx(1.25, abs=0.01)
    assert "grow by a quarter" in page.select_one("#check-it").get_text(" ", strip=True)


def test_the_slope_of_a_layer(page):
    said = page.select_one("#time-it-right").get_text(" ", strip=True)
    assert "1.58 where pairs are half" in said
    assert round(math.log2(2 + 2 * 0.5), 2) == 1.58


def test_every_preset_s_source_is_cited_on_the_page():
    text = (ROOT / "modules/m10_cost/lesson.qmd").read_text("utf-8")
    for preset in [*MODELS, *MACHINES]:
        assert re.search(rf"@{preset.source}\b", text), preset.name
