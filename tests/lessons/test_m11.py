"""m11: its sentences against numbers computed here."""

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from attention import scaled_dot_product_attention
from tests.lessons.reading import numbers, output

PAGE = "modules/m11_fast_and_exact/lesson.html"
FOLDER = Path(__file__).parents[2] / "modules/m11_fast_and_exact"
WAYS = ("rows", "whole", "three", "tiles", "fused")
SHOWN = ("three", "tiles", "fused")
MEASURED = json.loads((FOLDER / "measured.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def defined():
    """What the lesson's own cells define."""
    text = (FOLDER / "lesson.qmd").read_text(encoding="utf-8")
    names = {}
    for label in ("take-in", "tiled", "gradients"):
        exec(re.search(rf"#\| label: {label}\n(.*?)```", text, re.S)[1], names)
    return names


def test_the_steps_with_a_pencil(page):
    """In powers of 2, where every step can be done in the head; then by `take_in`."""
    scores, values = np.array([0.0, 1, 3, 2]), np.array([10.0, 20, 30, 40])
    first, rate, parts = 2 ** (scores[:2] - 1), 2.0 ** (1 - 3), 2 ** (scores - 3)
    sums = [first.sum(), rate * first.sum(), parts.sum()]
    mixes = [first @ values[:2], rate * (first @ values[:2]), parts @ values]
    steps = [step.get_text().replace("\xa0", " ") for step in page.select("#sec-online > ol > li")]
    assert f"½ + 1 = {sums[0]:g}; " in steps[0]
    assert f"Mix: ½ · 10 + 1 · 20 = {mixes[0]:g}." in steps[0]
    assert f"the sum becomes {sums[1]:g}, the mix {mixes[1]:g}." in steps[1]
    assert parts[2:].tolist() == [1, 0.5]
    assert f"Sum: {sums[1]:g} + 1 + ½ = {sums[2]:g}." in steps[1]
    assert f"Mix: {mixes[1]:g} + 1 · 30 + ½ · 40 = {mixes[2]:g}." in steps[1]
    drawn = page.select("#converting .fallback tbody td")
    for cell, *kept in zip(drawn, (1, 3, 3), sums, mixes, strict=True):
        assert numbers(cell.get_text()) == kept
    assert (parts[2:] * values[2:]).tolist() == [30, 20]  # on the arrow
    result = mixes[2] / sums[2]
    assert f"{mixes[2]:g} / {sums[2]:g} = {result:g}, as before." in steps[2]
    *kept, pieces, at_once = output(page, "pencil").splitlines()
    assert numbers(kept[0]) == [1, sums[0], mixes[0]]
    assert numbers(kept[1]) == [3, sums[2], mixes[2]]
    assert numbers(pieces)[0] == pytest.approx(result, rel=1e-9)
    assert numbers(at_once)[0] == pytest.approx(result, rel=1e-9)


def test_the_whole_row_and_a_third_piece(page):
    """What the pencil makes with the whole row at hand, before and after the third piece."""
    powers, values = 2.0 ** np.array([0, 1, 3, 2, 4]), np.array([10.0, 20, 30, 40, 50])
    total, mix = powers[:4].sum(), powers[:4] @ values[:4]
    said = " ".join(page.select_one("#sec-online").get_text().split())
    assert f"the powers are 1, 2, 8 and 4, and their sum is {total:g}." in said
    assert f"gives 10 + 40 + 240 + 160 = {mix:g}. So the output is {mix:g}/{total:g} = 30." in said
    converted = [powers.sum() / 16, powers @ values / 16]  # in units of the new largest, 2⁴
    assert (
        f"½ · 1.875 + 1 = {converted[0]:g}, and the mix ½ · 56.25 + 50 = {converted[1]:g}." in said
    )
    assert f"is {converted[1]:g} / {converted[0]:g} = {converted[1] / converted[0]:.2f}." in said
    assert f"of the powers is {total:g} + 16 = {powers.sum():g}, and with the values" in said
    assert f"they give {mix:g} + 16 · 50 = {powers @ values:,.0f}." in said
    assert (
        f"{powers @ values:,.0f}/{powers.sum():g} is {powers @ values / powers.sum():.2f}" in said
    )
    back = " ".join(page.select_one("#sec-back").get_text().split())
    larger = np.array([10.0, 20, 30, 41])  # the last value, larger by 1
    assert powers[:4] @ larger / total - mix / total == pytest.approx(4 / 15)
    assert "were 41, how much larger would the output be? By 4/15," in back
    assert f"the score of 2 gets its weight back: 2²/{total:g} = 4/{total:g}, as above." in back
    assert f"a sum of 1.875, and 1.875 · 2³ = {1.875 * 2**3:g}." in back
    assert f"It is 2³/{total:g} = 8/{total:g}, a little more than a half." in back


def test_what_the_desk_and_the_shelf_hand_over(page):
    said = " ".join(page.select_one("#sec-desk").get_text().split())
    assert f"could do 312 / 1.5 = {312 / 1.5:.0f} operations" in said
    drawn = page.select_one("#memories").get_text()
    for said in ("40 GB", "1.5 TB", "108 desks", "192 KB each", "19 TB"):
        assert said in drawn


def test_what_the_plain_way_carries(page):
    L, d = 1024, 64
    said = output(page, "plain").replace(",", "")
    assert numbers(said) == [4 * L * L + 4 * L * d, round(100 * L / (L + d))]
    taken = [
        [int(cell.get_text().replace(",", "")) for cell in row.select("td")[2:]]
        for row in page.select("#plain tbody tr, #cell-plain tbody tr")
    ]
    assert taken == [[2 * L * d, L * L], [L * L, L * L], [L * L + L * d, L * d]]
    operations, carried = 2 * 2 * L * L * d, 2 * sum(map(sum, taken))
    made_of = [2, 2, L, L, d]
    assert np.prod(made_of) == operations
    want = [operations / 1e6, *made_of, 2, carried / 1e6, operations / carried, 312 / 1.5]
    [said] = [p for p in page.select("#sec-desk p") if p.get_text().startswith("The first pro")]
    assert numbers(said.get_text().replace(",", "")) == pytest.approx(want, abs=0.51)


def test_whole_rows_and_whole_maps_do_not_fit_on_a_desk(page):
    """Of 128 queries, and of all: 1,024 tokens, 2 bytes a score."""
    said = " ".join(page.select_one("main").get_text().split())
    assert 2 * 1024 < 192e3 < 192 * 1024 < 2 * 128 * 1024  # of either KB
    assert f"say 128. Their rows take {2 * 128 * 1024 / 1e3:.0f} KB" in said
    assert f"The map of 1,024 tokens takes {2 * 1024**2 / 1e6:.1f} MB." in said
    assert 192e3 < 2 * 1024**2 < 20e6  # too large for one desk, and not for all of them
    assert f"about {19 / 1.5:.0f} times as much can pass" in said


def test_nearly_all_is_the_map():
    """The prediction's right answer, and the reason that it gives."""
    L, d = 1024, 64
    assert 4 * L * L / (4 * L * L + 4 * L * d) > 0.9


def test_eight_words_are_counted_as_the_stepper_counts_them(page):
    from tests.widgets.test_flash_stepper import STEPPER, eight

    said = " ".join(page.select_one("#sec-carried").get_text().split())
    state = {"queryTile": 2, "keyTile": 2, "causal": False, "step": 1}
    model = STEPPER.call("stepped", eight(), state)
    assert model["bytes"] == 4 * (2 * 16 + 4 * 2 * 16)
    assert f"{model['bytes']} bytes" in said
    assert f"{2 * 16 + 4 * 2 * 16} numbers, of four bytes each" in said
    assert model["plainBytes"] == 4 * (4 * 16 + 4 * 8 * 8)
    assert f"4 · 16 + 4 · 8 · 8 = {4 * 16 + 4 * 8 * 8} numbers" in said
    assert f"{model['plainBytes']:,}?" in said


def test_the_count_with_128_queries_in_a_tile(page):
    """Tile by tile, against the plain way's count on the same page, here and in the bill."""
    said = " ".join(page.select_one("#sec-carried").get_text().split()).replace(",", "")
    row = 1024 * 64
    carried = sum(128 * 64 + 2 * row + 128 * 64 for _ in range(0, 1024, 128))
    assert f"2 · {row} + 8 · 2 · {row} = {carried} numbers." in said
    plain = 4 * 1024 * 1024 + 4 * row
    assert f"carried {plain} which is {plain / carried:.1f} times as many." in said
    bill = page.select_one("#sec-bill").get_text()
    assert f"and our own count gave {plain / carried:.1f}." in bill


def test_what_no_longer_has_to_be_stored(page):
    said = " ".join(page.select_one("#sec-carried").get_text().split())
    assert f"the map of a single head takes {2 * 8192**2 / 1e6:.0f} MB." in said
    assert f"but the output, {2 * 8192 * 64 / 1e6:.1f} MB" in said


def test_a_hidden_first_piece_is_the_trap_that_the_page_names(defined):
    """A hidden key has no part; but a row whose first piece is hidden is lost."""
    kept = torch.full((1, 1), -torch.inf), 0.0, 0.0
    values = torch.tensor([[1.0], [2.0]])
    _, total, mix = defined["take_in"](kept, torch.tensor([[3.0, -torch.inf]]), values)
    assert (float(total), float(mix)) == (1, 1)
    _, total, _ = defined["take_in"](kept, torch.full((1, 2), -torch.inf), values)
    assert total.isnan()


def test_the_first_steps_of_cat(page):
    """The row that the text follows: by hand in step 1, and converted in step 2."""
    from tests.widgets.test_flash_stepper import STEPPER, eight

    given = eight()
    before, after = (
        STEPPER.call(
            "stepped", given, {"queryTile": 2, "keyTile": 2, "causal": False, "step": step}
        )["act"]["kept"][1]
        for step in (1, 2)
    )
    said = " ".join(page.select_one("#sec-tiles").get_text().split()).replace("−", "-")
    assert given["tokens"][1] == "cat"
    assert f"The largest score of cat so far is {before['top']:.2f}." in said
    assert f"Now cat meets sat, with a score of {after['top']:.1f}" in said
    assert 0 < after["rate"] < 1
    assert f"a sum of {before['sum']:.3f} and a mix whose first number is" in said
    assert f"first number is {before['mix'][0]:.3f}." in said
    assert f"which is {after['rate']:.3f}, and the part of on" in said
    assert f"{after['rate']:.3f} · {before['sum']:.3f} + 1 + " in said
    assert all(f" = {x:.2f}." in said for x in (after["sum"], after["mix"][0]))


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
    made, whole = np.split(np.array(numbers(output(page, "again"))), 2)
    assert np.array_equal(made, whole)


def test_seven_products_for_six(page):
    gap, plain, tiled = output(page, "products").splitlines()
    assert numbers(gap)[0] < 1e-12
    assert (numbers(plain), numbers(tiled)) == ([6], [7])
    back = page.select_one("#sec-back").get_text()
    assert "17\u202f% more. (The authors' 13\u202f% is less," in back.replace("’", "'")
    assert "That makes six products in all, and making the scores again is the seventh" in back
    assert "17\u202f% more;" in back
    assert f"{7 / 6 - 1:.0%}" == "17%"
    # Six products and seven of any size are 17 % apart, and these aren't.
    assert 75.2 / 66.6 < 1.14 < 7 / 6


def test_the_paper_s_numbers_are_those_of_the_prediction(page):
    """75.2 and 66.6 GFLOPs; 11.7 and 35.1 ms, in the proceedings."""
    assert f"{75.2 / 66.6 - 1:.0%}" == "13%"
    assert "13\u202f% more arithmetic" in page.get_text()
    question = page.select_one("#predict-time > p").get_text()
    assert "only a third of the time" in question
    assert "the plain way took 35.1 ms. FlashAttention took 11.7 ms" in page.get_text()
    assert round(35.1 / 11.7, 2) == 3
    [url] = [a["href"] for a in page.select("#ref-dao2022 a")]
    assert "proceedings.neurips.cc" in url, "the preprint has other numbers"


def test_the_bill_of_the_beginning(page):
    """What the paper carried, over what an A100 carries and computes in a second."""
    own = 64 * 16 * 2 * (4 * 1024**2 + 4 * 1024 * 64)  # bytes, the way there
    maps_back = 7 * 64 * 16 * 2 * 1024**2
    said = " ".join(page.select_one("#sec-bill").get_text().split())
    usual, flash = 35.3 / 1.5, 4.4 / 1.5  # GB over TB/s: ms
    assert f"35.3 / 1.5 = {usual:.1f} ms, two thirds of its 35.1 ms," in said
    assert f"4.4 / 1.5 = {flash:.1f} ms, a quarter of its 11.7 ms." in said
    assert usual / 35.1 == pytest.approx(2 / 3, abs=0.01)
    assert flash / 11.7 == pytest.approx(1 / 4, abs=0.01)
    assert f"become {usual - flash:.1f} ms shorter, and the whole {35.1 - 11.7:.1f} ms." in said
    assert f"FlashAttention carries {35.3 / 4.4:.0f} times less," in said
    assert round(35.3 / 4.4) == 8  # "an eighth"
    assert "down to an eighth" in said
    assert maps_back + own < 35.3e9  # of which the box accounts for the larger part
    assert maps_back + own > 35.3e9 / 2
    assert usual - flash > 0.85 * (35.1 - 11.7)  # "nearly all that was saved is the walk"
    rest = 35.1 - usual, 11.7 - flash
    assert 1 - rest[1] / rest[0] < 0.3 < 0.8 < 1 - flash / usual  # "has shrunk much less"
    drawn = numbers(page.select_one("#cell-figure-bill, #figure-bill").find_next(
        class_="screen-reader-only").get_text())  # fmt: skip
    for want in (usual, flash, *rest):
        assert any(x == pytest.approx(want, abs=0.051) for x in drawn), want
    flops = 7 * 2 * 1024 * 1024 * 64 * 64 * 16
    took = f"took {rest[0]:.1f} ms and still takes {rest[1]:.1f}."
    assert took in said
    assert flops / 312e12 * 1e3 < 0.4 * rest[1]  # so the products' arithmetic isn't what is left
    box = " ".join(page.select_one("#sec-back").get_text().split())
    assert f"six products make {flops / 7 * 6 / 1e9:.0f} GFLOP, and seven {flops / 1e9:.0f}." in box
    each = own / 64 / 16
    assert f"carries {each / 1e6:.1f} MB for each of 64 · 16 heads," in box
    assert f"together {own / 1e9:.1f} GB." in box
    assert f"it carries maps seven times, {maps_back / 1e9:.0f} GB:" in box


def test_the_bug_counts_each_piece_in_its_own_currency(page):
    """Both pieces have the same sum, so that the mean of their outputs comes out."""
    scores, values = np.array([0.0, 1, 2, 3]), np.array([10.0, 20, 30, 40])
    weights = np.exp(scores[:2]) / np.exp(scores[:2]).sum()
    own = [weights @ values[:2], weights @ values[2:]]
    hunt = " ".join(page.select_one("#bug-rate").get_text().split())
    assert f"pieces' own outputs, {own[0]:.2f} and {own[1]:.2f}." in hunt.replace("’", "'")
    assert f"{np.mean(own):.2f}, and " in hunt


def test_the_fallback_of_the_stepper_is_the_model_s(page):
    from tests.widgets.test_flash_stepper import STEPPER, eight

    model = STEPPER.call(
        "stepped", eight(), {"queryTile": 2, "keyTile": 2, "causal": False, "step": 1}
    )
    rows = page.select("#flash-stepper .fallback tbody tr")
    for row, kept in zip(rows, model["act"]["kept"], strict=True):
        want = [kept["top"], kept["sum"], *kept["mix"]]
        said = " ".join(cell.get_text() for cell in row.select("td")[1:])
        assert numbers(said.replace("−", "-")) == pytest.approx(want, abs=0.006)


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
    said = " ".join(page.select_one("#sec-production").get_text().split())
    assert f"4,096 tokens, the plain way took {three:,.0f} MB," in said
    assert (
        f"MB, for two maps of 4 bytes a number, and PyTorch's call {fused:.0f} MB"
        in said.replace("’", "'")
    )
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
    assert [line.split()[:2] for line in ways if line.endswith("runs")][:2] == [
        ["plain", "flash"], ["plain", "math"],
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
    made = [(p @ v / total).bfloat16() for p in (parts, parts.bfloat16().float())]
    by_hand = [(output - truth).abs().mean().item() for output in made]
    shown = [numbers(line)[-1] for line in output(page, "accuracy").splitlines()[4:]]
    assert "rounds only the parts" in page.select_one("#sec-code").get_text()
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
    kept = torch.tensor([[-torch.inf]]).double(), 0.0, 0.0
    scores, values = torch.tensor([[5.0, 5.0]]), torch.tensor([[10.0], [30.0]]).double()
    top, total, mix = (float(x) for x in defined["take_in"](kept, scores * ln_2, values))
    assert [round(x, 6) for x in (top / ln_2.item(), total, mix)] == [5, 2, 40]
    weights = (scores.double() * ln_2).softmax(-1)
    said = " ".join(page.get_text().split())
    assert f"The output is 40/2 = {float(weights @ values):g}." in said
    assert float((scores.double() * ln_2).logsumexp(-1)) / ln_2.item() == pytest.approx(6)
    assert weights[0, 0].item() == pytest.approx(0.5)
    kept = torch.tensor([[-torch.inf]]), 0.0, 0.0
    scores = torch.tensor([[5.0, 1, 4, 0, 3, 2]])
    tops = []
    for j in range(0, 6, 2):
        kept = defined["take_in"](kept, scores[:, j : j + 2], torch.ones(2, 1))
        tops.append(float(kept[0]))
    assert all(a == b for a, b in pairwise(tops))


def test_a_tile_of_128_by_128_fits_beside_one_processor(page):
    """Queries, keys and values in 2 bytes; scores and mixes in 4."""
    taken = 2 * 3 * 128 * 64 + 4 * (128 * 128 + 128 * 64)
    assert taken < 192e3
    said = " ".join(page.select_one("#sec-tiles").get_text().split())
    assert "are 3 · 128 · 64 numbers, of 2 bytes" in said
    assert (
        "Scores and mixes are 128 · 128 + 128 · 64 numbers, and real programs give these 4" in said
    )
    assert f"All this takes {taken / 1e3:.0f} of the 192 KB" in said
    everything = (2 + 4) * 1024 * 64  # the queries and mixes of a whole text
    assert everything > 192 * 1024
    assert f"would take {everything / 1e3:.0f} KB." in said


def test_the_toy_desk_s_room_is_counted(page):
    """Two queries by two keys, of two numbers each; a largest score and a sum for each row."""
    from tests.widgets.test_flash_stepper import STEPPER, eight

    model = STEPPER.call(
        "stepped", eight(), {"queryTile": 2, "keyTile": 2, "causal": False, "step": 1}
    )
    assert model["desk"] == 5 * 4 + 2 * 2 == 24
    said = " ".join(page.select_one("#sec-tiles").get_text().split())
    fetched = 3 * 2 * 2
    assert f"are brought, {fetched} numbers of four bytes each: {4 * fetched} B." in said
    assert model["soFar"] == 4 * fetched
    assert f"room for 40 numbers. On it lie these {fetched}, the tile's 4 scores, and what its" in (
        said.replace("’", "'")
    )
    assert model["desk"] == fetched + 2 * 2 + 2 * 4  # "4 numbers each"
    assert model["steps"] == 20


def test_twice_the_queries_carry_less_and_twice_the_keys_as_much(page):
    """The bet beside the stepper, by the stepper's own count."""
    from tests.widgets.test_flash_stepper import STEPPER, eight

    carried = {
        sizes: STEPPER.call(
            "stepped", eight(),
            {"queryTile": sizes[0], "keyTile": sizes[1], "causal": False, "step": 0},
        )["bytes"]
        for sizes in ((2, 2), (4, 2), (2, 4))
    }  # fmt: skip
    assert carried[2, 4] == carried[2, 2] > carried[4, 2]
    said = " ".join(page.select_one("#predict-taller").get_text().split())
    assert f"These tiles carry {carried[2, 2]} bytes in all." in said
    assert f"only {carried[4, 2]} bytes." in said
    assert f"With twice the keys it stays at {carried[2, 4]}," in said


def test_the_fallback_of_the_new_score_is_the_model_s(page):
    from tests.widgets.test_new_score import JS, THIRD

    model = JS.call("withNewScore", THIRD, {"score": THIRD["at"]})
    rows = page.select("#new-score .fallback tbody tr")
    for row, kind in zip(rows, ("before", "converted", "after"), strict=True):
        kept = model[kind]
        said = " ".join(cell.get_text() for cell in row.select("td")[1:])
        assert numbers(said) == [kept["top"], kept["sum"], kept["mix"]]
