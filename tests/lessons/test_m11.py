"""m11: its claims against numbers computed here."""

import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from tests.lessons.page_text import in_order, output, share, shows
from tests.numbers import numbers
from tests.site.numbers import payloads
from tests.widgets.js import module

PAGE = "modules/m11_fast_and_exact/lesson.html"
FOLDER = Path(__file__).parents[2] / "modules/m11_fast_and_exact"
WAYS = ("rows", "whole", "three", "tiles", "fused")
SHOWN = ("three", "tiles", "fused")
MEASURED = json.loads((FOLDER / "measured.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def published(page):
    return payloads(page)


@pytest.fixture(scope="module")
def stepped(published):
    """The stepper's own count of the page's eight words."""

    @cache
    def stepped(queries=2, keys=2, step=1):
        sizes = {"queryTile": queries, "keyTile": keys, "causal": False, "step": step}
        return module("flash-stepper.js").call("stepped", published["eight"], sizes)

    return stepped


@pytest.fixture(scope="module")
def defined():
    """What the lesson's own cells define."""
    text = (FOLDER / "lesson.qmd").read_text(encoding="utf-8")
    names = {}
    for label in ("take-in", "tiled", "gradients"):
        exec(re.search(rf"#\| label: {label}\n(.*?)```", text, re.S)[1], names)
    return names


def test_the_steps_with_a_pencil(page, defined):
    """In powers of 2, where every step can be done in the head; then by `take_in`."""
    scores, values = np.array([0.0, 1, 3, 2]), np.array([10.0, 20, 30, 40])
    first, rate, parts = 2 ** (scores[:2] - 1), 2.0 ** (1 - 3), 2 ** (scores - 3)
    sums = [first.sum(), rate * first.sum(), parts.sum()]
    mixes = [first @ values[:2], rate * (first @ values[:2]), parts @ values]
    result = mixes[2] / sums[2]
    steps = [step.get_text() for step in page.select("#sec-online > ol > li")]
    wanted = [
        ["½", "1", sums[0], "½", "10", "1", "20", mixes[0]],
        [sums[1], mixes[1], sums[1], "1", "½", sums[2]],
        [mixes[2], sums[2], result],
    ]
    for step, want in zip(steps, wanted, strict=True):
        assert in_order(step, *(x if isinstance(x, str) else f"{x:g}" for x in want)), want
    assert in_order(steps[1], f"{mixes[1]:g}", "1", "30", "½", "40", f"{mixes[2]:g}")
    ln_2 = torch.tensor(2.0).double().log()
    kept = torch.full((1, 1), -torch.inf).double(), 0.0, 0.0
    for piece, top, total, mix in ((slice(0, 2), 1, 0, 0), (slice(2, 4), 3, 2, 2)):
        row = torch.from_numpy(scores[None, piece]) * ln_2
        kept = defined["take_in"](kept, row, torch.from_numpy(values[piece, None]))
        want = [top * ln_2.item(), sums[total], mixes[mix]]
        assert [float(x) for x in kept] == pytest.approx(want, rel=1e-9)


def test_the_whole_row_and_a_third_piece(page):
    """What the pencil makes with the whole row at hand, before and after the third piece."""
    powers, values = 2.0 ** np.array([0, 1, 3, 2, 4]), np.array([10.0, 20, 30, 40, 50])
    total, mix = powers[:4].sum(), powers[:4] @ values[:4]
    first = [*powers[:4], total, *(powers[:4] * values[:4]), mix]
    assert shows(page, "#sec-online", *(f"{x:g}" for x in first), f"{mix:g}/{total:g}", "30")
    converted = [powers.sum() / 16, powers @ values / 16]  # in units of the new largest, 2⁴
    result = powers @ values / powers.sum()
    want = ["½", "1.875", "1", f"{converted[0]:g}", "½", "56.25", "50", f"{converted[1]:g}"]
    want += [f"{converted[1]:g}", f"{converted[0]:g}", f"{result:.2f}"]
    want += [f"{total:g}", "16", f"{powers.sum():g}", f"{mix:g}", "16", "50"]
    want += [f"{powers @ values:,.0f}", f"{powers @ values:,.0f}/{powers.sum():g}"]
    assert shows(page, "#sec-online", *want, f"{result:.2f}")
    larger = np.array([10.0, 20, 30, 41])  # the last value, larger by 1
    assert powers[:4] @ larger / total - mix / total == pytest.approx(4 / 15)
    assert shows(page, "#sec-back", "40", "41", "4/15")
    assert shows(page, "#sec-back", f"2²/{total:g}", f"4/{total:g}")
    assert shows(page, "#sec-back", "1.875", "1.875", f"{1.875 * 2**3:g}")
    assert shows(page, "#sec-back", f"2³/{total:g}", f"8/{total:g}")


def test_what_the_desk_and_the_shelf_hand_over(page):
    assert shows(page, "#sec-desk", "312", "1.5", f"{312 / 1.5:.0f}")
    assert shows(page, "#sec-desk", f"{19 / 1.5:.0f}")
    drawn = page.select_one("#memories").get_text()
    for size in ("40 GB", "1.5 TB", "108 desks", "192 KB", "19 TB"):
        assert size in drawn


def test_what_the_plain_way_carries(page):
    L, d = 1024, 64
    assert numbers(output(page, "plain")) == [4 * L * L + 4 * L * d, round(100 * L / (L + d))]
    traffic = [  # where two things are fetched, as a sum of two
        [sum(numbers(cell.get_text())) for cell in row.select("td")[2:]]
        for row in page.select("#plain tbody tr, #cell-plain tbody tr")
    ]
    assert traffic == [[2 * L * d, L * L], [L * L, L * L], [L * L + L * d, L * d]]
    operations, carried = 2 * 2 * L * L * d, 2 * sum(map(sum, traffic))
    want = [f"{operations / 1e6:.0f}", "2", "2", "1,024", "1,024", "64"]
    want += ["2", f"{carried / 1e6:.1f}", f"{operations / carried:.0f}", f"{312 / 1.5:.0f}"]
    assert shows(page, "#sec-desk", *want)
    assert 4 * L * L / (4 * L * L + 4 * L * d) > 0.9  # "nearly all is the map"


def test_whole_rows_and_whole_maps_do_not_fit_on_a_desk(page):
    """Rows of a long text at 4 bytes a score, and all of another at 2."""
    assert 4 * 1024 < 192e3
    assert shows(page, "#sec-tile", "six", "8,192")
    assert 5 * 4 * 8192 < 192e3 < 192 * 1024 <= 6 * 4 * 8192  # of either KB
    assert 192e3 < 2 * 1024**2
    assert shows(page, "#sec-desk", "1,024", f"{2 * 1024**2 / 1e6:.1f}", "192")


def test_eight_words_are_counted_as_the_stepper_counts_them(page, stepped):
    model, tiled, plain = stepped(), 2 * 16 + 4 * 2 * 16, 4 * 16 + 4 * 8 * 8
    assert (model["bytes"], model["plainBytes"]) == (4 * tiled, 4 * plain)
    assert shows(page, "#predict-taller", f"{4 * tiled}")


def test_the_count_with_128_queries_in_a_tile(page):
    """Tile by tile, against the plain way's count on the same page, here and in the bill."""
    row, plain = 1024 * 64, 4 * 1024 * 1024 + 4 * 1024 * 64
    carried = sum(128 * 64 + 2 * row + 128 * 64 for _ in range(0, 1024, 128))
    want = ["2", f"{row:,}", "8", "2", f"{row:,}", f"{carried:,}", f"{plain:,}"]
    assert shows(page, "#sec-carried", *want, f"{plain / carried:.1f}")
    assert shows(page, "#box-bill", f"{plain / carried:.1f}", "8")
    by_length = [2 * n * 64 + n / 128 * 2 * n * 64 for n in (8192, 2 * 8192)]
    assert 3.9 < by_length[1] / by_length[0] < 4, "four times as much, nearly"
    assert shows(page, "#sec-tile", "four times", "nearly")


def test_there_and_back_by_our_count(page):
    """Program by program and tile by tile: each what it fetches and what it puts back."""
    L, row, groups, to_gb = 1024, 1024 * 64, 1024 // 128, 64 * 16 * 2 / 1e9
    maps_and_rows = [  # of each program
        (1, 2), (2, 0), (1, 2),  # there: scores, softmax, output
        (1, 2), (1, 2), (3, 0), (1, 2), (1, 2),  # back: dV, dW, softmax's, dQ, dK
    ]  # fmt: skip
    plain = to_gb * sum(maps * L * L + rows * row for maps, rows in maps_and_rows)
    there = groups * (2 * row // groups + 2 * row)
    back = 2 * row  # outputs and their gradients, for one number a row
    for _ in range(groups):  # keys and values stay, with their gradients
        back += 4 * row // groups + 4 * row  # q, dO, and dQ there and back
    tiled = to_gb * (there + back)
    want = [f"{x:.1f}" for x in (plain, tiled)]
    assert want == ["25.2", "7.5"]
    assert shows(page, "#box-bill", *want[:1], "128", *want[1:])
    assert shows(page, "#box-bill", *want, f"{plain / tiled:.1f}")
    assert plain < 35.3  # the authors' plain way carried more
    assert tiled > 4.4  # and their tiled way less
    assert plain / tiled < 35.3 / 4.4


def test_what_no_longer_has_to_be_stored(page):
    mb = f"{2 * 8192**2 / 1e6:.0f}", f"{2 * 8192 * 64 / 1e6:.1f}"
    assert shows(page, "#sec-tile", "8,192", *mb)


def test_a_hidden_first_piece_is_the_trap_that_the_page_names(page, defined):
    """A hidden key has no part; but a row whose first piece is hidden is lost."""
    state = torch.full((1, 1), -torch.inf), 0.0, 0.0
    values = torch.tensor([[1.0], [2.0]])
    _, total, mix = defined["take_in"](state, torch.tensor([[3.0, -torch.inf]]), values)
    assert (float(total), float(mix)) == (1, 1)
    largest, total, _ = defined["take_in"](state, torch.full((1, 2), -torch.inf), values)
    assert total.isnan()
    assert (largest - state[0]).isnan().all(), "the rate's power, −∞ less −∞"
    told = [p.get_text().count("−∞") for p in page.select("#sec-code p")]
    assert max(told) == 4, "hidden scores, the largest, and the difference"


def test_the_first_steps_of_cat(page, published, stepped):
    """The row that the text follows: its largest score grows in step 2."""
    before, after = (stepped(step=step)["act"]["kept"][1] for step in (1, 2))
    assert published["eight"]["tokens"][1] == "cat"
    assert shows(page, "#sec-tiles", f"{before['top']:.2f}", f"{after['top']:.1f}")
    assert 0 < after["rate"] < 1


@pytest.mark.parametrize("sizes", [(1, 1), (3, 2), (4, 9), (50, 50)])
def test_the_lesson_s_tiles_are_attention_py_s_backwards_too(defined, sizes):
    torch.manual_seed(0)
    q, k, v = (torch.randn(n, d).double().requires_grad_() for n, d in ((7, 4), (9, 4), (9, 3)))
    want, weights = scaled_dot_product_attention(q, k, v)
    with torch.no_grad():
        out = defined["tiled_attention"](q, k, v, *sizes)
        largest, total, _ = defined["pass_by"](q, k, v, sizes[1])
        lse = largest + total.log()
        torch.testing.assert_close(out, want, rtol=1e-12, atol=1e-14)
        again = (q @ k.T / 2 - lse).exp()
        torch.testing.assert_close(again, weights, rtol=1e-12, atol=1e-14)
    given = torch.randn(want.shape).double()
    wanted = torch.autograd.grad(want, (q, k, v), given)
    with torch.no_grad():
        got = defined["tiled_gradients"](q, k, v, out, lse, given, *sizes)
    torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-12)


def test_the_tiles_differ_by_a_rounding_alone(page):
    lines = output(page, "equal").splitlines()
    assert len(lines) == 3
    assert all(0 < numbers(line)[-1] < 4 * np.finfo(float).eps for line in lines)


def test_seven_products_for_six(page):
    gap, plain, tiled = output(page, "products").splitlines()
    assert numbers(gap)[0] < 1e-12
    assert (numbers(plain), numbers(tiled)) == ([6], [7])
    assert shows(page, "#sec-back", share(7 / 6 - 1), "66.6", "75.2", share(75.2 / 66.6 - 1))
    assert share(7 / 6 - 1) == "17 %"
    # Six products and seven of any size are 17 % apart, and these aren't.
    assert 75.2 / 66.6 < 1.14 < 7 / 6


def test_the_paper_s_numbers_are_those_of_the_prediction(page):
    """75.2 and 66.6 GFLOPs; 11.7 and 35.1 ms, in the proceedings."""
    assert shows(page, "main", share(75.2 / 66.6 - 1))
    assert shows(page, "main", "35.1", "11.7")
    assert round(35.1 / 11.7, 2) == 3  # "only a third of the time"
    [url] = [a["href"] for a in page.select("#ref-dao2022 a")]
    assert "proceedings.neurips.cc" in url, "the preprint has other numbers"


def test_the_bill_of_the_opening_question(page):
    """What the paper carried, over what an A100 carries and computes in a second."""
    own = 64 * 16 * 2 * (4 * 1024**2 + 4 * 1024 * 64)  # bytes, the way there
    maps_back = 7 * 64 * 16 * 2 * 1024**2
    usual, flash = 35.3 / 1.5, 4.4 / 1.5  # GB over TB/s: ms
    assert shows(page, "#sec-bill", "35.3", "1.5", f"{usual:.1f}", "35.1",
                 "4.4", "1.5", f"{flash:.1f}", "11.7")  # fmt: skip
    assert usual / 35.1 == pytest.approx(2 / 3, abs=0.01)
    assert flash / 11.7 == pytest.approx(1 / 4, abs=0.01)
    assert shows(page, "#sec-bill", f"{usual - flash:.1f}", f"{35.1 - 11.7:.1f}")
    assert maps_back + own < 35.3e9  # of which the box accounts for the larger part
    assert maps_back + own > 35.3e9 / 2
    assert usual - flash > 0.85 * (35.1 - 11.7)  # "nearly all that was saved is the walk"
    rest = 35.1 - usual, 11.7 - flash
    drawn = numbers(page.select_one("#cell-figure-bill, #figure-bill").find_next(
        class_="screen-reader-only").get_text())  # fmt: skip
    for want in (usual, flash, *rest):
        assert any(x == pytest.approx(want, abs=0.051) for x in drawn), want
    flops = 7 * 2 * 1024 * 1024 * 64 * 64 * 16
    one = flops / 7 / 64 / 16
    shown = [f"{one / 1e6:.0f}", "64", "16", f"{flops / 1e9:.0f}", "312"]
    assert shows(page, "#box-bill", *shown, f"{flops / 312e9:.1f}", f"{rest[1]:.1f}")
    intensity = flops / 4.4e9
    assert shows(page, "#box-bill", f"{flops / 1e9:.0f}", "4.4", f"{intensity:.0f}", "208")
    assert intensity == pytest.approx(312 / 1.5, rel=0.06)  # "about the ridge point"
    assert flops / 312e9 / 11.7 == pytest.approx(1 / 4, abs=0.02)  # each a quarter
    assert flops / 312e12 * 1e3 < 0.4 * rest[1]  # so the products' arithmetic isn't what is left
    assert shows(page, "#sec-back", f"{4 / 15 * 3 + 1 / 2 * 2:.1f}")  # a value's gradient
    each = own / 64 / 16
    assert shows(page, "#box-backward", f"{flops / 7 * 6 / 1e9:.0f}", f"{flops / 1e9:.0f}")
    want = f"{each / 1e6:.1f}", f"{own / 1e9:.1f}", f"{maps_back / 1e9:.0f}"
    assert shows(page, "#box-bill", *want)


def test_the_bug_counts_each_piece_in_its_own_currency(page):
    """Both pieces have the same sum, so that the mean of their outputs comes out."""
    scores, values = np.array([0.0, 1, 2, 3]), np.array([10.0, 20, 30, 40])
    weights = np.exp(scores[:2]) / np.exp(scores[:2]).sum()
    own = [weights @ values[:2], weights @ values[2:]]
    assert shows(page, "#bug-rate", *(f"{x:.2f}" for x in own))
    assert in_order(page.select_one("#bug-rate").get_text(), f"{np.mean(own):.2f}")


def test_the_fallback_of_the_stepper_is_the_model_s(page, stepped):
    rows = page.select("#flash-stepper .fallback tbody tr")
    for row, state in zip(rows, stepped()["act"]["kept"], strict=True):
        want = [state["top"], state["sum"], *state["mix"]]
        text = " ".join(cell.get_text() for cell in row.select("td")[1:])
        assert numbers(text) == pytest.approx(want, abs=0.006)


def test_the_table_is_what_was_measured(page):
    rows = {(row["way"], row["length"]): row for row in MEASURED["rows"]}
    assert set(rows) == {(way, n) for way in WAYS
                         for n in (1024, 4096)}  # fmt: skip
    shown = page.select("#production tbody tr, #cell-production tbody tr")
    for way, line in zip(SHOWN, shown, strict=True):
        cells = [cell.get_text().replace(",", "") for cell in line.select("td")[1:]]
        time, memory = cells
        row = rows[way, 4096]
        want = [row["ms"], row["fastest_ms"], row["slowest_ms"]]
        assert numbers(time.replace("–", " ")) == pytest.approx(want, abs=0.51)
        assert numbers(memory) == pytest.approx([row["peak_mb"]], abs=0.51)
        assert row["fastest_ms"] <= row["ms"] <= row["slowest_ms"]
    assert MEASURED["date"] in output(page, "production")


def test_what_was_measured_carries_its_sentences():
    """In every round tiles in Python are ahead of the whole map, and the fused call of both."""
    rows = {(row["way"], row["length"]): row for row in MEASURED["rows"]}
    core = json.loads((FOLDER.parent / "m10_cost/timings.json").read_text(encoding="utf-8"))
    assert core["device"] == MEASURED["device"]
    plain = 2 * 2 * 1024**2 * 64 / (4 * (4 * 1024**2 + 4 * 1024 * 64))  # operations a byte
    assert core["flops"] / core["bandwidth"] < plain, "one core doesn't wait for its memory"
    for n in (1024, 4096):
        fused, tiles, whole = (rows[way, n]["to_three"] for way in ("fused", "tiles", "whole"))
        assert len(tiles) == 7
        assert max(fused) < min(tiles)
        assert max(tiles) < min(1, *whole)
        # The softmax reads one map and writes another.
        output, maps = 8 * n * 64 * 4 / 1e6, 2 * 8 * n * n * 4 / 1e6
        assert max(rows[way, n]["peak_mb"] for way in ("tiles", "fused")) < output + 2
        assert maps <= rows["three", n]["peak_mb"] < maps + 2


def test_the_memory_that_the_one_call_takes(page):
    three, fused = (
        next(r["peak_mb"] for r in MEASURED["rows"] if (r["way"], r["length"]) == (way, 4096))
        for way in ("three", "fused")
    )
    assert shows(page, "#sec-production", "4,096", f"{three:,.0f}", f"{fused:.0f}")
    assert 0.9 * fused < 8 * 4096 * 64 * 4 / 1e6  # "most of them for its output"


def test_the_flags_are_on_without_a_gpu_and_flash_runs_on_a_cpu(page):
    flags = output(page, "flags").splitlines()
    if flags[0].endswith("False"):
        assert all(line.endswith("True") for line in flags[1:])
        plain, dropout = output(page, "ran").split("dropout")
        assert "flash_attention_for_cpu" in plain
        assert "flash" not in dropout
        assert "bmm" in dropout
    ways = output(page, "backends").splitlines()
    assert [line.split()[::2] for line in ways[:4]] == [
        ["flash", "runs", "no"], ["efficient", "no", "no"],
        ["cudnn", "no", "no"], ["math", "runs", "runs"],
    ]  # fmt: skip


def test_tiles_are_as_exact_as_the_plain_way(page):
    off = [numbers(line)[-1] for line in output(page, "accuracy").splitlines()]
    three, ours, tiles = off[:3]
    assert max(three, ours, tiles) < 1.1 * min(three, ours, tiles)  # in 32 bits alike
    three, ours, tiles = off[3:]
    assert ours <= tiles < three


def test_in_16_bits_fused_attention_rounds_the_parts_alone(page, defined):
    """Made by hand in 32 bits, and once with e^(s - m) in 16: the page has both errors."""
    torch.manual_seed(0)
    torch.randn(3, 1, 8, 1024, 64)  # the cell's first three are of 32 bits
    q, k, v = torch.randn(3, 1, 8, 1024, 64).bfloat16().float()
    parts = (q @ k.mT / 8).softmax(-1)
    parts = parts / parts.amax(-1, keepdim=True)  # e^(s - m)
    truth = (q.double() @ k.double().mT / 8).softmax(-1) @ v.double()
    total = parts.sum(-1, keepdim=True)
    outputs = [(p @ v / total).bfloat16() for p in (parts, parts.bfloat16().float())]
    by_hand = [(output - truth).abs().mean().item() for output in outputs]
    shown = [numbers(line)[-1] for line in output(page, "accuracy").splitlines()[4:]]
    assert shown == pytest.approx(by_hand, rel=0.03)
    heads = zip(*(part.bfloat16()[0] for part in (q, k, v)), strict=True)
    tiled = torch.stack([defined["tiled_attention"](*head, 128, 128) for head in heads])
    off = [numbers(line)[-1] for line in output(page, "accuracy").splitlines()[3:]]
    assert (tiled - truth).abs().mean() > 1.5 * max(off)  # it rounds every sum


def test_the_function_s_mask_hides_most_tiles(page):
    text = torch.tensor([0] * 300 + [1] * 412 + [2] * 312)
    mask = (text[:, None] == text) & torch.ones(1024, 1024).bool().tril()
    hidden = ~mask.view(8, 128, 8, 128).any(3).any(1)
    assert numbers(output(page, "flex"))[-1] == round(100 * hidden.float().mean().item())
    assert numbers(output(page, "flex-equal"))[0] < 1e-6


def test_what_check_it_says(defined, page):
    """A row of powers of 2 that ends with 5, 2 and 40: two scores of 5, with values 10 and 30."""
    ln_2 = torch.tensor(2.0).double().log()
    state = torch.tensor([[-torch.inf]]).double(), 0.0, 0.0
    scores, values = torch.tensor([[5.0, 5.0]]), torch.tensor([[10.0], [30.0]]).double()
    top, total, mix = (float(x) for x in defined["take_in"](state, scores * ln_2, values))
    assert [round(x, 6) for x in (top / ln_2.item(), total, mix)] == [5, 2, 40]
    weights = (scores.double() * ln_2).softmax(-1)
    assert shows(page, "main", "40/2", f"{float(weights @ values):g}")
    assert float((scores.double() * ln_2).logsumexp(-1)) / ln_2.item() == pytest.approx(6)
    assert weights[0, 0].item() == pytest.approx(0.5)
    state = torch.tensor([[-torch.inf]]), 0.0, 0.0
    scores = torch.tensor([[5.0, 1, 4, 0, 3, 2]])
    tops = []
    for j in range(0, 6, 2):
        state = defined["take_in"](state, scores[:, j : j + 2], torch.ones(2, 1))
        tops.append(float(state[0]))
    assert all(a == b for a, b in pairwise(tops))


def test_a_tile_of_128_by_128_fits_beside_one_processor(page):
    """Queries, keys and values in 2 bytes; scores, mixes, largest scores and sums in 4."""
    sizes = [*3 * [2 * 128 * 64], 4 * 128 * 128, 4 * 128 * (64 + 2)]
    free = 192e3 - sum(sizes)
    assert free > 0
    drawn = page.select_one("#cell-figure-desk, #figure-desk").find_next("tbody")
    assert numbers(drawn.get_text(" ")) == [
        pytest.approx(size / 1e3, abs=0.051) for size in [*sizes, free]
    ]


def test_the_gradient_of_a_score_takes_the_output_alone(page):
    """By PyTorch: of the last score of the pencil's row, with powers of e."""
    scores = torch.tensor([1.0, 2, 8, 4]).log().requires_grad_()
    output = scores.softmax(0) @ torch.tensor([10.0, 20, 30, 40])
    (3 * output).backward()
    gradient = scores.grad[-1].item()
    assert gradient == pytest.approx(3 * 4 / 15 * (40 - output.item()))
    assert shows(page, "#box-gradients", "4/15", "40", f"{output.item():g}")
    assert shows(page, "#box-gradients", "3", "4/15", "10", f"{gradient:.3g}")
    powers = np.array([1, 2, 8, 4.04])
    total, mix = powers.sum(), powers @ [10, 20, 30, 40]
    assert mix / total - 30 == pytest.approx(0.01 * 4 / 15 * (40 - 30), rel=0.01)
    assert shows(page, "#box-gradients", "4.04", f"{total:g}", f"{mix:g}", f"{mix / total:.3f}")


def test_the_toy_desk_s_room_is_counted(page, stepped):
    """Two queries by two keys, of two numbers each; a largest score and a sum for each row."""
    model, fetched = stepped(), 3 * 2 * 2
    assert model["desk"] == 5 * 4 + 2 * 2 == 24 == fetched + 2 * 2 + 2 * 4  # "4 numbers each"
    assert model["soFar"] == 4 * fetched
    assert model["steps"] == 20
    want = "40", f"{model['desk']}", f"{fetched}", "4", "4", f"{fetched}", f"{4 * fetched}"
    assert shows(page, "#sec-tiles", *want)


def test_twice_the_queries_carry_less_and_twice_the_keys_as_much(page, stepped):
    """The bet beside the stepper, by the stepper's own count."""
    usual, queries, keys = (stepped(*sizes, 0)["bytes"] for sizes in ((2, 2), (4, 2), (2, 4)))
    assert keys == usual > queries
    assert shows(page, "#predict-taller", f"{usual}")
    assert shows(page, "#predict-taller", f"{queries}", f"{keys}")


def test_the_fallback_of_the_new_score_is_the_model_s(page, published):
    third = published["third"]
    model = module("new-score.js").call("withNewScore", third, {"score": third["at"]})
    rows = page.select("#new-score .fallback tbody tr")
    for row, kind in zip(rows, ("before", "converted", "after"), strict=True):
        state = model[kind]
        text = " ".join(cell.get_text() for cell in row.select("td")[1:])
        assert numbers(text) == [state["top"], state["sum"], state["mix"]]
